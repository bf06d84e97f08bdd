"""How processes of the sharded transport find each other, and which devices each of them uses."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from conftest import ROOT

from swmodel.parallel.environment import RankInfo
from swmodel.parallel.transport import join

pytestmark = pytest.mark.night

SLURM_VARIABLES = {"SLURM_STEP_NODELIST": "node[007-008]", "SLURM_STEP_NUM_TASKS": "4"}

AGREEMENT_PROGRAM = """
import json
from swmodel.parallel.environment import get_rank_info
from swmodel.parallel.transport.join import initialize_distributed
place = get_rank_info()
store = initialize_distributed(place, 1)
first, second = store.allgather((place.rank, {"a": None})), store.allgather("x" * 100_000 + str(place.rank))
print(json.dumps([first, [text[-1] for text in second], [len(text) for text in second]]))
"""


def slurm_environment(rank, job):
    """The environment that srun gives to one of two processes on this machine."""
    environ = {"JOB_ID": job, "STEP_NODELIST": "localhost", "NTASKS": 2, "PROCID": rank, "LOCALID": rank}
    environ |= {"STEP_NUM_TASKS": 2, "STEP_TASKS_PER_NODE": "2"}
    return os.environ | {f"SLURM_{name}": str(value) for name, value in environ.items()} | {"PYTHONPATH": str(ROOT)}


def test_processes_of_slurm_find_each_other_and_agree():
    line, pipe = [sys.executable, "-c", AGREEMENT_PROGRAM], {"stdout": subprocess.PIPE, "text": True}
    both = [subprocess.Popen(line, env=slurm_environment(rank, os.getpid()), **pipe) for rank in range(2)]
    try:
        found = [json.loads(process.communicate(timeout=60)[0]) for process in both]
    finally:
        for process in both:
            process.kill()
    assert found == 2 * [[[[0, {"a": None}], [1, {"a": None}]], ["0", "1"], [100_001, 100_001]]]


def test_wrong_key_is_named_also_where_mpi_knows_no_others():
    line = [sys.executable, "-m", "swmodel", "run", "jet", "--transport", "sharded", "-s", "grid.nz=3"]
    done = subprocess.run(line, env=slurm_environment(0, 7), capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert (done.stderr.count("-s grid.nz=3"), len(done.stderr.splitlines())) == (1, 1)


@pytest.mark.parametrize(
    ("environ", "hosts", "address"),
    [
        ({"JAX_COORDINATOR_ADDRESS": "node7:1234", **SLURM_VARIABLES}, "", "node7:1234"),
        (SLURM_VARIABLES, "", None),  # for JAX to find
        ({}, "aabb", "a:1"),  # from MPI
        ({}, "aaaa", "127.0.0.1:1"),
        (SLURM_VARIABLES | {"SLURM_STEP_NUM_TASKS": "2"}, "aabb", "a:1"),  # under an mpiexec that srun has started
    ],
)
def test_first_process_is_where_environment_or_mpi_says(monkeypatch, environ, hosts, address):
    comm = SimpleNamespace(allgather=lambda value: [(host, number) for number, host in enumerate(hosts, 1)])
    monkeypatch.setattr(os, "environ", environ)
    monkeypatch.setattr(join, "mpi_world", lambda place: comm if hosts else pytest.fail("MPI is asked"))
    assert join.coordinator_address(RankInfo(1, 4)) == address


@pytest.mark.fault("killed ranks left MPICH's shared memory, and Slurm requeues the job")
def test_shared_memory_of_killed_ranks_is_removed(monkeypatch, tmp_path):
    """In a requeued job MPICH's shared memory has the same name: MPI_Init hangs or crashes with the old one."""
    left, others, young = (tmp_path / name for name in ("mpich_shm_1_0", "sem", "mpich_shm_3_0"))
    for path in (left, others, young):
        path.touch()
        if path != young:
            os.utime(path, (1e9, 1e9))
    monkeypatch.setattr(join, "program_start_time", lambda: 1.5e9)
    join.clear_shared_memory(tmp_path)
    assert left.exists(), "the job was not requeued: another step of it may be about to use the memory"
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    join.clear_shared_memory(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted((others, young))


@pytest.mark.parametrize(
    ("environ", "own"),
    [
        ({}, [2, 3]),  # of all GPUs of the machine
        ({"CUDA_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7"}, [2, 3]),  # srun lets all processes of a node see all its GPUs
        ({"CUDA_VISIBLE_DEVICES": "0,GPU-a"}, [0, 1]),  # srun lets each process see only its own
        ({"CUDA_VISIBLE_DEVICES": ""}, None),
    ],
)
def test_each_process_takes_its_share_of_gpus(monkeypatch, environ, own):
    monkeypatch.setattr(join, "has_gpu", lambda: True)
    monkeypatch.setattr(os, "environ", environ)
    assert join.local_device_ids(RankInfo(5, 8, 4, 1), 2) == own
