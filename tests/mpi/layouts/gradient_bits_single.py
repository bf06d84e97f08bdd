"""Gradients by the native step in single precision: their bits."""

from functools import partial

import gradient_bits

PHASES = (((1, 1), (1, 2)), ((2, 2),))
results = partial(gradient_bits.results, dtype="float32")
