"""The members: initial states and coefficients of the configuration plus random perturbations.

    eta(x)      += size e(x)      e: standard deviation 1, correlated over a length; zero on land
    wind_x,y    *= 1 + size e     e: one number, or a field as above if a length is given
    viscosity   *= exp(size e)    e: one number

e is standard normal and depends only on (seed, name, member) (`ocean.noise`), not on the distribution of members.
Fields are smoothed like errors of a first guess (`assimilation.background`).
"""

from __future__ import annotations

import numpy as np

from ...assimilation.background import Background
from ...gradients.corrections import number_at
from ...ocean.records import names_of, params_of
from ...ocean.terms.tracer import concentration_of
from .settings import viscosity_factors, wind_factors

#: The controls of a Background for the fields; both components of the wind have the same factor.
ETA, WIND = "eta", "wind_x"


def with_thickness(state, h, scheme):
    """A State with another thickness; ground that is dry stays so, and fields of terms keep their concentrations."""
    if scheme.drying:
        h = np.where(state.h > 0, np.maximum(h, 0), state.h)
    changed = state._replace(h=h)
    for term in (term for term in scheme.acting if term.start):
        values = {row.name: concentration_of(row.name, state) for row in term.initial}
        changed = changed._replace(**term.start(values | {"h": h}))
    return changed


class Perturbations:
    """Draws members, from the Domain of the whole grid (`settings.whole`).

    Attributes:
        corrections: of coefficients, at records in time (`gradients.corrections`), {name: {member: [records, ny, nx]}};
            zero after the last record.
    """

    def __init__(self, domain, corrections=()):
        self.corrections, self.setup = {name: {} for name in corrections}, domain.setup
        options = domain.config.ensemble
        self.config, self.seed = domain.config, options.seed
        self.grid, self.params = domain.transport.get((domain.grid, domain.params))
        self.scheme, self.margin = domain.scheme, domain.setup.margin
        self.base = domain.setup.state(domain.transport.block)
        fields = {ETA: (options.initial_eta, options.initial_eta_length), WIND: (options.wind, options.wind_length)}
        fields = {name: (size, length) for name, (size, length) in fields.items() if size > 0 and length > 0}
        self.background = Background(domain.setup, domain.transport, self.grid, fields) if fields else None
        self.step = 0
        self.winds = {}  # relative changes of a wind that varies in time, [ny, nx] by member
        self.viscosity, self.wind = viscosity_factors(domain.config), wind_factors(domain.config)

    def draw(self, member: int):
        """State and Params of a member, NumPy arrays; member 0 is the configuration."""
        noise = self.background.draw(self.seed, member) if self.background and member else {}
        if WIND in noise and self.scheme.varying:
            self.winds[member] = noise[WIND]
        h = self.base.h + np.asarray(noise[ETA], self.base.h.dtype) if ETA in noise else self.base.h
        return with_thickness(self.base, h, self.scheme), self.coefficients(member, noise.get(WIND))

    def coefficients(self, member: int, wind):
        """Params of a member, in the precision of the run, of the same shapes for all members.

        `wind` is the relative change of the wind stress [ny, nx]; None: from `wind_factors`.
        """
        factor = np.full((1, 1), self.wind[member])
        if self.background and WIND in self.background.names:
            shape = tuple(n + 2 * self.margin for n in self.base.h.shape)
            factor = np.ones(shape)
            if wind is not None:
                factor = 1 + self.padded(wind)
        factors = {"viscosity": np.full((1, 1), self.viscosity[member])} | dict.fromkeys(self.wind_names(), factor)
        there = {name: (self.params[name], factor) for name, factor in factors.items() if name in self.params}
        params = {name: (values * factor).astype(values.dtype) for name, (values, factor) in there.items()}
        return self.params | params | self.corrected(member)

    def corrected(self, member: int) -> dict[str, np.ndarray]:
        """The records of the corrections around the present step."""
        found, zero = {}, np.zeros(self.base.h.shape)
        for name, series in self.corrections.items():
            records = series.get(member, ())
            for number, part in enumerate(names_of(name)[:2], start=number_at(self.setup, name, self.step)):
                values = records[number] if number < len(records) else zero
                found[part] = self.padded(values).astype(self.setup.dtype)
        return found

    def padded(self, field) -> np.ndarray:
        """A field with the margin: values across a ring, or the last one at a wall."""
        field = np.asarray(field, np.float64)
        for axis, ring in enumerate((self.config.grid.periodic_y, self.config.grid.periodic_x)):
            widths = [(self.margin, self.margin) if axis == along else (0, 0) for along in (0, 1)]
            field = np.pad(field, widths, mode="wrap" if ring else "edge")
        return field

    def wind_names(self) -> list[str]:
        """The names of the wind stress in the Params, or of its records in time."""
        steady = [name for name in ("wind_x", "wind_y") if name not in self.scheme.varying]
        varying = {"wind_x", "wind_y"} - set(steady)
        return steady + [name for name, field in params_of(sorted(varying)).items() if field]

    def again(self, member: int):
        """Params of an earlier drawn member, from the configuration's present ones."""
        return self.coefficients(member, self.winds.get(member))

    def marked(self):
        """Params of member 0, with NaN in those that differ in other members."""
        options = self.config.ensemble
        names = ["viscosity"] * (options.viscosity > 0) + self.wind_names() * (options.wind > 0)
        names += [part for name in self.corrections for part in names_of(name)[:2]]
        params = self.coefficients(0, None)
        return params | {name: np.full_like(params[name], np.nan) for name in names if name in params}
