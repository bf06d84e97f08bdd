"""The notebooks of examples/: each runs as it is, and shows what it is kept with."""

import re

import nbformat
import pytest
from conftest import ROOT
from nbclient.exceptions import CellExecutionError
from support.compiling import QUICK

from tools.notebooks import executed

pytestmark = pytest.mark.slow

#: What a kernel sets when it starts, before matplotlib is imported.
PICTURES = {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def code_of(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(notebook):
    """What each cell of code shows: the words of texts, without numbers and checksums, and the kinds of the rest."""

    def kind(output):
        if "text" not in output:
            return sorted(output.data)
        return output.name, re.sub(r"\b[0-9a-f]{12}\b|[-\d.]+(e[-+]\d+)?", "#", output.text)

    return [[kind(output) for output in cell.outputs] for cell in code_of(notebook)]


@pytest.mark.promise("notebooks show computed output")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_as_it_is_and_shows_what_it_is_kept_with(path, tmp_path, monkeypatch, optimised):
    kept = nbformat.read(path, as_version=4)
    assert any("image/png" in output.get("data", ()) for cell in code_of(kept) for output in cell.outputs)
    assert "assert " in code_of(kept)[-1].source
    for name, value in (QUICK | PICTURES).items():
        monkeypatch.setenv(name, value)
    assert shown(executed(path, tmp_path)) == shown(kept), "python tools/notebooks.py --write keeps them anew"


@pytest.mark.night
def test_a_cell_that_fails_is_named(tmp_path):
    cells = [nbformat.v4.new_code_cell("assert 1 == 2, 'numbers differ'")]
    path = tmp_path / "wrong.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    with pytest.raises(CellExecutionError, match="numbers differ"):
        executed(path, tmp_path)
