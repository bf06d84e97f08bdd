"""Diagnostics equal sums in NumPy and have the same bits on any layout; derived fields of simple flows are exact."""

import math

import numpy as np
import pytest
from support.random_case import configuration, random_fields
from support.rank_threads import run_rank_threads

from swmodel import Simulation
from swmodel.ocean.derived import DERIVED, POTENTIALS
from swmodel.ocean.diagnostics import diagnose, diagnostics_of_run
from swmodel.ocean.evaluation import evaluate_fields
from swmodel.ocean.grid import as_patches
from swmodel.ocean.patch import Patch
from swmodel.ocean.state import State
from swmodel.parallel.decomposition import block_of_rank as block_of
from swmodel.setup import fields
from swmodel.setup.setup import setup_of

NY, NX = 11, 13
RANDOM_FIELDS = random_fields(NY, NX, land=0.2)


def make_config(periodic_x, periodic_y, case_fields=RANDOM_FIELDS, **options):
    options |= {"grid__periodic_x": periodic_x, "grid__periodic_y": periodic_y}
    return configuration(NY, NX, case_fields, physics__tracers=({"name": "tracer"},), **options)


def patches(config, block, state):
    """The state of a block with its halo, cut out of the periodic domain, and the grid."""
    rows = np.arange(block.y.start - 1, block.y.stop + 1) % NY
    columns = np.arange(block.x.start - 1, block.x.stop + 1) % NX
    padded = state._make(Patch(field[np.ix_(rows, columns)], (-1, -1)) for field in state)
    setup = setup_of(config)
    return padded, as_patches(setup.grid(block), setup.scheme.static_halo)


def whole_state(config):
    """The initial state, with a tracer of both signs."""
    state = setup_of(config).state(block_of(0, (1, 1), NY, NX))
    return state._replace(tracer=state.tracer - 0.4)


def test_reduced_gravity_scales_sea_level_alone():
    results = []
    for reduced in (False, True):
        options = {"physics__gravity": 0.05, "physics__reduced_gravity": reduced, "run__executor": "reference"}
        simulation = Simulation(configuration(NY, NX, RANDOM_FIELDS, **options))
        simulation.advance(2)
        results.append((simulation.state, simulation.fields(["sea_level", "eta"])))
    (state, fields), (reduced_state, reduced_fields) = results
    assert all(np.array_equal(a, b) for a, b in zip(state, reduced_state, strict=True))
    np.testing.assert_array_equal(fields["sea_level"], fields["eta"])
    np.testing.assert_allclose(reduced_fields["sea_level"], reduced_fields["eta"] * (0.05 / 9.81), rtol=1e-15)


def diagnostics_on_layout(config, layout, state=None):
    """The diagnostics of `state`, by default the initial state, which all ranks must agree on."""
    state = whole_state(config) if state is None else state

    def diagnose_block(transport):
        return diagnose([(*patches(config, transport.block, state), transport.block.shape)], config, transport)

    results = run_rank_threads(diagnose_block, layout, NY, NX)
    assert all(result == results[0] for result in results) or math.isnan(results[0]["mass"])
    return results[0]


def whole_mask():
    return fields.evaluate(make_config(True, True), "mask", range(NY), range(NX))


def with_neighbours(a, periodic_x, periodic_y, wall_value=None):
    """The field with one more cell at each end of both axes: the cell at the other end, or `wall_value` at a wall."""
    a = np.pad(a, 1, mode="wrap")
    if wall_value is not None and not periodic_y:
        a[0], a[-1] = wall_value, wall_value
    if wall_value is not None and not periodic_x:
        a[:, 0], a[:, -1] = wall_value, wall_value
    return a


def documented_diagnostics(config, state):
    """The diagnostics by the formulas of docs/numerics.md; potential enstrophy is summed corner by corner."""
    grid, physics = config.grid, config.physics
    periodic = grid.periodic_x, grid.periodic_y
    wet = with_neighbours(whole_mask(), *periodic, wall_value=0.0)
    h = with_neighbours(state.h, *periodic)
    u = with_neighbours(state.u, *periodic, wall_value=0.0)
    v = with_neighbours(state.v, *periodic, wall_value=0.0)
    inner = (slice(1, -1), slice(1, -1))
    f = physics.f0 + physics.beta * (np.arange(-1, NY + 1)[:, None] + 1.0) * grid.dy
    enstrophy, counted_corners = 0.0, set()
    for row in range(NY + 1):  # corner (row, column) is north-east of cell (row, column) of the padded domain
        for column in range(NX + 1):
            corner = row % NY if periodic[1] else row, column % NX if periodic[0] else column
            cells = (slice(row, row + 2), slice(column, column + 2))
            n = wet[cells].sum()
            if corner in counted_corners or n == 0:
                continue
            counted_corners.add(corner)
            slip = 1.0 if n == 4 else {"free": 0.0, "no": 2.0}[physics.slip]
            dv = (v[row, column + 1] - v[row, column]) / grid.dx
            du = (u[row + 1, column] - u[row, column]) / grid.dy
            h_q = (wet[cells] * h[cells]).sum() / n
            enstrophy += n / 4 * (f[row, 0] + slip * (dv - du)) ** 2 / h_q / 2
    eta = (h - with_neighbours(fields.evaluate(config, "depth", range(NY), range(NX)), *periodic))[inner] * wet[inner]
    kinetic = (h[1:-1, 1:-1] + h[1:-1, 2:]) / 4 * u[inner] ** 2 + (h[1:-1, 1:-1] + h[2:, 1:-1]) / 4 * v[inner] ** 2
    speed_squared = (u[1:-1, 1:-1] ** 2 + u[1:-1, :-2] ** 2 + v[1:-1, 1:-1] ** 2 + v[:-2, 1:-1] ** 2) / 2
    on_water = wet[inner] > 0
    area, max_speed = grid.dx * grid.dy, math.sqrt(speed_squared[on_water].max())
    max_wave_speed = math.sqrt(physics.gravity * h[inner][on_water].max())
    return {
        "mass": physics.density * area * h[inner][on_water].sum(),
        "energy": physics.density * area * (kinetic + physics.gravity * eta**2 / 2).sum(),
        "potential_enstrophy": area * enstrophy,
        "max_speed": max_speed,
        "tracer": area * (state.h * state.tracer)[on_water].sum(),
        "min_h": h[inner][on_water].min(),
        "cfl": config.time.dt * (max_speed + max_wave_speed) * math.sqrt(grid.dx**-2 + grid.dy**-2),
    }


