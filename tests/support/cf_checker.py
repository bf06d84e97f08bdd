"""The CF checker of compliance-checker."""


def check_cf(path):
    """The errors in a file, and the text of the report."""
    from compliance_checker.runner import CheckSuite, ComplianceChecker

    CheckSuite.load_all_available_checkers()
    report = path.with_suffix(".txt")
    options = {"output_filename": str(report), "output_format": "text"}
    ComplianceChecker.run_checker(str(path), ["cf:1.11"], 0, "normal", **options)
    text = report.read_text()
    errors = text.partition("Errors")[2].partition("Warnings")[0]
    return [line for line in errors.splitlines() if line.startswith("*")], text
