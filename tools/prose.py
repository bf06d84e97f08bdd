"""Check the English of pages, docstrings, comments and messages: words that are riddles, sentences that are too long.

    tools/prose.py [FILE ...]     check these files, or all pages of docs/, README.md, CONTRIBUTING.md and swmodel/
    tools/prose.py --count        how many findings each file has

A sentence has at most 25 words and one semicolon; in a message each clause counts as a sentence. Code, formulas, tables
and lists of names are left out. A message is any text of four words or more in the code; values in it count as words.
The exit code is 1 if something was found.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
LONGEST, SEMICOLONS = 25, 1

#: {pattern: what to write}. The field's terms and plain words instead of riddles.
WORDS = {
    r"\bwhoever\b": "name the actor",
    r"\bis said\b|\bare said\b|\bis told\b": "reports, prints, warns",
    r"\bwished for\b": "target",
    r"\bout of nowhere\b|\bfrom nowhere\b": "unphysical",
    r"\bgo(es|ing|ne)? on with\b": "continues",
    r"\bbut for\b": "except",
    r"\buses up\b": "donates",
    r"\bhand(ed|s)? over\b": "give, pass",
    r"\bof one's own\b|\bof the user's own\b": "user-defined, your own",
    r"\bwhat is meant\b|\bcannot be meant\b": "say what is wrong",
    r"\bas it is there\b": "say where",
    r"\blook(ed|s)? at\b": "check, examine",
}
#: Pages that keep a record of other times, and are not checked.
LEFT_OUT = {"CHANGELOG.md", "docs/changelog.md", "docs/index.md", "docs/contributing.md"}


def pages() -> list[Path]:
    """All files that are checked."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    checked = [path for path in found if str(path.relative_to(ROOT)) not in LEFT_OUT]
    return checked + sorted(ROOT.glob("swmodel/**/*.py"))


def in_python(text: str) -> Iterator[tuple[int, str]]:
    """Line number and text of each comment, paragraph of a docstring and clause of a message."""
    for match in re.finditer(r"^ *#(?!!).*(\n *#.*)*", text, re.MULTILINE):
        yield text.count("\n", 0, match.start()) + 1, re.sub(r"^ *#:? ?", "", match[0], flags=re.MULTILINE)
    nodes = list(ast.walk(ast.parse(text)))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    parts = {
        id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in ast.walk(node) if part is not node
    }
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            words = "".join(part.value if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            words = node.value
        else:
            continue
        if id(node) in docstrings:
            yield from ((node.lineno, part) for part in in_docstring(inspect.cleandoc(words)))
        elif re.search(r"[a-z]+ [a-z]+ [a-z]+ [a-z]+", words) and not re.search(r"[|\\]", words):
            yield from ((node.lineno, clause) for clause in words.split(";"))


def in_docstring(text: str) -> Iterator[str]:
    """The paragraphs and entries of a docstring, without indented formulas and rows of tables."""
    for block in re.split(r"\n\s*\n", text):
        prose = "" if block.startswith("    ") else re.sub(r"^ *(\S.* {2}.*|\|.*)$", "\n", block, flags=re.MULTILINE)
        yield from re.split(r"\n\s*\n|\n(?= *[\w, ]+: )|\n(?= *\w+\()|\n(?= *[*-] |\d+\. )", prose)


def paragraphs(path: Path) -> Iterator[tuple[int, str]]:
    """Line number and text of each paragraph, list item, docstring, comment or message."""
    text = path.read_text()
    if path.suffix == ".py":
        yield from in_python(text)
        return
    text = re.sub(r"```.*?```|\$\$.*?\$\$", lambda match: "\n" * match[0].count("\n"), text, flags=re.DOTALL)
    at = 1
    for part in re.split(r"(\n\s*\n|\n(?=\s*[*-] |\d+\. ))", text):
        if part.strip() and not part.startswith("    ") and not part.lstrip().startswith(("|", "#", "!", "*`")):
            yield at + (len(part) - len(part.lstrip("\n"))), part
        at += part.count("\n")


def sentences(text: str) -> list[str]:
    """The sentences of a paragraph; code and formulas in it count as one word."""
    text = re.sub(r"`[^`]*`|\$[^$]*\$", "X", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\([^()]*\)", "", text)  # an aside
    text = re.sub(r"\b(e\.g|i\.e|et al|cf|Fig|eq|St)\.", r"\1", " ".join(text.split()))
    return [one for one in re.split(r"(?<=[!?])\s+|(?<=[^.]\.)\s+|(?<=:)\s+(?=[A-Z*\"'(X0-9])", text) if one]


def findings(path: Path) -> Iterator[str]:
    """What is wrong in a file, one line each."""
    for line, text in paragraphs(path):
        for sentence in sentences(text):
            where = f"{os.path.relpath(path, ROOT)}:{line}"
            count = len(re.findall(r"\b(?:[aA]|[^\W\d_][\w'’-]+|X)\b", sentence))
            if count > LONGEST:
                yield f"{where}: {count} words: {sentence[:90]}"
            if sentence.count(";") > SEMICOLONS:
                yield f"{where}: {sentence.count(';')} semicolons: {sentence[:90]}"
            for pattern, instead in WORDS.items():
                if match := re.search(pattern, sentence, re.IGNORECASE):
                    yield f'{where}: "{match[0]}" ({instead}): {sentence[:90]}'


def main(words=None) -> int:
    """Print what is wrong; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--count", action="store_true", help="only how many each file has")
    options = parser.parse_args(words)
    found = {path: list(findings(path)) for path in map(Path.absolute, options.files or pages())}
    if options.count:
        for path, number in Counter({path: len(lines) for path, lines in found.items()}).most_common():
            print(f"{number:4d}  {os.path.relpath(path, ROOT)}")
    else:
        print("\n".join(line for lines in found.values() for line in lines))
    return int(any(found.values()))


if __name__ == "__main__":
    sys.exit(main())
