"""A river and a bay, coupled by the interface: no water is lost, and what came in is river water."""

import numpy as np
import pytest
from support.example import example

pytestmark = pytest.mark.night

pytest.importorskip("bmipy", reason='needs bmipy: pip install ".[bmi]"')


@pytest.mark.slow
def test_the_bay_gains_what_the_river_brings(tmp_path):
    river, told = example("river"), []
    bay, error = river.couple(hours=1, tell=told.append)
    assert abs(error) < 1e-14
    depth, share = (bay.get_value(name, np.empty(2400)) for name in (river.DEPTH, river.SHARE))
    area = bay.get_value("model_grid_cell__area", np.empty(2400))
    gained = area @ (depth - 10.0)
    assert gained > 1e4
    assert area @ (share * depth) == pytest.approx(gained, rel=1e-7)
    assert 0.0 <= share.min() <= share.max() <= 1.0
