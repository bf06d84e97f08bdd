"""The fields of a file as pictures show them: one record of one member; vorticity in units of f if f is not near 0."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product

import netCDF4
import numpy as np

from . import derived
from .dataset import PlotError, field_names, seconds
from .record import Map, read_map

#: Fields of the default picture: the first two of these that exist and are not zero everywhere.
PREFERRED = ("zeta", "eta", "speed", "u", "v", "q", "h")


def read(data: netCDF4.Dataset, name: str, record: int, member: int | None = None) -> Map:
    """One record of a field; relative vorticity over the Coriolis parameter, unless that is near zero."""
    field = derived.read(data, name, record, member)
    if name.removesuffix("_mean") != "zeta" or "f" not in field_names(data):
        return field
    f = read_map(data, "f", record).values
    smallest, largest = np.sort(np.abs([f.min(), f.max()]))
    if f.min() * f.max() <= 0 or smallest < 0.05 * largest:
        return field
    return replace(field, values=field.values / f, long_name=rf"{field.long_name} $\zeta/f$", units="1")


def read_all(data: netCDF4.Dataset, names: Iterable[str], records: Iterable[int], members: Iterable) -> Iterator[Map]:
    """Several fields, records and members, one by one."""
    return (read(data, *one) for one in product(names, records, members))


def changes(data: netCDF4.Dataset, name: str) -> bool:
    """Whether a field has records."""
    derived.require(data, name)
    return name not in field_names(data) or data[name].ndim > 2


def members_of(data: netCDF4.Dataset, name: str) -> list[int | None]:
    """The members that have a field of their own; [None] if there is only one field."""
    inside = name not in field_names(data) or "member" in data[name].dimensions
    return data["member"][:].tolist() if inside and "member" in data.variables else [None]


def chosen(data: netCDF4.Dataset, fields: str | Sequence[str] | None) -> list[str]:
    """The fields asked for, or the default ones."""
    if fields is not None:
        return [fields] if isinstance(fields, str) else list(fields)
    names = field_names(data)
    if not names:
        raise PlotError(f"{data.filepath()} holds no field on a grid with dimensions y and x")
    names = [*names, *derived.derivable(data)]
    found = [name for name in PREFERRED if name in names] or names[:1]
    if seconds(data).size == 0:
        return found[:2]
    return [name for name in found if np.ma.any(derived.read(data, name).values)][:2] or found[:2]
