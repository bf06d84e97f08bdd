"""The programs in tools/ change the package only with --write, and run."""

import subprocess
import sys

import nbformat
import pytest
from conftest import ROOT

TOOLS = {path.stem for path in (ROOT / "tools").glob("*.py") if '"--write"' in path.read_text()}
TOOLS -= {"mutate"}  # runs the tests many times
#: What some of them are called with.
WORDS = {
    "notebooks": ["a.ipynb"],
    "pictures": ["rest"],
    "relief": [str(ROOT / "swmodel" / "files" / "relief" / "relief.nc")],
}
SHIPPED = {".npz", ".json", ".nc", ".png", ".mp4", ".ipynb", ".md"}


@pytest.mark.night
@pytest.mark.fault("a tool rewrites a file of the package without `--write`")
@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_tool_without_write_leaves_the_package_unchanged(tool, tmp_path):
    def shipped():
        found = [path for name in ("swmodel", "docs", "examples") for path in (ROOT / name).rglob("*")]
        found = [*(path for path in found if path.suffix in SHIPPED), notebook]
        return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in found}

    notebook = tmp_path / "a.ipynb"
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1")], metadata=kernel), notebook)
    before = shipped()
    line = [sys.executable, str(ROOT / "tools" / f"{tool}.py"), *WORDS.get(tool, [])]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (done.returncode, shipped()) == (0, before), done.stderr


@pytest.mark.release
def test_program_of_table_of_derivatives_finds_them_exact(tmp_path):
    program = [sys.executable, "tools/exactness.py", "--layouts", "1x1", "--steps", "5", "--folder", tmp_path]
    made = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=True, timeout=400).stdout
    slope, *errors = map(float, made.splitlines()[-1].split("|")[3:-1])
    assert slope == pytest.approx(2, abs=0.02)
    assert max(errors) < 1e-10
