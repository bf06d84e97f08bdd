"""`swmodel verify`: run verification tests on this machine; print the results and write a picture and a JSON file."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable
from pathlib import Path

import click

from ..errors import AnswerError, UsageError, suggest, translate_os_errors
from ..extras import missing_package_reason
from ..files.draft import write_text
from ..plotting.files import save_figure
from ..plotting.verification import draw_comparisons
from . import VERIFICATION_TESTS, Comparison, VerificationTest


def select_tests(names: Iterable[str], quick: bool) -> list[VerificationTest]:
    """The tests with these names, or without names all tests or, if `quick`, the quick ones."""
    names = list(dict.fromkeys(names))
    for name in names:
        if name not in VERIFICATION_TESTS:
            raise UsageError(f"there is no verification test {name}; {suggest(name, VERIFICATION_TESTS)}")
    tests = [VERIFICATION_TESTS[name] for name in names or VERIFICATION_TESTS]
    return [test for test in tests if names or test.quick or not quick]


def verify(names: Iterable[str] = (), quick: bool = False, output: Path | None = None) -> None:
    """Run verification tests, print their comparisons, and write a picture and a JSON file into the folder `output`.

    Without `output` nothing is written. Without `names`, a test whose optional package is missing is left out, with a
    message.

    Raises:
        UsageError: there is no test with one of these names, or its optional package is missing.
        AnswerError: a comparison failed; the message lists the failures.
    """
    names = [*names]
    tests, comparisons_by_test = select_tests(names, quick), {}
    if output:
        with translate_os_errors(output, "written"):
            output.mkdir(parents=True, exist_ok=True)
    for test in tests:
        if test.needs and (reason := missing_package_reason(test.name, test.needs)):
            if names:
                raise UsageError(reason)
            click.echo(f"left out: {reason}")
            continue
        start_time = time.perf_counter()
        click.echo(f"{test.name}: {test.summary}\n    Source: {test.source}")
        comparisons_by_test[test.name] = list(test.compute())
        for comparison in comparisons_by_test[test.name]:
            click.echo(f"    {format_comparison(comparison)}")
        click.echo(f"    {time.perf_counter() - start_time:.1f} s")
    if output:
        results = {name: [*map(to_json_values, comparisons)] for name, comparisons in comparisons_by_test.items()}
        write_text(output / "verify.json", json.dumps(results, indent=1))
        save_figure(draw_comparisons(comparisons_by_test), output / "verify.png")
    pairs = [(name, comparison) for name, comparisons in comparisons_by_test.items() for comparison in comparisons]
    failures = [f"{name}: {format_comparison(comparison)}" for name, comparison in pairs if not comparison.passed]
    if failures:
        raise AnswerError("\n".join([f"{len(failures)} of {len(pairs)} comparisons failed:", *failures]))
    click.echo(f"{len(pairs)} comparisons of {len(comparisons_by_test)} tests passed")


def format_comparison(comparison: Comparison) -> str:
    """A comparison as a line of text: verdict, quantity, measured and expected value, tolerance."""
    verdict, measured = "right" if comparison.passed else "WRONG", f"measured {comparison.measured:.6g}"
    expected = f"expected {comparison.expected:.6g} within {comparison.tolerance:.2g}"
    return f"{verdict}  {comparison.quantity}: {measured}, {expected}"


def to_json_values(comparison: Comparison) -> dict:
    """The values of a comparison for JSON, where infinities and NaN become texts."""
    numbers = {name: float(getattr(comparison, name)) for name in ("measured", "expected", "tolerance")}
    values = {name: value if math.isfinite(value) else str(value) for name, value in numbers.items()}
    return {"quantity": comparison.quantity} | values | {"passed": comparison.passed}
