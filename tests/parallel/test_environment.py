"""The rank that launchers give a process, and how processes of the sharded transport find each other and GPUs."""

import os
from types import SimpleNamespace

import pytest
from support.faults import run_swmodel

from swmodel.errors import SetupError
from swmodel.parallel import environment
from swmodel.parallel.environment import RankInfo
from swmodel.parallel.transport import join

OPEN_MPI = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}
#: Variables of srun for the second process on the second of two machines, each of which runs four.
SRUN = {"SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "8", "SLURM_STEP_TASKS_PER_NODE": "4(x2)", "SLURM_LOCALID": "1"}
#: Variables of a rank of mpiexec, which srun has started on each node.
MPIEXEC_OF_SRUN = {"SLURM_STEP_NUM_TASKS": "2", "PMI_RANK": "3", "PMI_SIZE": "8", "MPI_LOCALNRANKS": "2"}


@pytest.fixture
def environ(monkeypatch):
    """A separate, empty environment of this process, as a dict, on what seems to be a machine with 8 cores."""
    values = {}
    monkeypatch.setattr(os, "environ", values)
    monkeypatch.setattr(environment, "n_cores", lambda: 8)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    return values


@pytest.mark.parametrize(
    ("environ", "rank_info"),
    [
        ({}, None),
        ({"PMI_RANK": "2", "PMI_SIZE": "6", "MPI_LOCALNRANKS": "3"}, RankInfo(2, 6, 3)),
        ({"SWMODEL_RANK": "1", "SWMODEL_SIZE": "2", "PMI_RANK": "0", "PMI_SIZE": "4"}, RankInfo(1, 2, 2, 1)),
        ({"PMI_RANK": "0", "PMI_SIZE": "1"}, None),  # one process, or srun around another launcher
        (OPEN_MPI, RankInfo(1, 4, 2)),
        (SRUN, RankInfo(5, 8, 4, 1)),
        (SRUN | {"PMI_RANK": "5", "PMI_SIZE": "8"}, RankInfo(5, 8, 4, 1)),  # srun --mpi=pmi2; the local rank is Slurm's
        (SRUN | MPIEXEC_OF_SRUN, RankInfo(3, 8, 2)),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "8", "SLURM_JOB_ID": "1"}, None),  # a batch script, outside srun
    ],
)
def test_rank_and_size_are_those_of_the_launcher(environ, rank_info):
    assert environment.get_rank_info(environ) == rank_info


@pytest.mark.fault("an environment variable of a launcher that is no number")
@pytest.mark.parametrize("environ", [{"PMI_RANK": "junk", "PMI_SIZE": "2"}, {"PMI_RANK": "0", "PMI_SIZE": "junk"}])
def test_variable_of_launcher_that_is_no_number_is_named(environ):
    with pytest.raises(SetupError, match="=junk"):
        environment.get_rank_info(environ)


@pytest.mark.parametrize(("local_size", "threads"), [(8, "1"), (3, "2"), (16, "1"), (1, None)])
def test_ranks_share_cores_and_single_process_uses_all(environ, local_size, threads):
    environment.prepare_environment(rank_info=RankInfo(0, local_size, local_size))
    assert environ.get("NPROC") == threads
    assert environ.get("JAX_CPU_ENABLE_ASYNC_DISPATCH") == (threads and "false")
    assert ("MPIR_CVAR_POLLS_BEFORE_YIELD" in environ) == (local_size > 8)


def test_environment_set_by_user_is_not_overwritten(environ):
    environ |= {"NPROC": "3", "JAX_PLATFORMS": "cuda", "XLA_FLAGS": "--xla_dump_to=/tmp/dump"}
    for _ in range(2):
        environment.prepare_environment(reproducible=True, rank_info=RankInfo(0, 8, 8))
        assert (environ["NPROC"], environ["JAX_PLATFORMS"]) == ("3", "cuda")
        assert {"--xla_dump_to=/tmp/dump", "--xla_cpu_max_isa=AVX"} <= set(environ["XLA_FLAGS"].split())


SLURM_VARIABLES = {"SLURM_STEP_NODELIST": "node[007-008]", "SLURM_STEP_NUM_TASKS": "4"}


@pytest.mark.night
def test_wrong_key_is_reported_even_if_mpi_knows_no_other_process(tmp_path):
    """The process is the first of two that srun starts."""
    variables = {"JOB_ID": "7", "STEP_NODELIST": "localhost", "NTASKS": "2", "PROCID": "0", "LOCALID": "0"}
    variables |= {"STEP_NUM_TASKS": "2", "STEP_TASKS_PER_NODE": "2"}
    environ = {f"SLURM_{name}": value for name, value in variables.items()}
    process = run_swmodel(tmp_path, "run", "jet", "--transport", "sharded", "-s", "grid.nz=3", environ=environ)
    assert process.returncode == 2
    assert (process.stderr.count("-s grid.nz=3"), len(process.stderr.splitlines())) == (1, 1)


@pytest.mark.night
@pytest.mark.parametrize(
    ("environ", "hosts", "address"),
    [
        ({"JAX_COORDINATOR_ADDRESS": "node7:1234", **SLURM_VARIABLES}, "", "node7:1234"),
        (SLURM_VARIABLES, "", None),  # JAX will find it
        ({}, "aabb", "a:1"),  # through MPI
        ({}, "aaaa", "127.0.0.1:1"),
        (SLURM_VARIABLES | {"SLURM_STEP_NUM_TASKS": "2"}, "aabb", "a:1"),  # under an mpiexec that srun has started
    ],
)
def test_address_of_first_process_is_that_of_environment_or_mpi(monkeypatch, environ, hosts, address):
    comm = SimpleNamespace(allgather=lambda value: [(host, number) for number, host in enumerate(hosts, 1)])
    monkeypatch.setattr(os, "environ", environ)
    monkeypatch.setattr(join, "mpi_world", lambda rank_info: comm if hosts else pytest.fail("MPI is used"))
    assert join.coordinator_address(RankInfo(1, 4)) == address


@pytest.mark.night
@pytest.mark.fault("killed ranks left MPICH's shared memory, and Slurm requeues the job")
def test_shared_memory_of_killed_ranks_is_removed(monkeypatch, tmp_path):
    """In a requeued job the shared memory has its old name, and with the old memory MPI_Init would hang or crash."""
    old, other, new = (tmp_path / name for name in ("mpich_shm_1_0", "sem", "mpich_shm_3_0"))
    for path in (old, other, new):
        path.touch()
        if path != new:
            os.utime(path, (1e9, 1e9))
    monkeypatch.setattr(join, "program_start_time", lambda: 1.5e9)
    join.clear_shared_memory(tmp_path)
    assert old.exists(), "the job was not requeued, and another of its steps may be about to use the memory"
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    join.clear_shared_memory(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted((other, new))


@pytest.mark.night
@pytest.mark.parametrize(
    ("environ", "device_ids"),
    [
        ({}, [2, 3]),  # the process sees all GPUs of the machine
        ({"CUDA_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7"}, [2, 3]),  # srun shows all GPUs of a node to all processes there
        ({"CUDA_VISIBLE_DEVICES": "0,GPU-a"}, [0, 1]),  # srun shows each process only its own GPUs
        ({"CUDA_VISIBLE_DEVICES": ""}, None),
    ],
)
def test_each_process_takes_its_share_of_gpus(monkeypatch, environ, device_ids):
    monkeypatch.setattr(join, "has_gpu", lambda: True)
    monkeypatch.setattr(os, "environ", environ)
    assert join.local_device_ids(RankInfo(5, 8, 4, 1), 2) == device_ids
