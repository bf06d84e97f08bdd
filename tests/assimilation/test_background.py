"""Errors of a first guess: noise, balanced currents, correlations by diffusion or by spectrum, and the transpose."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import gamma, kv
from support.background_case import CONTROLS, DX, DY, background_case

from swmodel.assimilation.background import build_balance, geostrophic, inverse_away_from_equator
from swmodel.assimilation.settings import problems
from swmodel.errors import UsageError
from swmodel.ocean.grid import as_patches
from swmodel.ocean.noise import normal_numbers, white_noise
from swmodel.ocean.patch import Patch
from swmodel.parallel.decomposition import block_of_rank, blocks_of_layout
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.slow

NY, NX = 9, 11
#: Options for the four combinations of periodic axes and walls, and for correlations by spectrum.
PERIODICITY_OPTIONS = [{"grid__periodic_y": y, "grid__periodic_x": x} for y in (True, False) for x in (True, False)]
SPECTRUM = {"land": False, "assimilation__correlation": "spectrum"}
#: The errors of a field at each location: standard deviation 1, correlation length three cells along x.
STATE_CONTROLS = {"eta": (1.0, 3 * DX), "u": (1.0, 3 * DX), "v": (1.0, 3 * DX)}
UNBALANCED_OPTIONS = {"controls": STATE_CONTROLS, "balanced": False}


def make_background(ny=NY, nx=NX, **options):
    return background_case((1, 1), ny, nx, **options)[0]


def dot(a, b):
    return sum(float(np.vdot(a[name], b[name])) for name in a)


def test_noise_is_standard_normal_and_independent():
    """Other names, members and seeds give uncorrelated noise, to four standard deviations; blocks have equal bits."""
    whole_block = block_of_rank(0, (1, 1), 300, 400)
    noise = white_noise(1, "eta", 0, whole_block)
    for block in blocks_of_layout((3, 4), 300, 400):
        expected = noise[block.y.start : block.y.stop, block.x.start : block.x.stop]
        np.testing.assert_array_equal(white_noise(1, "eta", 0, block), expected)
    n = noise.size
    assert abs(noise.mean()) < 4 / np.sqrt(n)
    assert abs((noise**2).mean() - 1) < 4 * np.sqrt(2 / n)
    assert abs((noise**4).mean() - 3) < 4 * np.sqrt(96 / n)
    for other in ((2, "eta", 0), (1, "u", 0), (1, "eta", 1), (1, "eta", 10)):
        assert abs((noise * white_noise(*other, whole_block)).mean()) < 4 / np.sqrt(n), other
    # Seed 1 with member 12 is not seed 11 with member 2, and a name does not stand for a member.
    keys = (1, "a", 12), (11, "a", 2), (1, "2 a", 1), (112, "a", 0), (1, "a", 1)
    assert len({float(normal_numbers(*key)) for key in keys}) == len(keys)


def balanced_currents_and_config(ny, nx, **options):
    """(function from eta to the balanced currents, configuration), without land."""
    options |= {"land": False, "controls": {}, "balanced": False}
    _, config, transport, grid = background_case((1, 1), ny, nx, **options)
    balance = build_balance(config, transport, as_patches(grid, setup_of(config).static_halo))
    return jax.jit(lambda eta: geostrophic(eta, balance, transport)), config


def balance_error(nx):
    """Largest error of the currents around a Gaussian hill of sea level far from walls, over the largest speed."""
    size, radius, g, f0, beta = 600e3, 60e3, 9.81, 1e-4, 1e-10
    dx = size / nx
    currents, _ = balanced_currents_and_config(nx, nx, grid__dx=dx, grid__dy=dx, physics__f0=f0, physics__beta=beta)
    centres, faces = (np.arange(nx) + 0.5) * dx, (np.arange(nx) + 1.0) * dx

    def hill(y, x):
        x, y = x[None, :] - size / 2, y[:, None] - size / 2
        eta = np.exp(-(x**2 + y**2) / (2 * radius**2))
        return eta, -x / radius**2 * eta, -y / radius**2 * eta

    u, v = currents(jnp.asarray(hill(centres, centres)[0]))
    exact_u = -g / (f0 + beta * centres[:, None]) * hill(centres, faces)[2]
    exact_v = g / (f0 + beta * faces[:, None]) * hill(faces, centres)[1]
    return max(np.abs(u - exact_u).max(), np.abs(v - exact_v)[:-1].max()) / np.abs(exact_u).max()


def test_balanced_currents_are_geostrophic_to_second_order():
    coarse, fine = balance_error(40), balance_error(80)
    assert fine < 0.02
    assert 1.9 < np.log2(coarse / fine) < 2.1


def test_balanced_currents_of_a_slope_are_exact_to_the_coast():
    """Currents are zero on closed faces. Along a wall, where two of four faces are closed, only the open ones count."""
    currents, config = balanced_currents_and_config(NY, NX, grid__periodic_x=False, physics__beta=0.0)
    y, x = np.mgrid[:NY, :NX]
    u, v = currents(jnp.asarray(1e-6 * (2 * y * config.grid.dy + 3 * x * config.grid.dx)))
    np.testing.assert_allclose(u[:, :-1], -9.81e4 * 2e-6, rtol=1e-12)
    np.testing.assert_allclose(v[:-1], 9.81e4 * 3e-6, rtol=1e-12)
    assert not np.any(u[:, -1])
    assert not np.any(v[-1])


def test_balance_fades_out_only_at_the_equator():
    f = np.linspace(-1e-4, 1e-4, 401)
    fraction = inverse_away_from_equator(Patch(f[:, None], (0, 0)), 1e-4).values[:, 0] * f
    for max_f in (1e-4, 0.0):
        assert inverse_away_from_equator(Patch(np.zeros((1, 1)), (0, 0)), max_f).values == 0
    assert np.all(np.abs(fraction[np.abs(f) > 3.1e-5] - 1) < 1e-4)
    assert np.all(fraction[np.abs(f) < 1e-6] < 0.02)
    assert np.all(np.diff(fraction[f >= 0]) >= -1e-15)


@pytest.mark.parametrize("options", [PERIODICITY_OPTIONS[3], PERIODICITY_OPTIONS[1] | SPECTRUM], ids=len)
def test_transpose_of_errors_is_exact_and_equals_that_of_jax(options):
    background = make_background(**options)
    w, x = background.noise(1, 0), background.noise(1, 1)
    image, transposed = jax.jit(background.apply)(w), jax.jit(background.transpose)(x)
    assert abs(dot(x, image) - dot(transposed, w)) < 1e-12 * np.sqrt(dot(x, x) * dot(image, image))
    jax_transposes = (jax.linear_transpose(background.apply, w), lambda x: jax.vjp(background.apply, w)[1](x))
    for (expected,) in (jax.jit(jax_transpose)(x) for jax_transpose in jax_transposes):
        for name in transposed:
            np.testing.assert_allclose(expected[name], transposed[name], rtol=1e-12, atol=1e-12)


def test_errors_are_zero_only_on_land_and_closed_faces():
    background, _, _, grid = background_case((1, 1), NY, NX)
    halo, errors = (grid.wet.shape[0] - NY) // 2, background.draw(3, 0)
    for name, mask in (("eta", grid.wet), ("u", grid.open_u), ("v", grid.open_v), ("wind_x", grid.wet)):
        is_open = mask[halo : halo + NY, halo : halo + NX] != 0
        np.testing.assert_array_equal(errors[name] != 0, is_open, err_msg=name)


def test_error_records_have_their_correlation_in_time():
    name, root = "wind_x_correction", np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.6, 0.8]])
    covariance = root @ root.T
    values, vectors = np.linalg.eigh(covariance)
    time_root = (vectors * np.sqrt(values)) @ vectors.T
    controls = {"eta": CONTROLS["eta"], name: (0.05, 5.1 * DX, time_root)}
    background = make_background(17, 19, controls=controls, land=False, balanced=False)
    w = background.noise(1, 0)
    x = background.apply(w)
    assert x[name].shape == (3, 17, 19)
    np.testing.assert_allclose(dot(x, x), dot(background.transpose(x), w), rtol=1e-6)
    point = {"eta": jnp.zeros((17, 19)), name: jnp.zeros((3, 17, 19)).at[1, 8, 9].set(1.0)}
    covariance_of_point = background.apply(background.transpose(point))[name][:, 8, 9]
    np.testing.assert_allclose(covariance_of_point, 0.05**2 * covariance[1], rtol=1e-4)
    assert np.std(w[name][0] - w[name][1]) > 1  # because each record has its own noise


def test_errors_of_boundary_data_reach_open_boundaries():
    name = "boundary_level"
    sides = {"open_boundaries__sides": ("west", "east"), "grid__periodic_x": False}
    controls = {name: (0.3, 3.2 * DX), "eta": (0.3, 3.2 * DX)}
    background = make_background(land=False, controls=controls, balanced=False, **sides)
    errors = [background.draw(1, member) for member in range(300)]
    boundary_spread, eta_spread = (np.std([each[key] for each in errors], axis=0) for key in (name, "eta"))
    np.testing.assert_allclose(boundary_spread, 0.3, rtol=0.25)
    assert not eta_spread[:, [0, -1]].any()


def test_diffusion_does_not_pass_through_land():
    mask = np.ones((9, 12))
    mask[:, 6] = 0
    background = make_background(9, 12, **UNBALANCED_OPTIONS, land=mask, samples=2, grid__periodic_x=False)
    west = {name: w.at[:, 6:].set(0) for name, w in background.noise(4, 0).items()}
    errors = jax.device_get(jax.jit(background.apply)(west))
    for name, field in errors.items():
        assert np.any(field[:, :5]), name
        assert not np.any(field[:, 6:]), name
    assert not np.any(errors["u"][:, 5])


def test_correlations_on_a_sphere_depend_on_distance_in_metres():
    """Variances are 1, and 0 on closed faces; one correlation length away in x and in y the correlations are equal."""
    ny, nx, radius = 24, 28, 60e3
    grid = {"grid__south": 20.0, "grid__dlat": 1.5, "grid__dlon": 2.0, "grid__radius": radius}
    length = 6 * radius * np.radians(1.5)
    options = {"controls": dict.fromkeys(STATE_CONTROLS, (1.0, length)), "balanced": False, "land": False}
    background = make_background(ny, nx, sphere=True, **options, **grid, grid__periodic_x=False)
    apply_covariance = jax.jit(lambda w: background.apply(background.transpose(w)))

    def covariances(row, column):
        delta = {name: jnp.zeros((ny, nx)).at[row, column].set(1) for name in STATE_CONTROLS}
        return {name: np.asarray(field) for name, field in apply_covariance(delta).items()}

    for row, column in ((0, 3), (5, nx - 1), (ny - 1, 14), (20, 20)):
        closed = {"v": row == ny - 1, "u": column == nx - 1}
        for name, field in covariances(row, column).items():
            assert field[row, column] == pytest.approx(0.0 if closed.get(name) else 1.0, abs=2e-4)
    correlation, n_cells = covariances(12, 12)["eta"], length / (radius * np.cos(np.radians(38.75)) * np.radians(2.0))
    assert correlation[18, 12] == pytest.approx(np.exp(-0.5), abs=0.05)
    assert np.interp(12 + n_cells, np.arange(nx), correlation[12]) == pytest.approx(correlation[18, 12], abs=0.03)


def test_correlations_are_the_matern_function_far_from_coasts():
    """The error is below 0.2 (dx/l)², and the correlation length is l to similar precision."""
    n, middle, order, length_in_cells = 91, 45, 10, 5
    options = {"controls": {"eta": (1.0, length_in_cells * DX)}, "balanced": False, "land": False, "grid__dy": DX}
    background = make_background(n, n, order=order, tolerance=1e-8, **options)
    delta = jnp.zeros((n, n)).at[middle, middle].set(1)
    correlation = np.asarray(jax.jit(lambda x: background.apply(background.transpose(x)))({"eta": delta})["eta"])
    y, x = np.mgrid[:n, :n] - middle
    scaled = np.hypot(x, y) / length_in_cells * np.sqrt(2 * order - 4)
    scaled[middle, middle] = 1
    matern = scaled ** (order - 1) * kv(order - 1, scaled) / 2 ** (order - 2) / gamma(order - 1)
    matern[middle, middle] = 1
    near = np.hypot(x, y) < 20
    assert np.abs(correlation - matern)[near].max() < 0.2 / length_in_cells**2
    length = (2 - correlation[middle, middle + 1] - correlation[middle, middle - 1]) ** -0.5
    assert abs(length / length_in_cells - 1) < 0.45 / length_in_cells**2


def standard_deviations(background, shape):
    """Square roots of diag(L Lᵀ), by field, in water and on open faces; L is `background.apply`."""
    unit_vectors = jnp.eye(np.prod(shape)).reshape(-1, *shape)
    images = jax.jit(jax.vmap(lambda w: background.apply(dict.fromkeys(background.field_names, w))))(unit_vectors)
    deviations = {name: np.sqrt(np.sum(np.square(image), axis=0)) for name, image in images.items()}
    return {name: field[field > 0] for name, field in deviations.items()}


@pytest.mark.parametrize(("shape", "periodicity"), [((9, 1), PERIODICITY_OPTIONS[2]), ((2, 5), PERIODICITY_OPTIONS[3])])
def test_variance_is_exactly_one_without_land(shape, periodicity):
    background = make_background(*shape, land=False, **UNBALANCED_OPTIONS, **periodicity)
    for name, deviation in standard_deviations(background, shape).items():
        conductances = background.conductances
        all_closed = (name == "u" and not conductances.x[1].any()) or (name == "v" and not conductances.y[2].any())
        assert len(deviation) or all_closed or 1 in shape
        np.testing.assert_allclose(deviation, 1, rtol=1e-12, err_msg=name)


@pytest.mark.night
def test_variance_with_land_is_one_to_sampling_error():
    background = make_background(21, 23, samples=256, **UNBALANCED_OPTIONS)
    for name, deviation in standard_deviations(background, (21, 23)).items():
        assert np.sqrt(np.mean((deviation - 1) ** 2)) < 0.03, name
        assert np.abs(deviation - 1).max() < 0.15, name


def test_fields_are_smoothed_together_as_one_by_one():
    sigma = np.random.default_rng(2).random((9, 11))
    controls = {"eta": (sigma, 2 * DX), "depth": (3.0, 6 * DX), "u": (0.5, 3 * DX)}
    together = make_background(controls=controls, balanced=False)
    w = together.noise(0, 0)
    smoothed = jax.jit(together.apply)(w)
    for name, control in controls.items():
        expected = jax.jit(make_background(controls={name: control}, balanced=False).apply)({name: w[name]})[name]
        np.testing.assert_allclose(smoothed[name], expected, rtol=1e-12, atol=1e-14)


def gaussian_with_images(n, size, length, is_periodic, on_faces):
    """The sum of the Gaussian of a distance and its images beyond walls or periods, for pairs of points of a line."""
    positions = (np.arange(n) + (1.0 if on_faces else 0.5)) * size
    shifts, distances = np.arange(-6, 7) * n * size, positions[:, None, None] - positions[None, :, None]
    if is_periodic:
        r, sign = distances - shifts, np.ones(13)
    else:  # images beyond walls are even if points lie next to the wall, and odd if they lie on it
        mirrored = positions[:, None, None] + positions[None, :, None]
        r = np.concatenate([distances - 2 * shifts, mirrored - 2 * shifts], -1)
        sign = np.repeat([1.0, -1.0 if on_faces else 1.0], 13)
    return (np.exp(-(r**2) / (2 * length**2)) * sign).sum(-1)


@pytest.mark.parametrize(("name", "periodicity"), [("u", PERIODICITY_OPTIONS[1]), ("v", PERIODICITY_OPTIONS[3])])
def test_spectrum_gives_the_gaussian_with_its_images(name, periodicity):
    """Unit vectors give the matrix B. The grid truncates the spectrum where it is exp(-(pi length/dy)²/2), 3e-4."""
    sigma, ny, nx, length, (periodic_y, periodic_x) = 0.3, 7, 8, 1.6 * DX, periodicity.values()
    background = make_background(ny, nx, controls={name: (sigma, length)}, balanced=False, **SPECTRUM, **periodicity)
    unit_vectors = jnp.eye(ny * nx).reshape(-1, ny, nx)
    rows = jax.jit(jax.vmap(lambda x: background.apply(background.transpose({name: x}))[name]))(unit_vectors)
    B = np.asarray(rows).reshape(ny * nx, ny * nx)
    along_y = gaussian_with_images(ny, DY, length, periodic_y, name == "v")
    C = np.kron(along_y, gaussian_with_images(nx, DX, length, periodic_x, name == "u"))
    is_open = np.ones((ny, nx), bool)
    is_open[-1] = periodic_y or name != "v"
    is_open[:, -1] &= periodic_x or name != "u"
    has_value = is_open.ravel()
    norm = np.sqrt(np.diag(C)[has_value])

    np.testing.assert_allclose(B, B.T, rtol=0, atol=1e-15)
    np.testing.assert_allclose(np.diag(B)[has_value], sigma**2, rtol=1e-12)
    assert not B[~has_value].any()
    expected = sigma**2 * C[np.ix_(has_value, has_value)] / np.outer(norm, norm)
    np.testing.assert_allclose(B[np.ix_(has_value, has_value)], expected, rtol=0, atol=1e-3 * sigma**2)


@pytest.mark.fault("correlations by spectrum where there is land")
def test_spectrum_refuses_land_and_too_many_blocks():
    with pytest.raises(UsageError, match="spectrum .* without land"):
        background_case((1, 1), NY, NX, **SPECTRUM | {"land": True})
    for options in ({"land": True}, {"land": False, "run__nproc": 9, "run__layout": "9x1"}):
        config = background_case((1, 1), NY, NX, controls={}, balanced=False, **options)[1]
        section = config.assimilation.model_copy(update={"correlation": "spectrum"})
        messages = [*problems(config.model_copy(update={"assimilation": section}))]
        assert any(line.startswith("assimilation.correlation: ") for line in messages), messages
