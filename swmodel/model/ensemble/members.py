"""The members of a process on its devices, which one compiled program advances.

Carries and perturbed static fields have a leading axis of members; members share all other fields. Several devices
divide the axis. A member has the whole grid, so that no device waits for another.
"""

from __future__ import annotations

import logging
import time
from functools import cached_property
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ...executors.registry import COMPILED
from ...files.restart.read import read
from ...gradients.controls import scheme_for
from ...ocean.state import Carry, State
from ...parallel.environment import share_of_cores
from ...parallel.transport import connect
from ...parallel.transport.programs import jitted
from ...parallel.transport.sharded import provide
from ..accumulators import NO_ACCUMULATORS, Accumulators
from ..change import carry_with
from ..domain import domain
from ..forcing import Forcing
from ..health import Health
from ..present import Present
from ..run import Model
from .ensemble_file import opened
from .perturbations import Perturbations
from .settings import unresolved, viscosity_factors, whole

AXIS = "member"

log = logging.getLogger(__name__)


class Devices(tuple):
    """The devices of a process, among which its members are divided."""

    @property
    def mesh(self) -> Mesh:
        """The devices in a row."""
        return Mesh(np.array(self), (AXIS,))

    def jit(self, program, arrays: int = 1, **options):
        """jax.jit of a program whose first `arrays` arguments have an axis of members; they share the last one."""
        if len(self) > 1:
            along = PartitionSpec(AXIS)
            specs = (*[along] * arrays, PartitionSpec())
            program = jax.shard_map(program, mesh=self.mesh, in_specs=specs, out_specs=along, check_vma=False)
        return jax.jit(program, **options)


def make_loop(loop, transport, tree, perturbed, batched: bool, devices):
    """The program (carry, own, shared and dt, n) -> carry n steps later, of the members of each device.

    `tree` and `perturbed` describe the executor's static fields: their structure, and which ones differ by member.
    """
    loop = loop[0](*loop[1:], transport)

    def advance(carries, own, common):
        shared, dt, n = common

        def one(carry, mine):
            mine, others = iter(mine), iter(shared)
            return loop(carry, tree.unflatten([next(mine if own else others) for own in perturbed]), dt, n)

        def turn(number, carries):
            carry, mine = jax.tree.map(lambda leaf: leaf[number], (carries, own))
            return jax.tree.map(lambda all_, leaf: all_.at[number].set(leaf), carries, one(carry, mine))

        return jax.vmap(one)(carries, own) if batched else jax.lax.fori_loop(0, len(carries.step), turn, carries)

    return advance


