"""The thickness at faces, and which faces are open, are choices that the dynamics take as they are."""

import numpy as np
import pytest

from swmodel.ocean import flow
from swmodel.ocean.dynamics import tendency
from swmodel.ocean.face_thickness import FACE_THICKNESS
from swmodel.ocean.scheme import CELLS, Scheme, small_block

pytestmark = pytest.mark.slow

SHAPE = CELLS, CELLS


def rates(scheme=None):
    """Rates of h, u, v of random fields."""
    rng, scheme = np.random.default_rng(3), scheme or Scheme()
    found = tendency(*small_block(scheme, scheme.width, lambda shape: rng.uniform(1.0, 2.0, shape)), scheme)
    return [field.on(SHAPE) for field in found]


def test_faces_that_the_state_closes_have_no_current_and_let_no_water_through(monkeypatch):
    monkeypatch.setattr(flow, "open_faces", lambda state, grid: (1.0 * (state.h > 2.5), 1.0 * (state.h > 1.5)))
    h, u, v = rates()
    assert not np.any(u)
    assert np.any(v == 0)
    assert np.any(v)
    monkeypatch.setattr(flow, "open_faces", lambda state, grid: (1.0 * (state.h > 2.5),) * 2)
    assert not np.any(rates())


def test_the_transport_follows_the_thickness_that_the_scheme_names(monkeypatch):
    monkeypatch.setitem(FACE_THICKNESS, "nothing", lambda h: (0.0 * h, 0.0 * h))
    h, u, _ = rates(Scheme(face_thickness="nothing"))
    assert np.any(rates()[0])
    assert np.any(u)
    assert not np.any(h)
