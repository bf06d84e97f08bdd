"""Spectra add up to means over the domain, budgets close; potentials and balanced flows solve their equations."""

import math

import numpy as np
import pytest
from support.random_case import configuration, random_fields
from support.unchecked_config import resolve_without_checks

import swmodel
from swmodel.errors import UsageError
from swmodel.model.validate import check_config
from swmodel.ocean.dynamics import budget, tendency
from swmodel.ocean.elliptic import HelmholtzEquation, solve
from swmodel.ocean.grid import as_patches
from swmodel.ocean.instant import Instant
from swmodel.ocean.patch import Patch
from swmodel.ocean.spectra import SpectralDomain, compute_spectra
from swmodel.ocean.spectral_quantities import SPECTRAL_QUANTITIES, SPECTRUM_AXES, wavenumber_axes
from swmodel.parallel.decomposition import block_of_rank
from swmodel.parallel.transport import connect
from swmodel.setup.setup import setup_of

NY, NX = 9, 12
PERIODIC_YX = [(True, True), (True, False), (False, True), (False, False)]
FIELDS = random_fields(NY, NX, land=0.0)
TRACER = {"physics__tracers": ({"name": "tracer"},)}


def make_config(periodic, fields=FIELDS, **options):
    axes = dict(zip(("grid__periodic_y", "grid__periodic_x"), periodic, strict=True))
    options = {"run__executor": "reference", "physics__slip": "no", **axes, **options}
    return configuration(NY, NX, fields, **options)


def total_over_wavenumbers(spectra, name, config):
    """The sums of a quantity's spectra along each of SPECTRUM_AXES, times the spacing of wavenumbers."""
    return [spectra[name + ending].sum() * axis.spacing for ending, axis in wavenumber_axes(config.grid).items()]


@pytest.mark.promise("spectra add up")
@pytest.mark.parametrize(
    ("periodic", "dtype"), [(PERIODIC_YX[0], "float32"), (PERIODIC_YX[1], "float64"), (PERIODIC_YX[3], "float64")]
)
def test_sums_over_wavenumbers_are_means_over_domain(periodic, dtype):
    config = make_config(periodic, run__dtype=dtype, **TRACER)
    simulation = swmodel.Simulation(config)
    spectra, h = simulation.spectra(), simulation.state.h.astype(float)
    u, v = (field.astype(float) for field in simulation.state[1:3])
    depth = FIELDS["depth"].astype(dtype).astype(float)
    eta, c, mean_depth = h - depth, simulation.state.tracer, depth.mean()
    kinetic = np.mean((h + np.roll(h, -1, 1)) * u**2 + (h + np.roll(h, -1, 0)) * v**2) / (4 * mean_depth)
    zeta = (np.roll(v, -1, 1) - v) / config.grid.dx - (np.roll(u, -1, 0) - u) / config.grid.dy
    inside = zeta[: NY if periodic[0] else NY - 1, : NX if periodic[1] else NX - 1]
    expected = {
        "kinetic_energy": kinetic,
        "potential_energy": 9.81 * np.mean(eta**2) / (2 * mean_depth),
        "enstrophy": 0.5 * np.sum(inside**2) / (NY * NX),
        "tracer_variance": np.mean(c**2),
    }

    names = (*SPECTRAL_QUANTITIES, "tracer_variance")
    assert spectra.keys() == {name + ending for name in names for ending in SPECTRUM_AXES}
    for name, value in expected.items():
        # The sizes of cells are in the precision of the run.
        rounding = 1e-6 if dtype == "float32" and name in ("enstrophy", "tracer_variance") else 1e-12
        assert total_over_wavenumbers(spectra, name, config) == pytest.approx([value] * 3, rel=rounding), name
    energy = simulation.diagnostics()["energy"] / (config.physics.density * NY * NX * 2e7 * mean_depth)
    both = [total_over_wavenumbers(spectra, name, config)[0] for name in ("kinetic_energy", "potential_energy")]
    assert sum(both) == pytest.approx(energy, rel=1e-12 if dtype == "float64" else 1e-7)


