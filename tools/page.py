"""Run the code blocks of a documentation page in the current folder: python tools/page.py PAGE [CHECK].

The folder gets a link to examples/, because paths on pages start in the project's root.
Blocks of `bash` and `python` run in their order on the page. Python blocks share their variables, as in one session. A
block whose first line is `# NAME.py` or `# NAME.toml` is written to that file, for other blocks. Blocks that cannot run
in a test (on a cluster, installations, files of the reader) are marked `console` or `{code-block} python`. CHECK is a
Python program that runs at the end, with the variables of the blocks.
"""

import os
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
RUN_LANGUAGES = ("bash", "python")
FILE_HEADER = re.compile(r"# (\w+\.(?:py|toml))\n")


class CodeBlock(NamedTuple):
    """A block of code: the language after its fence, the number of its first line, and its text."""

    language: str
    line: int
    text: str


def read_blocks(page: Path, *languages: str) -> list[CodeBlock]:
    text = page.read_text(encoding="utf-8")
    matches = re.finditer(r"^```(\S[^\n]*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    all_blocks = (CodeBlock(each[1].strip(), text.count("\n", 0, each.start(2)) + 1, each[2]) for each in matches)
    return [block for block in all_blocks if block.language in languages]


def run_page(page: Path, check: str = "") -> None:
    """Run the blocks of a page, then a check, up to the first error; tracebacks show line numbers of the page."""
    namespace: dict[str, object] = {"__name__": "__page__"}
    for block in read_blocks(page, *RUN_LANGUAGES, "toml"):
        print(f"{page.name}:{block.line}", flush=True)
        if file := FILE_HEADER.match(block.text):
            Path(file[1]).write_text(block.text, encoding="utf-8")
        elif block.language == "toml":
            continue
        elif block.language == "python":
            exec(compile("\n" * (block.line - 1) + textwrap.dedent(block.text), page, "exec"), namespace)
        else:
            subprocess.run(["bash", "-euxo", "pipefail", "-c", block.text], check=True)
    exec(check, namespace)


def set_user_environment(folder: Path) -> None:
    """Set the environment so that `python` and `swmodel` are those of this program, and no window opens."""
    for name, words in {"python": '"$@"', "swmodel": '-m swmodel "$@"'}.items():
        (folder / name).write_text(f'#!/bin/bash\nexec "{sys.executable}" {words}\n')
        (folder / name).chmod(0o755)
    sys.path[0] = str(ROOT)
    for name, paths in {"PATH": (folder, Path(sys.executable).parent), "PYTHONPATH": (ROOT,)}.items():
        os.environ[name] = os.pathsep.join([*map(str, paths), *filter(None, [os.environ.get(name)])])
    os.environ |= {"MPLBACKEND": "Agg", "BROWSER": "true"}


if __name__ == "__main__":
    if not Path("examples").exists():
        Path("examples").symlink_to(ROOT / "examples")
    with tempfile.TemporaryDirectory() as folder:
        set_user_environment(Path(folder))
        run_page(Path(sys.argv[1]), *sys.argv[2:])
