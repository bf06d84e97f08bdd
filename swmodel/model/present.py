"""The present state of a model, block by block with halos, and its derived quantities."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..ocean.diagnostics import diagnose
from ..ocean.drying import WettingFlow
from ..ocean.elliptic import balanced_flow, make_poisson_solver
from ..ocean.evaluation import (
    evaluate_fields,
    flow_at_step,
    forcing_fields,
    inflow,
    require_fields,
    with_boundary_velocity,
)
from ..ocean.flow import Flow
from ..ocean.grid import as_patches
from ..ocean.patch import Patch
from ..ocean.spectra import SpectralDomain, compute_spectra
from ..ocean.state import Carry, State
from ..ocean.table import FORCING
from ..ocean.terms.bed_motion import grid_at_step, has_moving_floor
from ..ocean.timestep import ForwardBackwardInputs
from ..parallel.transport.halo import make_add_halo
from ..parallel.transport.programs import cached_jit
from ..setup.fields.varying import VaryingCoefficients


def as_padded_patches(state: State, halo_width: int) -> State:
    return type(state)._make(Patch(field, (-halo_width, -halo_width)) for field in state)


class PresentState:
    """The blocks of the state with halos, computed at first use and kept until `clear` is called.

    A block is a tuple of its State and Grid, NumPy arrays in Patches with a halo, and its shape. The model is a
    Simulation or a member of an ensemble; all its processes call each method together. The methods `fields`,
    `diagnostics`, `balanced` and `spectra` are those of a Simulation.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        has_floor = has_moving_floor(model.scheme)
        self._floor = VaryingCoefficients(model.config, ("uplift",), model.setup.dtype) if has_floor else None
        self._pad = cached_jit(make_add_halo, model.scheme.halo_width, model.transport)
        self.clear()

    def clear(self) -> None:
        self._blocks: list[tuple] | None = None
        self._flows: list[Flow] | None = None

    def blocks(self) -> list[tuple]:
        """The blocks of this process, with velocity through open boundaries, and without velocity on closed faces."""
        closed_blocks = self._closed_blocks()
        if not self._model.scheme.has_diagnosed_velocity:
            return closed_blocks
        return [
            (*with_boundary_velocity(flow), shape)
            for flow, (*_, shape) in zip(self.flows(), closed_blocks, strict=True)
        ]

    def flows(self) -> list[Flow]:
        """The Flow of each block of this process, with transports through open boundaries; NumPy arrays."""
        if self._flows is None:
            scheme, step = self._model.scheme, np.full((1, 1), self._model.step, np.int32)
            parts = zip(self._closed_blocks(), self._params_of_blocks(), strict=True)
            self._flows = [flow_at_step(state, grid, params, scheme, step) for (state, grid, _), params in parts]
        return self._flows

    def _flows_of_step(self) -> list[Flow]:
        """For each block the Flow from which the next step computes thickness; with gfb it is that at mid-step."""
        model, scheme = self._model, self._model.scheme
        if not scheme.is_forward_backward:
            return self.flows()
        step = np.full((1, 1), model.step, np.int32)
        dt = np.asarray(model.config.time.dt / model.substeps, model.setup.dtype)
        padded_states = map(self._pad, (model.carry.state, *model.carry.memory))
        pieces = [model.transport.get_blocks(state, scheme.halo_width) for state in padded_states]
        weights, flows = model.setup.method.weights(step, dt), []
        parts = zip(zip(*pieces, strict=True), self._closed_blocks(), self._params_of_blocks(), strict=True)
        for states, (_, grid, _), params in parts:
            present, *memory = (as_padded_patches(state, scheme.halo_width) for state in states)
            step_start = {name: getattr(present, name) for name in scheme.step_start_fields}
            gfb_inputs = ForwardBackwardInputs(present.h, dt, step_start, dt)
            middle = model.setup.method.middle_state(Carry(present, tuple(memory), step), weights)
            flows.append(flow_at_step(middle, grid, params, scheme, step, gfb_inputs))
        return flows

    def _params_of_blocks(self) -> list[dict]:
        """The Params of each block of this process, NumPy arrays in Patches.

        The model holds the records of its last step, but the present sea floor may lie between later records.
        """
        model, static_halo = self._model, self._model.scheme.static_halo
        params = model.transport.get_blocks(model.params, static_halo)
        if self._floor:
            params = [
                each | model.setup.varying_params(self._floor, block, static_halo, model.step)
                for each, block in zip(params, model.transport.blocks, strict=True)
            ]
        return [as_patches(each, static_halo) for each in params]

    def _closed_blocks(self) -> list[tuple]:
        """As `blocks`, but without velocity through open boundaries."""
        if self._blocks is None:
            model, transport = self._model, self._model.transport
            halo_width, static_halo = model.scheme.halo_width, model.scheme.static_halo
            states = transport.get_blocks(self._pad(model.carry.state), halo_width)
            grids = [as_patches(grid, static_halo) for grid in transport.get_blocks(model.grid, static_halo)]
            if self._floor:
                step = np.full((1, 1), model.step, np.int32)
                grids = [
                    grid_at_step(grid, params, model.scheme, step)
                    for grid, params in zip(grids, self._params_of_blocks(), strict=True)
                ]
            parts = zip(states, grids, transport.blocks, strict=True)
            self._blocks = [(as_padded_patches(state, halo_width), grid, block.shape) for state, grid, block in parts]
        return self._blocks

    def fields(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        model, scheme = self._model, self._model.scheme
        names, blocks, config = require_fields(names, scheme, scheme.forcing), self.blocks(), model.config
        forcing_names = [name for name in names if name in FORCING]
        others = [name for name in names if name not in FORCING]
        invert = make_poisson_solver(config.grid, blocks, model.transport)
        fields_of_blocks = evaluate_fields(others, blocks, config.physics, invert, config.drying.wet_thickness)
        if forcing_names:
            for fields, params, (*_, shape) in zip(fields_of_blocks, self._params_of_blocks(), blocks, strict=True):
                fields |= forcing_fields(forcing_names, params, scheme, model.step, shape)
        return model.transport.join_blocks(fields_of_blocks)

    def diagnostics(self) -> dict[str, float]:
        config, transport = self._model.config, self._model.transport
        dt = config.time.dt / self._model.substeps
        time = config.time.model_copy(update={"dt": dt})
        quantities = diagnose(self.blocks(), config.model_copy(update={"time": time}), transport)
        if self._model.scheme.drying:
            flows = (flow for flow in self.flows() if isinstance(flow, WettingFlow))  # all with drying
            pairs = zip(flows, transport.blocks, strict=True)
            n_limited_faces = sum(flow.n_limited_faces(dt, block.shape) for flow, block in pairs)
            quantities["limited_faces"] = float(transport.reduce(np.array([n_limited_faces]), "sum")[0])
        quantities |= {"time_step": dt} if config.time.max_substeps > 1 else {}
        sides = config.open_boundaries.sides
        return quantities | (inflow(self._flows_of_step(), sides, transport) if sides else {})

    def balanced(self) -> dict[str, np.ndarray]:
        model = self._model
        return model.transport.join_blocks(balanced_flow(self.blocks(), model.config, model.transport))

    def spectra(self) -> dict[str, np.ndarray]:
        config = self._model.config
        domain = SpectralDomain(config.grid, self._model.transport)
        return compute_spectra(self.blocks(), config.physics.gravity, domain)