class Members(Model):
    """The members of a process, a Model. All processes construct theirs together.

    Args:
        config: a configuration from `settings.check_ensemble`.
        restart: a restart file of the ensemble to continue from; None: the initial states.
        corrections: names of corrections in time (`gradients.corrections`) that differ by member, see `correct`.

    Attributes:
        transport: the transport between processes, each of which has the whole grid and some of the members.
        here: Span of the members of this process.
        domain, setup: Domain of a member, with the transport of a single process, and its Setup.
        carry: Carry with a leading axis of members.
    """

    def __init__(self, config, restart=None, corrections=()):
        self.begun = time.perf_counter()
        run, grid = config.run, config.grid
        if run.devices > 1:
            provide(run.devices)
        self.domain = domain(whole(config), scheme_for(corrections), alone=True)
        self.config, self.dt, self.first_step = config, config.time.dt, 0
        self.setup = self.domain.setup
        self.devices = Devices(jax.local_devices()[: run.devices])
        kind = "mpi" if run.nproc > 1 else "serial"
        members, shares = config.ensemble.members, run.nproc
        self.transport = connect(kind, (1, 1), grid.ny, grid.nx, members=members, shares=shares, exchange=run.exchange)
        self.here = self.transport.block.members
        if self.transport.rank == 0:
            for line in unresolved(config):
                log.warning(line)
        self._drawn, self._forcing = (
            Perturbations(self.domain, corrections),
            Forcing(self.domain.setup, self.domain.transport),
        )
        options = {}
        if run.executor == "cuda":
            options = {"steps_per_sweep": 1}
        if run.executor == "native":
            # One step in a sweep: the coefficients of members have the margin of one step.
            options = {
                "steps_per_sweep": 1,
                "threads": max(1, share_of_cores() // run.devices) if run.devices > 1 else 0,
            }
        self._executor = COMPILED[run.executor](*self.domain, **options)
        self._start()
        parts = self._executor.loop, self.domain.transport, self._tree, tuple(self._perturbed), advances_by_vmap(config)
        self._loop = jitted(make_loop, *parts, self.devices, arrays=2, donate_argnums=0)
        self.restart = None if restart is None else read(restart, self.domain.setup.with_config(config), self.transport)
        if self.restart:
            steps = np.full(self.here.length, self.restart.step)
            self.replace(self.restart.carry._replace(step=steps), self.restart.step)
        begin = time.perf_counter()
        self._advance(0)
        self.compile_seconds = time.perf_counter() - begin

    def replace(self, carry: Carry, step: int) -> None:
        """Continue from a carry after `step` steps, NumPy arrays with a leading axis of this process's members."""
        self._forget()
        self.carry = self._put(jax.tree.map(lambda leaf, old: np.asarray(leaf, old.dtype), carry, self.carry))
        self._step = self.first_step = step

    def change(self, state: State) -> None:
        """Take another state, NumPy arrays [members, y, x] of this process's members.

        For the memory of the time stepper see `change.carry_with`.
        """
        fields = (np.asarray(new, old.dtype) for new, old in zip(state, self.carry.state, strict=True))
        steps, carry = self.carry.step, carry_with(self, self._executor, self._put(state._make(fields)))
        self._forget()
        self.carry = carry._replace(step=steps)

    def correct(self, corrections: dict) -> None:
        """Take the corrections {name: [members, records, ny, nx]} of this process's members, from the next step on."""
        members = range(self.here.start, self.here.stop)
        self._drawn.corrections = {
            name: dict(zip(members, series, strict=True)) for name, series in corrections.items()
        }
        self._forcing.forget()

    @cached_property
    def state(self) -> State:
        """Thickness and velocities of this process's members, NumPy arrays [members, y, x]."""
        return self.get(self.carry.state)

    def get(self, tree):
        """Arrays with an axis of members, as NumPy arrays of this process's members."""
        return jax.tree.map(lambda leaf: np.asarray(leaf)[: self.here.length], tree)

    def evaluate(self, member: int, names) -> tuple[dict[str, np.ndarray], dict[str, float]]:
        """The fields `names` (DERIVED or FORCING), [y, x], and the diagnostics of a member of this process."""
        one, inflow = self.domain, self.domain.scheme.forward and bool(self.domain.config.open_sides.sides)
        state, *memory = (
            each._make(field[member - self.here.start] for field in each)
            for each in (self.state, *(self.get(self.carry.memory) if inflow else ()))
        )
        view = {"config": one.config, "scheme": one.scheme, "transport": one.transport, "grid": self._drawn.grid}
        view |= {"carry": Carry(state, (*memory,), self.step), "step": self.step, "params": self._drawn.again(member)}
        view |= {"setup": one.setup, "substeps": self.substeps}
        present = Present(SimpleNamespace(**view))
        return present.fields(names), present.diagnostics()

    def health(self, directory=None) -> Health:
        return HealthOfMembers(self, directory)

    def results(self, directory, command_line: str = "", resume: bool = False):
        return opened(self, directory, command_line, resume)

    def _start(self) -> None:
        """Draw the members one by one, into the carry and the perturbed static fields."""
        static_of, grid = self._executor.static_of, self._drawn.grid
        leaves, self._tree = jax.tree.flatten(static_of(grid, self._drawn.coefficients(0, None)))
        marked = jax.tree.leaves(static_of(grid, self._drawn.marked()))
        self._perturbed = [not np.array_equal(*pair) for pair in zip(leaves, marked, strict=True)]

        def drawn(member: int):
            state, params = self._drawn.draw(member)
            return self._executor.start(state), self._static_of(params, own=True)

        self.carry, self._own = self._stacked(drawn)
        shared = [leaf for leaf, own in zip(leaves, self._perturbed, strict=True) if not own]
        self._shared = self._place(shared, PartitionSpec())

    def _exchange(self) -> None:
        """Take the coefficients of the present step, in all members."""
        taken = self._forcing.take(self.step)
        self.domain.params.update(taken)
        self._drawn.params |= self.domain.transport.get(taken)
        self._drawn.step = self.step
        self._own = self._stacked(lambda member: self._static_of(self._drawn.again(member), own=True))
        first = self._drawn.again(self.here.start)
        self._shared = self._place(self._static_of(first, own=False), PartitionSpec())

    def _static_of(self, params, own: bool) -> list:
        """The perturbed static fields of a member (`own`), or the fields that all members share."""
        leaves = jax.tree.leaves(self._executor.static_of(self._drawn.grid, params))
        return [leaf for leaf, differs in zip(leaves, self._perturbed, strict=True) if differs == own]

    def _stacked(self, make):
        """The trees make(member) of this process's members on the devices, with an axis of members."""
        arrays = None
        for number, member in enumerate(range(self.here.start, self.here.stop)):
            leaves, tree = jax.tree.flatten(make(member))
            arrays = arrays or [np.empty((self.here.length, *leaf.shape), leaf.dtype) for leaf in leaves]
            for array, leaf in zip(arrays, leaves, strict=True):
                array[number] = leaf
        # Each array is freed before the next is copied.
        return tree.unflatten([self._put(arrays.pop(0)) for _ in range(len(arrays))])

    def _advance(self, steps: int, accumulators: Accumulators = NO_ACCUMULATORS) -> None:
        self._forget()  # a view of the carry would keep its memory from being reused
        common = self._shared, self._executor.dt, jnp.int32(steps)
        self.carry = jax.block_until_ready(self._loop(self.carry, self._own, common))

    def _put(self, tree):
        """NumPy arrays [members, ...] on the devices; the last member is repeated to fill all devices."""
        missing = -self.here.length % len(self.devices)

        def fill(leaf):
            return np.concatenate([leaf, np.repeat(leaf[-1:], missing, axis=0)]) if missing else leaf

        return self._place(jax.tree.map(fill, tree), PartitionSpec(AXIS))

    def _place(self, tree, spec):
        if len(self.devices) > 1:
            return jax.device_put(tree, NamedSharding(self.devices.mesh, spec))
        return jax.tree.map(jnp.array, tree)

    def _forget(self) -> None:
        self.__dict__.pop("state", None)


def advances_by_vmap(config) -> bool:
    """Whether the members of a device take each step together, rather than one member after the other.

    On CPUs one after the other is faster with the native step, which has no batches: the state of a member stays in the
    cache. With XLA neither is always faster.
    """
    choice = config.ensemble.advance
    return choice == "vmap" or (choice == "auto" and jax.default_backend() != "cpu")


def of_each(make, *parts):
    """The function make(*parts) of State and static fields for many members; the last part has their devices."""
    program = make(*parts[:-1])
    return lambda states, static: jax.vmap(lambda state: program(state, static))(states)


class HealthOfMembers(Health):
    """The Health of Members; see `health.verdict`."""

    remedy, remedy_at_start = ", more friction or smaller perturbations", "; choose smaller perturbations"

    def __init__(self, members, directory=None):
        params = dict(members.domain.params)
        if "viscosity" in params:
            params["viscosity"] *= float(viscosity_factors(members.config).max())
        super().__init__(members, directory, members.domain, params)

    def measure(self) -> np.ndarray:
        """The Measures of each member of this process, [members here, 1, Measures]."""
        program = jitted(of_each, *self.measuring, self.model.devices)
        return self.model.get(program(self.model.carry.state, self.static))[:, None]
