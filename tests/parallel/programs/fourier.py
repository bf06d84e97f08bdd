"""Transforms on several devices of one process; prints JSON. JAX's processors are split before it starts."""

import json

import jax
from support.compiling import collectives
from support.fourier_numbers import PAIRS, TWO, energies, error_of_derivatives, fields, other_bits, placed

from swmodel.parallel.fourier import Fourier
from swmodel.parallel.transport.sharded import Sharded

DEVICES = 4
jax.config.update("jax_num_cpu_devices", DEVICES)
jax.config.update("jax_enable_x64", True)
LAYOUTS = ((2, 2), (4, 1), (1, 4))
EVEN, UNEVEN = (12, 16), (13, 17)
#: Cells for which the bits of a complex FFT depend on the place of a line.
LONG = (304, 10)
#: The grid for the check of memory.
LARGE = (256, 250)


def of_layout(layout):
    """The results on a layout; on the first one for all pairs of kinds, and with derivatives."""
    even, uneven, long = (Sharded(layout, *cells, DEVICES) for cells in (EVEN, UNEVEN, LONG))
    found = {
        "other bits": other_bits(uneven, "float64", PAIRS if layout == LAYOUTS[0] else TWO),
        "other bits in single precision": other_bits(even, "float32", TWO),
        "other bits of long lines": other_bits(long, "float32", TWO[:1]),
        "energies": energies(uneven),
        "programs": [of_program(layout, pair, forward) for pair in TWO for forward in (True, False)],
    }
    return found | ({"derivatives": error_of_derivatives(uneven)} if layout == LAYOUTS[0] else {})


def of_program(layout, pair, forward):
    """Messages of a compiled transform, and its temporary memory on a device divided by that of a field."""
    transport = Sharded(layout, *LARGE, DEVICES)
    fourier, ours = Fourier(transport, *pair), placed(transport, fields(*LARGE, "float64", 1))
    if forward:
        program, given = transport.jit(fourier.forward), ours
    else:
        program, given = transport.jit(fourier.backward), transport.jit(fourier.forward)(ours)
    compiled = program.lower(given).compile()
    memory = compiled.memory_analysis()
    held = memory.argument_size_in_bytes + memory.output_size_in_bytes + memory.temp_size_in_bytes
    return collectives(compiled.as_text()), held / (8 * LARGE[0] * LARGE[1])


print(json.dumps({"x".join(map(str, layout)): of_layout(layout) for layout in LAYOUTS}))
