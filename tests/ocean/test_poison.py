"""No value is read that nobody has set, and the halo is as wide as the equations need, no less and no more.

A step is computed on a block inside a larger ring, with random halos handed to it in place of the neighbours' messages.
What lies beyond the declared halo and beyond the declared margin of static fields is NaN, and fresh memory is full of
rubbish: no cell of the block notices. Each cell of the halo that the equations reach does change the block.
"""

import os
import subprocess
import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import ROOT
from support.random_case import configuration, random_fields
from support.stepping import FLUXES, fields_of, same_bits

from swmodel.executors.native import kernel as native
from swmodel.executors.native.calls import Calls
from swmodel.executors.xla import make_step
from swmodel.ocean.dynamics import tendency
from swmodel.ocean.grid import as_patches
from swmodel.ocean.instant import Instant
from swmodel.ocean.patch import Patch
from swmodel.ocean.state import Carry, State
from swmodel.ocean.timestep import Multistep, method_of
from swmodel.parallel.decomposition import Block, Span
from swmodel.parallel.transport.serial import OneDevice
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.slow

NY, NX = 20, 21  # of the ring
BLOCK = Block(0, (3, 3), Span(7, 13, NY), Span(7, 14, NX))  # 6 by 7 cells, at least seven from the seam of the ring
DT = 20.0  # s
TERMS = {"grid__periodic_y": True, "physics__slip": "no", "sponge__rate": 1e-5, "sponge__width": 2e4}
#: Viscosity so large that the farthest cells count for more than round-off after three steps.
SCHEMES = {
    **{flux: {"scheme__vorticity_flux": flux} for flux in FLUXES},
    "biharmonic": {"physics__biharmonic_viscosity": 1e11},
    "biharmonic, arakawa_lamb": {"physics__biharmonic_viscosity": 1e11, "scheme__vorticity_flux": "arakawa_lamb"},
}
#: How many rows of the halo a tendency reads in the west, east, south and north: the corners of `arakawa_lamb` are the
#: north-eastern ones of their cells. The declared width is the largest.
REACH = {
    "energy": (1, 1, 1, 1),
    "enstrophy": (1, 1, 1, 1),
    "arakawa_lamb": (1, 2, 1, 2),
    "biharmonic": (2, 2, 2, 2),
    "biharmonic, arakawa_lamb": (2, 2, 2, 2),
}


@pytest.fixture(autouse=True, scope="module")
def registered():
    native.register()


class Window(OneDevice):
    """The transport of BLOCK alone: its halos are strips of padded fields [fields, 6 + 2 halo, 7 + 2 halo]."""

    def __init__(self, padded, halo):
        self.padded, self.halo, self.block = padded, halo, BLOCK

    def shift(self, slab, axis, step):
        """The halo on the side that messages in this direction come from."""
        width, travelling = slab.shape[-1 if axis == 1 else -2], self.padded[: len(slab)]
        side = slice(None, width) if step > 0 else slice(-width, None)
        if axis == 1:
            return travelling[:, self.halo : -self.halo, side]
        beyond = self.halo - width  # of steps that are left over, of which there are none
        return travelling[:, side, beyond : travelling.shape[2] - beyond]


class OneCall:
    """A step of BLOCK, or one native call of several, as a function of the padded fields of state and memory.

    Args:
        executor: xla or native.
        options: of the configuration.
        steps_per_sweep: steps in the call.
        beyond: rows and columns of static fields further out than declared, filled with rubbish.
    """

    def __init__(self, executor, options, stepper="ab2", steps_per_sweep=1, beyond=0):
        config = configuration(NY, NX, random_fields(NY, NX, land=0.0), time__stepper=stepper, **TERMS, **options)
        self.scheme, self.method = setup_of(config).scheme, method_of(stepper)
        self.halo, self.steps_per_sweep, self.executor = self.scheme.width * steps_per_sweep, steps_per_sweep, executor
        self.margin, self.beyond = self.halo + 1, beyond
        grid, params = setup_of(config).static(BLOCK, self.margin)
        if beyond:
            grid, params = jax.tree.map(self.spoil, (grid, params))
        self.kernel = native.Kernel(self.scheme, self.method, self.margin + beyond, steps_per_sweep)
        self.static = self.kernel.static_of(grid, params, BLOCK.shape) if executor == "native" else (grid, params)
        self._call = jax.jit(self.call)

    def spoil(self, field):
        """A static field with rubbish around what is declared: NaN, except for what is packed as a mask."""
        widths = [(0, 0) if length == 1 else (self.beyond, self.beyond) for length in field.shape]
        mask = np.isin(field, (0.0, 1.0)).all()
        return np.pad(field, widths, constant_values=1.0 if mask else np.nan)

    def call(self, padded, static, step):
        inner = slice(self.halo, -self.halo)
        groups = [State(*padded[i : i + 3, inner, inner]) for i in range(0, len(padded), 3)]
        carry, window, dt = Carry(groups[0], tuple(groups[1:]), step), Window(padded, self.halo), jnp.asarray(DT)
        if self.executor == "xla":
            return make_step(self.scheme, self.method, window)(carry, *static, dt)
        return Calls(self.kernel, static, dt, window).advance(carry, self.steps_per_sweep)

    def __call__(self, padded):
        """The fields of the carry after the call."""
        return fields_of(self._call(padded, self.static, jnp.int32(7)))

    def padded(self, seed=0):
        """Random fields of state and memory on the block and its halo."""
        groups = 1 + len(self.method.remember(State(*jnp.zeros((3, 1, 1)))))
        shape = [length + 2 * self.halo for length in BLOCK.shape]
        fields = np.random.default_rng(seed).standard_normal((3 * groups, *shape))
        thickness = range(0, 3 * groups if not isinstance(self.method, Multistep) else 3, 3)
        for n in thickness:
            fields[n] += 50
        return fields


