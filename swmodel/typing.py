"""Names for annotations in programs that use swmodel.

    def drag(state: Flow, grid: Grid, t: Any, roughness: Patch) -> dict[str, Patch]: ...

A function of the points takes `Points`. The names of unions of types are `Source`, the configuration that `load` and
`Simulation` take; `Field`, an entry of `fields`; and `OwnTerm`, an entry of `terms`.
"""

from .config.loading.load import Source
from .ocean.coordinates import Points
from .ocean.flow import Flow
from .ocean.grid import Grid
from .ocean.own_term import OwnTerm
from .ocean.patch import Patch
from .ocean.state import Carry, State
from .setup.fields.field import Field

__all__ = ["Carry", "Field", "Flow", "Grid", "OwnTerm", "Patch", "Points", "Source", "State"]
