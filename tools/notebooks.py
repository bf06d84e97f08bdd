"""Execute the notebooks of examples/, which takes some minutes.

python tools/notebooks.py [--write] [NOTEBOOK.ipynb ...]

With --write it saves them with their output, which the site shows.
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
#: Time limit of a cell, s.
MAX_CELL_SECONDS = 600


def execute_notebook(path: Path, folder: Path, **environ):
    """Execute the notebook at a path in a folder, with additions to the environment; returns it with its output.

    Its cells can run the commands of this Python environment and import the modules of examples/.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell failed.
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
        output.text = output.text.replace(f"{folder}/", "")  # readers do not have this folder
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"], "language_info": {"name": "python"}}
    return notebook


def main(argv=None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebooks", nargs="*", type=Path, help="notebooks to execute; default: all of examples/")
    parser.add_argument("--write", action="store_true", help="save each notebook with its output")
    args = parser.parse_args(argv)
    for each in args.notebooks or sorted(FOLDER.glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as folder:
            notebook = execute_notebook(each, Path(folder))
        if args.write:
            nbformat.write(notebook, each)
        print(f"{each}: {'replaced' if args.write else 'executed; --write saves its output'}")


if __name__ == "__main__":
    main()
