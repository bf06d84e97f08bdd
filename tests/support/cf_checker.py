"""The CF checker of compliance-checker."""


def assert_satisfies_cf(path, on_sphere=False):
    """Assert that it finds only errors on SGRID and, on a sphere, on several longitudes, which it does not know."""
    from compliance_checker.runner import CheckSuite, ComplianceChecker

    CheckSuite.load_all_available_checkers()
    report = path.with_suffix(".txt")
    options = {"output_filename": str(report), "output_format": "text"}
    ComplianceChecker.run_checker(str(path), ["cf:1.11"], 0, "normal", **options)
    text = report.read_text()
    assert "cf:1.11" in text
    false_errors = ("grid_topology is not a valid cf_role", "requires exactly one variable with standard_name")
    lines = text.partition("Errors")[2].partition("Warnings")[0].splitlines()
    errors = [line for line in lines if line.startswith("*")]
    assert [line for line in errors if not any(words in line for words in false_errors[: 1 + on_sphere])] == [], text
