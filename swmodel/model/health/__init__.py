"""Health of runs: finite, of positive thickness, within the stable time step, without energy or tracer from nowhere.

`measures` is the one pass over a state, `energy` what forces and open sides can bring, `verdict` the bound and the
verdict, with the view of a single run, `blowup` the report of a run that blew up. An ensemble has a view of its own.
"""

from ...files.run_folder import BLOWUP
from .measures import unusable
from .verdict import RUNAWAY, Health

__all__ = ["BLOWUP", "RUNAWAY", "Health", "unusable"]
