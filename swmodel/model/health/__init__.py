"""Health of runs: finite, of positive thickness, within the stable time step, and without energy from nowhere.

`measures` is the one pass over a state, `verdict` the bound, `blowup` what is said and left of a run that blew up, and
`one` how a run is looked at; an ensemble has a counterpart of `one`, and shares all else.
"""

from ...files.run_folder import BLOWUP
from .measures import unusable
from .verdict import RUNAWAY, Health

__all__ = ["BLOWUP", "RUNAWAY", "Health", "unusable"]
