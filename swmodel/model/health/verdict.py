"""The bound on the energy of runs, and the verdict on their states.

Let e be the kinetic and available potential energy per area and density (m3 s-2). Wind stress tau does no more work
than tau |u|, a force per mass F no more than h F |u|, so d sqrt(e)/dt <= w = (max tau / density) / sqrt(2 min h) +
F sqrt(max h / 2). Water outside open sides brings no more than the power p per area, by waves and by a sponge
(`energy`), for the largest of all records so far. Everything else only takes energy away. So sqrt(e) never exceeds r,
which is updated at each look: r <- min(sqrt(r² + p dt) + w dt, sqrt(e)). An energy of more than RUNAWAY times r² comes
from an instability, also during spin-up from rest.

What is dissolved is carried by upwind differences, which keep it between the values at the start: a concentration
RUNAWAY times as large as any of these comes from an instability, too.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ...errors import NumericalError
from ...ocean.diagnostics import per_length
from ...parallel.transport import of_all_members
from ...parallel.transport.programs import jitted
from ...setup.checks.extremes import Extremes, survey
from ...setup.checks.stability import largest_dt
from .blowup import Blowup, in_which, of_which
from .energy import Forces, largest_acceleration
from .measures import RATES, Measures, Static, blocks_of, make_measure

log = logging.getLogger(__name__)

#: Growth of energy, and of a concentration, that discretisation and round-off may cause.
RUNAWAY = 10.0
#: Ratio of sea level to depth whose energy counts as none: the round-off of a state of rest is far below.
REST = 1e-4
#: The recommended fraction of the largest stable time step.
SAFETY = 0.8


class Runs(Protocol):
    """The runs of a model as Health looks at them: one, or the members of an ensemble.

    Attributes:
        domain: scheme, transport, grid and params of a run.
        config: that of a run.
        params: coefficients by name, at values that need the smallest time step.
        remedy: what may help besides a smaller time step, in words.
        remedy_at_start: what may help if the state at the start cannot be used, in words.
    """

    domain: Any
    config: Any
    params: dict
    remedy: str
    remedy_at_start: str

    def forces(self) -> Forces:
        """The largest Forces so far on this process's part of its runs."""

    def compile(self, make: Callable, *parts) -> Callable:
        """The function make(*parts) of State and Static on a block, jitted, for `measure`."""

    def measure(self, program: Callable, static: Static) -> np.ndarray:
        """What the program measures in the blocks of this process, [runs here, blocks, Measures]."""


class SingleRun:
    """The run of a Simulation; see `Runs`."""

    remedy = " or more friction"
    remedy_at_start = ""

    def __init__(self, simulation):
        self.simulation = self.domain = simulation
        self.config, self.transport = simulation.config, simulation.transport
        self.params = simulation.params

    def forces(self) -> Forces:
        """The largest Forces so far on this process's part of its runs."""
        stress, slope, power = self.simulation.max_forcing()
        return Forces(np.array([stress]), largest_acceleration(self.domain) + slope, power)

    def compile(self, make, *parts):
        """The function make(*parts) of State and Static on a block, jitted, for `measure`."""
        return jitted(make, *parts)

    def measure(self, program, static) -> np.ndarray:
        """What the program measures in the blocks of this process, [runs here, blocks, Measures]."""
        return np.stack(self.transport.pieces(program(self.simulation.carry.state, static)))[None]


