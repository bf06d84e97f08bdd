"""The environment of a process, and the rank that launchers give it."""

import os

import pytest

from swmodel.errors import SetupError
from swmodel.parallel import environment
from swmodel.parallel.environment import RankInfo

#: Variables of srun: the second process on the second of two machines, with four on each.
OPEN_MPI = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}
SRUN = {"SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "8", "SLURM_STEP_TASKS_PER_NODE": "4(x2)", "SLURM_LOCALID": "1"}


@pytest.fixture
def environ(monkeypatch):
    """A separate, empty environment of this process, as a dict."""
    values = {}
    monkeypatch.setattr(os, "environ", values)
    monkeypatch.setattr(environment, "n_cores", lambda: 8)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    return values


@pytest.mark.parametrize(
    ("environ", "place"),
    [
        ({}, None),
        ({"PMI_RANK": "2", "PMI_SIZE": "6", "MPI_LOCALNRANKS": "3"}, RankInfo(2, 6, 3)),
        ({"SWMODEL_RANK": "1", "SWMODEL_SIZE": "2", "PMI_RANK": "0", "PMI_SIZE": "4"}, RankInfo(1, 2, 2, 1)),
        ({"PMI_RANK": "0", "PMI_SIZE": "1"}, None),  # one process, or srun around another launcher
        (OPEN_MPI, RankInfo(1, 4, 2)),
        (SRUN, RankInfo(5, 8, 4, 1)),
        (SRUN | {"PMI_RANK": "5", "PMI_SIZE": "8"}, RankInfo(5, 8, 4, 1)),  # srun --mpi=pmi2: local ranks from Slurm
        (  # mpiexec that srun has started on each node
            SRUN | {"SLURM_STEP_NUM_TASKS": "2", "PMI_RANK": "3", "PMI_SIZE": "8", "MPI_LOCALNRANKS": "2"},
            RankInfo(3, 8, 2),
        ),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "8", "SLURM_JOB_ID": "1"}, None),  # a batch script, outside srun
    ],
)
def test_rank_and_size_are_those_of_the_launcher(environ, place):
    assert environment.get_rank_info(environ) == place


@pytest.mark.fault("an environment variable of a launcher that is no number")
@pytest.mark.parametrize("wrong", [{"PMI_RANK": "junk", "PMI_SIZE": "2"}, {"PMI_RANK": "0", "PMI_SIZE": "junk"}])
def test_variable_of_launcher_that_is_no_number_is_named(wrong):
    with pytest.raises(SetupError, match="=junk"):
        environment.get_rank_info(wrong)


@pytest.mark.parametrize(("local_size", "threads"), [(8, "1"), (3, "2"), (16, "1"), (1, None)])
def test_ranks_share_cores_and_process_alone_keeps_all(environ, local_size, threads):
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
