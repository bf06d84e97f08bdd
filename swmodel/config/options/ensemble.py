"""The table [ensemble]: members and their perturbations."""

from __future__ import annotations

from typing import Literal

from ...ocean.option import Section, option


class Ensemble(Section):
    """What `swmodel ensemble` computes: runs that differ by random perturbations."""

    members: int = option(16, "members", "members; number 0 is the run as configured, the others are perturbed", ge=2)
    seed: int = option(0, "", "of the random numbers; another one gives other members", ge=0)
    initial_eta: float = option(0.0, "m", "standard deviation of what is added to the initial eta", ge=0)
    initial_eta_length: float = option(0.0, "m", "length of its correlation", ge=0)
    wind: float = option(0.0, "1", "standard deviation of the relative change of the wind stress", ge=0)
    wind_length: float = option(0.0, "m", "length of its correlation; 0: one number for the whole domain", ge=0)
    viscosity: float = option(0.0, "1", "standard deviation of the logarithm of the factor of the viscosity", ge=0)
    write: tuple[int, ...] = option((), "", "members whose fields are written; empty: the first four")
    advance: Literal["auto", "map", "vmap"] = option(
        "auto", "", "members of a device one after the other (map), or all in each step (vmap); auto: map, on GPUs vmap"
    )
