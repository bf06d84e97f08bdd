"""Health of runs: finite values, positive thickness, at most a few cells a step, tracers within their bounds.

`measures` is the pass over a state; `verdict` judges its results, and reports a blow-up.
"""

from ...files.run_folder import BLOWUP
from .measures import CELLS, unusable
from .verdict import RUNAWAY, Health

__all__ = ["BLOWUP", "CELLS", "RUNAWAY", "Health", "unusable"]
