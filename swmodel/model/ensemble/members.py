"""The members of a process, which one compiled program advances on its devices.

Carries and perturbed static fields have a leading axis of members, which is divided among the devices. Members share
all other fields. Each member has the whole grid on one device, so no device waits for another.
"""

from __future__ import annotations

import logging
import time
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ...executors.registry import JAX_EXECUTORS
from ...files.restart.read import read
from ...gradients.controls import scheme_factory
from ...ocean.state import Carry, State
from ...parallel.environment import n_cores_per_process
from ...parallel.transport import connect
from ...parallel.transport.programs import cached_jit
from ...parallel.transport.serial import copy_to_device
from ...parallel.transport.sharded import provide_devices
from ..accumulators import NO_ACCUMULATORS, Accumulators
from ..change import carry_with_state
from ..domain import make_domain
from ..health import Health
from ..present import PresentState
from ..run import TimeLoopModel
from ..varying_params import VaryingParams
from .ensemble_file import open_results
from .perturbations import Perturbations
from .settings import member_config, unresolved_lengths, viscosity_factors

if TYPE_CHECKING:
    from ...config.options.model import Config
    from ...parallel.transport.transport import Transport

MEMBER_AXIS = "member"

log = logging.getLogger(__name__)


class MemberDevices(tuple):
    """The JAX devices of a process, among which its members are divided."""

    @property
    def mesh(self) -> Mesh:
        return Mesh(np.array(self), (MEMBER_AXIS,))

    def jit(self, program, n_member_arguments: int = 1, **options):
        """jax.jit of a program; the first `n_member_arguments` arguments have an axis of members, the last has none."""
        if len(self) > 1:
            member_spec = PartitionSpec(MEMBER_AXIS)
            specs = (*[member_spec] * n_member_arguments, PartitionSpec())
            program = jax.shard_map(program, mesh=self.mesh, in_specs=specs, out_specs=member_spec, check_vma=False)
        return jax.jit(program, **options)


def make_loop(loop, transport: Transport, tree, is_perturbed, uses_vmap: bool, devices):
    """The program (carries, member fields, (shared fields, dt, n)) -> carries n steps later, for each device's members.

    `loop` is that of a `JaxExecutor`, (make, *parts). `tree` is the structure of the executor's static fields, and
    `is_perturbed` says for each field whether it differs between members. `cached_jit` needs the last part, `devices`.
    """
    loop = loop[0](*loop[1:], transport)

    def advance(carries, member_fields, shared_arguments):
        shared, dt, n = shared_arguments

        def advance_member(carry, own_fields):
            own_fields, others = iter(own_fields), iter(shared)
            static = jax.tree.unflatten(tree, [next(own_fields if perturbed else others) for perturbed in is_perturbed])
            return loop(carry, static, dt, n)

        def advance_member_in_place(index, carries):
            carry, own_fields = jax.tree.map(lambda leaf: leaf[index], (carries, member_fields))
            return jax.tree.map(
                lambda stacked, leaf: stacked.at[index].set(leaf), carries, advance_member(carry, own_fields)
            )

        if uses_vmap:
            return jax.vmap(advance_member)(carries, member_fields)
        return jax.lax.fori_loop(0, len(carries.step), advance_member_in_place, carries)

    return advance


