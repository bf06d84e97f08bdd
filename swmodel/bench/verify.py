"""`swmodel verify`: the known answers on this machine, as a table, a picture and a JSON file."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import click

from ..errors import AnswerError, UsageError, file_errors, suggest
from ..files.draft import write_text
from ..plotting.files import save
from ..plotting.known_answers import picture
from .known_answers import KNOWN, Answer, Known


def chosen(names: Iterable[str], quick: bool) -> list[Known]:
    """The known answers `names`; without names all, or the quick ones."""
    names = list(dict.fromkeys(names))
    for name in names:
        if name not in KNOWN:
            raise UsageError(f"there is no known answer {name}; {suggest(name, KNOWN)}")
    found = [KNOWN[name] for name in names or KNOWN]
    return [one for one in found if names or one.quick or not quick]


def verify(names: Iterable[str] = (), quick: bool = False, output: Path | None = None) -> dict[str, list[Answer]]:
    """Compute known answers, print each, and write a picture and a JSON file into the folder `output`, if given.

    Returns:
        {name: its Answers}.

    Raises:
        UsageError: no such answer.
        AnswerError: an answer is wrong; the message has the differences.
    """
    selected, found = chosen(names, quick), {}
    if output:
        with file_errors(output, "written"):
            output.mkdir(parents=True, exist_ok=True)
    for known in selected:
        begin = time.perf_counter()
        click.echo(f"{known.name}: {known.about}\n    Source: {known.source}")
        found[known.name] = list(known.compute())
        for answer in found[known.name]:
            click.echo(f"    {line(answer)}")
        click.echo(f"    {time.perf_counter() - begin:.1f} s")
    if output:
        rows = {name: [as_json(answer) for answer in answers] for name, answers in found.items()}
        write_text(output / "verify.json", json.dumps(rows, indent=1))
        save(picture(found), output / "verify.png")
    wrong = [f"{name}: {line(each)}" for name, answers in found.items() for each in answers if not each.right]
    number = sum(map(len, found.values()))
    if wrong:
        raise AnswerError("\n".join([f"{len(wrong)} of {number} answers are wrong:", *wrong]))
    click.echo(f"{number} answers of {len(found)} kinds are right")
    return found


def line(answer: Answer) -> str:
    """An answer as a line: verdict, words, measured and expected value, tolerance."""
    verdict = "right" if answer.right else "WRONG"
    numbers = f"measured {answer.measured:.6g}, expected {answer.expected:.6g} within {answer.tolerance:.2g}"
    return f"{verdict}  {answer.what}: {numbers}"


def as_json(answer: Answer) -> dict:
    """An answer as JSON holds it: numbers that are not finite become texts."""
    values = {name: v if isinstance(v, str) else float(v) for name, v in asdict(answer).items()}
    values = {name: str(v) if isinstance(v, float) and not math.isfinite(v) else v for name, v in values.items()}
    return values | {"right": answer.right}
