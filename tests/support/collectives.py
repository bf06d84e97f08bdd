"""The messages between devices in a compiled program."""

import re

KINDS = (
    "all-gather",
    "all-reduce",
    "all-to-all",
    "collective-broadcast",
    "collective-permute",
    "ragged-all-to-all",
    "recv",
    "reduce-scatter",
    "send",
)


def collectives(program: str) -> dict[str, int]:
    """How often each of KINDS occurs in the text of a compiled program; those that do not occur are left out."""
    found = {kind: len(re.findall(rf" {kind}(?:-start)?\(", program)) for kind in KINDS}
    return {kind: number for kind, number in found.items() if number}