@pytest.mark.fault("diagnostics are not those of the fields that are written")
@pytest.mark.parametrize("periodic", [(True, False), (False, True), (False, False)])
def test_diagnostics_equal_sums_over_domain(periodic):
    slip = "free" if periodic[0] else "no"
    config = make_config(*periodic, physics__slip=slip, physics__beta=0.0 if periodic[1] else 2e-9)
    diagnostics = diagnostics_on_layout(config, (1, 1))
    assert list(diagnostics) == list(diagnostics_of_run(setup_of(config).scheme, ()))
    assert diagnostics == pytest.approx(documented_diagnostics(config, whole_state(config)), rel=1e-13)


@pytest.mark.promise("global sums do not depend on the layout")
@pytest.mark.parametrize(
    ("layout", "periodic", "dtype"),
    [((3, 2), (False, True), "float32"), ((1, 13), (False, False), "float64"), ((11, 1), (True, False), "float32")],
)
def test_diagnostics_have_same_bits_on_every_layout(monkeypatch, layout, periodic, dtype):
    config = make_config(*periodic, run__dtype=dtype)
    on_one_block = diagnostics_on_layout(config, (1, 1))
    assert diagnostics_on_layout(config, layout) == on_one_block
    monkeypatch.setattr("swmodel.ocean.diagnostics.STRIP_CELLS", 3 * NX)
    assert diagnostics_on_layout(config, layout) == on_one_block


def test_diagnostics_of_state_that_is_not_finite_are_nan():
    config = make_config(True, False)
    for value, layout in ((np.nan, (1, 1)), (-np.inf, (2, 2))):
        state = whole_state(config)
        state.h[tuple(np.argwhere(whole_mask())[-1])] = value
        assert all(math.isnan(number) for number in diagnostics_on_layout(config, layout, state).values())


def flow_fields(u, v):
    """The derived fields of a flow u(x, y), v(x, y) over a flat floor without walls; the configuration; x and y."""
    config = make_config(True, True, case_fields={})
    y, x = np.arange(-1.0, NY + 1)[:, None] * config.grid.dy, np.arange(-1.0, NX + 1)[None, :] * config.grid.dx
    ones = np.ones((NY + 2, NX + 2))
    arrays = config.physics.depth * ones, u(x, y) * ones, v(x, y) * ones
    state = State(*(Patch(field, (-1, -1)) for field in arrays))
    grid = as_patches(setup_of(config).grid(block_of(0, (1, 1), NY, NX)), 2)
    names = [name for name in DERIVED if name not in (*POTENTIALS, "wet")]
    (derived_fields,) = evaluate_fields(names, [(state, grid, (NY, NX))], config.physics, None)
    for name, field in zip("huv", arrays, strict=True):
        assert (derived_fields[name] == field[1:-1, 1:-1]).all()
    return derived_fields, config, (x * ones)[1:-1, 1:-1], (y * ones)[1:-1, 1:-1]


def test_derived_fields_at_rest_and_in_solid_rotation():
    """With h = H, eta is zero; u = -r y, v = r x has vorticity 2 r, speed² = (u²)^x + (v²)^y, okubo_weiss -(2 r)²."""
    rate = 1e-5
    flow, config, x, y = flow_fields(lambda x, y: -rate * y, lambda x, y: rate * x)
    assert not flow["eta"].any()
    np.testing.assert_allclose(flow["zeta"], 2 * rate, rtol=1e-10)
    np.testing.assert_allclose(flow["q"], (config.physics.f0 + 2 * rate) / config.physics.depth, rtol=1e-10)
    np.testing.assert_allclose(flow["speed"], rate * np.hypot(x, y), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(flow["kinetic_energy"], (rate * np.hypot(x, y)) ** 2 / 2, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(flow["okubo_weiss"], -((2 * rate) ** 2), rtol=1e-9)


def test_okubo_weiss_distinguishes_strain_from_rotation():
    """The parameter W is 4 r² in stretching and shear without rotation, and 0 in divergence and in plane shear."""
    rate = 1e-5
    flows = {
        4: [(lambda x, y: x, lambda x, y: -y), (lambda x, y: y, lambda x, y: x)],
        0: [(lambda x, y: x, lambda x, y: y), (lambda x, y: y, lambda x, y: 0)],
    }
    for W, u, v in ((W, *each) for W, pairs in flows.items() for each in pairs):
        flow, *_ = flow_fields(lambda x, y, u=u: rate * u(x, y), lambda x, y, v=v: rate * v(x, y))
        np.testing.assert_allclose(flow["okubo_weiss"], W * rate**2, rtol=1e-9, atol=1e-9 * rate**2)
