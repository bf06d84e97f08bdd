"""Every command and program of the README, and of the page on output, works; the runs are made short."""

import json
import re
import shlex
import subprocess
import sys

import pytest
from click.testing import CliRunner
from conftest import ROOT

from swmodel.gradients.check import KEYS, failures

pytestmark = pytest.mark.compiled

README = (ROOT / "README.md").read_text()
GRADIENTS, OUTPUT = ((ROOT / "docs" / f"{name}.md").read_text() for name in ("gradients", "output"))
SMALL = ["-s", "grid.nx=24", "-s", "grid.ny=16"]
#: The station of the sensitivity lies in a domain of its own size.
SHORT = {"run": SMALL, "sensitivity": [*SMALL, "-s", "grid.dx=5e4", "-s", "grid.dy=1e5"]}
SHORT["ensemble"] = SMALL
SHORT["check-gradient"] = [*SMALL, "--json", "check.json"]


def blocks(language, page=README):
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def commands():
    lines = [line.split("#")[0].strip() for block in blocks("bash") for line in block.splitlines()]
    return [line for line in lines if line.startswith("swmodel ")]


def shortened(words):
    """A run of two steps on one process instead of the one in the README; the same for a benchmark. Resumed: four."""
    if words[0] == "bench":
        return [*words, "--nproc", "1", "--steps", "2"]
    if words[0] == "resume":
        return [*words[:2], "--steps", "4", "--nproc", "1"]
    if words[0] not in SHORT:
        return words
    kept = iter(words)
    words = [word for word in kept if not (word in ("--nproc", "--days") and next(kept))]
    size = [] if any(word.startswith("grid.file=") for word in words) else SHORT[words[0]]
    return [word for word in words if word != "--force"] + [*size, "--steps", "2", "--force"]


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
    found = json.loads((tmp_path / "check.json").read_text())
    assert set(found) == set(KEYS)
    assert (found["nproc"], len(found["gradient_sha256"])) == (1, 64)
    assert failures(found | {"dtype": "float64"}) == []
    namespace = {}
    for program in (*blocks("python"), *blocks("python", OUTPUT)):
        exec(program, namespace)
    assert namespace["eta"].shape == (45, 90)
    assert namespace["simulation"].step == 100
    assert set(namespace["grid"].axes) == {"X", "Y"}
    stored, own = namespace["ds"].zeta, namespace["zeta"]
    assert own.dims == stored.dims
    away = {"x_f": slice(0, -1), "y_f": slice(0, -1)}
    assert float(abs(own - stored).isel(away).max()) < 1e-5 * float(abs(stored).max())


@pytest.mark.parametrize("path", re.findall(r"\]\(((?!http)[^)]+)\)", README))
def test_links_lead_to_files(path):
    assert (ROOT / path).is_file()


def table(text):
    """Head and rows of the table of derivatives in a text, each a list of cells."""
    lines = re.search(r"^\| processes \|.*\n(?:\|.*\n)+", text, re.MULTILINE)[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in (lines[0], *lines[2:])]


@pytest.mark.usefixtures("quickly_compiled")
def test_the_table_of_derivatives_is_that_of_its_program_and_exact(tmp_path):
    program = [sys.executable, "tools/exactness.py", "--layouts", "1x1", "--steps", "5", "--folder", tmp_path]
    made = table(subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=True, timeout=200).stdout)
    told = table(GRADIENTS)
    assert made[0] == told[0]
    assert [row[:2] for row in made[1:]] == [told[1][:2]]
    assert [row[0] for row in told[1:]] == ["1", "2", "3", "4"]
    for _, _, slope, dot, symmetry, off in (*made[1:], *told[1:]):
        numbers = {"taylor_slope": slope, "dot_product_error": dot, "hessian_symmetry": symmetry}
        assert failures({name: float(number) for name, number in numbers.items()} | {"dtype": "float64"}) == []
        assert float(off) < 1e-12
