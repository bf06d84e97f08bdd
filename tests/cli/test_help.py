"""The help: examples that the program takes, before the options; older spellings still mean the same."""

import shlex

import click
import pytest

from swmodel.cli import GROUPS, main

COMMANDS = {command.name: command for command in sum(GROUPS.values(), ())}


def parsed(line):
    """The name and the options of the command that a line calls, as click reads them; it is not executed."""
    words = shlex.split(line)
    words = words[words.index("swmodel") + 1 :] if "swmodel" in words else words
    command, context = main, click.Context(main)
    while isinstance(command, click.Group):
        name, *words = words
        command = command.get_command(context, name)
    return name, command.make_context(name, words, parent=context).params


def help_of(command, *names):
    return command.get_help(click.Context(command, info_name=command.name, parent=click.Context(main)))


def examples(text):
    return [line.strip() for line in text.splitlines() if line.strip().startswith(("swmodel ", "mpiexec "))]


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_stand_before_all_else_and_are_taken(name):
    text = help_of(COMMANDS[name])
    usage, _, rest = text.partition("\n\n")
    summary, first, *_ = rest.partition("\n\nOptions:")[0].split("\n\n") + [""]
    assert summary.strip().endswith(".")
    if name not in ("cases", "doctor"):
        assert first.strip().startswith("swmodel ")
    for line in examples(text):
        if "DIR..." not in line and not line.startswith("swmodel bench"):
            parsed(line)


@pytest.mark.parametrize(
    ("older", "now"),
    [
        ("sensitivity jet --of mass --to eta --to u", "sensitivity jet --of mass --wrt eta --wrt u"),
        ("spectra run --of enstrophy", "spectra run --field enstrophy"),
    ],
)
def test_older_names_of_options_mean_the_same(older, now):
    assert parsed(older) == parsed(now)


def test_bench_lists_the_commands_of_most_users_or_all():
    bench = COMMANDS["bench"]
    few = help_of(bench)
    with pytest.raises(click.exceptions.Exit):
        bench.make_context("bench", ["--help-all"], parent=click.Context(main))
    names = {line.split()[0] for line in few.partition("Commands:")[2].splitlines() if line.strip()}
    assert names == {"table", "compare"} < set(bench.commands)
