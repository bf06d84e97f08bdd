"""The commands and programs on every page of docs/ and in README.md and CONTRIBUTING.md run as printed."""

import re
import subprocess
import sys

import pytest
from support.marks import night_params

import swmodel
from swmodel.cli import main
from swmodel.config.options.model import Config
from tools.page import PAGES, ROOT, RUN_LANGUAGES, read_blocks

#: `swmodel COMMAND` and the words after it, in code blocks, tables and text.
COMMAND = re.compile(r"\bswmodel ([a-z][a-z-]*)((?:\\\n|[^\n|`#&>\"])*)")
OPTION = re.compile(r"(?<![\w-])(--?[a-z][a-z-]*)")
SETTING = re.compile(r"(?:-s|--set) '?([a-z_]+)\.([a-z_0-9]+)[.=]")

#: Programs that check the results of a page, with the variables of its blocks.
CHECKS = {
    "README": "assert eta.shape == (45, 90) and simulation.step == 100",
    "output": """
away = {"x_f": slice(0, -1), "y_f": slice(0, -1)}
assert float(abs(zeta - ds.zeta).isel(away).max()) < 1e-5 * float(abs(ds.zeta).max())
""",
    "bmi": """
assert abs(area @ depth - begin - river) < 1e-14 * begin
assert river > 3e7
""",
    "parcels": """
x, y = (xarray.DataArray(np.array(each), dims="particle") for each in (particles.x, particles.y))
assert (ds.mask.sel(x_c=x, y_c=y, method="nearest") == 1).all()
assert np.hypot(x - start.x_c.values, y - start.y_c.values).max() > 0.02
""",
    "weather": "assert 0.01 < model.field('eta').max() < 0.5",
    "closures": "assert losses[2] < losses[1] < losses[0]",
}
#: The pages whose blocks run for less than 20 s on an idle core.
SHORT = {"assimilation", "bmi", "cluster", "drying", "python"}

RUNNING = {page.stem: page for page in PAGES if read_blocks(page, *RUN_LANGUAGES)}


@pytest.mark.parametrize(
    "page", [*night_params(*sorted(SHORT)), *night_params(*sorted({*RUNNING} - SHORT), mark=pytest.mark.release)]
)
def test_blocks_of_a_page_run_in_their_order(page, tmp_path, optimised):
    words = [sys.executable, ROOT / "tools" / "page.py", RUNNING[page], CHECKS.get(page, "")]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_option_and_key_on_a_page_exists(page, tmp_path):
    """And every block of TOML is a configuration, apart from files of the reader that do not exist."""
    text = page.read_text(encoding="utf-8")
    for name, words in COMMAND.findall(text):
        assert not {*OPTION.findall(words)} - options_of(main.commands.get(name)), name
    for section, key in SETTING.findall(text):
        assert section in ("case", "section") or key in type(getattr(Config(), section)).model_fields, (section, key)
    problems = []
    for block in read_blocks(page, "toml"):
        (tmp_path / "my.toml").write_text(block.text)
        try:
            swmodel.load(tmp_path / "my.toml", environ={})
        except swmodel.ConfigError as error:
            problems += error.problems
    assert all(re.search(r"there is no (such )?file", each) for each in problems), problems


def options_of(command):
    """The options of a command and of its subcommands."""
    commands = [command, *getattr(command, "commands", {}).values()] if command else []
    return {"-h", "--help"}.union(*(option.opts for each in commands for option in each.params))
