"""The table [run]: length, precision, executor and processes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from ...ocean.option import Deferred, Duration, Section, option, parse_duration


class RunOptions(Section):
    """Length, precision, executor and processes of a run."""

    steps: Deferred[int] = option(None, "steps", "length of the run in steps (or give days)", ge=0)
    days: float | None = option(None, "days", "length of the run in model days (or give steps)", ge=0)
    dtype: Literal["float32", "float64"] = option("float32", "", "precision of the state")
    executor: Literal["auto", "native", "cuda", "xla", "reference"] = option(
        "auto", "", "back end that computes a block"
    )
    transport: Literal["auto", "serial", "mpi", "sharded"] = option("auto", "", "halo exchange between blocks")
    exchange: Literal["auto", "mpi4jax", "ffi"] = option(
        "auto",
        "",
        "what sends MPI messages: mpi4jax, or swmodel's own foreign function calls (ffi); auto: mpi4jax if present",
    )
    nproc: int = option(1, "processes", "number of processes", ge=1, le=10**6)
    devices: int = option(1, "devices", "devices of each process, for the sharded transport", ge=1, le=10**4)
    layout: str = option(
        "", "", "blocks in y and x, e.g. 2x3; empty: the shortest halos", pattern=r"^([1-9]\d{0,9}x[1-9]\d{0,9})?$"
    )
    reproducible: bool = option(False, "", "whether xla gives the same bits on every layout, a few percent slower")
    walltime: Duration | None = option(
        None, "s", 'wall-clock time after which the run stops with a restart, as seconds or "2 h"'
    )
    check_every_steps: int | None = option(
        None,
        "steps",
        "largest number of steps between health checks of the state; none: as many as take half a second",
        ge=1,
    )
    watchdog: Annotated[float, BeforeValidator(parse_duration)] = option(
        600.0, "s", 'wall-clock time without progress after which the run is aborted, such as "10 min"; 0: never', ge=0
    )

    @property
    def blocks(self) -> int:
        """Number of blocks: one for each device of each process."""
        return self.nproc * self.devices


def keys_to_reset(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Keys of `run` that return to their defaults when the number of processes or devices, or the transport, changes.

    These are the layout and the transport, if the layout fits the earlier numbers of processes and devices, and the
    devices, if the transport changes from sharded to one with one device per process.
    """
    keys = []
    if before["transport"] == "sharded" and after["transport"] in ("serial", "mpi"):
        keys, after = ["devices"], {**after, "devices": 1}
    counts_before, counts_after = ((run["nproc"], run["devices"]) for run in (before, after))
    layout = re.fullmatch(r"(\d{1,10})x(\d{1,10})", str(before["layout"]))
    if counts_before == counts_after or not layout or not all(isinstance(number, int) for number in counts_before):
        return keys
    return [*keys, "layout", "transport"] if int(layout[1]) * int(layout[2]) == math.prod(counts_before) else keys
