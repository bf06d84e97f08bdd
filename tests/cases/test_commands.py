"""The commands in the docstrings of cases, which the gallery prints: they are commands of this program."""

import shlex

import pytest

import swmodel
from swmodel import cases
from swmodel.cli import main

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", cases.names())
def test_a_case_is_run_and_drawn_by_commands_of_this_program(name):
    case = swmodel.load(name, environ={}).case
    run, plot = (cases.commands(case, kind) for kind in ("Command", "Plot"))
    for line in [*run, *plot]:
        program, command, *words = shlex.split(line)
        assert program == "swmodel"
        context = main.commands[command].make_context(command, words)
        if command == "run":
            assert context.params["source"] == name
            settings = [each for each in context.params["settings"] if not each.startswith("grid.file")]
            swmodel.load(name, settings, environ={})
    assert run
    assert plot
    assert name in run[-1]
    assert all(f"outputs/{name}" in line for line in plot)
