"""`swmodel run`: check a configuration, then compute it on one process or many."""

from __future__ import annotations

import contextlib
import json
import logging
import re
import shlex
import sys
from functools import partial
from pathlib import Path

import click

import swmodel

from ..parallel import streams, xla_flags
from .job import KEEPING_NOTHING, Job
from .tell import together

#: Options that stand for a configuration key.
OPTIONS = {
    "nproc": "run.nproc",
    "layout": "run.layout",
    "steps": "run.steps",
    "days": "run.days",
    "dtype": "run.dtype",
    "executor": "run.executor",
    "transport": "run.transport",
    "devices": "run.devices",
    "reproducible": "run.reproducible",
    "walltime": "run.walltime",
    "members": "ensemble.members",
    "seed": "ensemble.seed",
    "write_members": "ensemble.write",
}

#: Key -> the beginning of the word of --perturb for it.
PERTURB = {
    "ensemble.initial_eta": "initial.eta=",
    "ensemble.initial_eta_length": "initial.eta=SIZE,",
    "ensemble.wind": "wind=",
    "ensemble.wind_length": "wind=SIZE,",
    "ensemble.viscosity": "viscosity=",
}

#: Tasks that write records after intervals of time.
RECORDING = ("run", "ensemble")

#: The options of all commands that compute: what, where and on what.
COMMON = (
    click.argument("source", metavar="CASE|FILE"),
    click.option("--nproc", metavar="N", help="Number of processes, by MPI or as --transport says."),
    click.option("--layout", metavar="PYxPX", help="Blocks in y and x; without it, the shortest halos."),
    click.option(
        "-s", "--set", "settings", metavar="SECTION.KEY=VALUE", multiple=True, help="Set a configuration key."
    ),
    click.option("--steps", metavar="N", help="Length of the run in time steps."),
    click.option("--days", metavar="D", help="Length of the run in model days."),
    click.option("-o", "--output", type=click.Path(path_type=Path), metavar="DIR", help="Run folder.  [below outputs]"),
    click.option("--force", is_flag=True, help="Replace what is already in the folder."),
    click.option("--executor", metavar="NAME", help="Who computes a block: auto, native, xla or reference."),
    click.option("--dtype", metavar="NAME", help="float32 or float64."),
    click.option("--quiet", is_flag=True, help="No progress and no summary."),
)


