"""The program `swmodel`: a group of commands.

A command imports slow packages, such as JAX and netCDF4, only when it runs, so that `--help` is fast and needs no MPI.
"""

from __future__ import annotations

import os
import sys

import click

from ..errors import FilesError, exit_code
from ..parallel import environment, interrupt, streams
from .assimilate import assimilate
from .bench import bench
from .cases import cases, init
from .derivatives import check_gradient, sensitivity
from .ensemble import ensemble
from .export import export
from .grid import grid
from .inspect import doctor, info
from .messages import print_error
from .pictures import animate, plot, spectra, view
from .rank import worker
from .resume import resume
from .run import run
from .verify import verify

__all__ = ["main"]


#: Largest length of the summary of a command in the help, so large that no summary is cut.
MAX_SUMMARY_CHARACTERS = 1000
#: {heading in the help: the commands below it}.
COMMAND_GROUPS = {
    "Run": (run, resume, init, cases, grid),
    "Show results": (plot, animate, view, info, export),
    "Analyse": (spectra, sensitivity, assimilate, ensemble, check_gradient, verify),
    "Set up": (doctor, bench),
}


class CommandGroup(click.Group):
    """A command group that turns an exception into a message and an exit code (`swmodel.errors`)."""

    def format_commands(self, ctx, formatter):
        """List the commands by COMMAND_GROUPS, each with its whole summary."""
        for heading, commands in COMMAND_GROUPS.items():
            with formatter.section(heading):
                rows = [(command.name, command.get_short_help_str(MAX_SUMMARY_CHARACTERS)) for command in commands]
                formatter.write_dl(rows)

    def main(self, *arguments, **options):
        try:
            super().main(*arguments, **options)
        except FilesError as error:  # --help or --version could not be written
            sys.exit(report_error(error))

    def invoke(self, ctx):
        try:
            with interrupt.raise_keyboard_interrupt():
                try:
                    super().invoke(ctx)
                finally:
                    sys.stdout.flush()
        except (click.ClickException, click.Abort, click.exceptions.Exit):
            raise
        except (Exception, KeyboardInterrupt) as error:
            ctx.exit(report_error(error))


def report_error(error: BaseException) -> int:
    """Print the error, unless the reader has closed stdout; returns the exit code."""
    if isinstance(error, streams.StdoutClosedError):
        return streams.EXIT_STDOUT_CLOSED
    print_error(error)
    return exit_code(error)


def set_debug(ctx, parameter, enabled):
    """Make this process, and the processes that it starts, print tracebacks of errors."""
    if enabled:
        os.environ["SWMODEL_DEBUG"] = "1"


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--debug", is_flag=True, expose_value=False, callback=set_debug, help="Show tracebacks of errors.")
@click.version_option(package_name="swmodel", message="%(package)s %(version)s", help="Show the version.")
@click.pass_context
def main(context):
    """A distributed, differentiable shallow-water ocean model.

    Start with: swmodel run jet
    """
    if context.invoked_subcommand != worker.name:  # the launcher or `connect_ranks` checks the flags of ranks
        environment.check_xla_flags()


for command in (*sum(COMMAND_GROUPS.values(), ()), worker):
    main.add_command(command)
