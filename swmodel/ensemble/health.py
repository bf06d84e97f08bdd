"""Health of all members: finite, of positive thickness, and without energy from nowhere (`swmodel.health`)."""

from __future__ import annotations

import math

import jax
import numpy as np

from ..errors import NumericalError, UsageError
from ..grid import as_patches
from ..health import REST, RUNAWAY, Measures, Static, measure
from ..state import State


class Health:
    """The health of Members: `check` between chunks of steps, called by all processes together.

    Raises:
        UsageError: a member begins without thickness somewhere.
    """

    def __init__(self, members):
        self.members, self.config = members, members.config
        one = members.domain
        shape, patches = one.transport.block.shape, members.patches
        fields = (patches.wet, patches.depth, patches_of(members, members.params[0]).linear_drag)
        static = Static(*(np.asarray(field.on(shape)) for field in fields))
        self.static, of_one = one.transport.put(static), measure(one.config, one.transport)
        self._measure = members.jit(lambda states, static: jax.vmap(lambda state: of_one(state, static))(states))
        winds = [patches_of(members, params) for params in members.params]
        stress = [np.hypot(params.wind_x.on(shape), params.wind_y.on(shape)).max() for params in winds]
        self.wind = members.of_all(np.array(stress, np.float64)) / self.config.physics.density
        self.cells = max(1.0, float(np.broadcast_to(static.wet, shape).sum(dtype=np.float64)))
        self.rest = math.sqrt(0.5 * self.config.physics.gravity) * REST * float(np.abs(static.depth).max())
        self.last, self.step, self.time = self.look(), members.step, members.time
        if bad := self.numbers(~(self.last.low < 0)):
            raise UsageError(f"ensemble.initial_eta: too large: the thickness of {bad} is not above 0 m everywhere")
        self.root = np.maximum(self.rest, np.sqrt(np.maximum(0, self.last.energy)))

    def look(self) -> Measures:
        """The Measures of all members, arrays [members]; the energy per cell."""
        found = self.members.get(self._measure(State(*self.members.carry.state), self.static))
        worst = np.nan_to_num(found[:, :-1].astype(np.float64), nan=np.inf, posinf=np.inf, neginf=-np.inf)
        # Sums over processes of infinities and zeros are not numbers.
        worst = np.clip(worst, -np.finfo(np.float64).max, np.finfo(np.float64).max)
        energy = found[:, -1:].astype(np.float64) / self.cells
        everyone = self.members.of_all(np.concatenate([worst, energy], axis=1))
        return Measures(*everyone.T)

    def check(self) -> None:
        """Look at all members.

        Raises:
            NumericalError: the solution of a member blew up; the message says of which, when, and what to change.
        """
        now, root = self.look(), self.root
        broken = ~(now.low < 0)
        least = np.where(broken, 1.0, np.minimum(-now.low, -self.last.low))
        bound = root + self.wind / np.sqrt(2 * least) * (self.members.time - self.time)
        runaway = ~broken & ~(now.energy <= RUNAWAY * bound**2)
        if broken.any() or runaway.any():
            self.fail(broken, runaway, now.energy / bound**2)
        self.root = np.maximum(self.rest, np.minimum(bound, np.sqrt(now.energy)))
        self.last, self.step, self.time = now, self.members.step, self.members.time

    def fail(self, broken, runaway, growth):
        """Raise NumericalError for the members marked."""
        members = self.members
        why = []
        if broken.any():
            why.append(f"{self.numbers(broken)}: values that are not finite, or thickness not above 0 m")
        if runaway.any():
            most = np.nanmax(np.where(runaway, growth, 0))
            why.append(f"{self.numbers(runaway)}: energy is {most:.3g} times what the run can have")
        raise NumericalError(
            f"the solution blew up by step {members.step} (day {members.time / 86400:.3f}) in {'; in '.join(why)}; all "
            f"were well at step {self.step}, with speeds up to {self.last.speed.max():.3g} m s-1; start anew with a "
            f"smaller time step (time.dt = {members.dt / 2:.4g} s), more friction or smaller perturbations"
        )

    @staticmethod
    def numbers(marked) -> str:
        """ "member 3" or "members 3, 5 and 7"; empty where none is marked."""
        found = [str(number) for number in np.flatnonzero(marked)]
        if len(found) < 2:
            return f"member {found[0]}" if found else ""
        return f"members {', '.join(found[:-1])} and {found[-1]}"


def patches_of(members, params):
    """Params as Patches."""
    return as_patches(params, members.domain.scheme.width)
