"""Make cases whose fields are arrays or functions."""

import numpy as np

from swmodel.config.options.case import Case


def case_with_fields(fields, name="WithFields"):
    """A case with {name: field}; fields are arrays that broadcast to [ny, nx].

    Axes before these are records, or, in four-dimensional arrays, the constituents and the parts of a tide.
    """

    def formula(field):
        if np.ndim(field) == 4:
            return lambda self, config, at: field[..., at.j, at.i]
        if np.ndim(field) == 3:
            return lambda self, config, at, t: field[record_number(t, config, len(field))][at.j, at.i]
        return lambda self, config, at: np.broadcast_to(field, (config.grid.ny, config.grid.nx))[at.j, at.i]

    return type(name, (Case,), {key: formula(field) for key, field in fields.items()})()


def record_number(t, config, n_records):
    """The number of the record at a time; records repeat, and the last one is valid at infinite time."""
    return round(t / config.forcing.every) % n_records if t < np.inf else -1


def class_with_fields(case, **formulas):
    """A subclass of a case with other fields, which are functions of (config, at)."""

    def method(formula):
        return lambda self, config, at: formula(config, at)

    return type(case.__name__, (case,), {name: method(formula) for name, formula in formulas.items()})
