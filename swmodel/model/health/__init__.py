"""Health of runs: finite, of positive thickness, no faster than a few cells a step, tracers within their bounds.

`measures` is the one pass over a state, `verdict` judges what it finds, and reports a run that blew up.
"""

from ...files.run_folder import BLOWUP
from .measures import CELLS, unusable
from .verdict import RUNAWAY, Health

__all__ = ["BLOWUP", "CELLS", "RUNAWAY", "Health", "unusable"]
