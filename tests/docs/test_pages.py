"""The commands and programs of every page of docs/ and of README.md run as they stand there."""

import re
import subprocess
import sys

import pytest

import swmodel
from swmodel.cli import main
from swmodel.config.options.model import Config
from tools.page import PAGES, ROOT, RUN, blocks

#: Languages of blocks that are shown only.
SHOWN = {"console", "text", "toml", "bibtex", ""}
#: `swmodel COMMAND` and the words behind it, in blocks, in tables and in the text.
COMMAND = re.compile(r"\bswmodel ([a-z][a-z-]*)((?:\\\n|[^\n|`#&>\"])*)")
OPTION = re.compile(r"(?<![\w-])(--?[a-z][a-z-]*)")
SETTING = re.compile(r"(?:-s|--set) '?([a-z_]+)\.([a-z_0-9]+)[.=]")
#: Problems with files of the reader.
MISSING = re.compile(r"there is no (such )?file")

#: Programs that check the results of pages, with the names of their blocks.
CHECKS = {
    "README": "assert eta.shape == (45, 90) and simulation.step == 100",
    "output": """
assert set(grid.axes) == {"X", "Y"}
assert zeta.dims == ds.zeta.dims
away = {"x_f": slice(0, -1), "y_f": slice(0, -1)}
assert float(abs(zeta - ds.zeta).isel(away).max()) < 1e-5 * float(abs(ds.zeta).max())
""",
    "bmi": """
assert abs(area @ depth - begin - river) < 1e-14 * begin
assert river > 3e7
Windy().initialize("bay.toml")
""",
    "parcels": """
x, y = (xarray.DataArray(np.array(each), dims="particle") for each in (particles.x, particles.y))
assert (ds.mask.sel(x_c=x, y_c=y, method="nearest") == 1).all()
assert np.hypot(x - start.x_c.values, y - start.y_c.values).max() > 0.02
assert len(tracks) == 21 * start.size
assert ((floats.x >= east - length) & (floats.x <= east)).all()
""",
    "real-sea": """
from pathlib import Path
assert Path("outputs/atlantic/harmonics.png").exists()
""",
    "weather": "assert 0.01 < model.field('eta').max() < 0.5",
    "terms": """
import swmodel
model = swmodel.Simulation.from_restart("outputs/icy")
assert model.config.case.strength == 2e-3
assert [term.name for term in model.scheme.own] == ["ice_drag"]
typed = {"grid.nx": 8, "grid.ny": 6, "run.executor": "xla"}
model = swmodel.Simulation(swmodel.Case, typed, fields={"roughness": 1.0, "u": 0.1}, terms=[drag])
model.advance(2)
assert [term.name for term in model.scheme.own] == ["drag"]
""",
    "python": """
import numpy as np, xarray as xr
with xr.open_dataset("outputs/mine/output.nc") as stored:
    np.testing.assert_allclose(stored.depth, 100 - ridge)
    assert float(np.abs(stored.u[-1]).max()) > 0
assert np.abs(slope).max() > 0
step.specs(carry0)
""",
    "closures": "assert losses[2] < losses[1] < losses[0]",
    "gradients": """
import json
from pathlib import Path
from swmodel.gradients.check import KEYS, failures
found = json.loads(Path("check.json").read_text())
assert set(found) == set(KEYS) and len(found["gradient_sha256"]) == 64
assert failures(found | {"dtype": "float64"}) == []
""",
}

of_each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


@pytest.mark.promise("fields and terms from Python equal those of the model")
@pytest.mark.night
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, *RUN)], ids=lambda page: page.stem)
def test_the_blocks_of_a_page_run_in_their_order(page, tmp_path, optimised):
    words = [sys.executable, ROOT / "tools" / "page.py", page, CHECKS.get(page.stem, "")]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


@of_each_page
def test_no_command_is_passed_over(page):
    """Each block is of a known language, and commands stand in blocks with a fence."""
    text = page.read_text(encoding="utf-8")
    fences = re.findall(r"^```(.*)$", text, re.MULTILINE)[::2]
    assert {fence for fence in fences if not fence.startswith("{")} <= {*RUN, *SHOWN}
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert re.findall(r"^ {4,}(?:swmodel|python|mpiexec|sbatch|make|apt) .*", outside, re.MULTILINE) == []


@of_each_page
def test_every_option_and_key_on_a_page_exists(page):
    text = page.read_text(encoding="utf-8")
    unknown = [
        f"{name} {option}"
        for name, words in COMMAND.findall(text)
        for option in OPTION.findall(words)
        if option not in options_of(main.commands.get(name))
    ]
    keys = {name: type(getattr(Config(), name)).model_fields for name in Config.model_fields if name != "case"}
    unknown += [
        f"{section}.{key}"
        for section, key in SETTING.findall(text)
        if section not in ("case", "section") and key not in keys.get(section, ())
    ]
    assert unknown == []


def options_of(command):
    """The options of a command, and of those below it."""
    if command is None:
        return set()
    commands = [command, *getattr(command, "commands", {}).values()]
    return {"-h", "--help"}.union(*(option.opts for each in commands for option in each.params))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "toml")], ids=lambda page: page.stem)
def test_every_toml_block_is_a_configuration(page, tmp_path):
    """But for the reader's files that it names."""
    problems = []
    for block in blocks(page, "toml"):
        (tmp_path / "my.toml").write_text(block.text)
        try:
            swmodel.load(tmp_path / "my.toml", environ={})
        except swmodel.ConfigError as error:
            problems += [each for each in error.problems if not MISSING.search(each)]
    assert problems == []
