"""docs/bibliography.md has every source that the references of docstrings and the known answers cite."""

import ast
import re
import unicodedata

from conftest import ROOT

from swmodel.bench.known_answers import KNOWN


def plain(text):
    """A text without accents, in one line."""
    letters = unicodedata.normalize("NFKD", " ".join(text.split()))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def references():
    """The paragraphs of docstrings after `Reference:`, and the sources of the known answers."""
    yield from (known.source for known in KNOWN.values())
    programs = [path.read_text() for path in (ROOT / "swmodel").rglob("*.py")]
    for program in (each for each in programs if "Reference:" in each):
        for node in ast.walk(ast.parse(program)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                for paragraph in re.split(r"\n\s*\n", ast.get_docstring(node) or ""):
                    yield from paragraph.split("Reference:")[1:]


def test_each_source_that_is_cited_has_a_row_with_its_author_and_year():
    rows = [plain(row) for row in (ROOT / "docs" / "bibliography.md").read_text().splitlines() if row[:2] == "| "]
    cited = {one for text in references() for one in re.findall(r"[^;()]*\(\d{4}\)", plain(text))}
    assert len(cited) > 50
    missing = []
    for one in cited:
        authors, year = re.findall(r"[A-Z][\w-]{2,}", one), one[-6:]
        if not any(year in row and any(author in row for author in authors) for row in rows):
            missing.append(one)
    assert missing == []
