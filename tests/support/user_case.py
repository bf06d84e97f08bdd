"""The user-defined case Bump of docs/cases.md."""

import re
from pathlib import Path

CASES_PAGE = (Path(__file__).parents[2] / "docs" / "cases.md").read_text(encoding="utf-8")
BUMP_CODE = re.search(r"```python\n(.*?)```", CASES_PAGE, re.DOTALL)[1]
#: Options of a very short run of this case.
SHORT_RUN_OPTIONS = {"grid.nx": 12, "grid.ny": 8, "run.executor": "reference", "run.steps": 6, "restart.every_steps": 3}


def write_bump(folder, text=BUMP_CODE):
    """Write bump.py, with this text, into a folder; returns its path."""
    folder.mkdir(exist_ok=True)
    path = folder / "bump.py"
    path.write_text(text, encoding="utf-8")
    return path
