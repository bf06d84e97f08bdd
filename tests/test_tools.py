"""The programs in tools/ change what the package ships only where --write is given."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

pytestmark = pytest.mark.night

ROOT = Path(__file__).parents[1]
SHIPPED = {".npz", ".json", ".nc", ".png", ".mp4", ".ipynb"}

#: What each tool that writes into the package is called with.
WORDS = {
    "constituents": [],
    "global_m2": [],
    "notebooks": ["a.ipynb"],
    "pictures": ["rest"],
    "relief": [str(ROOT / "swmodel" / "files" / "relief" / "relief.nc")],
}
#: Those that write where they are told alone, or into their folder of results.
OTHERS = {"exactness", "page", "prose", "record", "twins"}


def shipped(*more: Path) -> dict[Path, tuple[int, int]]:
    """Time and size of each file that a tool could replace."""
    found = [path for name in ("swmodel", "docs/images", "examples") for path in (ROOT / name).rglob("*")]
    found = [*(path for path in found if path.suffix in SHIPPED), *more]
    return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in found}


@pytest.mark.fault("a tool rewrites a file of the package without `--write`")
def test_each_tool_is_looked_at():
    assert WORDS.keys() | OTHERS == {path.stem for path in (ROOT / "tools").glob("*.py")}


@pytest.mark.fault("a tool rewrites a file of the package without `--write`")
@pytest.mark.parametrize("tool", WORDS)
def test_a_tool_that_is_not_asked_to_write_leaves_the_package_as_it_is(tool, tmp_path):
    notebook = tmp_path / "a.ipynb"
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1")], metadata=kernel), notebook)
    before = shipped(notebook)
    line = [sys.executable, str(ROOT / "tools" / f"{tool}.py"), *WORDS[tool]]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert (done.returncode, shipped(notebook)) == (0, before), done.stderr
    assert "--write" in subprocess.run([*line[:2], "--help"], capture_output=True, text=True, timeout=60).stdout


LONG = "A sentence of so many words" + " that follow one after another" * 5


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (f'"""{LONG}."""', 1),
        (f"# {LONG[:60]}\n# {LONG[60:]}", 1),
        (f'raise ValueError(f"{{place}}: {LONG}")', 1),
        ('say("what is wrong; what to do about it; where it is")', 0),
        (f'"""A table.\n\n    {LONG}\n\n| {LONG} |\n"""', 0),
        (f'"""Commands.\n\nswmodel {LONG}\nswmodel {LONG}\n\nPlot: swmodel {LONG}\n"""', 0),
        (f'TEMPLATE = "[section]\\n# {LONG}"', 0),
        ('pattern = re.compile(r"the user\\.s own | one that goes on with")', 0),
        ('"""It goes on with the next step."""', 1),
    ],
)
def test_long_sentences_are_found_in_docstrings_comments_and_messages_alone(text, number, tmp_path):
    path = tmp_path / "some.py"
    path.write_text(text)
    line = [sys.executable, str(ROOT / "tools" / "prose.py"), str(path)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60)
    assert (done.returncode, len(done.stdout.split("\n")) - 1) == (min(number, 1), max(number, 1)), done.stdout
