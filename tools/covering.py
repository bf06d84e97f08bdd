"""Search for a new table for tests/support/covering_array.py, 24 rows with every pair of levels, and print it."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.covering_array import FACTORS, FORBIDDEN, required_pairs


def search(seed: int, n_tries: int = 60_000) -> tuple[int, list[list[str]]]:
    """Find 24 rows, one for each stepper and flux, by simulated annealing; returns the cost and the rows.

    The cost is the number of missing pairs plus three times the number of forbidden pairs.
    """
    rng, levels = np.random.default_rng(seed), [(factor, level) for factor in FACTORS for level in FACTORS[factor]]
    level_index, pair_matrices = (
        {level: k for k, level in enumerate(levels)},
        np.zeros((2, len(levels), len(levels)), int),
    )
    for kind, pairs in enumerate((required_pairs(), FORBIDDEN)):
        for a, b in pairs:
            pair_matrices[kind, level_index[a], level_index[b]] = pair_matrices[
                kind, level_index[b], level_index[a]
            ] = 1
    choices = [[level_index[factor, level] for level in FACTORS[factor]] for factor in FACTORS]
    table = [[s, f, *(rng.choice(c) for c in choices[2:])] for s in choices[0] for f in choices[1]]
    table, counts = np.array(table), np.zeros(pair_matrices.shape[1:], int)
    for row in table:
        counts[np.ix_(row, row)] += 1
    cost = (pair_matrices[0] * (counts == 0)).sum() // 2 + 3 * (counts * pair_matrices[1]).sum() // 2
    for iteration in range(n_tries):
        i, k = rng.integers(len(table)), rng.integers(2, len(choices))
        old, new, others = table[i, k], rng.choice(choices[k]), np.delete(table[i], k)
        n_lost, n_gained = (
            (pair_matrices[0, x, others] * (counts[x, others] == n)).sum() for x, n in ((old, 1), (new, 0))
        )
        change = n_lost - n_gained + 3 * (pair_matrices[1, new, others].sum() - pair_matrices[1, old, others].sum())
        if new != old and (change <= 0 or rng.random() < np.exp(-change / max(0.12, 0.8 - iteration / n_tries))):
            for x, change_of_count in ((old, -1), (new, 1)):
                counts[x, others] += change_of_count
                counts[others, x] += change_of_count
            table[i, k], cost = new, cost + change
        if not cost:
            break
    return int(cost), [[levels[k][1] for k in row] for row in table]


def main() -> None:
    for seed in range(100):
        cost, table = search(seed)
        print(f"seed {seed}: cost {cost}", file=sys.stderr)
        if not cost:
            print("\n".join(" ".join(row) for row in table))
            break


if __name__ == "__main__":
    main()
