"""Health of runs: finite values, positive thickness, no water that crosses many cells per step, bounded tracers.

`measures` computes numbers in one pass over a state; `verdict` judges them and reports a blow-up.
"""

from .measures import MAX_CELLS_PER_STEP, count_unusable_cells
from .verdict import Health

__all__ = ["MAX_CELLS_PER_STEP", "Health", "count_unusable_cells"]
