"""`swmodel verify`: the verification tests on this machine, as a table, a picture and a JSON file."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import click

from ..errors import AnswerError, UsageError, suggest, translate_os_errors
from ..files.draft import write_text
from ..plotting.files import save_figure
from ..plotting.verification import draw_comparisons
from . import VERIFICATION_TESTS, Comparison, VerificationTest


def select_tests(names: Iterable[str], quick: bool) -> list[VerificationTest]:
    """The tests `names`; without names all tests, or the quick ones."""
    names = list(dict.fromkeys(names))
    for name in names:
        if name not in VERIFICATION_TESTS:
            raise UsageError(f"there is no verification test {name}; {suggest(name, VERIFICATION_TESTS)}")
    tests = [VERIFICATION_TESTS[name] for name in names or VERIFICATION_TESTS]
    return [one for one in tests if names or one.quick or not quick]


def verify(names: Iterable[str] = (), quick: bool = False, output: Path | None = None) -> dict[str, list[Comparison]]:
    """Compute verification tests, print each, and write a picture and a JSON file into the folder `output`, if given.

    Returns:
        {name: its Comparisons}.

    Raises:
        UsageError: there is no test of that name.
        AnswerError: a comparison failed; the message lists the failures.
    """
    tests, comparisons_by_test = select_tests(names, quick), {}
    if output:
        with translate_os_errors(output, "written"):
            output.mkdir(parents=True, exist_ok=True)
    for test in tests:
        start_time = time.perf_counter()
        click.echo(f"{test.name}: {test.summary}\n    Source: {test.source}")
        comparisons_by_test[test.name] = list(test.compute())
        for comparison in comparisons_by_test[test.name]:
            click.echo(f"    {format_comparison(comparison)}")
        click.echo(f"    {time.perf_counter() - start_time:.1f} s")
    if output:
        results = {
            name: [to_json_values(answer) for answer in answers] for name, answers in comparisons_by_test.items()
        }
        write_text(output / "verify.json", json.dumps(results, indent=1))
        save_figure(draw_comparisons(comparisons_by_test), output / "verify.png")
    failures = [
        f"{name}: {format_comparison(each)}"
        for name, answers in comparisons_by_test.items()
        for each in answers
        if not each.passed
    ]
    n_comparisons = sum(map(len, comparisons_by_test.values()))
    if failures:
        raise AnswerError("\n".join([f"{len(failures)} of {n_comparisons} comparisons failed:", *failures]))
    click.echo(f"{n_comparisons} comparisons of {len(comparisons_by_test)} tests passed")
    return comparisons_by_test


def format_comparison(comparison: Comparison) -> str:
    """A comparison as a line of text: verdict, quantity, measured and expected value, tolerance."""
    verdict = "right" if comparison.passed else "WRONG"
    numbers = (
        f"measured {comparison.measured:.6g}, expected {comparison.expected:.6g} within {comparison.tolerance:.2g}"
    )
    return f"{verdict}  {comparison.quantity}: {numbers}"


def to_json_values(comparison: Comparison) -> dict:
    """The values of a comparison for JSON: numbers that are not finite become texts."""
    values = {name: v if isinstance(v, str) else float(v) for name, v in asdict(comparison).items()}
    values = {name: str(v) if isinstance(v, float) and not math.isfinite(v) else v for name, v in values.items()}
    return values | {"passed": comparison.passed}
