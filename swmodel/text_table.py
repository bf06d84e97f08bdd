"""Tables in text files, as users, spreadsheets and other programs write them: tracks, gauges, drifters.

The first line names the columns, in upper or lower case. Commas, semicolons or tabs separate the cells; with semicolons
or tabs, numbers may have a decimal comma. A byte-order mark, empty lines and lines that begin with # are ignored.
"""

from __future__ import annotations

import csv
import re
from typing import NamedTuple

from .errors import UsageError

#: Possible separators of cells; a table uses the separator that occurs most often in its first line.
DELIMITERS = ",;\t"
#: The name of a column with its units, such as "Water Level (m)" or "level [cm]".
COLUMN_PATTERN = re.compile(r"(?P<name>[^(\[]*?)\s*(?:[(\[]\s*(?P<units>[^)\]]*?)\s*[)\]])?")
#: Time zones, in lower case, that the name of a column of times may contain in place of units.
TIME_ZONES = ("", "utc", "gmt", "z")


class TextTable(NamedTuple):
    """A table: the names of its columns, in lower case, and {context of a row, such as "file:12": its cells}."""

    columns: list[str]
    rows: dict[str, list[str]]

    def row(self, context: str) -> dict[str, str]:
        """The cells of a row, {column name: cell}.

        UsageError: the row has more or fewer cells than there are columns, or two columns have the same name.
        """
        cells = self.rows[context]
        first_column: dict[str, int] = {}
        for number, name in enumerate(self.columns, 1):
            if name and first_column.setdefault(name, number) != number:
                file = context.rpartition(":")[0]
                raise UsageError(f"{file}: columns {first_column[name]} and {number} are both named {name}; delete one")
        if len(cells) != len(self.columns):
            raise UsageError(f"{context}: has {len(cells)} values for {len(self.columns)} columns")
        return dict(zip(self.columns, cells, strict=True))


def parse_table(text: str, file_name: str) -> TextTable:
    """The table in `text`, whose lines have the contexts `file_name`:1 and so on in messages.

    UsageError: a line cannot be split into cells, for example because a cell is longer than 131 072 characters.
    """
    lines = {f"{file_name}:{n}": line for n, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1)}
    lines = {context: line for context, line in lines.items() if line.strip() and not line.lstrip().startswith("#")}
    first_line = next(iter(lines.values()), "")
    delimiter = max(DELIMITERS, key=first_line.count)
    rows = {context: split_cells(line, delimiter, context) for context, line in lines.items()}
    columns = [name.lower() for name in rows.pop(next(iter(rows), ""), [])]
    return TextTable(columns, rows)


def split_cells(line: str, delimiter: str, context: str) -> list[str]:
    """The cells of a line, without surrounding spaces; unless `delimiter` is a comma, with decimal points."""
    try:
        cells = [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter))]
    except csv.Error as error:
        raise UsageError(f"{context}: {error}") from None
    return cells if delimiter == "," else [with_decimal_point(cell) for cell in cells]


def split_column(column: str) -> tuple[str, str]:
    """The name and units of a column: ("level", "m") for "level (m)"; the units are "" if there are none."""
    match = COLUMN_PATTERN.fullmatch(column)
    return (match["name"], match["units"] or "") if match else (column, "")


def with_decimal_point(cell: str) -> str:
    """The cell with a decimal point in place of a decimal comma, if it is then a number, else unchanged."""
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return cell
    return cell.replace(",", ".")
