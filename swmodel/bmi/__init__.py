"""The Basic Model Interface 2.0 of CSDMS: the class `Model`, by which other programs drive a run (docs/bmi.md)."""

from ..extras import require_package
from ..parallel.environment import get_rank_info, prepare_environment

require_package("swmodel.bmi", "bmipy")
prepare_environment(rank_info=get_rank_info())  # before the next line imports JAX

from .model import Model as Model  # noqa: E402

__all__ = ["Model"]
