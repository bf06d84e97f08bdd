"""Health of runs: finite values, positive thickness, no water that crosses many cells per step, bounded tracers.

`measures` computes numbers in one pass over a state; `verdict` judges them and reports a blow-up.
"""

from ...files.run_folder import BLOWUP
from .measures import MAX_CELLS_PER_STEP, count_unusable_cells
from .verdict import MAX_CONCENTRATION_GROWTH, Health

__all__ = ["BLOWUP", "MAX_CELLS_PER_STEP", "MAX_CONCENTRATION_GROWTH", "Health", "count_unusable_cells"]