@pytest.mark.parametrize("periodic", PERIODIC_YX)
def test_plane_wave_is_in_its_wavenumber_bin(periodic):
    """The wavenumbers are 3 along x and 2 along y; between walls, v is a cosine in x and a sine in y."""
    i, j = np.arange(NX)[None, :], np.arange(NY)[:, None]
    along_x = np.cos(2 * np.pi * 3 * i / NX) if periodic[1] else np.cos(np.pi * 3 * (i + 0.5) / NX)
    along_y = np.cos(2 * np.pi * 2 * j / NY) if periodic[0] else np.sin(np.pi * 2 * (j + 1) / NY)
    flat = {"depth": np.full((NY, NX), 50.0), "v": along_y * along_x}
    config = make_config(periodic, flat, grid__dx=3e3, grid__dy=4e3)
    spectra, axes = swmodel.Simulation(config).spectra(), wavenumber_axes(config.grid)

    K = math.hypot(3 * axes["_x"].spacing, 2 * axes["_y"].spacing)
    for ending, index in {"": math.floor(K / axes[""].spacing + 0.5 + 1e-6), "_x": 3, "_y": 2}.items():
        spectrum = spectra[f"kinetic_energy{ending}"] * axes[ending].spacing
        assert spectrum[index] == pytest.approx(0.125, rel=1e-12)
        assert np.abs(np.delete(spectrum, index)).max() < 1e-15


ALL_TERMS = {"physics__biharmonic_viscosity": 1e8, "physics__manning": 0.03, "physics__self_attraction": 0.1, **TRACER}
ALL_TERMS |= {"body_force__x": 1e-5, "body_force__y_amplitude": 1e-5}
CORE_PARTS = {"continuity", "advection", "coriolis", "pressure"}
SPONGE = {"sponge__rate": 1e-4, "sponge__width": 1e4, "sponge__sides": ("south", "north")}


def spectra_and_changes(config):
    """The spectra of the initial state with their changes by parts of the tendency, and by the whole tendency."""
    scheme, whole = setup_of(config).scheme, block_of_rank(0, (1, 1), NY, NX)
    simulation = swmodel.Simulation(config)
    state, width = simulation.state, scheme.halo_width + 1  # because rates are needed one cell around
    patches = state._make(Patch(np.pad(field, width, mode="wrap"), (-width, -width)) for field in state)
    grid, params = (as_patches(fields, width + 1) for fields in setup_of(config).static(whole, width + 1))
    now, sea = Instant(np.int32(0)), SpectralDomain(config.grid, simulation.transport)
    rates = budget(patches, now, grid, params, scheme)
    whole_rate = tendency(patches, now, grid, params, scheme)
    for name, rate in whole_rate._asdict().items():
        parts = [getattr(part, name).block_values(whole.shape) for part in rates.values()]
        largest = max(np.abs(part).max() for part in parts)
        total = rate.block_values(whole.shape)
        np.testing.assert_allclose(sum(parts), total, rtol=0, atol=1e-14 * largest, err_msg=name)
    blocks = [(patches, grid, whole.shape)]
    by_parts = compute_spectra(blocks, config.physics.gravity, sea, rates=[rates])
    zero = whole_rate._make(0.0 * field for field in whole_rate)
    # The whole tendency takes the place of the part that transfers; the other parts are zero.
    at_once = {"continuity": zero, "advection": whole_rate, "tracer": zero}
    by_whole = compute_spectra(blocks, config.physics.gravity, sea, rates=[at_once])
    return by_parts, by_whole


@pytest.mark.promise("spectra add up")
@pytest.mark.slow
@pytest.mark.parametrize(("periodic", "flux"), [(PERIODIC_YX[0], "energy"), (PERIODIC_YX[2], "arakawa_lamb")])
def test_budget_by_parts_closes(periodic, flux):
    """The parts add up to the change by the whole tendency, which equals that in one small step of the model."""
    options = ALL_TERMS | ({} if periodic == (True, True) else SPONGE)
    options |= {"scheme__vorticity_flux": flux, "time__stepper": "ab2", "time__dt": 1e-5}
    config = make_config(periodic, **options)
    by_parts, by_whole = spectra_and_changes(config)
    simulation = swmodel.Simulation(config)
    before = simulation.spectra()
    simulation.advance(1)
    rates = {name: (after - before[name]) / 1e-5 for name, after in simulation.spectra().items()}

    for name, axis in ((name, axis) for name in (*SPECTRAL_QUANTITIES, "tracer_variance") for axis in SPECTRUM_AXES):
        changes = [change for change in by_parts if change.startswith(f"{name}_by_")]
        on_axis = [change for change in changes if (change[-2:] if change[-2:] in SPECTRUM_AXES else "") == axis]
        parts = [by_parts[change] for change in on_axis]
        whole = by_whole[f"{name}_by_advection{axis}"] + by_whole[f"{name}_by_tracer{axis}"]
        largest = max(np.abs(part).max() for part in parts)
        assert len(parts) >= len(CORE_PARTS | set(setup_of(config).scheme.term_names)) - 1
        np.testing.assert_allclose(sum(parts), whole, rtol=0, atol=1e-10 * largest, err_msg=name + axis)
        np.testing.assert_allclose(rates[name + axis], whole, rtol=0, atol=1e-5 * largest, err_msg=name + axis)


