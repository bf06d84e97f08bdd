"""Compile the steps of the cases at installation: python -m swmodel.model.build_steps [FOLDER].

SWMODEL_INSTRUCTIONS chooses the instruction set, like the compiler's -march.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..cases import names
from ..config import load
from ..executors.native import request_of
from ..executors.native.step_library import PREBUILT_FOLDER, StepRequest, compile_into, instructions
from ..setup.setup import setup_of


def step_requests() -> list[StepRequest]:
    """The distinct steps of the cases with default settings, except cases with drying, which take long to compile."""
    setups = (setup_of(load(name, {}, environ={})) for name in names())
    return list(dict.fromkeys(request_of(setup) for setup in setups if not setup.scheme.drying))


def main(folder: Path) -> None:
    """Compile all missing steps, several at a time, and delete other libraries; print a message if this fails."""
    folder.mkdir(parents=True, exist_ok=True)
    march = instructions().split()[0]
    request_by_path = {folder / request.library_name(instructions()): request for request in step_requests()}
    for unused_path in (path for path in folder.glob("*.so") if path not in request_by_path):
        unused_path.unlink()
    missing_requests = {target: request for target, request in request_by_path.items() if not target.exists()}
    try:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda target: compile_into(target, missing_requests[target], march), missing_requests))
    except Exception as error:  # the installation continues without them
        print(f"swmodel: {error}; steps are compiled at first use", file=sys.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PREBUILT_FOLDER)
