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