@pytest.mark.fault("spectra: advection removes or adds energy that it should only move")
@pytest.mark.parametrize(("periodic", "flux"), [(PERIODIC_YX[0], "energy"), (PERIODIC_YX[3], "enstrophy")])
def test_energy_only_moves_between_wavenumbers_with_energy_flux(periodic, flux):
    """With `energy`, the last bin's flux is zero and rotation does no work. Pressure gives what continuity takes."""
    config = make_config(periodic, scheme__vorticity_flux=flux)
    spectra, _ = spectra_and_changes(config)
    energy_flux, spacing = spectra["kinetic_energy_flux"], wavenumber_axes(config.grid)[""].spacing
    assert (abs(energy_flux[-1]) < 1e-12 * np.abs(energy_flux).max()) == (flux == "energy")
    assert energy_flux[2] == pytest.approx(-spacing * spectra["kinetic_energy_by_advection"][:3].sum())
    by_pressure, by_continuity = spectra["kinetic_energy_by_pressure"], spectra["potential_energy_by_continuity"]
    assert by_pressure.sum() == pytest.approx(-by_continuity.sum(), rel=1e-10)
    scale = np.abs(by_pressure).sum()
    assert flux != "energy" or abs(spectra["kinetic_energy_by_coriolis"].sum()) < 1e-12 * scale


# Poisson's and Helmholtz's equations: potentials and balance

SERIAL = connect("serial", (1, 1), NY, NX)
FLAT_DEPTH = {"depth": np.full((NY, NX), 50.0)}
#: Whether points are on faces along y, and along x.
LOCATIONS = {"centre": (False, False), "u": (False, True), "v": (True, False), "corner": (True, True)}


def with_ends(x, axis, periodic, on_faces):
    """The field with one more value at both ends: periodic, or at walls even for centres and odd for faces."""
    x = np.moveaxis(x, axis, 0)
    if periodic:
        ends = x[-1:], x[:1]
    elif on_faces:
        ends = np.zeros_like(x[:1]), -x[-2:-1]
    else:
        ends = x[:1], x[-1:]
    return np.moveaxis(np.concatenate([ends[0], x, ends[1]]), 0, axis)


def extended_along(x, axis, periodic, location):
    return with_ends(x, axis, periodic[axis], LOCATIONS[location][axis])


def laplacian(x, periodic, location, grid):
    sizes = grid.dy, grid.dx
    return sum(np.diff(extended_along(x, axis, periodic, location), 2, axis) / sizes[axis] ** 2 for axis in (0, 1))


def averaged_twice(x, periodic, location):
    for axis in (0, 1):
        x = extended_along(x, axis, periodic, location)
        lower, middle, upper = (np.take(x, range(start, x.shape[axis] - 2 + start), axis) for start in (0, 1, 2))
        x = (lower + 2 * middle + upper) / 4
    return x


def random_source(periodic, location):
    """A random field that is zero on walls where the solution is zero."""
    y = np.random.default_rng(5).standard_normal((NY, NX))
    for axis in (0, 1):
        if not periodic[axis] and LOCATIONS[location][axis]:
            y[(slice(None),) * axis + (-1,)] = 0
    return y


@pytest.mark.promise("solutions of Poisson's and Helmholtz's equations are exact")
@pytest.mark.parametrize(("periodic", "location"), [*zip(PERIODIC_YX, LOCATIONS, strict=True)])
def test_discrete_equation_holds_to_round_off(periodic, location):
    """Helmholtz's equation has a solution for any y; Poisson's may require that the mean of y is removed."""
    grid, y = make_config(periodic).grid, random_source(periodic, location)
    for b in (0.0, 2e-8):
        (x,) = solve(HelmholtzEquation(location, grid, b), [y], SERIAL)
        left = laplacian(x, periodic, location, grid) - b * averaged_twice(x, periodic, location)
        zero_somewhere = any(not periodic[axis] and LOCATIONS[location][axis] for axis in (0, 1))
        right = y if b or zero_somewhere else y - y.mean()
        inside = tuple(slice(0, -1) if not periodic[a] and LOCATIONS[location][a] else slice(None) for a in (0, 1))
        np.testing.assert_allclose(left[inside], right[inside], rtol=0, atol=1e-12 * np.abs(y).max())
        if not (b or zero_somewhere):
            assert abs(x.mean()) < 1e-12 * np.abs(x).max()