#: Units of memory, bytes.
UNITS = {"": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


class Memory(click.ParamType):
    """A number of bytes, as "4GB", "500 MB" or "2GiB"."""

    name = "memory"

    def convert(self, value, param, ctx):
        """The number of bytes."""
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", value.strip())
        unit = {name.lower(): size for name, size in UNITS.items()}.get(match[2].lower()) if match else None
        if unit is None:
            self.fail(f'{value!r} is no size; write it as "4GB" or "500MB"', param, ctx)
        return int(float(match[1]) * unit)


MEMORY = Memory()


common = together(*COMMON)

#: The options for transport and devices.
distributed = together(
    click.option("--transport", metavar="NAME", help="How blocks talk to each other: auto, serial, mpi or sharded."),
    click.option("--devices", metavar="D", help="Devices of each process, one block each; more than one: sharded."),
)


@click.command()
@common
@distributed
@click.option("--reproducible", is_flag=True, help="The same bits for every number of processes; somewhat slower.")
@click.option("--walltime", metavar="TIME", help='Stop in time, resumable: "2 h", "90 min", or seconds.')
def run(source, settings, output, force, quiet, **options):
    """Run a case, by its name or in a Python file of your own (docs/cases.md), or the configuration in a TOML file.

    \b
    swmodel run jet --nproc 2
    swmodel run my_case.py -s case.speed=3
    swmodel run jet -s grid.nx=90 -s grid.ny=45 --days 3 --output outputs/small
    swmodel run jet --transport sharded --nproc 2 --devices 2
    swmodel run my.toml --force
    mpiexec -n 4 swmodel run jet

    Exit codes: 0 done, 2 usage or configuration, 3 environment, 4 the solution blew up, 5 files, 70 internal, 75
    stopped and resumable; docs/exit-codes.md has the messages.
    """
    begin(source, overrides_of(settings, options), output, force, quiet)


def begin(source, overrides, output, force, quiet, task="run", options=lambda config: {}, check=None):
    """Start a task in a folder of its own; exits with its exit code.

    Args:
        options: function of the configuration that returns the options of the task, or raises; called before anything
            starts.
        check: see `configure`.
    """

    records = task in RECORDING

    def request(place=None):
        """The configuration, complete and checked, with the folder for its results. Rank 0 examines the folder."""
        from ..config.loading.load import gather
        from ..config.remarks import remarks
        from ..files import run_folder

        sources = gather(source, overrides)
        config = configure(sources, overrides, place, check or (None if records else check_without_analysis))
        directory = output or Path("outputs", config.case.name if task == "run" else f"{config.case.name}-{task}")
        if place is not None and place.rank:
            return Job(config, directory, None, task, options(config))
        run_folder.check_vacant(directory, force)
        told = remarks(config, sources, records=records)
        return Job(config, directory, None, task, options(config), tuple(told))

    start(request, partial(swmodel.load, source, overrides), quiet)


def start(request, configuration, quiet):
    """Run a job as one rank, in this process, or on processes of its own; exits with its exit code.

    Args:
        request: function of the place of this process among others, None if it is alone, that returns a Job, or raises.
        configuration: function that returns its configuration, not checked yet, or raises.
    """
    from ..parallel.environment import world

    streams.outlive()
    place = world()
    if place is not None:
        from .rank import run_as_rank

        click.get_current_context().exit(run_as_rank(place, request, configuration, quiet, typed()))
    xla_flags.check_flags()
    with contextlib.nullcontext() if quiet else compilers_told():
        job = request()
    code = run_here(job, quiet) if job.config.run.nproc == 1 else run_on_many(job, quiet)
    if not quiet and code == 0:
        click.echo(job.work().summary(job.directory))
    click.get_current_context().exit(code)


@contextlib.contextmanager
def compilers_told():
    """A context in which stderr tells when a native step is compiled, as that takes seconds."""
    log, handler = logging.getLogger("swmodel.executors.native"), logging.StreamHandler()
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(logging.NOTSET)


def overrides_of(settings, options) -> list[str]:
    """The overrides (`section.key=value`) from -s and the OPTIONS of the command line."""
    given = [f"{OPTIONS[name]}={value}" for name, value in options.items() if value not in (None, False)]
    return [*settings, *given]


def configure(sources, overrides, place=None, check=None, complete=False):
    """The complete, checked configuration.

    Args:
        sources: the result of `config.loading.load.gather`, with the overrides (`section.key=value`).
        place: the place of this process among those that mpiexec has started; their number is `run.nproc`.
        check: function that returns the resolved configuration, or raises; None: `validate.check_config`.
        complete: see `config.loading.load.load`.

    Raises:
        ConfigError: with everything that is wrong.
        UsageError: the command line asks for another number of processes than there are.
    """
    from swmodel.config import ConfigError
    from swmodel.config.loading.merge import merge
    from swmodel.errors import UsageError
    from swmodel.model.resolve import for_processes
    from swmodel.model.validate import check_config

    try:
        config = merge(sources, complete)
        if place is not None:
            asked = any(text.startswith("run.nproc=") for text in overrides)
            if asked and config.run.nproc != place.size:
                raise UsageError(f"--nproc {config.run.nproc}, but {place.size} processes were started; leave it out")
            config = for_processes(config, place.size)
        return (check or check_config)(config)
    except ConfigError as error:
        raise ConfigError(as_typed(problem) for problem in error.problems) from None


def check_without_analysis(config):
    """The resolved configuration of a task that analyses no tides (`output.harmonics`); see `configure`."""
    from ..model.validate import check_config

    return check_config(config.model_copy(update={"output": config.output.model_copy(update={"harmonics": ()})}))


def typed() -> str:
    """The command line, for the history of the files."""
    return shlex.join(["swmodel", *sys.argv[1:]])


def as_typed(problem: str) -> str:
    """A message about `-s run.nproc=0`, reworded for the option `--nproc 0`."""
    if not problem.startswith("-s "):
        return problem
    for option, key in OPTIONS.items():
        problem = problem.replace(f"-s {key}=", f"--{option.replace('_', '-')} ")
    for key, word in PERTURB.items():
        problem = problem.replace(f"-s {key}=", f"--perturb {word}")
    return problem


def run_here(job, quiet) -> int:
    """Run in this process; returns the exit code 0. Needs no MPI."""
    from ..parallel.stop import Stop
    from .rank import compute, end_soon, occupy

    with Stop() as stop, contextlib.ExitStack() as stack:
        occupy(stack, job, quiet)
        end_soon(stack, stop, job)
        compute(job, quiet, typed())
    return 0


def run_on_many(job, quiet) -> int:
    """Start `run.nproc` processes and wait for them; returns the exit code."""
    from ..model import launch, progress
    from .rank import occupy

    nproc, directory = job.config.run.nproc, job.directory
    options = ["--restart", str(job.restart.path)] if job.restart else []
    options += [] if job.task == "run" else ["--task", job.task, "--options", json.dumps(job.options)]
    line = launch.command(nproc, directory, *options, transport=job.config.run.transport)
    with contextlib.ExitStack() as stack:
        lock = occupy(stack, job, quiet)
        with progress.reporter(quiet) as report:
            return launch.run(line, nproc, directory, report, lock, job.task not in KEEPING_NOTHING)


def compute(config, directory, options, report, command_line, watch):
    """The task `run`; see `cli.job.TASKS`. The option `restart` is the path of a restart file."""
    from ..model.run import run

    restart = options.get("restart")
    simulation = swmodel.Simulation(config, restart=restart)
    watch(lambda: simulation.step)
    run(simulation, directory, report, command_line, resume=restart is not None)


def summary(directory) -> str:
    """How long the run took, and what to type next."""
    from ..files.status import read_status
    from ..model import progress

    return progress.summary(read_status(directory), directory)
