"""The promised speed of the native step, compared with results of the sweep `native`."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .markdown import digits, markdown, percent
from .numbers import Numbers, numbers

LARGE, SMALL = (3600, 1800), (360, 180)
ONE_STEP = {"steps_per_sweep": 1}
#: Everything switched on, with quadratic drag too.
ON = {"fields": True, "settings": ("physics.linear_drag=1e-6",)}
MORE = {"fields": True, "settings": (*ON["settings"], "physics.quadratic_drag=1e-3")}


class Promise(NamedTuple):
    """A promised number, a lower or an upper bound, and how it follows from the rows.

    `measured(rows)` calls `pick`; it raises LookupError if a row is missing.
    """

    text: str
    limit: float
    least: bool
    measured: Callable[[list[Numbers]], float]
    shown: Callable[[float], str] = digits

    def kept(self, value: float) -> bool:
        """Whether the measured value is as good as promised."""
        return value >= self.limit if self.least else value <= self.limit


def pick(
    rows: list[Numbers], size=LARGE, nproc=1, steps_per_sweep=None, dtype="float32", settings=(), fields=False
) -> Numbers:
    """The native row with these properties.

    Raises:
        LookupError: there is none.
    """
    wanted = ("native", *size, nproc, steps_per_sweep, dtype, settings, fields)
    names = ("executor", "nx", "ny", "nproc", "steps_per_sweep", "dtype", "settings", "fields")
    for one in rows:
        if tuple(getattr(one.row, name) for name in names) == wanted:
            return one
    raise LookupError(wanted)


def over(first: dict, second: dict) -> Callable[[list[Numbers]], float]:
    """Time of a step in one row, divided by that in another."""
    return lambda rows: pick(rows, **first).step / pick(rows, **second).step


def fastest_share(rows: list[Numbers]) -> float:
    """The share of the triad of the faster of one and two processes, with as many steps in a sweep as in a run."""
    return max(pick(rows, nproc=n).share or 0 for n in (1, 2))


PROMISES = (
    Promise("3600 x 1800, 1 step a sweep: of triad", 0.85, True, lambda r: pick(r, **ONE_STEP).share or 0, percent),
    Promise("several steps a sweep, faster of 1 and 2 processes: of triad", 1.4, True, fastest_share, percent),
    Promise("360 x 180: Mcells/s", 1300, True, lambda r: pick(r, SMALL).rate / 1e6),
    Promise("2 processes over 1, 1 step a sweep: time", 1.1, False, over({"nproc": 2} | ONE_STEP, ONE_STEP)),
    Promise("2 processes over 1, several steps a sweep: time", 1.1, False, over({"nproc": 2}, {})),
    Promise("float64 over float32: time", 2.1, False, over({"dtype": "float64"}, {})),
    Promise("bathymetry, land, wind, linear drag over jet: time", 1.6, False, over(ON, {})),
    Promise("the same and quadratic drag over jet: time", 1.6, False, over(MORE, {})),
)


def promised(record: dict, named: bool = False) -> str:
    """The promises whose rows the record holds, as a table; headed by the record's machine if `named`."""
    rows, lines = numbers(record), []
    for promise in PROMISES:
        try:
            value = promise.measured(rows)
        except LookupError:
            continue
        wanted = f"{'at least' if promise.least else 'at most'} {promise.shown(promise.limit)}"
        lines.append([promise.text, wanted, promise.shown(value), "yes" if promise.kept(value) else "no"])
    if not lines:
        return ""
    head = "promise" + (f", {record['label']}" if named else "")
    heads = [head, "promised", "measured", "kept"]
    return markdown(heads, lines, left=frozenset({head}))
