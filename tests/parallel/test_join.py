"""How processes of the sharded transport find each other, and which devices each takes."""

import json
import mmap
import os
import re
import socket
import subprocess
import sys
import time
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from conftest import ROOT

from swmodel.cli.rank_checks import Refused, check_gpus
from swmodel.errors import SetupError
from swmodel.parallel import environment
from swmodel.parallel.environment import World
from swmodel.parallel.transport import join, rendezvous

SLURM = {"SLURM_STEP_NODELIST": "node[007-008]", "SLURM_STEP_NUM_TASKS": "4"}

AGREE = """
import json, os, sys
from swmodel.parallel.environment import world
from swmodel.parallel.transport.join import join
place = world()
store = join(place, 1, os.environ.get("JAX_COORDINATOR_ADDRESS"))
first, second = store.allgather((place.rank, {"a": None})), store.allgather("x" * 100_000 + str(place.rank))
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
    assert found == 2 * [[[[0, {"a": None}], [1, {"a": None}]], ["0", "1"], [100_001, 100_001]]]


def test_what_is_wrong_with_the_command_is_said_where_mpi_does_not_know_the_others_either():
    line = [sys.executable, "-m", "swmodel", "run", "jet", "--transport", "sharded", "-s", "grid.nz=3"]
    done = subprocess.run(line, env=of_slurm(0, 7), capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: -s grid.nz=3: no such key")
    assert len(done.stderr.splitlines()) == 1


IMPATIENT = """
import sys
from swmodel.cli import main
from swmodel.parallel.transport import join
join.START = 1
sys.argv[1:] = ["run", "jet", "--transport", "sharded", "--steps", "1", "-o", "nowhere"]
main()
"""


@pytest.mark.parametrize(("rank", "spawned", "why"), [(0, True, "already in use"), (1, False, "refused")])
def test_processes_that_cannot_meet_say_so_once_and_soon(rank, spawned, why):
    """The first finds its port taken, another one nobody who answers."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        address = "{}:{}".format(*other.getsockname())
        if rank == 0:
            other.listen()
        environ = {"JAX_COORDINATOR_ADDRESS": address}
        environ |= {"SWMODEL_RANK": str(rank), "SWMODEL_SIZE": "2"} if spawned else {}
        begin = time.monotonic()
        line = [sys.executable, "-c", IMPATIENT]
        done = subprocess.run(line, env=of_slurm(rank, 7) | environ, capture_output=True, text=True, timeout=60)
    assert time.monotonic() - begin < 20
    assert done.returncode == 3
    advice = "" if spawned else "; give the first one's HOST:PORT in JAX_COORDINATOR_ADDRESS"
    assert re.fullmatch(
        rf"Error: the 2 processes do not find each other at {address} \(.*{why}\){advice}\n", done.stderr
    )


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

    monkeypatch.setattr(os, "environ", environ)
    for hosts, address in (("aabb", "a:1"), ("aaaa", "127.0.0.1:1")):
        comm = SimpleNamespace(allgather=lambda value, hosts=hosts: [(host, n) for n, host in enumerate(hosts, 1)])
        monkeypatch.setattr(rendezvous, "mpi_world", lambda place, comm=comm: comm)
        assert rendezvous.first_process(World(1, 4)) == address


def test_what_killed_ranks_of_a_job_have_left_is_removed_when_it_is_put_back_and_nothing_else(monkeypatch, tmp_path):
    """MPICH's shared memory has the same name in a job that is put back: MPI_Init hangs or crashes on the old one."""
    left, others, mapped, young = (
        tmp_path / name for name in ("mpich_shm_1_0", "sem", "mpich_shm_2_0", "mpich_shm_3_0")
    )
    for path in (left, others, mapped, young):
        path.write_bytes(bytes(10))
        os.utime(path, (1e9, 1e9))
    young.touch()
    with mapped.open() as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ):
        monkeypatch.setattr(rendezvous, "started", lambda: 1.5e9)
        rendezvous.clear_shared_memory(tmp_path)
        assert left.exists(), "not put back: another step of the job may be about to use it"
        monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
        rendezvous.clear_shared_memory(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted((others, mapped, young))


@pytest.mark.parametrize(
    ("visible", "spawned", "place", "devices", "own"),
    [
        (8, False, World(5, 8, 4, 1), 2, [2, 3]),  # srun lets all processes of a node see its GPUs
        (2, False, World(5, 8, 4, 1), 2, [0, 1]),  # or each its own
        (4, True, World(1, 2, 2, 1), 2, [2, 3]),
        (None, True, World(1, 2, 2, 1), 2, [2, 3]),  # another maker's, which nobody has counted
        (0, True, World(1, 2, 2, 1), 2, None),  # hidden, as from one process alone: processors
        (1, False, World(5, 8, 4, 1), 2, "2 devices are asked for, and there are 1"),
        (3, True, World(1, 2, 2, 1), 2, "4 devices are asked for, and there are 3"),
    ],
)
def test_each_process_takes_its_share_of_the_gpus(monkeypatch, visible, spawned, place, devices, own):
    monkeypatch.setattr(join, "has_gpu", lambda: True)
    monkeypatch.setattr(join, "visible_gpus", lambda: visible if visible is None else list(map(str, range(visible))))
    monkeypatch.setattr(os, "environ", {"SWMODEL_RANK": "1"} if spawned else {})
    if isinstance(own, str):
        with pytest.raises(SetupError, match=own):
            join.own_devices(place, devices)
    else:
        assert join.own_devices(place, devices) == own


@pytest.mark.parametrize(
    ("host", "gpus", "shared"),
    [
        ("node7", ["2 of nvidia0", "3 of nvidia0"], False),
        ("node8", ["0 of nvidia0", "1 of nvidia0"], False),
        ("node7", [], False),
        ("node7", ["1 of nvidia0"], True),
    ],
)
def test_processes_with_one_gpu_between_them_are_refused(host, gpus, shared):
    both = [["node7", ["0 of nvidia0", "1 of nvidia0"]], [host, gpus]]
    refused = pytest.raises(Refused, match="ranks 0 and 1 have the same GPU, number 1") if shared else nullcontext()
    with refused:
        check_gpus(SimpleNamespace(gpus=(), allgather=lambda value: both))


@pytest.mark.parametrize(("limit", "least"), [(600.0, 900), (3600.0, 4500), (4.0, 700), (0.0, 10**8)])
def test_jax_ends_silent_processes_only_after_the_watchdog(limit, least):
    """Which takes the limit, at least ten minutes until the first step, and up to a seventh more to look and to ask."""
    assert join.longest_silence(limit) >= least


@pytest.mark.parametrize(
    ("environ", "names"),
    [
        ({}, ["0 of nvidia0, nvidia2", "1 of nvidia0, nvidia2"]),
        ({"CUDA_VISIBLE_DEVICES": "1, GPU-a"}, ["1 of nvidia0, nvidia2", "GPU-a of nvidia0, nvidia2"]),
        ({"CUDA_VISIBLE_DEVICES": ""}, []),
        ({"CUDA_VISIBLE_DEVICES": "0,1", "JAX_PLATFORMS": "cpu"}, None),
    ],
)
def test_the_gpus_that_a_process_sees_are_named_without_jax(monkeypatch, tmp_path, environ, names):
    monkeypatch.setattr(environment, "has_gpu", lambda: True)
    for number in (0, 2):
        (tmp_path / f"nvidia{number}").touch()
    assert environment.visible_gpus(environ, tmp_path) == names
