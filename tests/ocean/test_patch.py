"""Arithmetic and NumPy's functions of Patches: on the cells that all of them cover, by the arrays' own library."""

import jax.numpy as jnp
import numpy as np
import pytest

from swmodel.ocean.patch import Patch, east, north

DRAWN = np.random.default_rng(3).uniform(0.5, 1.5, (2, 5, 6))
FUNCTIONS = {
    "sqrt": lambda a, b: np.sqrt(a) * np.cbrt(b),
    "power": lambda a, b: a**2 + np.power(b, 3) + np.square(a),
    "absolute": lambda a, b: abs(a - 1.0) + np.abs(b - a),
    "exp, log, cos": lambda a, b: np.exp(a) - np.log(b) * np.cos(a),
    "maximum": lambda a, b: np.maximum(a, b) - np.minimum(1.0, b),
    "where": lambda a, b: np.where(a > b, a, 2.0) + np.where(a <= 1.0, b, 0.5 * a) + np.where(b < a, 1.0, b),
    "equal": lambda a, b: np.where(a == b, 1.0, a) + np.where(a != b, b, 2.0) + np.where(np.equal(a, a), a, b),
    "and, or": lambda a, b: np.where((a > 1.0) & (b > 1.0), a, b) + np.where((a > 1.0) | np.less(b, 1.0), a, b),
    "tanh": lambda a, b: np.tanh(a) * np.arctan2(a, b),
    "numbers first": lambda a, b: 2.0 / a - 3 / b + np.float64(2) * a + (1 - b) - np.float64(1) / a,
    "numbers behind": lambda a, b: a / 2 - b * np.float64(3) + np.where(b >= 1, a, 0.0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("xp", "dtype"), [(np, "float64"), (np, "float32"), (jnp, "float32")])
def test_functions_of_patches_are_those_of_their_values(name, xp, dtype):
    function, (a, b) = FUNCTIONS[name], DRAWN
    expected = function(a[:, 1:], b[:, :-1])
    found = function(east(Patch(xp.asarray(a, dtype), (0, 0))), Patch(xp.asarray(b, dtype), (0, 0)))
    assert isinstance(found.values, np.ndarray) == (xp is np)
    assert found.values.dtype == dtype
    assert found.start == (0, 0)
    np.testing.assert_allclose(found.values, expected, rtol=1e-15 if dtype == "float64" else 2e-6)


def test_patches_meet_on_common_cells():
    a, b = (Patch(values, (0, 0)) for values in DRAWN)
    found = np.where(north(a) > 1.0, east(b), a)
    assert found.start == (0, 0)
    np.testing.assert_array_equal(found.values, np.where(DRAWN[0, 1:, :-1] > 1, DRAWN[1, :-1, 1:], DRAWN[0, :-1, :-1]))


REFUSED = {
    "array of shape": (lambda a: a * DRAWN[0], lambda a: jnp.asarray(DRAWN[0]) * a),
    "np.add": (lambda a: np.add(a, 1.0, out=DRAWN[0]), lambda a: np.add.reduce(a)),
    "np.roll": (lambda a: np.roll(a, 1, 0),),
    "branch": (lambda a: a if a > 0 else -a, lambda a: a if a == 0 else -a, lambda a: a > 0.5 and a < 1.0),
}


def test_patch_refuses_what_is_no_arithmetic_of_cells():
    for words, wrong in ((words, each) for words, group in REFUSED.items() for each in group):
        with pytest.raises(TypeError, match=words):
            wrong(Patch(DRAWN[1], (0, 0)))