class Health:
    """The health of a run, or of all members of an ensemble: `check` between chunks of steps.

    It takes one jitted pass over the states and a few small messages; all ranks reach the same verdict. Numbers of runs
    are arrays [runs]. NumericalError: the present state is not finite, or without thickness, somewhere.

    Args:
        directory: the run folder, for blowup.nc; None: a blow-up leaves no file.
        view: function of the model that returns its Runs.
    """

    def __init__(self, model, directory=None, view: Callable[[Any], Runs] = SingleRun):
        self.model, self.runs = model, view(model)
        self.blowup = Blowup(model, self.runs, directory)
        domain, self.transport = self.runs.domain, model.transport
        self.config = self.runs.config
        grids = [(grid, shape) for grid, _, shape in blocks_of(domain)]
        depth = max(np.abs(grid.depth.on(shape)).max() for grid, shape in grids)
        scale = max(per_length(grid, shape, grid.wet.on(shape) > 0) for grid, shape in grids)
        depth, self.scale = domain.transport.reduce(np.array([depth, scale], np.float64), "max")
        area = sum(np.broadcast_to((grid.area.centre * grid.wet).on(s), s).sum(dtype=np.float64) for grid, s in grids)
        self.area = float(domain.transport.reduce(np.asarray(area), "sum")) or 1.0
        self.find_forces()
        self.rest = math.sqrt(0.5 * self.config.physics.gravity) * REST * float(depth)
        self.static = Static(domain.grid, self.runs.params)
        parts = self.config.physics.gravity, domain.scheme.acting, domain.scheme.margin, domain.transport
        self._measure = self.runs.compile(make_measure, *parts)
        self.begin()
        self.stable = (0.0,) * len(RATES)  # rates for which the time step is known to be stable
        self.warned = False

    def begin(self) -> None:
        """Take the present states for those at the start; called by all processes together."""
        self.last, self.step, self.time = self.look(), self.model.step, self.model.time
        if (bad := ~(self.last.neg_min_h < 0)).any():
            self.refuse(bad)
        self.root = np.maximum(self.rest, np.sqrt(np.maximum(0.0, self.last.energy)))
        self.most = self.last.concentration + (np.inf if self.runs.domain.scheme.own else 0.0)  # they may dissolve more

    def check(self) -> None:
        """Look at the states; called by all processes together. Warns once if the time step is above the stable one.

        NumericalError: a solution blew up; the message says where, when, and what to change.
        """
        now = self.look()
        broken = ~(now.neg_min_h < 0)
        least = np.where(broken, 1.0, np.minimum(-now.neg_min_h, -self.last.neg_min_h))
        thickest = np.where(broken, 0.0, np.maximum(now.max_h, 0.0))
        bound = np.full_like(self.root, np.inf)
        if self.runs.domain.scheme.varying:
            self.find_forces()
        if np.isfinite(self.acceleration):  # else the user's own terms may add any energy
            push = self.wind / np.sqrt(2 * least) + self.acceleration * np.sqrt(thickest / 2)
            passed = self.model.time - self.time
            bound = np.sqrt(self.root**2 + self.power * passed) + push * passed
        runaway = ~(now.energy <= RUNAWAY * bound**2)
        loose = now.concentration > RUNAWAY * self.most
        if (broken | runaway | loose).any():
            with np.errstate(all="ignore"):
                if not (runaway | loose).any():
                    self.dry_out(broken, now)
                growths = now.energy / bound**2, now.concentration / self.most
                self.fail(broken, runaway, broken | runaway | loose, growths)
        self.root = np.maximum(self.rest, np.minimum(bound, np.sqrt(now.energy)))
        self.last, self.step, self.time = now, self.model.step, self.model.time
        if not self.warned:
            self.check_time_step()

    def find_forces(self) -> None:
        """Find the largest forces so far, [runs].

        `wind` is the stress over density, m2 s-2, `acceleration` that by other forces, m s-2, and `power` what the
        water outside brings per area, over density, m3 s-3.
        """
        found = self.runs.forces()
        self.wind = of_all_members(self.transport, found.stress, "max", -np.inf) / self.config.physics.density
        self.acceleration = float(self.transport.reduce(np.asarray(found.acceleration, np.float64), "max"))
        power = self.runs.domain.transport.reduce(np.asarray(found.power, np.float64), "sum")
        self.power = float(power) / self.area

    def look(self) -> Measures:
        """The Measures of the whole domain, arrays [runs]; the energy per area."""
        found = self.runs.measure(self._measure, self.static).astype(np.float64)
        worst = np.nan_to_num(found[..., :-1], nan=np.inf, posinf=np.inf, neginf=-np.inf).max(axis=1)
        largest = of_all_members(self.transport, worst, "max", -np.inf)
        energy = self.transport.broadcast(of_all_members(self.transport, found[..., -1].sum(axis=1)))
        return Measures(*largest.T, energy / self.area)

    def check_time_step(self) -> None:
        """Warn if the time step is above the largest stable one of the present state."""
        rates, dt = [getattr(self.last, name).max() for name in RATES], self.config.time.dt
        if all(now <= before for now, before in zip(rates, self.stable, strict=True)):
            return
        for margin in (1.05, 1.0):  # finding the limit takes 10 ms, so not anew with every small change
            largest, process = self.largest_dt(margin)
            if dt <= largest:
                self.stable = tuple(margin * rate for rate in rates)
                return
        self.warned = True
        if self.transport.rank == 0:
            what = f"above the largest stable one, {largest:.4g} s ({process}); CFL {self.cfl().max():.3g}; "
            what += f"the run may blow up; time.dt = {SAFETY * largest:.4g} s would be stable"
            if largest == 0:
                what = f"not known to be stable: the rates of {process} are beyond {self.config.run.dtype}; "
                what += "take larger cells"
            log.warning("step %d (day %.3f): the time step of %.6g s is %s", self.step, self.time / 86400, dt, what)

    def largest_dt(self, margin: float = 1.0, at: Measures | None = None) -> tuple[float, str]:
        """The largest time step stable in all runs at `margin` times the last rates, s; the process that sets it."""
        ranges = {name: (0.0, margin * getattr(at or self.last, name).max()) for name in RATES}
        return largest_dt(self.config, Extremes(ranges))

    def cfl(self) -> np.ndarray:
        """(|u| + sqrt(g h)) dt sqrt(1/dx² + 1/dy²) at the last look, with the largest |u| and h; [runs]."""
        gravity = self.config.physics.gravity
        return self.config.time.dt * (self.last.speed + np.sqrt(gravity * self.last.max_h)) * self.scale

    def fail(self, broken: np.ndarray, runaway: np.ndarray, bad: np.ndarray, growths: tuple):
        """Write blowup.nc of the first bad run and raise NumericalError.

        Args:
            broken, runaway, bad: the runs whose state cannot be used; those with too much energy; all bad ones, [runs].
            growths: energy over its bound, and the largest concentration over that at the start, [runs] each.
        """
        run, of = int(np.argmax(bad)), of_which(bad)
        if broken[run]:
            what = self.blowup.unusable_value(run, of)
        elif runaway[run]:
            what = f"energy{of} is {growths[0][run]:.3g} times what the run can have; {self.blowup.fastest(run)}"
        else:
            what = f"{self.blowup.densest(run, of)}, {growths[1][run]:.3g} times the largest at the start"
        what += f"; CFL {self.cfl()[run]:.3g} at step {self.step}"
        self.blame_steps(bad, what, self.largest_dt()[0], bool(broken[run]))

    def refuse(self, bad: np.ndarray):
        """Raise NumericalError for the runs whose state cannot be used at the first look."""
        run, of = int(np.argmax(bad)), of_which(bad)
        what = self.blowup.unusable_value(run, of)
        if self.model.step > self.model.first_step:
            self.dry_out(bad, self.last)
            self.blame_steps(bad, what, largest_dt(self.config, survey(self.runs.domain.setup))[0], True)
        raise NumericalError(
            f"the state at step {self.model.step} cannot be used{in_which(bad)}: {what}"
            f"{self.runs.remedy_at_start}{self.blowup.remains(run, of)}"
        )

    def dry_out(self, bad: np.ndarray, now: Measures):
        """Raise NumericalError if all bad runs have no more than water without thickness, at a stable time step."""
        if not np.isfinite(now.neg_min_h[bad]).all() or self.config.time.dt > self.largest_dt(at=now)[0]:
            return
        run, model, of = int(np.argmax(bad)), self.model, of_which(bad)
        raise NumericalError(
            f"the water fell dry by step {model.step} (day {model.time / 86400:.3f}){in_which(bad)}: "
            f"{self.blowup.unusable_value(run, of)}, and there is no wetting and drying; take a larger least depth "
            f"(physics.depth, input.depth; swmodel grid --min-depth){self.blowup.own()}{self.blowup.remains(run, of)}"
        )

    def blame_steps(self, bad: np.ndarray, what: str, largest: float, unusable: bool):
        """Raise NumericalError for the runs that have become unusable by taking steps.

        Args:
            what: what is wrong, in words.
            largest: largest time step that is known to be stable, s.
            unusable: the state has no numbers or no thickness. At a stable time step water may have fallen dry before.
        """
        run, model, dt = int(np.argmax(bad)), self.model, self.config.time.dt
        hint = "; if water fell dry before, run.check_every_steps=1 shows where"
        raise NumericalError(
            f"the solution blew up by step {model.step} (day {model.time / 86400:.3f}){in_which(bad)}: "
            f"{what}; start anew with a smaller time step (time.dt = {min(dt / 2, SAFETY * largest) or dt / 2:.4g} s)"
            f"{self.runs.remedy}{hint if unusable and dt <= largest else ''}"
            f"{self.blowup.own()}{self.blowup.remains(run, of_which(bad))}"
        )
