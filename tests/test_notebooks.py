"""The notebooks of examples/: each runs, and shows the output that it is kept with."""

import re

import nbformat
import pytest
from conftest import ROOT
from support.compiling import QUICK
from support.marks import at_night

from tools.notebooks import executed

ENVIRON = QUICK | {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}  # as a kernel sets it when it starts
SHORTEST = "first_run"
OTHERS = sorted({path.stem for path in (ROOT / "examples").glob("*.ipynb")} - {SHORTEST})


def code_of(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(notebook):
    """What each cell of code shows: the words of texts, without numbers and checksums, and the kinds of the rest.

    Versions of xarray list coordinates in different orders, so the words are sorted.
    """

    def kind(output):
        if "text" not in output:
            return sorted(output.data)
        return output.name, sorted(re.findall(r"[^\W\d]{2,}", re.sub(r"\b[0-9a-f]{12}\b", "", output.text)))

    return [[kind(output) for output in cell.outputs] for cell in code_of(notebook)]


@pytest.mark.slow
@pytest.mark.promise("notebooks show computed output")
@pytest.mark.parametrize("name", [SHORTEST, *at_night(*OTHERS, mark=pytest.mark.release)])
def test_notebook_runs_and_shows_its_output(name, tmp_path, monkeypatch, optimised):
    path = ROOT / "examples" / f"{name}.ipynb"
    kept = nbformat.read(path, as_version=4)
    assert any("image/png" in output.get("data", ()) for cell in code_of(kept) for output in cell.outputs)
    for variable, value in ENVIRON.items():
        monkeypatch.setenv(variable, value)
    assert shown(executed(path, tmp_path)) == shown(kept), "python tools/notebooks.py --write keeps them anew"
