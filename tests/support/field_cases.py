"""Cases whose fields are arrays or functions."""

import numpy as np

from swmodel.config.options.case import Case


def case_with_fields(fields, name="Made"):
    """A case with these fields, by name: arrays that broadcast to [ny, nx].

    Three-dimensional arrays are [record, ny, nx]; four-dimensional ones have constituents and parts of a tide first.
    """

    def formula(field):
        if np.ndim(field) == 4:
            return lambda self, config, at: field[..., at.j, at.i]
        if np.ndim(field) == 3:
            return lambda self, config, at, t: field[record_number(t, config, len(field))][at.j, at.i]
        return lambda self, config, at: np.broadcast_to(field, (config.grid.ny, config.grid.nx))[at.j, at.i]

    return type(name, (Case,), {key: formula(field) for key, field in fields.items()})()


def record_number(t, config, records):
    """The number of the record at a time; the last one for ever."""
    return round(t / config.forcing.every) % records if t < np.inf else -1


def class_with_fields(case, **formulas):
    """A subclass of a case, with other fields: functions of (config, at)."""

    def method(formula):
        return lambda self, config, at: formula(config, at)

    return type(case.__name__, (case,), {name: method(formula) for name, formula in formulas.items()})
