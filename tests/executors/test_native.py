"""The native step: thin domains, sweeps, and skipped land. test_covering.py checks its results."""

import re
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import stepping
from support.marks import night_params
from support.quick_compilation import cleared_program_cache
from support.random_case import configuration, random_fields
from support.stepping import has_same_bits

from swmodel.executors.native import calls
from swmodel.parallel.decomposition import block_of_rank
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.slow

build, after = partial(stepping.make_executor, "native"), partial(stepping.run_chunks, "native")


@pytest.mark.parametrize(
    ("size", "steps_per_sweep"),
    [((1, 41), 1), ((41, 1), 1), ((2, 37), 2), ((37, 3), 3), ((5, 53), 4), ((19, 17), 4)],
)
def test_thin_domains_have_same_bits_in_any_sweep(size, steps_per_sweep):
    config = configuration(*size, grid__periodic_y=True, physics__slip="no", time__stepper="ab2")
    once = after(config, 7, threads=1, steps_per_sweep=1)
    assert has_same_bits(after(config, 7, steps_per_sweep=steps_per_sweep)[:3], once[:3])


def test_streaming_stores_have_same_bits(monkeypatch):
    config = configuration(37, 23, physics__slip="no", time__stepper="ab2", grid__periodic_y=True)
    once = after(config, 5)
    monkeypatch.setattr(calls, "CACHE_BYTES", 0)
    with cleared_program_cache():
        assert has_same_bits(after(config, 5), once)


@pytest.mark.parametrize(
    ("stepper", "steps_per_sweep"),
    [("gfb", 1), *night_params(("ab2", 4), ("rk3", 1), ("leapfrog", 4), ("gfb", 4))],
)
@pytest.mark.fully_optimised
def test_compiled_loop_copies_no_field(stepper, steps_per_sweep):
    model, carry = build(configuration(64, 96, time__stepper=stepper), steps_per_sweep=steps_per_sweep)
    compiled = model._loop.lower(carry, model.static, model.dt, jnp.int32(1)).compile()
    program = compiled.as_text()
    copies = re.findall(r"= f64\[64,96\]\S* copy(?:-start)?\(", program)
    assert not copies
    assert "custom-call" in program
    assert compiled.memory_analysis().alias_size_in_bytes == sum(x.nbytes for x in jax.tree.leaves(carry))


def continent_case(stepper, sides=()):
    """A case with a third of the cells far from any water, a lake of one cell, and islands except in the east."""
    ny, nx = 70, 500
    fields, mask = random_fields(ny, nx, coefficients=("viscosity",), amplitude=0.1), np.ones((ny, nx))
    mask[12:50, 60:250] = mask[30:60, 100:350] = mask[:6, 300:380] = mask[:, :30] = 0
    mask[20, 150] = 1
    fields["mask"][:, 350:] = 1
    fields["mask"] *= mask
    options = {"grid__periodic_x": False, "grid__dlon": 0.5, "open_boundaries__sides": sides} if sides else {}
    options |= {"time__dt": 0.5, "time__stepper": stepper, "run__dtype": "float32"}
    options |= {"scheme__vorticity_flux": {"ab3": "enstrophy", "rk3": "arakawa_lamb"}.get(stepper, "energy")}
    return configuration(ny, nx, fields, True, grid__dlat=0.5, **options)


SIDES = ("east", "north")


@pytest.mark.promise("a grid of the Earth preserves the sea of its relief")
@pytest.mark.parametrize(
    ("stepper", "many", "sides"),
    [("ab3", 3, ()), *night_params(("rk3", 1, ()), ("leapfrog", 3, ()), ("ab2", 2, SIDES))],
)
def test_skipping_land_far_from_water_changes_no_bit(stepper, many, sides, monkeypatch):
    """At least a third of the cells is skipped and keeps its values; without flags all are computed as near land."""
    config, real = continent_case(stepper, sides), calls.NativeCalls.flags
    options = {"steps_per_sweep": many} if many > 1 else {}
    model, carry = build(config, **options)
    here = block_of_rank(0, (1, 1), config.grid.ny, config.grid.nx)
    static = setup_of(config).static(here, model.kernel.margin)
    call = calls.NativeCalls(model.kernel, model.static_of(*static), model.dt, model.transport)
    least = 0.2 if stepper == "rk3" else 0.35  # stages may hold anything on land, and read it from further away
    assert least < (np.asarray(call.flags(skip_land=True)) == 2).mean() < 0.7
    assert (np.asarray(call.flags()) < 2).all()
    assert (np.asarray(call.flags()) == 0).mean() > 0.05
    fewer = after(config, 4, 3, **options)
    monkeypatch.setattr(calls.NativeCalls, "flags", lambda self, skip_land=False: real(self))
    others = after(config, 7, threads=1, **options)  # a separate program
    monkeypatch.setattr(calls.NativeCalls, "flags", lambda self, skip_land=False: 0 * real(self) + np.uint8(1))
    near = after(config, 7, threads=2, **options)
    for ours, other, all_near in zip(fewer, others, near, strict=True):
        assert ours.tobytes() == other.tobytes() == all_near.tobytes()
