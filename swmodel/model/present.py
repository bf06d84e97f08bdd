"""The present state of a model, block by block with halos, and its derived quantities."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, cast

import numpy as np

from ..ocean.diagnostics import diagnose
from ..ocean.elliptic import balanced, inverse
from ..ocean.evaluation import derive, flow_through, forces, inflow, known, seen
from ..ocean.flow import Flow
from ..ocean.grid import as_patches
from ..ocean.patch import Patch
from ..ocean.spectra import Sea, measure
from ..ocean.state import Carry, State
from ..ocean.table import FORCING
from ..ocean.timestep import Forward
from ..parallel.transport.halo import make_pad
from ..parallel.transport.programs import jitted


def as_halo(state: State, width: int) -> State:
    """The padded State in Patches."""
    return state._make(Patch(field, (-width, -width)) for field in state)


class Present:
    """The blocks of the state, made at first use and kept until the state changes.

    A block is its State and Grid, NumPy arrays in Patches with a halo, and its shape. The model is a Simulation or a
    member of an ensemble; all its processes call each method together.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._pad = jitted(make_pad, model.scheme.width, cast(Hashable, model.transport))
        self.forget()

    def forget(self) -> None:
        """Drop the blocks, as the state has changed."""
        self._blocks: list[tuple] | None = None
        self._flows: list[Flow] | None = None

    def blocks(self) -> list[tuple]:
        """The blocks of this process, with the current through open sides, and none through closed faces."""
        found = self._closed()
        if not self._model.scheme.with_current:
            return found
        return [(*seen(flow), shape) for flow, (*_, shape) in zip(self.flows(), found, strict=True)]

    def flows(self) -> list[Flow]:
        """The Flow of each block of this process, with transports through open sides; NumPy arrays."""
        if self._flows is None:
            scheme, step = self._model.scheme, np.full((1, 1), self._model.step, np.int32)
            parts = zip(self._closed(), self._given(), strict=True)
            self._flows = [flow_through(state, grid, params, scheme, step) for (state, grid, _), params in parts]
        return self._flows

    def _flows_of_step(self) -> list[Flow]:
        """The Flow of each block that changes the thickness in the coming step; of gfb in the middle of it."""
        model, scheme = self._model, self._model.scheme
        if not scheme.forward:
            return self.flows()
        step, dt = (
            np.full((1, 1), model.step, np.int32),
            np.asarray(model.config.time.dt / model.substeps, model.setup.dtype),
        )
        pieces = [
            model.transport.pieces(self._pad(state), scheme.width) for state in (model.carry.state, *model.carry.memory)
        ]
        weights, found = model.setup.method.weights(step, dt), []
        for states, (_, grid, _), params in zip(zip(*pieces, strict=True), self._closed(), self._given(), strict=True):
            now, *memory = (as_halo(state, scheme.width) for state in states)
            forward = Forward(now.h, dt, {name: getattr(now, name) for name in scheme.at_begin}, dt)
            middle = model.setup.method.middle(Carry(now, tuple(memory), step), weights)
            found.append(flow_through(middle, grid, params, scheme, step, forward))
        return found

    def _given(self) -> list[dict]:
        """The Params of each block of this process, NumPy arrays in Patches."""
        model, margin = self._model, self._model.scheme.margin
        return [as_patches(each, margin) for each in model.transport.pieces(model.params, margin)]

    def _closed(self) -> list[tuple]:
        """As `blocks`, but open sides are closed."""
        if self._blocks is None:
            model, transport = self._model, self._model.transport
            width, margin = model.scheme.width, model.scheme.margin
            states = transport.pieces(self._pad(model.carry.state), width)
            parts = zip(states, transport.pieces(model.grid, margin), transport.blocks, strict=True)
            self._blocks = [
                (as_halo(state, width), as_patches(grid, margin), block.shape) for state, grid, block in parts
            ]
        return self._blocks

    def fields(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        model, scheme = self._model, self._model.scheme
        names, blocks = known(names, scheme, scheme.forcing), self.blocks()
        driving, moving = ([name for name in names if (name in FORCING) == drives] for drives in (True, False))
        invert = inverse(model.config.grid, blocks, model.transport)
        config, film = model.config, model.config.drying.film
        found = derive(moving, blocks, config.physics, scheme.face_thickness, invert, film)
        if driving:
            for fields, params, (*_, shape) in zip(found, self._given(), blocks, strict=True):
                fields |= forces(driving, params, scheme, model.step, shape)
        return model.transport.join(found)

    def diagnostics(self) -> dict[str, float]:
        config, transport = self._model.config, self._model.transport
        dt = config.time.dt / self._model.substeps
        time = config.time.model_copy(update={"dt": dt})
        found = diagnose(self.blocks(), config.model_copy(update={"time": time}), transport)
        if self._model.scheme.drying:
            pairs = zip(self.flows(), transport.blocks, strict=True)
            faces = sum(flow.limited(dt, block.shape) for flow, block in pairs)
            found["limited_faces"] = float(transport.reduce(np.array([faces]), "sum")[0])
        found |= {"time_step": dt} if config.time.halvings else {}
        sides = config.open_sides.sides
        return found | (inflow(self._flows_of_step(), sides, transport) if sides else {})

    def balanced(self) -> dict[str, np.ndarray]:
        model = self._model
        return model.transport.join(balanced(self.blocks(), model.config, model.transport))

    def spectra(self) -> dict[str, np.ndarray]:
        config = self._model.config
        return measure(self.blocks(), config.physics.gravity, Sea(config.grid, self._model.transport))
