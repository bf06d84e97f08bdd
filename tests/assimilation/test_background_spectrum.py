"""Correlations by spectrum: the matrix that they are, its diagonal, its transpose; refused where there is land."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.background_case import CONTROLS, DX, DY, background_case, island_mask
from support.small_domain import RINGS

from swmodel.assimilation.settings import problems
from swmodel.errors import UsageError

pytestmark = pytest.mark.slow

NY, NX, LENGTH = 7, 8, 1.6 * DX
SPECTRUM = {"land": False, "assimilation__correlation": "spectrum"}


def case(rings, controls, **options):
    rings = {f"grid__{name}": value for name, value in rings.items()}
    return background_case((1, 1), NY, NX, controls=controls, **SPECTRUM, **rings, **options)[0]


def distances(n, size, ring, on_faces):
    """Of the points of a line from each of them and, with their sign, from its images about walls: [n, n, images]."""
    at = (np.arange(n) + (1.0 if on_faces else 0.5)) * size
    shifts, width = np.arange(-6, 7), n * size
    if ring:
        return at[:, None, None] - at[None, :, None] - shifts * width, np.ones(13)
    straight = at[:, None, None] - at[None, :, None] - 2 * shifts * width
    mirrored = at[:, None, None] + at[None, :, None] - 2 * shifts * width
    sign = np.repeat([1.0, -1.0 if on_faces else 1.0], 13)
    return np.concatenate([straight, mirrored], -1), sign


def line(n, size, ring, on_faces):
    """The Gaussian with its images, between the points of a line, before normalisation."""
    r, sign = distances(n, size, ring, on_faces)
    return (np.exp(-(r**2) / (2 * LENGTH**2)) * sign).sum(-1)


@pytest.mark.parametrize(("name", "rings"), [*zip(["eta", "u", "v", "u", "v"], [*RINGS, RINGS[3]], strict=True)])
def test_the_matrix_is_the_gaussian_with_its_images_and_a_diagonal_of_the_variance(name, rings):
    """L Lᵀ by unit vectors. The grid cuts the spectrum off where it is exp(-(pi L/dy)²/2), 3e-4."""
    sigma = 0.3
    background = case(rings, {name: (sigma, LENGTH)}, balanced=False)
    units = jnp.eye(NY * NX).reshape(-1, NY, NX)
    rows = jax.jit(jax.vmap(lambda x: background.apply(background.transpose({name: x}))[name]))(units)
    B = np.asarray(rows).reshape(NY * NX, NY * NX)
    along_y = line(NY, DY, rings["periodic_y"], name == "v")
    along_x = line(NX, DX, rings["periodic_x"], name == "u")
    C = np.kron(along_y, along_x)
    open_ = np.ones((NY, NX), bool)
    open_[-1] = rings["periodic_y"] or name != "v"
    open_[:, -1] &= rings["periodic_x"] or name != "u"
    inside = open_.ravel()
    size = np.sqrt(np.diag(C)[inside])

    np.testing.assert_allclose(B, B.T, rtol=0, atol=1e-15)
    np.testing.assert_allclose(np.diag(B)[inside], sigma**2, rtol=1e-12)
    assert not B[~inside].any()
    expected = sigma**2 * C[np.ix_(inside, inside)] / np.outer(size, size)
    np.testing.assert_allclose(B[np.ix_(inside, inside)], expected, rtol=0, atol=1e-3 * sigma**2)


def test_the_square_root_and_its_transpose_fit():
    background = case(RINGS[1], CONTROLS, balanced=True)
    w, x = background.noise(1, 0), background.noise(1, 1)
    image, back = jax.jit(background.apply)(w), jax.jit(background.transpose)(x)
    left, right = (sum(float(np.vdot(a[n], b[n])) for n in a) for a, b in ((x, image), (back, w)))
    assert left == pytest.approx(right, rel=1e-12)
    by_jax = jax.jit(jax.linear_transpose(background.apply, w))(x)[0]
    for name, field in back.items():
        np.testing.assert_allclose(by_jax[name], field, rtol=0, atol=1e-12)


@pytest.mark.fault("correlations by spectrum where there is land")
def test_land_and_too_many_blocks_are_refused_in_one_line():
    with pytest.raises(UsageError, match="correlations by spectrum .* without land"):
        background_case((1, 1), NY, NX, **SPECTRUM | {"land": True})
    for land, where, words in (
        (island_mask(NY, NX), {}, "spectrum needs a sea without land"),
        (False, {"run__nproc": 6, "run__layout": "6x1"}, "spectrum has 5 lines, too few for 6 blocks"),
    ):
        options = {"assimilation__correlation": "diffusion", **where}
        config = background_case((1, 1), NY, NX, land=land, controls={}, balanced=False, **options)[1]
        chosen = config.assimilation.model_copy(update={"correlation": "spectrum"})
        found = [*problems(config.model_copy(update={"assimilation": chosen}))]
        assert [line for line in found if line.startswith("assimilation.correlation: " + words)], found
