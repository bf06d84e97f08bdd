"""The options that several commands share, and the configuration keys that they set."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import click

PATH = click.Path(path_type=Path)

#: The configuration key that each of these options sets.
KEY_OF_OPTION = {
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
    "method": "assimilation.method",
    "members": "ensemble.members",
    "seed": "ensemble.seed",
    "write_members": "ensemble.write",
}
#: {NAME of --perturb: the keys of [ensemble] for SIZE and LENGTH}.
PERTURBATION_KEYS = {
    "initial.eta": ("initial_eta", "initial_eta_length"),
    "wind": ("wind", "wind_length"),
    "viscosity": ("viscosity",),
}


def overrides_from_options(settings, options) -> list[str]:
    """The overrides (`section.key=value`) from -s and from the options of KEY_OF_OPTION on the command line."""
    return [
        *settings,
        *(f"{KEY_OF_OPTION[name]}={value}" for name, value in options.items() if value not in (None, False)),
    ]


def reword_for_options(problem: str) -> str:
    """A message about `-s run.nproc=0` becomes one about `--nproc 0`, the option that sets this key."""
    for option, key in KEY_OF_OPTION.items():
        problem = problem.replace(f"-s {key}=", f"--{option.replace('_', '-')} ")
    for name, keys in PERTURBATION_KEYS.items():
        for key, prefix in zip(keys, ("", "SIZE,"), strict=False):
            problem = problem.replace(f"-s ensemble.{key}=", f"--perturb {name}={prefix}")
    return problem


def get_command_line() -> str:
    """The command line as the user typed it, for the `history` of files."""
    return shlex.join(["swmodel", *sys.argv[1:]])


class ParsedType(click.ParamType):
    """A click type that converts a text by the function `parse`, which raises a ValueError for an unsuitable text."""

    def __init__(self, name: str, parse: Callable):
        self.name, self.parse = name, parse

    def convert(self, value, param, ctx):
        try:
            return self.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def number_list_type(pattern: str, parse_number: Callable = float, separator: str = ",") -> ParsedType:
    """The click type of a tuple with as many numbers as `pattern`, such as W,E,S,N; N,N,... allows any count."""

    def parse(text):
        words = text.lower().split(separator)
        if "..." not in pattern and len(words) != len(pattern.split(separator)):
            raise ValueError(f"{text!r} is not {pattern}")
        return tuple(map(parse_number, words))

    return ParsedType(pattern, parse)


def parse_positive_integer(word: str) -> int:
    if not word.strip().isdigit() or int(word) == 0:
        raise ValueError(f"{word!r} is not a whole number above 0")
    return int(word)


def parse_memory(text: str) -> int:
    """The number of bytes in a text such as "4GB", "500 MB" or "2GiB"."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)(b?)", text.strip().lower())
    if match is None or float(match[1]) == 0:
        raise ValueError(f'{text!r} is not a size; write it as "4GB" or "500MB"')
    number, prefix, binary, _ = match.groups()
    return int(float(number) * (1024 if binary else 1000) ** " kmgt".index(prefix or " "))


def parse_time(text: str) -> float:
    """The seconds in a duration such as "6 h"."""
    from ..ocean.option import parse_duration

    return float(parse_duration(text))


def combine_options(*options) -> Callable:
    """A decorator that adds these click options to a command, in this order."""

    def decorate(command):
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def output_option(metavar: str, text: str) -> Callable:
    return click.option("-o", "--output", type=PATH, metavar=metavar, help=text)


def time_option() -> Callable:
    text = 'Model time of the record, instead of its number: seconds, "6 h" or "2 days".'
    return click.option("--time", type=ParsedType("time", parse_time), metavar="TIME", help=text)


def renamed_options(**new_names: str) -> dict:
    """The context settings of a command that refuses old names of options: renamed_options(old="new")."""

    def require_new_name(name: str) -> str:
        if name in new_names:
            raise click.UsageError(f"--{name}: the name of this option is now --{new_names[name]}")
        return name

    return {"token_normalize_func": require_new_name}


settings = click.option(
    "-s", "--set", "settings", metavar="SECTION.KEY=VALUE", multiple=True, help="Set a configuration key; repeatable."
)
layout = click.option("--layout", metavar="PYxPX", help="Blocks along y and x, such as 2x3.  [shortest halos]")
executor = click.option(
    "--executor", metavar="NAME", help="What computes the steps: native, cuda, xla or reference.  [the fastest]"
)
quiet = click.option("--quiet", is_flag=True, help="Print neither progress nor a summary.")
walltime = click.option(
    "--walltime", metavar="TIME", help='Stop within this wall-clock time, in a resumable state: "2 h", "90 min".'
)
memory = click.option(
    "--memory",
    type=ParsedType("memory", parse_memory),
    metavar="SIZE",
    help='Memory that a process may use, such as "4GB".  [its share of half of the free memory; on GPUs all]',
)
#: The options for the exchange of halos and for devices.
distributed_options = combine_options(
    click.option(
        "--transport", metavar="NAME", help="How blocks exchange halos: serial, mpi or sharded.  [by nproc and devices]"
    ),
    click.option("--devices", metavar="D", help="Number of JAX devices per process; each has one block.  [1]"),
)
#: The options of all commands that compute.
common_options = combine_options(
    click.argument("source", metavar="CASE|FILE"),
    click.option("--nproc", metavar="N", help="Number of processes.  [1]"),
    layout,
    settings,
    click.option("--from", metavar="RUN", help="Start from the last state of RUN, a run folder or a restart file."),
    click.option("--steps", metavar="N", help="Length of the run in time steps."),
    click.option("--days", metavar="D", help="Length of the run in model days."),
    output_option("DIR", "Folder for the results.  [a folder in outputs]"),
    click.option("--force", is_flag=True, help="Replace existing results in the folder."),
    executor,
    click.option("--dtype", metavar="NAME", help="Precision: float32 or float64.  [that of the case]"),
    quiet,
)
