"""Make the table of tests/support/covering.py anew: 24 rows with every pair of levels. `python tools/covering.py`"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.covering import FACTORS, FORBIDDEN, wanted


def search(seed: int, tries: int = 60_000) -> tuple[int, list[list[str]]]:
    """The number of pairs that 24 rows lack, and the rows: simulated annealing from every stepper with every flux."""
    rng, levels = np.random.default_rng(seed), [(factor, level) for factor in FACTORS for level in FACTORS[factor]]
    number, missing = {level: k for k, level in enumerate(levels)}, np.zeros((2, len(levels), len(levels)), int)
    for kind, some in enumerate((wanted(), FORBIDDEN)):
        for a, b in some:
            missing[kind, number[a], number[b]] = missing[kind, number[b], number[a]] = 1
    choices = [[number[factor, level] for level in FACTORS[factor]] for factor in FACTORS]
    table = [[s, f, *(rng.choice(c) for c in choices[2:])] for s in choices[0] for f in choices[1]]
    table, counts = np.array(table), np.zeros(missing.shape[1:], int)
    for row in table:
        counts[np.ix_(row, row)] += 1
    cost = (missing[0] * (counts == 0)).sum() // 2 + 3 * (counts * missing[1]).sum() // 2
    for turn in range(tries):
        i, k = rng.integers(len(table)), rng.integers(2, len(choices))
        old, new, others = table[i, k], rng.choice(choices[k]), np.delete(table[i], k)
        lost, won = ((missing[0, x, others] * (counts[x, others] == n)).sum() for x, n in ((old, 1), (new, 0)))
        change = lost - won + 3 * (missing[1, new, others].sum() - missing[1, old, others].sum())
        if new != old and (change <= 0 or rng.random() < np.exp(-change / max(0.12, 0.8 - turn / tries))):
            for x, one in ((old, -1), (new, 1)):
                counts[x, others] += one
                counts[others, x] += one
            table[i, k], cost = new, cost + change
        if not cost:
            break
    return int(cost), [[levels[k][1] for k in row] for row in table]


def main() -> None:
    for seed in range(100):
        lacking, found = search(seed)
        print(f"seed {seed}: {lacking} pairs are missing", file=sys.stderr)
        if not lacking:
            print("\n".join(" ".join(row) for row in found))
            break


if __name__ == "__main__":
    main()
