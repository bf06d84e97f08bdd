"""The table [run]: how long, how precisely and on what to compute."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from ...ocean.option import Duration, Section, option, parse_duration


class Run(Section):
    """How long, how precisely and on what to compute."""

    steps: int | None = option(None, "steps", "length of the run in steps (or give days)", ge=0)
    days: float | None = option(None, "days", "length of the run in model days (or give steps)", ge=0)
    dtype: Literal["float32", "float64"] = option("float32", "", "precision of the state")
    executor: Literal["auto", "native", "xla", "reference"] = option("auto", "", "who computes a block")
    transport: Literal["auto", "serial", "mpi", "sharded"] = option("auto", "", "how blocks talk to each other")
    nproc: int = option(1, "processes", "number of processes", ge=1, le=10**6)
    devices: int = option(1, "devices", "devices of each process, for the sharded transport", ge=1, le=10**4)
    layout: str = option(
        "", "", "blocks in y and x, as 2x3; empty chooses the shortest halos", pattern=r"^([1-9]\d{0,9}x[1-9]\d{0,9})?$"
    )
    reproducible: bool = option(False, "", "the same bits for every layout, some percent slower")
    walltime: Duration | None = option(
        None, "s", 'wall-clock time after which the run stops with a restart, as seconds or "2 h"'
    )
    check_every_steps: int | None = option(
        None, "steps", "most steps between two looks at the state's health; without it, those of half a second", ge=1
    )
    watchdog: Annotated[float, BeforeValidator(parse_duration)] = option(
        600.0, "s", 'wall-clock time without progress after which a stuck run is ended, or "10 min"; 0: never', ge=0
    )

    @property
    def blocks(self) -> int:
        """Number of blocks: one for each device of each process."""
        return self.nproc * self.devices


def outdated(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Keys of `run` that go back to their defaults where values of it change, as in the config.toml of a run.

    Devices where the transport becomes one with a single device in a process; a layout made for another number of
    blocks; the transport with it, or where there are more devices than it serves, except the sharded one, which serves
    any number.
    """
    keys = []
    if before["transport"] == "sharded" and after["transport"] in ("serial", "mpi"):
        keys += ["devices"]
        after = {**after, "devices": 1}
    number, other = (run["nproc"] * run["devices"] for run in (before, after))
    if made_for(str(before["layout"]), number):
        keys += ["layout"] if number != other else []
        if before["transport"] != "sharded" and (number != other or after["devices"] > before["devices"]):
            keys += ["transport"]
    return keys


def made_for(layout: str, blocks: int) -> bool:
    """Whether the layout "PYxPX" has so many blocks."""
    return bool(re.fullmatch(r"\d{1,10}x\d{1,10}", layout)) and math.prod(map(int, layout.split("x"))) == blocks
