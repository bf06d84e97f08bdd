"""The environment of a process, and the place that launchers give it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from swmodel.errors import SetupError
from swmodel.parallel import environment
from swmodel.parallel.environment import World

ROOT = Path(__file__).parents[2]
#: As srun says it: the second process on the second of two machines, with four on each.
SRUN = {"SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "8", "SLURM_STEP_TASKS_PER_NODE": "4(x2)", "SLURM_LOCALID": "1"}


@pytest.fixture
def environ(monkeypatch):
    """The environment of this process, empty, in a dict of its own."""
    values = {}
    monkeypatch.setattr(os, "environ", values)
    monkeypatch.setattr(environment, "cores", lambda: 8)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    return values


@pytest.mark.parametrize(
    ("environ", "place"),
    [
        ({}, None),
        ({"PMI_RANK": "2", "PMI_SIZE": "6", "MPI_LOCALNRANKS": "3"}, World(2, 6, 3)),
        ({"SWMODEL_RANK": "1", "SWMODEL_SIZE": "2", "PMI_RANK": "0", "PMI_SIZE": "4"}, World(1, 2, 2, 1)),
        ({"PMI_RANK": "0", "PMI_SIZE": "1"}, None),  # one process, or srun around another launcher
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}, World(1, 4, 2)),
        (SRUN, World(5, 8, 4, 1)),
        (
            SRUN | {"PMI_RANK": "5", "PMI_SIZE": "8"},
            World(5, 8, 4, 1),
        ),  # srun --mpi=pmi2: PMI does not tell the machine
        (SRUN | {"PMIX_RANK": "5"}, World(5, 8, 4, 1)),
        (  # mpiexec, which srun has started on each node
            SRUN | {"SLURM_STEP_NUM_TASKS": "2", "PMI_RANK": "3", "PMI_SIZE": "8", "MPI_LOCALNRANKS": "2"},
            World(3, 8, 2),
        ),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "8", "SLURM_JOB_ID": "1"}, None),  # a batch script, outside srun
    ],
)
def test_the_place_among_processes_is_read_from_the_launcher(environ, place):
    assert environment.world(environ) == place


@pytest.mark.parametrize(
    ("wrong", "ask"),
    [
        ({"PMI_RANK": "junk", "PMI_SIZE": "2"}, environment.world),
        ({"PMI_RANK": "0", "PMI_SIZE": "junk"}, environment.world),
        ({environment.STARTED: "junk"}, environment.started),
    ],
)
def test_a_variable_of_a_launcher_that_is_no_number_is_named(monkeypatch, wrong, ask):
    for name, value in wrong.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SetupError, match="=junk: must be a number"):
        ask()


@pytest.mark.parametrize(("local_size", "threads"), [(8, "1"), (3, "2"), (2, "4"), (16, "1")])
def test_ranks_share_the_cores(environ, local_size, threads):
    environment.prepare(place=World(0, local_size, local_size))
    assert environ["NPROC"] == threads
    assert environ["JAX_CPU_ENABLE_ASYNC_DISPATCH"] == "false"
    assert ("MPIR_CVAR_POLLS_BEFORE_YIELD" in environ) == (local_size > 8)


def test_a_process_alone_keeps_all_cores(environ):
    environment.prepare(place=World(0, 1, 1))
    assert environ.keys().isdisjoint({"NPROC", "JAX_CPU_ENABLE_ASYNC_DISPATCH", "XLA_FLAGS"})


def test_what_the_user_has_set_stays(environ):
    environ |= {"NPROC": "3", "JAX_PLATFORMS": "cuda", "XLA_FLAGS": "--xla_dump_to=/tmp/dump"}
    environment.prepare(reproducible=True, place=World(0, 8, 8))
    assert (environ["NPROC"], environ["JAX_PLATFORMS"]) == ("3", "cuda")
    assert environ["XLA_FLAGS"] == "--xla_dump_to=/tmp/dump --xla_cpu_max_isa=AVX"
    environment.prepare(reproducible=True, place=World(0, 8, 8))
    assert environ["XLA_FLAGS"].count("max_isa") == 1


def test_the_threads_of_jax_are_those_of_the_share():
    program = (
        "import os\nfrom pathlib import Path\nfrom swmodel.parallel import environment\n"
        "environment.prepare(place=environment.World(0, 1000, 1000))\n"
        "import jax.numpy as jnp\n(jnp.ones((64, 64)) @ jnp.ones((64, 64))).block_until_ready()\n"
        "names = [path.read_text().strip() for path in Path('/proc/self/task').glob('*/comm')]\n"
        "print(sum(name.startswith('tf_XLAEigen') for name in names))"
    )
    clean = {key: value for key, value in os.environ.items() if key not in ("NPROC", "XLA_FLAGS")}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=clean, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["1"]
