"""A Setup: what a configuration becomes, once."""

import pickle

import numpy as np
import pytest

from swmodel.config import load
from swmodel.model.resolve import resolved
from swmodel.parallel.decomposition import block
from swmodel.setup.describe import describe
from swmodel.setup.setup import setup_of

SMALL = {"grid.nx": 16, "grid.ny": 12, "run.steps": 5, "run.executor": "xla"}


def setup(case="jet", **more):
    return resolved(setup_of(load(case, SMALL | more, environ={})))


@pytest.mark.parametrize("case", ["jet", "hurricane", "stommel"])
def test_it_can_be_sent_to_another_process_and_compared(case):
    made = setup(case)
    assert pickle.loads(pickle.dumps(made)) == made == setup(case)
    assert made != setup(case, **{"physics.viscosity": 7.0})


def test_a_wider_margin_has_the_same_values_around_the_block():
    made, part = setup("stommel"), block(1, (2, 2), 12, 16)
    for near, far in zip(made.static(part), made.static(part, made.margin + 3), strict=True):
        near, far = (each if isinstance(each, dict) else {"depth": each.depth, "wet": each.wet} for each in (near, far))
        for name, values in near.items():
            inner = tuple(slice(3, -3) if size > 1 else slice(None) for size in far[name].shape)
            np.testing.assert_array_equal(far[name][inner], values)


def test_it_says_where_each_field_comes_from():
    text = describe(setup("hurricane"))
    assert {"wind_drag", "air_pressure"} <= set(text.replace(",", " ").split())
    rows = dict(line.split(maxsplit=1) for line in text.splitlines())
    assert rows["mask"] == "1"
    assert rows["viscosity"] == "500 m2 s-1"
    assert rows["u10"].endswith("in time")
    assert rows["grid"].startswith("16 columns by 12 rows")