class Members(TimeLoopModel):
    """The members of an ensemble that a process computes. All processes construct theirs together.

    Args:
        config: a configuration from `settings.check_ensemble`.
        restart: a restart file of the ensemble; None: start from the initial states.
        corrections: names of corrections in time (`gradients.corrections`) that differ between members; see
            `set_corrections`.

    Attributes:
        transport: the transport between processes, each of which has the whole grid and some of the members.
        local_members: IndexRange of the members of this process.
        domain, setup: the Domain of a member, with the transport of a single process, and its Setup.
        carry: Carry with a leading axis of members, on the devices.
    """

    def __init__(self, config: Config, restart=None, corrections=()):
        self.construction_start_time = time.perf_counter()
        run, grid = config.run, config.grid
        if run.devices > 1:
            provide_devices(run.devices)
        self.domain = make_domain(member_config(config), scheme_factory(corrections), whole_grid=True)
        self.config, self.dt, self.first_step = config, config.time.dt, 0
        self.setup = self.domain.setup
        self.devices = MemberDevices(jax.local_devices()[: run.devices])
        kind = "mpi" if run.nproc > 1 else "serial"
        division = {"n_members": config.ensemble.members, "n_member_groups": run.nproc}
        self.transport = connect(kind, (1, 1), grid.ny, grid.nx, exchange=run.exchange, **division)
        self.local_members = self.transport.block.members
        if self.transport.rank == 0:
            for line in unresolved_lengths(config):
                log.warning(line)
        self._perturbations = Perturbations(self.domain, corrections)
        self._forcing = VaryingParams(self.domain.setup, self.domain.transport)
        # One step per sweep, because the coefficients of members have the halo of one step.
        options = {} if run.executor == "xla" else {"steps_per_sweep": 1}
        if run.executor == "native" and run.devices > 1:
            options["threads"] = max(1, n_cores_per_process() // run.devices)
        self._executor = JAX_EXECUTORS[run.executor](*self.domain, **options)
        self._draw_members()
        parts = self._executor.loop, self.domain.transport, self._tree, tuple(self._is_perturbed), uses_vmap(config)
        self._loop = cached_jit(make_loop, *parts, self.devices, n_member_arguments=2, donate_argnums=0)
        self.restart = None if restart is None else read(restart, self.domain.setup.with_config(config), self.transport)
        if self.restart:
            steps = np.full(self.local_members.length, self.restart.step)
            self.set_carry(self.restart.carry._replace(step=steps), self.restart.step)
        start_time = time.perf_counter()
        self._advance(0)
        self.compile_seconds = time.perf_counter() - start_time

    def set_carry(self, carry: Carry, step: int) -> None:
        """Continue from the carry of step `step`, NumPy arrays with a leading axis of this process's members."""
        self._clear_state()
        self.carry = self._put_members(jax.tree.map(lambda leaf, old: np.asarray(leaf, old.dtype), carry, self.carry))
        self._step = self.first_step = step

    def set_state(self, state: State) -> None:
        """Set the state, NumPy arrays [members, y, x] of this process's members; see `change.carry_with_state`."""
        fields = (np.asarray(new, old.dtype) for new, old in zip(state, self.carry.state, strict=True))
        steps, new_state = self.carry.step, self._put_members(type(state)._make(fields))
        carry = carry_with_state(self, self._executor, new_state)
        self._clear_state()
        self.carry = carry._replace(step=steps)

    def set_corrections(self, corrections: dict) -> None:
        """Use the corrections {name: [members, records, ny, nx]} for this process's members from the next step on."""
        members = range(self.local_members.start, self.local_members.stop)
        self._perturbations.corrections = {
            name: dict(zip(members, series, strict=True)) for name, series in corrections.items()
        }
        self._forcing.clear()

    @cached_property
    def state(self) -> State:
        """The State of this process's members, NumPy arrays [members, y, x]."""
        return self.get(self.carry.state)

    def get(self, tree):
        """Arrays from the devices, with an axis of members, as NumPy arrays of this process's members."""
        return jax.tree.map(lambda leaf: np.asarray(leaf)[: self.local_members.length], tree)

    def evaluate(self, member: int, names) -> tuple[dict[str, np.ndarray], dict[str, float]]:
        """The derived or forcing fields `names`, [y, x], and the diagnostics of a member of this process."""
        domain, index = self.domain, member - self.local_members.start
        needs_memory = domain.scheme.is_forward_backward and domain.config.open_boundaries.sides
        states = self.state, *(self.get(self.carry.memory) if needs_memory else ())
        state, *memory = (type(each)._make(field[index] for field in each) for each in states)
        model = SimpleNamespace(
            config=domain.config,
            scheme=domain.scheme,
            transport=domain.transport,
            setup=domain.setup,
            grid=self._perturbations.grid,
            params=self._perturbations.recompute_coefficients(member),
            carry=Carry(state, (*memory,), self.step),
            step=self.step,
            substeps=self.substeps,
        )
        present = PresentState(model)
        return present.fields(names), present.diagnostics()

    def health(self, directory=None) -> Health:
        return EnsembleHealth(self, directory)

    def results(self, directory, command_line: str = "", resume: bool = False):
        return open_results(self, directory, command_line, resume)

    def _draw_members(self) -> None:
        """Draw the members one by one; set the carry, and the perturbed and the shared static fields."""
        static_of, grid = self._executor.static_of, self._perturbations.grid
        leaves, self._tree = jax.tree.flatten(static_of(grid, self._perturbations.coefficients(0, None)))
        leaves_with_nan = jax.tree.leaves(static_of(grid, self._perturbations.coefficients_with_nan()))
        self._is_perturbed = [not np.array_equal(*pair) for pair in zip(leaves, leaves_with_nan, strict=True)]

        def draw_member(member: int):
            state, params = self._perturbations.draw(member)
            return self._executor.start(state), self._static_of(params, perturbed=True)

        self.carry, self._member_static = self._stack_members(draw_member)
        shared = [leaf for leaf, own in zip(leaves, self._is_perturbed, strict=True) if not own]
        self._shared_static = self._put_on_devices(shared, PartitionSpec())

    def _load_coefficients(self) -> None:
        varying = self._forcing.load(self.step)
        self.domain.params.update(varying)
        self._perturbations.params |= self.domain.transport.get(varying)
        self._perturbations.step = self.step
        self._member_static = self._stack_members(
            lambda member: self._static_of(self._perturbations.recompute_coefficients(member), perturbed=True)
        )
        first = self._perturbations.recompute_coefficients(self.local_members.start)
        self._shared_static = self._put_on_devices(self._static_of(first, perturbed=False), PartitionSpec())

    def _static_of(self, params, perturbed: bool) -> list:
        """The static fields of a member that are perturbed or, if not `perturbed`, those that all members share."""
        leaves = jax.tree.leaves(self._executor.static_of(self._perturbations.grid, params))
        return [leaf for leaf, differs in zip(leaves, self._is_perturbed, strict=True) if differs == perturbed]

    def _stack_members(self, make):
        """The trees make(member) of this process's members, stacked along a leading axis, on the devices."""
        arrays: list[np.ndarray] = []
        for index, member in enumerate(range(self.local_members.start, self.local_members.stop)):
            leaves, tree = jax.tree.flatten(make(member))
            arrays = arrays or [np.empty((self.local_members.length, *leaf.shape), leaf.dtype) for leaf in leaves]
            for array, leaf in zip(arrays, leaves, strict=True):
                array[index] = leaf
        # Each array is freed before the next is copied to the devices.
        return jax.tree.unflatten(tree, [self._put_members(arrays.pop(0)) for _ in range(len(arrays))])

    def _advance(self, steps: int, accumulators: Accumulators = NO_ACCUMULATORS) -> None:
        self._clear_state()  # a view of the carry would keep its memory from being reused
        shared_arguments = self._shared_static, self._executor.dt, np.int32(steps)
        self.carry = jax.block_until_ready(self._loop(self.carry, self._member_static, shared_arguments))

    def _put_members(self, tree):
        """NumPy arrays [members, ...] on the devices, equally many on each; copies of the last member fill gaps."""
        n_missing = -self.local_members.length % len(self.devices)

        def fill(leaf):
            return np.concatenate([leaf, np.repeat(leaf[-1:], n_missing, axis=0)]) if n_missing else leaf

        return self._put_on_devices(jax.tree.map(fill, tree), PartitionSpec(MEMBER_AXIS))

    def _put_on_devices(self, tree, spec):
        sharding = NamedSharding(self.devices.mesh, spec) if len(self.devices) > 1 else None
        return copy_to_device(tree, sharding)

    def _clear_state(self) -> None:
        self.__dict__.pop("state", None)


def uses_vmap(config: Config) -> bool:
    """Whether the members of a device take each step together, rather than one member after the other.

    On CPUs the native step, which cannot be batched, is faster one member after the other, because the state of a
    member then stays in the cache. With XLA neither is always faster.
    """
    choice = config.ensemble.advance
    return choice == "vmap" or (choice == "auto" and jax.default_backend() != "cpu")


def make_vmapped(make, *parts):
    """The function make(*parts[:-1]) for many States, but the same static fields; `cached_jit` needs the last part."""
    program = make(*parts[:-1])
    return lambda states, static: jax.vmap(lambda state: program(state, static))(states)


class EnsembleHealth(Health):
    """The health of Members, whose time step is judged with the largest viscosity; see `health.verdict`."""

    remedy, remedy_at_start = ", more friction or smaller perturbations", "; choose smaller perturbations"

    def __init__(self, members, directory=None):
        params = dict(members.domain.params)
        if "viscosity" in params:
            params["viscosity"] *= float(viscosity_factors(members.config).max())
        super().__init__(members, directory, members.domain, params)

    def measure_blocks(self) -> np.ndarray:
        """The Measures of each member of this process, [local members, 1, Measures]."""
        program = cached_jit(make_vmapped, *self.measure_program, self.model.devices)
        return self.model.get(program(self.model.carry.state, self.static))[:, None]
