"""How processes of the sharded transport find each other, and which devices each takes."""

import json
import os
import subprocess
import sys

import pytest
from conftest import ROOT

from swmodel import environment
from swmodel.environment import World
from swmodel.errors import SetupError
from swmodel.transport import join, rendezvous

SLURM = {"SLURM_STEP_NODELIST": "node[007-008]", "SLURM_STEP_NUM_TASKS": "4"}

AGREE = """
import json, os, sys
from swmodel.environment import world
from swmodel.transport.join import join
place = world()
store = join(place, 1, os.environ.get("JAX_COORDINATOR_ADDRESS"))
first, second = store.allgather(place.rank), store.allgather("x" * 100_000 + str(place.rank))
print(json.dumps([first, [text[-1] for text in second], [len(text) for text in second]]))
"""


def of_slurm(rank, job):
    """What srun sets for a process of two on this machine."""
    environ = {"JOB_ID": job, "STEP_NODELIST": "localhost", "NTASKS": 2, "PROCID": rank, "LOCALID": rank}
    environ |= {"STEP_NUM_TASKS": 2, "STEP_TASKS_PER_NODE": "2"}
    return os.environ | {f"SLURM_{name}": str(value) for name, value in environ.items()} | {"PYTHONPATH": str(ROOT)}


def test_processes_find_each_other_by_what_slurm_tells_and_agree():
    both = [
        subprocess.Popen(
            [sys.executable, "-c", AGREE], env=of_slurm(rank, os.getpid()), stdout=subprocess.PIPE, text=True
        )
        for rank in range(2)
    ]
    try:
        found = [json.loads(process.communicate(timeout=60)[0]) for process in both]
    finally:
        for process in both:
            process.kill()
    assert found == 2 * [[[0, 1], ["0", "1"], [100_001, 100_001]]]


@pytest.mark.parametrize(
    ("environ", "address"),
    [
        ({"JAX_COORDINATOR_ADDRESS": "node7:1234"}, "node7:1234"),
        ({"JAX_COORDINATOR_ADDRESS": "node7:1234", **SLURM}, "node7:1234"),
        (SLURM, None),  # for JAX to find
    ],
)
def test_the_first_process_is_where_the_environment_says(monkeypatch, environ, address):
    monkeypatch.setattr(os, "environ", environ)
    monkeypatch.setattr(rendezvous, "mpi_world", pytest.fail)
    assert rendezvous.first_process(World(1, 4)) == address


@pytest.mark.parametrize("environ", [{}, SLURM | {"SLURM_STEP_NUM_TASKS": "2"}])
def test_else_mpi_tells_it(monkeypatch, environ):
    """Also below an mpiexec that srun has started, one on each node."""

    class World4:
        def bcast(self, value):
            return value or "of rank 0"

    monkeypatch.setattr(os, "environ", environ)
    monkeypatch.setattr(rendezvous, "mpi_world", lambda place: World4())
    assert rendezvous.first_process(World(1, 4)) == "of rank 0"
    host, port = rendezvous.first_process(World(0, 4)).rsplit(":", 1)
    assert host
    assert int(port) > 0


def test_processes_that_nothing_tells_of_each_other_are_refused():
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    program = "from swmodel.transport.join import join, World; join(World(0, 2), 1, None)"
    done = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, timeout=60)
    assert "SetupError: the 2 processes do not find where the first of them is (" in done.stderr
    assert "give the first one's HOST:PORT in JAX_COORDINATOR_ADDRESS" in done.stderr


@pytest.mark.parametrize(
    ("visible", "spawned", "place", "devices", "own"),
    [
        (8, False, World(5, 8, 4, 1), 2, [2, 3]),  # srun lets all processes of a node see its GPUs
        (2, False, World(5, 8, 4, 1), 2, [0, 1]),  # or each its own
        (4, True, World(1, 2, 2, 1), 2, [2, 3]),
        (None, True, World(1, 2, 2, 1), 2, [2, 3]),  # processors, of which JAX makes as many as asked for
        (1, False, World(5, 8, 4, 1), 2, "2 devices are asked for, and there are 1"),
        (3, True, World(1, 2, 2, 1), 2, "4 devices are asked for, and there are 3"),
    ],
)
def test_each_process_takes_its_share_of_the_gpus(monkeypatch, visible, spawned, place, devices, own):
    monkeypatch.setattr(join, "gpus_visible", lambda: visible)
    monkeypatch.setattr(os, "environ", {"SWMODEL_RANK": "1"} if spawned else {})
    if isinstance(own, list):
        assert join.own_devices(place, devices) == own
    else:
        with pytest.raises(SetupError, match=own):
            join.own_devices(place, devices)


@pytest.mark.parametrize(
    ("environ", "number"),
    [
        ({"CUDA_VISIBLE_DEVICES": "0,1,5"}, 3),
        ({"CUDA_VISIBLE_DEVICES": ""}, 0),
        ({"CUDA_VISIBLE_DEVICES": "0,1", "JAX_PLATFORMS": "cpu"}, None),
    ],
)
def test_the_gpus_that_a_process_sees_are_counted_without_jax(monkeypatch, environ, number):
    monkeypatch.setattr(environment, "has_gpu", lambda: True)
    assert environment.gpus_visible(environ) == number
