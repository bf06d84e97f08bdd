"""Executes the notebooks of examples/, some minutes.

python tools/notebooks.py [--write] [NOTEBOOK.ipynb ...]

Only with --write it keeps them with what they have shown, as the site shows them.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "examples"
#: Seconds that a cell may take.
LIMIT = 600


def executed(path: Path, folder: Path, **environ):
    """The notebook at a path after it has been executed in a folder, with more in its environment.

    Commands in its cells are those of this Python's environment, and modules beside it can be imported.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell has failed.
    """
    notebook = nbformat.read(path, as_version=4)
    found = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    there = {"metadata": {"path": str(folder)}}
    client = NotebookClient(notebook, timeout=LIMIT, resources=there, record_timing=False, coalesce_streams=True)
    beside = os.pathsep.join(filter(None, [str(FOLDER), os.environ.get("PYTHONPATH")]))
    client.execute(env=os.environ | {"PATH": found, "PYTHONPATH": beside} | environ)
    for output in (output for cell in notebook.cells for output in cell.get("outputs", ()) if "text" in output):
        output.text = output.text.replace(f"{folder}/", "")  # which readers have not
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"], "language_info": {"name": "python"}}
    return notebook


def main(words=None) -> None:
    """Execute those that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebooks", nargs="*", type=Path, help="without any, all of examples/")
    parser.add_argument("--write", action="store_true", help="replace each by what it has become")
    asked = parser.parse_args(words)
    for each in asked.notebooks or sorted(FOLDER.glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as folder:
            made = executed(each, Path(folder))
        if asked.write:
            nbformat.write(made, each)
        print(f"{each}: {'replaced' if asked.write else 'executed; --write keeps what it has shown'}")


if __name__ == "__main__":
    main()
