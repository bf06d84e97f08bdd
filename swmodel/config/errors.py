"""What is wrong with a configuration, all of it at once."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from ..errors import MOST_LINES, as_lines


class ConfigError(ValueError):
    """The configuration cannot be used.

    Attributes:
        problems: one readable line for each thing that is wrong, with its place and units; the message has the first.
    """

    exit_code = 2

    def __init__(self, problems: Iterable[str]):
        self.problems = tuple(problems)
        super().__init__("\n".join(as_lines(self.problems)))

    def __reduce__(self):
        """As it is sent to other processes."""
        return type(self), (self.problems,)


def unknown(problems: list[str], place: str, what: str, word: str, known: Iterable[str]) -> None:
    """Add to the problems that there is no such section or key, with a suggestion as long as they are few."""
    hint = f"; {suggest(word, known)}" if len(problems) < MOST_LINES else ""
    problems.append(f"{place}: no such {what}{hint}")


def suggest(word: str, known: Iterable[str]) -> str:
    """'did you mean "jet"?' for a word close to a known one, else a list of what is known."""
    known = [str(name) for name in known]
    close = difflib.get_close_matches(word, known, 1, cutoff=0.6 if len(word) > 2 else 0.5) or [
        name for name in known if name.lower() == word.lower()
    ]
    return f'did you mean "{close[0]}"?' if close else f"known are {', '.join(known) or 'none'}"
