"""The table [ensemble]: members and their perturbations."""

from __future__ import annotations

from typing import Literal

from ...ocean.option import Section, option


class EnsembleOptions(Section):
    """Settings of `swmodel ensemble`: runs that differ by random perturbations."""

    members: int = option(
        16, "members", "number of members; member 0 is the run as configured, the others are perturbed", ge=2
    )
    seed: int = option(0, "", "seed of the random numbers", ge=0)
    initial_eta: float = option(0.0, "m", "standard deviation of the perturbation of the initial eta", ge=0)
    initial_eta_length: float = option(0.0, "m", "correlation length of the perturbation of the initial eta", ge=0)
    wind: float = option(0.0, "1", "standard deviation of the relative change of the wind stress", ge=0)
    wind_length: float = option(
        0.0, "m", "correlation length of the change of the wind; 0: one number for the whole domain", ge=0
    )
    viscosity: float = option(0.0, "1", "standard deviation of the logarithm of a factor of the viscosity", ge=0)
    write: tuple[int, ...] = option((), "", "members whose fields are written; empty: the first four")
    advance: Literal["auto", "map", "vmap"] = option(
        "auto", "", "advance the members of a device one by one (map) or together (vmap); auto: map, on GPUs vmap"
    )
