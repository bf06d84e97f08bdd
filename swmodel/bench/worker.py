"""The processes of one row: `run` starts them like `swmodel run`; each performs a task, and rank 0 sends the result.

A task is a dict with the key "do" ("measure", "reference", "devices" or "triad") and others that `do_task` reads.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections import deque
from pathlib import Path

import numpy as np

from ..model import launch, progress
from ..parallel import environment
from .sweeps import BenchRow


class WorkerError(Exception):
    """A worker ended without a result; the message is the line of its output that best explains why."""


def make_command(row: BenchRow, launcher: str = "") -> list[str]:
    """The command that starts a row's processes: Python itself for one, the launcher of `swmodel run` for several."""
    worker = [sys.executable, "-P", "-m", "swmodel.bench.worker"]
    if row.nproc == 1:
        return worker
    if launcher:
        return [*shlex.split(launcher), "-n", str(row.nproc), *worker]
    return launch.launcher_command(row.nproc, row.transport) + worker


def format_command(row: BenchRow, launcher: str = "") -> str:
    """The command as it is stored in the record, without folders of this machine."""
    return " ".join(Path(word).name for word in [*make_command(row, launcher), "TASK"])


def run(row: BenchRow, task: dict, launcher: str = "") -> dict:
    """Start the processes of a row on a task and wait for the result; a WorkerError if there is none."""
    task = task | {"row": vars(row), "launched": time.time()}
    words = [*make_command(row, launcher), json.dumps(task)]
    environ = launch.rank_environment(row.nproc if row.oversubscribed else 1)
    environ.pop("JAX_PLATFORMS", None)
    environ |= {"JAX_PLATFORMS": "cpu"} if row.platform == "cpu" else {}
    environ |= {"NPROC": str(row.threads)} if row.threads else {}
    process = launch.start_processes(words, row.nproc, env=environ)
    result, lines = None, deque[str](maxlen=40)
    assert process.stdout  # a pipe
    try:
        with process.stdout as stream:
            for text in stream:
                message = progress.parse_message(text)
                result = result if message is None else message
                if message is None:
                    lines.append(text.strip())
        process.wait()
    finally:
        if process.poll() is None:
            launch.kill_session(process)
            process.wait()
    if result is None:
        raise WorkerError(choose_error_line(lines, process.returncode))
    return result


def choose_error_line(lines, returncode: int) -> str:
    """The line that best explains the failure of a worker."""
    noise_prefixes = ("=", "jax.errors", "For simpl")
    lines = [line for line in lines if not line.startswith(noise_prefixes) and not launch.LAUNCHER_NOISE.match(line)]
    errors = [line for line in lines if "Error" in line]
    return (errors or lines or [f"ended with exit code {returncode}"])[-1]


def main(text: str):
    """Perform the task in the JSON text, as one process of a row."""
    task = json.loads(text)
    row, rank_info = BenchRow(**task.pop("row")), environment.get_rank_info()
    sharded = row.transport == "sharded"
    if row.platform == "gpu" and rank_info is not None and not sharded:
        own_device = str(rank_info.local_rank)  # the device whose number is that of this rank on its node
        if allowed_devices := [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]:
            own_device = allowed_devices[rank_info.local_rank % len(allowed_devices)]
        os.environ["CUDA_VISIBLE_DEVICES"] = own_device
    environment.prepare_environment(rank_info=rank_info, devices=row.devices)
    if sharded and rank_info is not None:
        from ..parallel.transport.join import initialize_distributed

        initialize_distributed(rank_info, row.devices)
    result = do_task(row, task)
    if rank_info is None or rank_info.rank == 0:
        progress.send_message(result)


def do_task(row: BenchRow, task: dict) -> dict:
    """The result of a task on this process, as JSON values."""
    import jax

    from . import model_samples, part_samples, process_measures, reference_check

    if task["do"] == "reference":
        np.save(task["reference_file"], reference_check.compute_reference(reference_check.make_config(row)))
        return {}
    if task["do"] == "devices":
        gpus = [each.device_kind for each in jax.devices() if each.platform == "gpu"]
        return {"gpus": gpus, "bandwidth": process_measures.measure_bandwidth() if gpus else None}
    if task["do"] == "triad":
        return process_measures.measure_bandwidth(task["elements"], task["trials"])
    measure_functions = {
        "output": model_samples.measure_output,
        "ensemble": model_samples.measure_ensemble,
        "gradient": model_samples.measure_gradient,
        "halo": part_samples.measure_exchange,
        "fft": part_samples.measure_transforms,
    }
    return measure_functions.get(row.measure, model_samples.measure_model)(row, task)


if __name__ == "__main__":
    main(sys.argv[1])