@pytest.mark.parametrize("periodic", [(True, False), (False, False)])
def test_current_is_sum_of_potential_parts_and_mean(periodic):
    """u = - d_y psi + d_x phi + mean u, likewise v; there is a mean along a periodic axis, and none across walls."""
    simulation = swmodel.Simulation(make_config(periodic))
    psi, phi = (simulation.fields([name])[name] for name in ("streamfunction", "velocity_potential"))
    grid, (u, v) = simulation.config.grid, simulation.state[1:3]
    inside = slice(0, NY if periodic[0] else NY - 1), slice(0, NX if periodic[1] else NX - 1)

    u_of_potentials = -(psi - np.roll(psi, 1, 0)) / grid.dy + (np.roll(phi, -1, 1) - phi) / grid.dx
    v_of_potentials = (psi - np.roll(psi, 1, 1)) / grid.dx + (np.roll(phi, -1, 0) - phi) / grid.dy
    remainder_u, remainder_v = (u - u_of_potentials)[:, inside[1]], (v - v_of_potentials)[inside[0]]
    for remainder, field, has_mean in ((remainder_u, u, periodic[1]), (remainder_v, v, periodic[0])):
        np.testing.assert_allclose(remainder, has_mean * field.mean(), rtol=0, atol=1e-12 * np.abs(field).max())


@pytest.mark.parametrize("periodic", [(True, False), (False, True)])
def test_balanced_flow_is_recovered_without_waves(periodic):
    overrides = dict(zip(("grid.periodic_y", "grid.periodic_x"), periodic, strict=True))
    overrides |= {"grid.nx": NX, "grid.ny": NY, "case.wavenumber": 2, "run.dtype": "float64"}
    config = swmodel.load("turbulence", overrides | {"run.executor": "reference"}, environ={})
    simulation = swmodel.Simulation(config)
    balanced = {name: simulation.field(name) for name in ("eta", "u", "v")}

    recovered = simulation.balanced()
    for name, field in balanced.items():
        np.testing.assert_allclose(recovered[name], field, rtol=0, atol=1e-12 * np.abs(field).max(), err_msg=name)

    # A current with divergence and without vorticity does not contribute.
    phi = np.random.default_rng(2).standard_normal((NY, NX))
    u, v = np.roll(phi, -1, 1) - phi, np.roll(phi, -1, 0) - phi
    u[:, -1] *= periodic[1]
    v[-1] *= periodic[0]
    state = simulation.state
    waves = state._make((state.h, state.u + u / config.grid.dx, state.v + v / config.grid.dy))
    simulation.carry = simulation.carry._replace(state=waves)
    for name, field in simulation.balanced().items():
        np.testing.assert_allclose(field, balanced[name], rtol=0, atol=1e-10 * np.abs(balanced[name]).max())


@pytest.mark.fault("spectra or potentials of a sea with land, or on a sphere")
def test_spectra_with_land_and_balance_off_f_plane_are_refused():
    spectra_options = {"output__spectra": 60.0}
    config_with_land = make_config((True, True), random_fields(NY, NX, land=0.2), **spectra_options)
    simulation = swmodel.Simulation(resolve_without_checks(config_with_land))
    with pytest.raises(UsageError, match="seas without land"):
        simulation.spectra()
    for evaluate in (simulation.fields, simulation.means):
        with pytest.raises(UsageError, match="seas without land"):
            evaluate(["streamfunction"])
    parallel_options = {"run__executor": "xla", "run__nproc": 8, "run__layout": "8x1", "time__stepper": "ab3"}
    config_with_blocks = make_config((True, True), **parallel_options | spectra_options)
    for config, words in ((config_with_land, "seas without land"), (config_with_blocks, "8 blocks .* 7 lines")):
        with pytest.raises(swmodel.ConfigError, match=rf"^output.spectra: .*{words}"):
            check_config(config)
    for fields, options in ((FIELDS, {}), (FLAT_DEPTH, {"physics__beta": 1e-11}), (FLAT_DEPTH, {"physics__f0": 0.0})):
        with pytest.raises(UsageError, match="f plane"):
            swmodel.Simulation(make_config((False, True), fields, **options)).balanced()
