"""The members that a process has, on its devices: one compiled program advances all of them.

Carries have a leading axis of members, and so have the static fields that are perturbed; all else the members share.
On several devices the axis lies across them. A member has the whole grid, so that no device waits for another.
"""

from __future__ import annotations

import time
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ..diagnostics import DERIVED, diagnose
from ..domain import domain
from ..environment import share_of_cores
from ..executors import EXECUTORS
from ..grid import as_patches
from ..health import Health
from ..health.one import largest_stress
from ..operators import Patch
from ..restart.read import read
from ..state import Carry, State
from ..transport import connect
from ..transport.halo import pad
from ..transport.mesh import provide
from .health import Many
from .perturbations import Perturbations
from .results import opened
from .settings import members_of, whole

AXIS = "member"


class Members:
    """The members of a process. All processes make theirs together.

    Args:
        config: as `settings.check` gives it.
        restart: a restart file of the ensemble to go on from; None: the initial states.

    Attributes:
        config: of the ensemble; that of a member is the one of the domain.
        total, here: number of all members, and which of them this process has.
        transport: between processes, whose rows are members; `transport.block.y` are those of this process.
        domain: Domain of a member; the transport is that of one process.
        params: Params of each member of this process.
        stress: the largest wind stress of each member of this process, Pa.
        patches: Grid of Patches.
        carry: Carry with a leading axis of members.
        step: steps taken; `first_step` of them before this object was made.
        dt: time step, s.
        begun: when the construction began, on the clock time.perf_counter.
        compile_seconds, loop_seconds: time spent on compilation and on steps.

    Raises:
        FilesError: the restart file is damaged or does not fit.
    """

    def __init__(self, config, restart=None):
        self.begun = time.perf_counter()
        run, options = config.run, config.ensemble
        if run.devices > 1:
            provide(run.devices)
        self.domain = domain(whole(config), alone=True)
        self.config, self.dt = config, config.time.dt
        self.devices, self.grid = jax.local_devices()[: run.devices], self.config.grid
        cells = self.grid.ny * self.grid.nx
        kind = "mpi" if run.nproc > 1 else "serial"
        self.transport = connect(kind, (run.nproc, 1), options.members, cells)
        self.total, self.here = options.members, members_of(config, self.transport.rank)
        self.step = self.first_step = 0
        self.loop_seconds = 0.0
        drawn = Perturbations(self.domain)
        states, self.params = zip(*map(drawn.draw, range(self.here.start, self.here.stop)), strict=True)
        width, shape = self.domain.scheme.width, self.domain.transport.block.shape
        self.stress = np.array([largest_stress(as_patches(params, width), shape) for params in self.params])
        self._executor = self._make_executor(run.devices)
        self._shared, self._own = self._split([self._executor.static_of(drawn.grid, p) for p in self.params])
        self._loop = self._compile(batched=advances_by_vmap(config))
        self._pad = jax.jit(lambda state: pad(state, self.domain.scheme.width, self.domain.transport.shift))
        self.patches = as_patches(drawn.grid, self.domain.scheme.width)
        carries = [jax.tree.map(np.asarray, self._executor.start(state)) for state in states]
        self.carry = self._put(jax.tree.map(lambda *leaves: np.stack(leaves), *carries))
        self._forget()
        self.restart = None if restart is None else read(restart, config, self.transport)
        if self.restart:
            steps = np.full(self.here.length, self.restart.step)
            self.replace(self.restart.carry._replace(step=steps), self.restart.step)
        begin = time.perf_counter()
        self._advance(0)
        self.compile_seconds = time.perf_counter() - begin

    def advance(self, steps: int) -> None:
        """Compute `steps` time steps of all members."""
        begin = time.perf_counter()
        self._advance(steps)
        self.loop_seconds += time.perf_counter() - begin
        self.step += steps
        self._forget()

    def replace(self, carry: Carry, step: int) -> None:
        """Go on from a carry of NumPy arrays with a leading axis of this process's members, after `step` steps."""
        self.carry = self._put(jax.tree.map(lambda leaf, old: np.asarray(leaf, old.dtype), carry, self.carry))
        self.step = self.first_step = step
        self._forget()

    @property
    def time(self) -> float:
        """Model time, s."""
        return self.step * self.dt

    @cached_property
    def state(self) -> State:
        """Thickness and velocities of this process's members, NumPy arrays [members, y, x]."""
        return self.get(self.carry.state)

    def get(self, tree):
        """Arrays with an axis of members as NumPy arrays of those that this process has."""
        return jax.tree.map(lambda leaf: np.asarray(leaf)[: self.here.length], tree)

    def field(self, name: str) -> np.ndarray:
        """The field called `name` (h, u, v, eta, zeta, q, speed) of this process's members, [members, y, x]."""
        shape = self.domain.transport.block.shape
        found = (np.broadcast_to(DERIVED[name](padded, self.patches).on(shape), shape) for padded in self._padded())
        return np.stack(list(found))

    def diagnostics(self) -> dict[str, np.ndarray]:
        """Mass, energy, ... (`diagnostics.QUANTITIES`) of all members, on every process the same: [all members]."""
        one = self.domain
        shape = one.transport.block.shape
        found = [diagnose([(padded, self.patches, shape)], one.config, one.transport) for padded in self._padded()]
        return {name: self.of_all(np.array([numbers[name] for numbers in found])) for name in found[0]}

    def of_all(self, numbers: np.ndarray) -> np.ndarray:
        """The numbers [members, ...] of all members, float64, from those of this process's; the same on all."""
        everyone = np.zeros((self.total, *numbers.shape[1:]))
        everyone[self.here.start : self.here.stop] = numbers
        return self.transport.reduce(everyone, "sum")

    def health(self, directory=None) -> Health:
        """The Health of all members, for the time loop; `directory` is where a blow-up leaves its state."""
        return Health(self, directory, Many)

    def results(self, directory, command_line: str = "", resume: bool = False):
        """A context with what the ensemble writes, for the time loop (see `results.opened`)."""
        return opened(self, directory, command_line, resume)

    def jit(self, program):
        """jax.jit of a program of arrays with an axis of members, and of others that they share, its last argument."""
        if len(self.devices) > 1:
            along, same = PartitionSpec(AXIS), PartitionSpec()
            program = jax.shard_map(program, mesh=self._mesh, in_specs=(along, same), out_specs=along, check_vma=False)
        return jax.jit(program)

    def _padded(self):
        """The state of each member with its halo, NumPy arrays in Patches."""
        width = self.domain.scheme.width
        for number in range(self.here.length):
            padded = self._pad(State(*(field[number] for field in self.state)))
            yield State(*(Patch(np.asarray(field), (-width, -width)) for field in padded))

    def _make_executor(self, devices: int):
        """The executor of a member; devices share the cores."""
        options = {}
        if self.config.run.executor == "native":
            options = {"levels": 1, "threads": max(1, share_of_cores() // devices) if devices > 1 else 0}
        one = self.domain
        return EXECUTORS[self.config.run.executor](one.config, one.transport, one.grid, one.params, **options)

    def _split(self, statics: list):
        """The leaves of the static fields that all members share, and those [members, ...] that are perturbed."""
        leaves = list(zip(*map(jax.tree.leaves, statics), strict=True))
        self._perturbed = [any(not np.array_equal(each[0], other) for other in each[1:]) for each in leaves]
        pairs = list(zip(leaves, self._perturbed, strict=True))
        shared = [np.asarray(each[0]) for each, perturbed in pairs if not perturbed]
        own = [np.stack(each) for each, perturbed in pairs if perturbed]
        self._tree = jax.tree.structure(statics[0])
        return self._place(shared, PartitionSpec()), self._put(own)

    def _compile(self, batched: bool):
        """The jitted program (carry, own, shared and dt, n) -> carry n steps later."""
        loop, tree, perturbed = self._executor.loop, self._tree, self._perturbed

        def advance(carry, own, common):
            shared, dt, n = common

            def one(member):
                carry, mine = member
                mine, others = iter(mine), iter(shared)
                static = tree.unflatten([next(mine if own else others) for own in perturbed])
                return loop(carry, static, dt, n)

            return (jax.vmap(one) if batched else lambda members: jax.lax.map(one, members))((carry, own))

        if len(self.devices) > 1:
            along, same = PartitionSpec(AXIS), PartitionSpec()
            advance = jax.shard_map(
                advance, mesh=self._mesh, in_specs=(along, along, same), out_specs=along, check_vma=False
            )
        return jax.jit(advance, donate_argnums=0)

    def _advance(self, steps: int) -> None:
        common = self._shared, self._executor.dt, jnp.int32(steps)
        self.carry = jax.block_until_ready(self._loop(self.carry, self._own, common))

    @cached_property
    def _mesh(self) -> Mesh:
        return Mesh(np.array(self.devices), (AXIS,))

    def _put(self, tree):
        """NumPy arrays [members, ...] on the devices; where they do not divide, the last member fills up."""
        missing = -self.here.length % len(self.devices)

        def fill(leaf):
            return np.concatenate([leaf, np.repeat(leaf[-1:], missing, axis=0)]) if missing else leaf

        return self._place(jax.tree.map(fill, tree), PartitionSpec(AXIS))

    def _place(self, tree, spec):
        if len(self.devices) > 1:
            return jax.device_put(tree, NamedSharding(self._mesh, spec))
        return jax.tree.map(jnp.array, tree)

    def _forget(self) -> None:
        self.__dict__.pop("state", None)


def advances_by_vmap(config) -> bool:
    """Whether the members of a device take each step together rather than one member after the other.

    On processors one after the other is faster with the native step, which knows no batches: the state of a member
    stays in the cache. With XLA neither is always faster.
    """
    choice = config.ensemble.advance
    return choice == "vmap" or (choice == "auto" and jax.default_backend() != "cpu")
