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
MAX_CELL_SECONDS = 600


def execute_notebook(path: Path, folder: Path, **environ):
    """The notebook at a path after it has been executed in a folder, with more in its environment.

    Commands in its cells are those of this Python's environment, and modules beside it can be imported.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell has failed.
    """
    notebook = nbformat.read(path, as_version=4)
    path_variable = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    resources = {"metadata": {"path": str(folder)}}
    client = NotebookClient(
        notebook, timeout=MAX_CELL_SECONDS, resources=resources, record_timing=False, coalesce_streams=True
    )
    python_path = os.pathsep.join(filter(None, [str(FOLDER), os.environ.get("PYTHONPATH")]))
    client.execute(env=os.environ | {"PATH": path_variable, "PYTHONPATH": python_path} | environ)
    for output in (output for cell in notebook.cells for output in cell.get("outputs", ()) if "text" in output):
        output.text = output.text.replace(f"{folder}/", "")  # which readers have not
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"], "language_info": {"name": "python"}}
    return notebook


def main(argv=None) -> None:
    """Execute those that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebooks", nargs="*", type=Path, help="without any, all of examples/")
    parser.add_argument("--write", action="store_true", help="replace each by what it has become")
    args = parser.parse_args(argv)
    for each in args.notebooks or sorted(FOLDER.glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as folder:
            notebook = execute_notebook(each, Path(folder))
        if args.write:
            nbformat.write(notebook, each)
        print(f"{each}: {'replaced' if args.write else 'executed; --write keeps what it has shown'}")


if __name__ == "__main__":
    main()
