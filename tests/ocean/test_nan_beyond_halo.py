"""The native step reads nothing that is not set: in state or static fields beyond halo and margin, or in new memory.

In tests/executors/test_product.py everything beyond halo and margin of a recorded step is NaN.
"""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import ROOT
from support.random_case import configuration, random_fields
from support.stepping import arrays_of_carry, has_same_bits

from swmodel.executors.native import kernel as native
from swmodel.executors.native.calls import NativeCalls
from swmodel.ocean.state import Carry, State
from swmodel.parallel.decomposition import Block, IndexRange
from swmodel.parallel.transport.serial import SingleDeviceTransport
from swmodel.setup.setup import setup_of

NY, NX, STEPS = 20, 21, 2
#: 6 by 7 cells, at least seven from the ends of both axes
CENTRAL_BLOCK = Block(0, (3, 3), IndexRange(7, 13, NY), IndexRange(7, 14, NX))
#: The viscosity is so large that the farthest cells matter by more than round-off after two steps.
ALL_TERM_OPTIONS = {
    **{"grid__periodic_y": True, "physics__slip": "no", "sponge__rate": 1e-5, "sponge__width": 2e4},
    **{"physics__biharmonic_viscosity": 1e11, "scheme__vorticity_flux": "arakawa_lamb", "time__stepper": "ab2"},
}


class OneBlockTransport(SingleDeviceTransport):
    """The transport of CENTRAL_BLOCK alone: its halos are strips of padded fields [fields, 6 + 2 halo, 7 + 2 halo]."""

    def __init__(self, padded, halo):
        self.padded, self.halo, self.block = padded, halo, CENTRAL_BLOCK

    def shift(self, slab, axis, step):
        """The halo on the side that messages in this direction come from."""
        width, travelling = slab.shape[-1 if axis == 1 else -2], self.padded[: len(slab)]
        side = slice(None, width) if step > 0 else slice(-width, None)
        if axis == 1:
            return travelling[:, self.halo : -self.halo, side]
        beyond = self.halo - width  # width of further steps, here zero
        return travelling[:, side, beyond : travelling.shape[2] - beyond]


def with_nan_beyond_margin(field, beyond):
    """A static field with invalid values beyond its margin: NaN, or 1 if it is packed as a mask."""
    mask, around = np.isin(field, (0.0, 1.0)).all(), [(beyond * (length > 1),) * 2 for length in field.shape]
    return np.pad(field, around, constant_values=1.0 if mask else np.nan)


@pytest.mark.promise("no uninitialised value is read")
@pytest.mark.slow
def test_native_sweep_reads_declared_halo_and_margin():
    """Values beyond the margin of static fields have no effect; NaN in the outermost rows of the halo has."""
    native.register()
    setup = setup_of(configuration(NY, NX, random_fields(NY, NX, land=0.0), **ALL_TERM_OPTIONS))
    halo = setup.scheme.halo_width * STEPS

    def called(padded, beyond=0):
        given = setup.static(CENTRAL_BLOCK, halo + 1)
        static = jax.tree.map(lambda field: with_nan_beyond_margin(field, beyond), given)
        kernel = native.StepKernel(setup.scheme, setup.method, halo + 1 + beyond, STEPS)
        inner = padded[:, halo:-halo, halo:-halo]
        carry, window = Carry(State(*inner[:3]), (State(*inner[3:]),), jnp.int32(7)), OneBlockTransport(padded, halo)
        calls = NativeCalls(kernel, kernel.static_of(*static, CENTRAL_BLOCK.shape), jnp.asarray(20.0), window)
        return arrays_of_carry(calls.advance(carry, STEPS))

    padded = np.random.default_rng(0).standard_normal((6, *(length + 2 * halo for length in CENTRAL_BLOCK.shape)))
    padded[0] += 50
    assert has_same_bits(called(padded, beyond=3), called(padded))
    assert np.isfinite(called(padded)).all()
    for side in ((..., 0, slice(None)), (..., -1, slice(None)), (..., 0), (..., -1)):
        changed = padded.copy()
        changed[side] = np.nan
        assert np.isnan(called(changed)).any()


DIGEST_PROGRAM = """
import hashlib
import jax, numpy as np
jax.config.update("jax_enable_x64", True)
from support.covering_array import configuration_of
from support.stepping import run_chunks
print(np.empty(5000).tobytes()[:4000].hex())
for row in ("ab3-arakawa_lamb-rings-f_plane", "rk-weno-basin-sphere", "gfb-energy-open-sphere"):
    fields = run_chunks("native", configuration_of(row), 5, threads=2)
    print(row, hashlib.sha256(b"".join(field.tobytes() for field in fields)).hexdigest())
"""


@pytest.mark.promise("no uninitialised value is read")
@pytest.mark.night
@pytest.mark.usefixtures("quickly_compiled")
def test_native_step_reads_no_uninitialised_memory():
    """Results are the same if the C library fills new memory with bytes 0x7f (1e306) or 0xfe (-1e303)."""
    path, outputs = f"{ROOT}{os.pathsep}{ROOT / 'tests'}", []
    for rubbish in ("128", "1"):
        environ = os.environ | {"MALLOC_PERTURB_": rubbish, "PYTHONPATH": path}
        line = [sys.executable, "-c", DIGEST_PROGRAM]
        done = subprocess.run(line, env=environ, capture_output=True, text=True, timeout=120, check=True)
        outputs.append(done.stdout.splitlines())
    (memory, *first), (other, *second) = outputs
    assert memory != other  # memory is filled
    assert first == second
    assert len(first) == 3
