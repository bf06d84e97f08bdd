"""Every command and every program of the README works; the runs are made short."""

import re
import shlex

import pytest
from click.testing import CliRunner
from conftest import ROOT

README = (ROOT / "README.md").read_text()
SHORT = ["-s", "grid.nx=24", "-s", "grid.ny=16", "--steps", "2", "--force"]


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def commands():
    lines = [line.split("#")[0].strip() for block in blocks("bash") for line in block.splitlines()]
    return [line for line in lines if line.startswith("swmodel ")]


def shortened(words):
    """A run of two steps on one process instead of the one in the README; the same for a benchmark. Resumed: four."""
    if words[0] == "bench":
        return [*words, "--nproc", "1", "--steps", "2"]
    if words[0] == "resume":
        return [*words[:2], "--steps", "4", "--nproc", "1"]
    if words[0] not in ("run", "check-gradient"):
        return words
    kept = iter(words)
    words = [word for word in kept if not (word in ("--nproc", "--days") and next(kept))]
    return [word for word in words if word != "--force"] + SHORT


def test_commands_in_the_order_of_the_readme(tmp_path, monkeypatch):
    from swmodel.cli import main

    monkeypatch.chdir(tmp_path)
    assert len(commands()) >= 7
    for command in commands():
        words, _, target = command.removeprefix("swmodel ").partition(" > ")
        words = shortened(shlex.split(words))
        result = CliRunner().invoke(main, words, standalone_mode=True)
        assert result.exit_code == 0, (command, result.output)
        if target:
            (tmp_path / target).write_text(result.output)
    namespace = {}
    for program in blocks("python"):
        exec(program, namespace)
    assert namespace["eta"].shape == (45, 90)
    assert namespace["simulation"].step == 100
    assert set(namespace["grid"].axes) == {"X", "Y"}


@pytest.mark.parametrize("path", re.findall(r"\]\(((?!http)[^)]+)\)", README))
def test_links_lead_to_files(path):
    assert (ROOT / path).is_file()
