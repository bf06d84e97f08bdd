"""The options that commands share, and the keys of the configuration that options stand for."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import click

PATH = click.Path(path_type=Path)

#: Options that stand for a key of the configuration.
KEYS = {
    "from": "input.state",
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
#: NAME of --perturb -> the keys of [ensemble] for SIZE and LENGTH.
PERTURBATIONS = {
    "initial.eta": ("initial_eta", "initial_eta_length"),
    "wind": ("wind", "wind_length"),
    "viscosity": ("viscosity",),
}


def overrides_of(settings, options) -> list[str]:
    """The overrides (`section.key=value`) from -s and those of the KEYS that are on the command line."""
    return [*settings, *(f"{KEYS[name]}={value}" for name, value in options.items() if value not in (None, False))]


def as_typed(problem: str) -> str:
    """A message about `-s run.nproc=0`, reworded for the option `--nproc 0`."""
    for option, key in KEYS.items():
        problem = problem.replace(f"-s {key}=", f"--{option.replace('_', '-')} ")
    for name, keys in PERTURBATIONS.items():
        for key, words in zip(keys, ("", "SIZE,"), strict=False):
            problem = problem.replace(f"-s ensemble.{key}=", f"--perturb {name}={words}")
    return problem


def command_line() -> str:
    """What the user has typed, for the history of files."""
    return shlex.join(["swmodel", *sys.argv[1:]])


class Parsed(click.ParamType):
    """What a function makes of a text; it raises ValueError with what is wrong."""

    def __init__(self, name: str, parse: Callable):
        self.name, self.parse = name, parse

    def convert(self, value, param, ctx):
        """The value of the text."""
        try:
            return self.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def numbers(form: str, kind: Callable = float, separator: str = ",") -> Parsed:
    """The type of an option: a tuple of numbers as in `form`, such as W,E,S,N; N,N,... are any number of them."""

    def parse(text):
        words = text.lower().split(separator)
        if "..." not in form and len(words) != len(form.split(separator)):
            raise ValueError(f"{text!r} is not {form}")
        return tuple(map(kind, words))

    return Parsed(form, parse)


def count(word: str) -> int:
    """A positive whole number."""
    if not word.strip().isdigit() or int(word) == 0:
        raise ValueError(f"{word!r} is no whole number above 0")
    return int(word)


def parse_memory(text: str) -> int:
    """The number of bytes in a text such as "4GB", "500 MB" or "2GiB"."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)(b?)", text.strip().lower())
    if match is None:
        raise ValueError(f'{text!r} is no size; write it as "4GB" or "500MB"')
    number, prefix, binary, _ = match.groups()
    return int(float(number) * (1024 if binary else 1000) ** " kmgt".index(prefix or " "))


def parse_time(text: str) -> float:
    """The seconds of a length of time."""
    from ..ocean.option import parse_duration

    return float(parse_duration(text))


def combined(*options) -> Callable:
    """A decorator that adds these options of click to a command, in this order."""

    def decorate(command):
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def output(metavar: str, text: str) -> Callable:
    """The option --output."""
    return click.option("-o", "--output", type=PATH, metavar=metavar, help=text)


def model_time() -> Callable:
    """The option --time of a record."""
    text = 'Model time instead of a record: seconds, "6 h" or "2 days".'
    return click.option("--time", type=Parsed("time", parse_time), metavar="TIME", help=text)


settings = click.option(
    "-s", "--set", "settings", metavar="SECTION.KEY=VALUE", multiple=True, help="Set a configuration key."
)
layout = click.option("--layout", metavar="PYxPX", help="Blocks in y and x; without it, the shortest halos.")
executor = click.option("--executor", metavar="NAME", help="Who computes a block: auto, native, xla or reference.")
quiet = click.option("--quiet", is_flag=True, help="No progress and no summary.")
walltime = click.option("--walltime", metavar="TIME", help='Stop in time, resumable: "2 h", "90 min", or seconds.')
memory = click.option(
    "--memory",
    type=Parsed("memory", parse_memory),
    metavar="SIZE",
    help='Most memory of each process: "4GB".  [half of the free]',
)
#: How blocks talk, on which devices.
distributed = combined(
    click.option("--transport", metavar="NAME", help="How blocks talk to each other: auto, serial, mpi or sharded."),
    click.option("--devices", metavar="D", help="Devices of each process, one block each; more than one: sharded."),
)
#: The options of all commands that compute: what, where and on what.
common = combined(
    click.argument("source", metavar="CASE|FILE"),
    click.option("--nproc", metavar="N", help="Number of processes, by MPI or as --transport says."),
    layout,
    settings,
    click.option("--from", metavar="RUN", help="Start from the last state of RUN, a run folder or a restart file."),
    click.option("--steps", metavar="N", help="Length of the run in time steps."),
    click.option("--days", metavar="D", help="Length of the run in model days."),
    output("DIR", "Run folder.  [below outputs]"),
    click.option("--force", is_flag=True, help="Replace what is already in the folder."),
    executor,
    click.option("--dtype", metavar="NAME", help="float32 or float64."),
    quiet,
)
