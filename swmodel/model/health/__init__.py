"""Health of runs: finite, of positive thickness, within the stable time step, without energy or tracer from nowhere.

`measures` is the one pass over a state, `verdict` the bound and the verdict, `blowup` the report of a run that blew up,
`outside` the energy from outside open sides, and `one` the view of a single run. An ensemble has a view of its own, and
shares all else.
"""

from ...files.run_folder import BLOWUP
from .measures import unusable
from .verdict import RUNAWAY, Health

__all__ = ["BLOWUP", "RUNAWAY", "Health", "unusable"]
