"""Reading of a run's snapshots in either format: a store of Zarr has what readers use of netCDF4's interface."""

from __future__ import annotations

import math
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ...errors import FilesError, file_errors
from ...extras import require
from ..run_folder import is_store
from . import arrays

#: The attribute of values that are missing.
FILL_VALUE = "_FillValue"


def opened(path):
    """A NetCDF file or a store, to be used in a `with`.

    FilesError: it cannot be read. ModuleNotFoundError: it is a store, and the package zarr is missing.
    """
    if is_store(path):
        require(path, "zarr")
        return StoreData(path)
    import netCDF4

    with file_errors(path, "read"):
        return netCDF4.Dataset(path)


class Attributes:
    """Base of what has attributes, as those of Python and by `ncattrs` and `getncattr`."""

    def __init__(self, attributes: dict):
        self._attributes = attributes

    def __getattr__(self, name: str):
        try:
            return self.__dict__["_attributes"][name]
        except KeyError:
            raise AttributeError(name) from None

    def ncattrs(self) -> list[str]:
        return list(self._attributes)

    def getncattr(self, name: str):
        return self._attributes[name]


class Variable(Attributes):
    """A variable; its values are masked arrays. OSError: a chunk is damaged or missing."""

    def __init__(self, name: str, document: dict, path: Path):
        self.name, self.shape = name, tuple(document["shape"])
        self.dimensions, self._document, self._path = arrays.dimensions_of(document), document, path
        text = document["data_type"] == "string"
        self.dtype, self.ndim = (str if text else np.dtype(document["data_type"])), len(self.shape)
        about = dict(document["attributes"])
        if FILL_VALUE in about:
            about[FILL_VALUE] = arrays.decoded(about[FILL_VALUE], self.dtype)
        super().__init__(about)

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        simple = all(each is Ellipsis or isinstance(each, slice | int | np.integer) for each in index)
        with readable(self.name):
            array = arrays.as_shown(self._path, self._document)
            require_files(self._path, self._document, index[:1] if self.ndim > 2 else ())
            values = array[index] if simple else array.oindex[index]
        values = np.asarray(values, object if self.dtype is str else self.dtype)
        mask = values == self._attributes[FILL_VALUE] if FILL_VALUE in self._attributes else np.ma.nomask
        return np.ma.masked_array(values, mask) if values.ndim else np.ma.masked_array(values, mask)[()]


class StoreData(Attributes):
    """The open store at a path, with the records that it had then; to be used in a `with`.

    FilesError: the path is no store that a run has written.
    """

    def __init__(self, path):
        self._path = Path(path)
        try:
            with file_errors(path, "read"):
                attributes, documents = arrays.contents(self._path)
            super().__init__(attributes)
            self.variables = {name: Variable(name, one, self._path / name) for name, one in documents.items()}
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise FilesError(f"{path} cannot be read: it is no store of Zarr of a run ({error})") from None
        sizes = (zip(each.dimensions, each.shape, strict=True) for each in self.variables.values())
        self.dimensions = {name: range(size) for each in sizes for name, size in each}

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def __getitem__(self, name: str) -> Variable:
        return self.variables[name]

    def filepath(self) -> str:
        return str(self._path)


def require_files(path: Path, document: dict, record: tuple) -> None:
    """OSError: a file of a field is missing, in one record or in all; zarr would read fill values."""
    if not arrays.on_grid(arrays.dimensions_of(document)):
        return
    one = record and isinstance(record[0], int | np.integer)
    records = [range(document["shape"][0])[record[0]]] if one else None
    for file in arrays.chunk_files(path, document, records):
        if not file.is_file():
            raise OSError(f"{file} is missing")


@contextmanager
def readable(name: str):
    """A context in which errors of zarr become OSErrors."""
    try:
        yield
    except (ValueError, RuntimeError, TypeError, KeyError) as error:
        raise OSError(f"{name}: {' '.join(str(error).split()) or type(error).__name__}") from error
