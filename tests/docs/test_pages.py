"""The commands and programs of every page of docs/ and of README.md run as they stand there."""

import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

import swmodel
from swmodel.cli import main
from swmodel.config.options.model import Config
from tools.page import PAGES, ROOT, RUN, blocks

TO_RUN = [page for page in PAGES if blocks(page, *RUN)]
#: `swmodel COMMAND` and the words behind it, in blocks, in tables and in the text.
COMMAND = re.compile(r"\bswmodel ([a-z][a-z-]*)((?:\\\n|[^\n|`#&>\"])*)")
OPTION = re.compile(r"(?<![\w-])(--?[a-z][a-z-]*)")
#: Problems with files of the reader.
MISSING = re.compile(r"there is no (such )?file")
SETTING = re.compile(r"(?:-s|--set) '?([a-z_]+)\.([a-z_0-9]+)[.=]")


@pytest.mark.parametrize("page", TO_RUN, ids=lambda page: page.stem)
def test_the_blocks_of_a_page_run_in_their_order(page, tmp_path):
    words = [sys.executable, ROOT / "tools" / "page.py", page]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_command_is_passed_over(page):
    """Each block is of a known language, and commands stand in blocks with a fence."""
    fences = re.findall(r"^```(.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert {fence for fence in fences[::2] if not fence.startswith("{")} <= {*RUN, "console", "text", "toml", "bibtex", ""}
    outside = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert re.findall(r"^ {4,}(?:swmodel|python|mpiexec|sbatch|make|apt) .*", outside, re.MULTILINE) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_option_and_key_that_a_page_mentions_exists(page):
    text = page.read_text(encoding="utf-8")
    unknown = []
    for name, words in COMMAND.findall(text):
        if (command := main.commands.get(name)) is None:
            unknown += [name] if OPTION.search(words) else []
            continue
        known = {"--help", "-h"}.union(*(option.opts for option in command.params))
        for inner in getattr(command, "commands", {}).values():
            known.update(*(option.opts for option in inner.params))
        unknown += [f"{name} {option}" for option in OPTION.findall(words) if option not in known]
    for section, key in SETTING.findall(text):
        fields = Config.model_fields
        if section not in ("case", "section") and (section not in fields or key not in type(getattr(Config(), section)).model_fields):
            unknown.append(f"{section}.{key}")
    assert unknown == []


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
