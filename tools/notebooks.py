"""Executes the notebooks of examples/ and keeps them with what they have shown, as the site shows them; some minutes.

python tools/notebooks.py [NOTEBOOK.ipynb ...]
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "examples"
#: Seconds that a cell may take.
LIMIT = 300


def executed(path: Path, folder: Path, **environ):
    """The notebook at a path after it has been executed in a folder, with more in its environment.

    Commands in its cells are those of this Python's environment, and modules beside it can be imported.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell has failed.
    """
    notebook = nbformat.read(path, as_version=4)
    found = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    client = NotebookClient(notebook, timeout=LIMIT, resources={"metadata": {"path": str(folder)}}, record_timing=False)
    beside = os.pathsep.join(filter(None, [str(FOLDER), os.environ.get("PYTHONPATH")]))
    client.execute(env=os.environ | {"PATH": found, "PYTHONPATH": beside} | environ)
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"], "language_info": {"name": "python"}}
    return notebook


if __name__ == "__main__":
    for each in map(Path, sys.argv[1:] or sorted(FOLDER.glob("*.ipynb"))):
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(executed(each, Path(folder)), each)
        print(each)
