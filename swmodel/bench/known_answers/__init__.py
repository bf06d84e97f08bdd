"""Known answers of theory, laboratories and tables, beside the results of the model on this machine."""

from . import drying, flows, forcing, invariants, sphere, waves
from .answer import KNOWN, Answer, Known

__all__ = ["KNOWN", "Answer", "Known", "drying", "flows", "forcing", "invariants", "sphere", "waves"]
