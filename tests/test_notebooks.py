"""The notebooks of examples/ run, and produce the output that they are stored with."""

import re

import nbformat
import pytest
from conftest import ROOT
from support.marks import night_params
from support.quick_compilation import QUICK_ENVIRONMENT

from tools.notebooks import execute_notebook

ENVIRON = QUICK_ENVIRONMENT | {
    "MPLBACKEND": "module://matplotlib_inline.backend_inline"
}  # as a kernel sets it when it starts
SHORTEST_NOTEBOOK = "first_run"
OTHER_NOTEBOOKS = sorted({path.stem for path in (ROOT / "examples").glob("*.ipynb")} - {SHORTEST_NOTEBOOK})


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def words_of_output(notebook):
    """The output of each code cell: the words of texts, without numbers and checksums, and the kinds of other output.

    The words are sorted, because versions of xarray list coordinates in different orders.
    """

    def kind(output):
        if "text" not in output:
            return sorted(output.data)
        return output.name, sorted(re.findall(r"[^\W\d]{2,}", re.sub(r"\b[0-9a-f]{12}\b", "", output.text)))

    return [[kind(output) for output in cell.outputs] for cell in code_cells(notebook)]


@pytest.mark.slow
@pytest.mark.promise("notebooks show computed output")
@pytest.mark.parametrize("name", [SHORTEST_NOTEBOOK, *night_params(*OTHER_NOTEBOOKS, mark=pytest.mark.release)])
def test_notebook_runs_and_shows_its_output(name, tmp_path, monkeypatch, optimised):
    path = ROOT / "examples" / f"{name}.ipynb"
    kept = nbformat.read(path, as_version=4)
    assert any("image/png" in output.get("data", ()) for cell in code_cells(kept) for output in cell.outputs)
    for variable, value in ENVIRON.items():
        monkeypatch.setenv(variable, value)
    assert words_of_output(execute_notebook(path, tmp_path)) == words_of_output(kept), (
        "python tools/notebooks.py --write saves the new output"
    )