def footprint(call):
    """Which cells of the padded fields change the block when they change, one after the other."""
    padded = call.padded()
    expected, found = call(padded), np.zeros(padded.shape, bool)
    for place in np.ndindex(padded.shape):
        changed = padded.copy()
        changed[place] += 1.0
        found[place] = not same_bits(call(changed), expected)
    return found


def reach(found, halo):
    """Rows and columns of the halo in which any field is noticed: west, east, south, north."""
    columns, rows = np.flatnonzero(found.any(axis=(0, 1))), np.flatnonzero(found.any(axis=(0, 2)))
    ny, nx = BLOCK.shape
    return halo - columns[0], columns[-1] - halo - nx + 1, halo - rows[0], rows[-1] - halo - ny + 1


@pytest.mark.promise("no uninitialised value is read")
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_declared_halo_is_read_and_nothing_else(scheme):
    """xla and native read the same cells of the halo, out to the declared width; NaN in all others is not noticed."""
    calls = {name: OneCall(name, SCHEMES[scheme]) for name in ("xla", "native")}
    found = {name: footprint(call) for name, call in calls.items()}
    assert np.array_equal(found["xla"], found["native"])
    for name, call in calls.items():
        assert reach(found[name], call.halo) == REACH[scheme]
        assert call.scheme.width == max(REACH[scheme])
        padded = call.padded()
        poisoned = np.where(found[name], padded, np.nan)
        assert same_bits(call(poisoned), call(padded))


@pytest.mark.promise("no uninitialised value is read")
@pytest.mark.parametrize(
    ("steps_per_sweep", "scheme", "stepper"),
    [(2, "energy", "ab2"), (3, "energy", "leapfrog"), (2, "biharmonic, arakawa_lamb", "ab3")],
)
def test_a_native_call_of_several_steps_reads_its_wider_halo_and_nothing_else(scheme, stepper, steps_per_sweep):
    call = OneCall("native", SCHEMES[scheme], stepper, steps_per_sweep)
    found, padded = footprint(call), call.padded()
    assert reach(found, call.halo) == tuple(steps_per_sweep * width for width in REACH[scheme])
    assert same_bits(call(np.where(found, padded, np.nan)), call(padded))


@pytest.mark.promise("no uninitialised value is read")
@pytest.mark.night
@pytest.mark.parametrize(("stepper", "steps_per_sweep"), [("ab2", 2), ("rk4", 1), ("leapfrog", 2)])
@pytest.mark.parametrize("scheme", ["arakawa_lamb", "biharmonic"])
def test_static_fields_beyond_the_declared_margin_are_not_read_by_the_native_call(scheme, stepper, steps_per_sweep):
    clean, spoilt = (OneCall("native", SCHEMES[scheme], stepper, steps_per_sweep, beyond) for beyond in (0, 3))
    assert same_bits(spoilt(spoilt.padded()), clean(clean.padded()))


@pytest.mark.promise("no uninitialised value is read")
@pytest.mark.parametrize("scheme", SCHEMES)
def test_beyond_halo_and_margin_nothing_is_read_by_the_tendency(scheme):
    """State and static fields reach three cells further than declared, and are NaN there."""
    call, shape, beyond = OneCall("xla", SCHEMES[scheme]), BLOCK.shape, 3
    wider = OneCall("xla", SCHEMES[scheme], beyond=beyond)
    grid, params = call.static

    @partial(jax.jit, static_argnames="more")
    def tendencies(fields, grid, params, more):
        state = State(*(Patch(jnp.asarray(field), (-call.halo - more, -call.halo - more)) for field in fields))
        static = (as_patches(fields, call.halo + more + 1) for fields in (grid, params))
        result = tendency(state, Instant(jnp.int32(0)), *static, call.scheme)
        return [field.on(shape) for field in result]

    padded = call.padded()[:3]
    around = np.pad(padded, [(0, 0), (beyond, beyond), (beyond, beyond)], constant_values=np.nan)
    assert same_bits(tendencies(around, *wider.static, beyond), tendencies(padded, grid, params, 0))


PROGRAM = """
import hashlib
import jax, numpy as np
jax.config.update("jax_enable_x64", True)
from support.random_case import configuration
from support.stepping import after
print(np.empty(5000).tobytes()[:4000].hex())
terms = {"physics__biharmonic_viscosity": 1e8, "physics__slip": "no", "sponge__rate": 1e-4, "sponge__width": 2e4}
for options, stepper in (({}, "ab3"), (terms, "rk4"), (terms, "leapfrog"), (terms, "ab2"), (terms, "gfb")):
    for flux in ("energy", "arakawa_lamb"):
        config = configuration(37, 23, time__stepper=stepper, scheme__vorticity_flux=flux, **options)
        fields = after("native", config, 5, threads=2)
        print(stepper, flux, hashlib.sha256(b"".join(field.tobytes() for field in fields)).hexdigest())
"""


@pytest.mark.promise("no uninitialised value is read")
@pytest.mark.night
@pytest.mark.usefixtures("quickly_compiled")
def test_what_fresh_memory_holds_does_not_matter_to_the_native_step():
    """The C library fills what it hands out with 0x7f (1e306) or with 0xfe (-1e303) bytes: the same bits."""
    outputs = []
    for rubbish in ("128", "1"):
        environment = os.environ | {"MALLOC_PERTURB_": rubbish, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"}
        line = [sys.executable, "-c", PROGRAM]
        done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout.splitlines())
    assert outputs[0][0] != outputs[1][0]  # the rubbish is there
    assert len(outputs[0]) == 11
    assert outputs[0][1:] == outputs[1][1:]
