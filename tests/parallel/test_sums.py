"""Global sums have the same bits however the domain is divided: numbers of any size and sign, in any order."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.small_run import SMALL_RUN_OPTIONS

import swmodel
from swmodel.parallel.fixed_point import FixedPoint, exact_product
from swmodel.parallel.transport.serial import SerialTransport

MANY_EXAMPLES = settings(max_examples=150)
ANY_FLOAT = st.floats(allow_nan=False, allow_infinity=False)
#: Numbers between -8 and 8, many of which have bits beyond the last one that FixedPoint keeps.
FLOATS_UP_TO_8 = st.floats(-8, 8, allow_subnormal=True)
ARRAYS = st.one_of(st.lists(ANY_FLOAT, max_size=40), st.lists(FLOATS_UP_TO_8, max_size=40)).map(np.array)


def fixed_point_sum(parts, bound):
    """The sum over processes, each of which holds one of the parts and makes its own FixedPoint."""
    pieces = [FixedPoint(bound).high_and_low_sums(part) for part in parts]
    return FixedPoint(bound).value(np.sum(pieces, axis=0, dtype=np.int64))


def float_bits(number):
    """The bits of a float, signs of zeros included."""
    return np.float64(number).tobytes()


@pytest.mark.promise("global sums do not depend on the layout")
@MANY_EXAMPLES
@given(ARRAYS, st.data())
def test_any_order_and_splitting_gives_same_bits(numbers, data):
    bound = float(np.abs(numbers).max(initial=0.0))
    order = data.draw(st.permutations(range(len(numbers))))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(numbers)), max_size=6)))
    parts = [*np.split(numbers[order] if len(numbers) else numbers, cuts), np.array([])]
    assert float_bits(fixed_point_sum(parts, bound)) == float_bits(fixed_point_sum([numbers], bound))


def exact_sum(numbers):
    """The sum as a Fraction, without rounding."""
    return sum(map(Fraction, map(float, numbers)), Fraction(0))


@pytest.mark.promise("global sums do not depend on the layout")
@MANY_EXAMPLES
@given(ARRAYS, st.floats(1, 1e6))
def test_sum_is_exact_to_stated_precision(numbers, factor):
    """Each number loses at most 2^-65 times the bound, or 2^-1027 if that is more; the sum is rounded once."""
    bound = float(np.abs(numbers).max(initial=0.0)) * factor
    if not math.isfinite(bound):
        assert math.isnan(fixed_point_sum([numbers], bound))
        return
    total, exact = fixed_point_sum([numbers], bound), exact_sum(numbers)
    max_error = len(numbers) * max(Fraction(bound) / 2**65, Fraction(1, 2**1027))
    if math.isinf(total):
        assert exact * (1 if total > 0 else -1) + max_error >= 2**1024 - 2**970  # rounding gives infinity
        return
    assert abs(Fraction(total) - exact) <= max_error + Fraction(math.ulp(total)) / 2


@pytest.mark.promise("global sums do not depend on the layout")
def test_part_of_a_matrix_product_has_bits_of_the_whole():
    a, b = np.random.default_rng(1).normal(size=(2, 70, 70))
    bounds = np.abs(a).max(), np.abs(b).max()
    whole = exact_product(a, b, bounds)
    np.testing.assert_allclose(whole, a @ b, rtol=0, atol=1e-13)
    for part in (slice(0, 1), slice(3, 50), slice(69, 70)):
        np.testing.assert_array_equal(exact_product(a[part], b, bounds), whole[part])
        np.testing.assert_array_equal(exact_product(a, b[:, part], bounds), whole[:, part])


def test_sum_of_many_large_numbers_does_not_overflow():
    n_numbers = 2**19
    pieces = np.array(FixedPoint(1.75).high_and_low_sums(np.full(n_numbers, 1.75)))
    assert np.array_equal(pieces, [1.75 * 2**31 * n_numbers, 0])
    assert FixedPoint(1.75).value(1024 * pieces) == 1.75 * n_numbers * 1024


@pytest.mark.promise("global sums do not depend on the layout")
def test_sums_over_processes_in_diagnostics_are_of_integers(monkeypatch):
    dtypes = []

    def reduce(self, values, operation):
        dtypes.extend([np.asarray(values).dtype] * (operation == "sum"))
        return values

    monkeypatch.setattr(SerialTransport, "reduce", reduce)
    swmodel.Simulation(swmodel.load("jet", SMALL_RUN_OPTIONS, environ={})).diagnostics()
    assert dtypes == [np.int64]
