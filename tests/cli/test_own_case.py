"""A user's own case on the command line: wherever the name of a case goes."""

import re

import pytest
from click.testing import CliRunner
from support.own_case import write_bump

from swmodel.cli import main

COMMANDS = {
    "run": [],
    "init": [],
    "sensitivity": ["--of", "energy", "--to", "eta"],
    "ensemble": ["--perturb", "initial.eta=0.1,5e4"],
    "assimilate": [],
    "check-gradient": [],
}


@pytest.mark.fault("a case file is missing, is not Python, raises, or defines no case or several")
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_takes_a_case_takes_a_file(tmp_path, monkeypatch, command):
    """Each executes it, which is seen from its failure; nothing is started or left."""
    monkeypatch.chdir(tmp_path)
    write_bump(tmp_path, f"height = 0.5\nraise ValueError('for {command}')\n")
    done = CliRunner().invoke(main, [command, "bump.py", *COMMANDS[command]])
    words = f"Error: bump.py:2: ValueError: for {command}, in: raise ValueError('for {command}')\n"
    assert (done.exit_code, done.stderr) == (2, words)
    assert [path.name for path in tmp_path.iterdir()] == ["bump.py"]


def test_it_runs_and_its_template_runs_as_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_bump(tmp_path)
    short = ["-s", "grid.nx=12", "-s", "grid.ny=8", "--executor", "reference", "--steps", "3", "--quiet"]
    template = CliRunner().invoke(main, ["init", "bump.py", "-s", "case.height=0.3"])
    assert template.exit_code == 0
    assert re.search(r"\nradius = 50000.0 +# its e-folding radius \[m\]\n", template.stdout)
    assert template.stdout.startswith("# A bump of sea level in a closed basin, which runs out as a ring of waves.\n")
    (tmp_path / "my.toml").write_bytes(template.stdout_bytes)
    for line in (["run", "bump.py", "-s", "case.height=0.3"], ["run", "my.toml", "--output", "from_toml"]):
        done = CliRunner().invoke(main, [*line, *short])
        assert done.exit_code == 0, done.output
    first, second = ((tmp_path / name / "config.toml").read_text() for name in ("outputs/bump", "from_toml"))
    assert first == second
    assert "height = 0.3\n" in first
