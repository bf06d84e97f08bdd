"""Known answers of theory, laboratories and tables, beside the results of the model on this machine.

answer          an Answer, the registry of their functions, and common helpers
waves           gravity waves, with and without rotation; a step, a slope; open sides
flows           gyres, vortices, instability, adjustment on a plane
sphere          the tests of Williamson and others, Galewsky's jet, turned grids
forcing         wind, air pressure, tides, an earthquake, a tsunami
drying          bowls, dam breaks, benchmarks of run-up, tidal flats
invariants      conservation, bits, derivatives
"""

from . import drying, flows, forcing, invariants, sphere, waves
from .answer import KNOWN, Answer, Known

__all__ = ["KNOWN", "Answer", "Known", "drying", "flows", "forcing", "invariants", "sphere", "waves"]
