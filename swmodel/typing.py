"""Names for type annotations in programs that use swmodel.

    def drag(state: Flow, grid: Grid, t: Any, roughness: Patch) -> dict[str, Patch]: ...

A function that defines a field takes `Points`. Three names are unions of types: `Source`, a configuration that `load`
and `Simulation` accept; `Field`, an entry of `fields`; and `UserTerm`, an entry of `terms`.
"""

from .config.loading.load import Source
from .ocean.coordinates import Points
from .ocean.flow import Flow
from .ocean.grid import Grid
from .ocean.patch import Patch
from .ocean.state import Carry, State
from .ocean.user_term import UserTerm
from .setup.fields.python_fields import Field

__all__ = ["Carry", "Field", "Flow", "Grid", "UserTerm", "Patch", "Points", "Source", "State"]
