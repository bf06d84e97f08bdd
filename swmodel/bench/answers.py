"""Whether a row computes correctly: its thickness and velocities after five steps, compared with the reference.

The difference, relative to the largest thickness and to the largest speed, may be TOLERANCE roundings of the precision:
sums in another order differ by a few. Rows of the model are checked twice. At their own size and precision each rank
reads its block of the reference's answer from a file. On a small grid in double precision the tolerance is 1.4e-14:
even the friction, which changes the jet by 1e-5 in five steps, must be right to 1e-9.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..config import Config, load
from ..executors.reference import Reference
from . import forcing
from .rows import Row

STEPS = 5
TOLERANCE = 64
#: The small grid of the check in double precision. Both numbers are products of small factors and more than one block.
SMALL = (96, 48)


def configuration(row: Row, folder=None, **options) -> Config:
    """The jet as the row runs it; environment variables have no effect on a benchmark.

    Args:
        folder: that of the answers, which also has the files of a row's fields.
        options: values that differ from the row's, as grid__nx.
    """
    options = {name.replace("__", "."): value for name, value in options.items()}
    given = {
        "grid.nx": row.nx,
        "grid.ny": row.ny,
        "run.dtype": row.dtype,
        "run.executor": row.executor,
        "run.nproc": row.nproc,
        "run.devices": row.devices,
        "run.transport": "auto" if row.transport == "mpi" else row.transport,
        "run.steps": 1,
    }
    given |= options
    if row.fields:
        given |= forcing.inputs(folder, given["grid.nx"], given["grid.ny"])
    given = [f"{name}={value}" for name, value in given.items()]
    return load("jet", [*given, *row.settings], environ={})


def answer(config: Config) -> np.ndarray:
    """The state of the reference after five steps, [fields, ny, nx]."""
    model = Reference(config)
    return np.stack(model.advance(model.start(), STEPS, config.time.dt).state)


def write_answer(row: Row, path: str) -> dict:
    """Write the reference's answer for the row's problem as a .npy file, whole or not at all, and the row's fields."""
    folder = Path(path).parent
    for size in ((row.nx, row.ny), SMALL) if row.fields else ():
        forcing.write(folder, *size)
    temporary = Path(path).with_suffix(".part.npy")
    np.save(temporary, answer(configuration(row, folder)))
    temporary.replace(path)
    return {"state": "ok"}


def differences(state, expected: np.ndarray, reduce) -> dict[str, float]:
    """Largest differences of the fields, in roundings of the largest thickness or speed in their precision.

    Args:
        state: State of this process's block.
        expected: the reference's [fields, ny, nx] on that block.
        reduce: function(values, "max") over all processes.
    """
    computed = np.stack([np.asarray(field) for field in state])
    worst = np.abs(computed.astype(float) - expected).max(axis=(1, 2))
    size = np.abs(expected).max(axis=(1, 2)).astype(float)
    worst, size = reduce(np.where(np.isfinite(worst), worst, np.inf), "max"), reduce(size, "max")
    speed = max(size[1:3])
    scale = np.array([size[0], speed, speed, *size[3:]]) * np.finfo(computed.dtype).eps
    return dict(zip(state._fields, (worst / np.where(scale > 0, scale, 1)).tolist(), strict=True))


def verdict(found: dict[str, float], where: str) -> str:
    """What is wrong with an answer; empty if it is right."""
    name = max(found, key=found.get)
    if found[name] <= TOLERANCE:
        return ""
    return (
        f"wrong answer {where}: after {STEPS} steps {name} differs from the reference by {found[name]:.3g} roundings "
        f"(at most {TOLERANCE} are right)"
    )
