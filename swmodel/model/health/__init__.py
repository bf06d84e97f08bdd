"""Health of runs: finite values, positive thickness, at most a few cells a step, tracers within their bounds.

`measures` is the pass over a state; `verdict` judges its results, and reports a blow-up.
"""

from ...files.run_folder import BLOWUP
from .measures import MAX_CELLS_PER_STEP, count_unusable_cells
from .verdict import MAX_CONCENTRATION_GROWTH, Health

__all__ = ["BLOWUP", "MAX_CELLS_PER_STEP", "MAX_CONCENTRATION_GROWTH", "Health", "count_unusable_cells"]
