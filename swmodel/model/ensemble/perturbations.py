"""The members: initial states and coefficients of the configuration plus random perturbations.

    eta(x)      += size e(x)      e: standard deviation 1, correlated over a length; zero on land
    wind_x,y    *= 1 + size e     e: one number, or a field as above if a length is given
    viscosity   *= exp(size e)    e: one number

e is standard normal and depends only on (seed, name, member) (`ocean.noise`), not on the distribution of members.
Fields are smoothed like background errors (`assimilation.background`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...assimilation.background import ControlErrors, make_background_errors
from ...gradients.corrections import record_number
from ...ocean.records import record_names, record_param_kinds
from ...ocean.terms.tracer import concentration_of
from .settings import viscosity_factors, wind_factors

if TYPE_CHECKING:
    from ...ocean.scheme import Scheme

#: The controls of `BackgroundErrors` that are perturbed as fields; both components of the wind have the same factor.
ETA, WIND = "eta", "wind_x"


def with_thickness(state, h, scheme: Scheme):
    """A State with another thickness; dry cells stay dry, and concentrations do not change."""
    if scheme.drying:
        h = np.where(state.h > 0, np.maximum(h, 0), state.h)
    changed = state._replace(h=h)
    for term in scheme.active_terms:
        if term.to_prognostic:
            values = {row.name: concentration_of(row.name, state) for row in term.initial}
            changed = changed._replace(**term.to_prognostic(values | {"h": h}))
    return changed


class Perturbations:
    """Draws members, from the Domain of the whole grid (`settings.member_config`).

    Attributes:
        corrections: additive corrections of coefficients at records in time (`gradients.corrections`),
            {name: {member: [records, ny, nx]}}; they are zero after the last record.
    """

    def __init__(self, domain, corrections=()):
        self.corrections: dict[str, dict[int, np.ndarray]] = {name: {} for name in corrections}
        self.setup, options = domain.setup, domain.config.ensemble
        self.config, self.seed = domain.config, options.seed
        self.grid, self.params = domain.transport.get((domain.grid, domain.params))
        self.scheme, self.static_halo = domain.scheme, domain.setup.static_halo
        self.initial_state = domain.setup.state(domain.transport.block)
        sizes = {ETA: (options.initial_eta, options.initial_eta_length), WIND: (options.wind, options.wind_length)}
        errors = {name: ControlErrors(*size) for name, size in sizes.items() if min(size) > 0}
        self.background = make_background_errors(domain, errors) if errors else None
        self.step = 0
        self.relative_winds = {}  # {member: relative change [ny, nx]} of a wind that varies in time
        self.viscosity_factors, self.wind_factors = viscosity_factors(domain.config), wind_factors(domain.config)

    def draw(self, member: int):
        """The initial State and the Params of a member, NumPy arrays; member 0 is not perturbed."""
        noise = self.background.draw(self.seed, member) if self.background and member else {}
        if WIND in noise and self.scheme.varying:
            self.relative_winds[member] = noise[WIND]
        state = self.initial_state
        h = state.h + np.asarray(noise[ETA], state.h.dtype) if ETA in noise else state.h
        return with_thickness(state, h, self.scheme), self.coefficients(member, noise.get(WIND))

    def coefficients(self, member: int, relative_wind):
        """Params of a member, in the precision of the run, of the same shapes for all members.

        `relative_wind` is the relative change of the wind stress [ny, nx]; None: the change is that of `wind_factors`.
        """
        factor = np.full((1, 1), self.wind_factors[member])
        if self.background and WIND in self.background.names:
            shape = tuple(n + 2 * self.static_halo for n in self.initial_state.h.shape)
            factor = np.ones(shape)
            if relative_wind is not None:
                factor = 1 + self.pad_with_halo(relative_wind)
        factors = dict.fromkeys(self.wind_names(), factor)
        factors["viscosity"] = np.full((1, 1), self.viscosity_factors[member])
        params = dict(self.params)
        for name in factors.keys() & params.keys():
            params[name] = (params[name] * factors[name]).astype(params[name].dtype)
        return params | self.correction_records(member)

    def correction_records(self, member: int) -> dict[str, np.ndarray]:
        """The two records of each correction that surround the present step, by their names in the Params."""
        records_by_name, zero = {}, np.zeros(self.initial_state.h.shape)
        for name, series in self.corrections.items():
            records = series.get(member, ())
            first = record_number(self.setup, name, self.step)
            for number, record_name in enumerate(record_names(name)[:2], start=first):
                values = records[number] if number < len(records) else zero
                records_by_name[record_name] = self.pad_with_halo(values).astype(self.setup.dtype)
        return records_by_name

    def pad_with_halo(self, field) -> np.ndarray:
        """A field with its halo: periodic, or constant beyond a wall."""
        field = np.asarray(field, np.float64)
        for axis, is_periodic in enumerate((self.config.grid.periodic_y, self.config.grid.periodic_x)):
            widths = [(self.static_halo, self.static_halo) if axis == along else (0, 0) for along in (0, 1)]
            field = np.pad(field, widths, mode="wrap" if is_periodic else "edge")
        return field

    def wind_names(self) -> list[str]:
        """The names of the wind stress in the Params, or those of its records if it varies in time."""
        constant = [name for name in ("wind_x", "wind_y") if name not in self.scheme.varying]
        varying = {"wind_x", "wind_y"} - set(constant)
        return constant + [name for name, field in record_param_kinds(sorted(varying)).items() if field]

    def recompute_coefficients(self, member: int):
        """Params of a member that was drawn earlier, from the present Params of the configuration."""
        return self.coefficients(member, self.relative_winds.get(member))

    def coefficients_with_nan(self):
        """Params of member 0, with NaN in those that differ between members."""
        options = self.config.ensemble
        names = ["viscosity"] * (options.viscosity > 0) + self.wind_names() * (options.wind > 0)
        names += [record_name for name in self.corrections for record_name in record_names(name)[:2]]
        params = self.coefficients(0, None)
        return params | {name: np.full_like(params[name], np.nan) for name in names if name in params}
