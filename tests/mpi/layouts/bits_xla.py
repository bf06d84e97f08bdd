"""The bits of xla."""

from functools import partial

import bits

PHASES = bits.PHASES
results = partial(bits.results, executor="xla")
