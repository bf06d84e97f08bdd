"""`swmodel bench`: the published table of speeds measured on this machine, other sweeps, reports and comparisons."""

from __future__ import annotations

import click

from ..parallel import environment, streams
from .options import PATH, combine_options, number_list_type, output_option, parse_positive_integer

SWEEPS = {
    "table": "The published benchmark, compared with the published numbers.",
    "strong": "Strong scaling: one grid on more and more processes.",
    "weak": "Weak scaling: the same number of cells per process, on more and more processes.",
    "scaling": "Time per step on many processes: predicted from its parts, and measured.",
    "sizes": "Speed against grid size, from grids that fit in caches to those that need memory.",
    "halo": "The exchange of halos alone, by mpi4jax and by ffi.",
    "output": "The cost of writing output.",
    "start": "Time to the first step, and how it is spent.",
    "native": "The native step: precision, steps per sweep, processes, terms.",
    "gpu": "One GPU: executors, steppers, precisions, coasts.",
    "schemes": "The native step with every flux and stepper, with several terms and tracers, and with drying.",
    "ensemble": "Members times steps per second, in one program and as separate runs.",
    "fft": "Fourier transforms of fields in blocks, compared with scipy.fft.",
}

COUNT_LIST = number_list_type("N,N,...", parse_positive_integer)
GRID_SIZE = number_list_type("NXxNY", parse_positive_integer, "x")

#: The commands that most users need, which the short help lists.
SHORT_HELP_COMMANDS = ("table", "compare")


class BenchGroup(click.Group):
    """A group whose help lists SHORT_HELP_COMMANDS, or with --help-all all commands."""

    def list_commands(self, ctx):
        names, lists_all = super().list_commands(ctx), ctx.meta.get("bench.all", True)
        return [name for name in names if lists_all or name in SHORT_HELP_COMMANDS]

    def get_help(self, ctx):
        """The help with SHORT_HELP_COMMANDS; with all commands if `print_full_help` has set "bench.all" in ctx.meta."""
        ctx.meta.setdefault("bench.all", False)
        return super().get_help(ctx)


def print_full_help(ctx, parameter, enabled):
    if enabled:
        ctx.meta["bench.all"] = True
        click.echo(ctx.get_help())
        ctx.exit()


@click.group(cls=BenchGroup)
@click.option(
    "--help-all", is_flag=True, is_eager=True, expose_value=False, callback=print_full_help, help="List all commands."
)
def bench():
    """Measure how fast the model is on this machine.

    \b
    swmodel bench table                    the published table, on this machine
    swmodel bench table --quick            the same in a minute, on a small grid
    swmodel bench compare OLD NEW          show what became faster or slower
    swmodel bench halo                     the exchange of halos; --help-all lists all sweeps
    """


#: The options of every sweep.
sweep_options = combine_options(
    click.option("--quick", is_flag=True, help="Use a small size, which takes less than a minute."),
    click.option(
        "--executor",
        "executors",
        metavar="NAME",
        multiple=True,
        help="Executor to measure, or all; repeatable.  [those of the sweep, or the fastest]",
    ),  # fmt: skip
    click.option("--nproc", type=COUNT_LIST, help="Numbers of processes."),
    click.option("--transport", type=click.Choice(["mpi", "sharded"]), help="How blocks exchange halos.  [mpi]"),
    click.option("--devices", type=COUNT_LIST, help="Numbers of devices per process, for sharded."),
    click.option("--size", "sizes", type=GRID_SIZE, multiple=True, help="Size of the grid; repeatable."),
    click.option("--oversubscribe", is_flag=True, help="Allow more processes than cores; reports mark such rows."),
    click.option("--steps", type=click.IntRange(min=2), metavar="N", help="Steps per sample."),
    click.option("--rounds", type=click.IntRange(min=1), metavar="N", help="Samples per row."),
    output_option("DIR", "Folder for the results."),
    click.option("--resume", is_flag=True, help="Continue an interrupted sweep; finished samples are kept."),
    click.option("--force", is_flag=True, help="Replace existing results in the folder."),
    click.option("--label", metavar="TEXT", help="Name of this machine in reports.  [its processor and cores]"),
    click.option(
        "--launcher", metavar="COMMAND", default="", help='Command that starts processes, such as "srun".  [mpiexec]'
    ),
)


def add_sweep(name: str, text: str):
    """Add the command that runs the sweep `name`; `text` is its help."""

    @sweep_options
    def command(**options):
        from ..bench.session import run_sweep

        streams.ignore_broken_stdout()
        click.get_current_context().exit(run_sweep(name, **options))

    bench.command(name, help=text)(command)


for sweep, text in SWEEPS.items():
    add_sweep(sweep, text)


@bench.command()
@click.option("--case", "cases", type=click.Choice(["jet", "double_gyre", "global_m2", "chile2010"]), multiple=True,
              help="Case; repeatable.  [all]")  # fmt: skip
@click.option("--quick", is_flag=True, help="Use short runs, two minutes in all.")
def steppers(cases, quick):
    """Compare error and speed of all time steppers, and their speed at equal error."""
    from ..bench.steppers import CASE_DAYS, make_report

    environment.prepare_environment()
    click.echo(make_report(cases or CASE_DAYS, quick))


@bench.command()
@click.argument("files", metavar="FILE|DIR...", nargs=-1, required=True, type=PATH)
@output_option("DIR", "Folder for report.md and figures.")
def report(files, output):
    """Report several results together: a section for each sweep, with tables and figures.

    The results may come from several machines and several sweeps.
    """
    from ..bench.session import report_files

    text, paths = report_files(files, output)
    click.echo(text)
    for path in paths:
        click.echo(f"Wrote {path}")


@bench.command()
@click.argument("old", metavar="OLD", type=PATH)
@click.argument("new", metavar="NEW", type=PATH)
def compare(old, new):
    """Show what became faster or slower.

    The command prints medians and spreads of two results, and marks the differences that exceed the noise.
    """
    from ..bench.compare import compare_report
    from ..bench.results import read_record

    click.echo(compare_report(read_record(old), read_record(new)))
