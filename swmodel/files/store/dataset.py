"""Read the records of a run from NetCDF or Zarr: a store has the part of netCDF4's interface that readers use."""

from __future__ import annotations

import math
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ...errors import FilesError, translate_os_errors
from ...extras import require_package
from ..run_folder import is_zarr_store
from . import arrays

FILL_VALUE_ATTRIBUTE = "_FillValue"


def open_netcdf_or_zarr(path):
    """Open a NetCDF file or Zarr store for use in a `with` statement.

    FilesError: the file or store cannot be read. ModuleNotFoundError: a store needs the package zarr, which is missing.
    """
    if is_zarr_store(path):
        require_package(path, "zarr")
        return StoreDataset(path)
    import netCDF4

    with translate_os_errors(path, "read"):
        return netCDF4.Dataset(path)


class AttributeAccess:
    """Base class: NetCDF attributes are read as Python attributes, or with `ncattrs` and `getncattr` as in netCDF4."""

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


class StoreVariable(AttributeAccess):
    """A variable of a store; indexing it reads values as masked arrays.

    OSError: a chunk is damaged, or a chunk of a field on the grid is missing.
    """

    def __init__(self, name: str, document: dict, path: Path):
        self.name, self.shape = name, tuple(document["shape"])
        self.dimensions, self._document, self._path = arrays.dimensions_of(document), document, path
        is_text = document["data_type"] == "string"
        self.dtype, self.ndim = (str if is_text else np.dtype(document["data_type"])), len(self.shape)
        attrs = dict(document["attributes"])
        if FILL_VALUE_ATTRIBUTE in attrs:
            attrs[FILL_VALUE_ATTRIBUTE] = arrays.decode_fill_value(
                attrs[FILL_VALUE_ATTRIBUTE], np.dtype(document["data_type"])
            )
        super().__init__(attrs)

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        is_basic_index = all(part is Ellipsis or isinstance(part, slice | int | np.integer) for part in index)
        with zarr_errors(self.name):
            array = arrays.open_array(self._path, self._document)
            require_files(self._path, self._document, index[:1] if self.ndim > 2 else ())
            values = array[index] if is_basic_index else array.oindex[index]
        values = np.asarray(values, object if self.dtype is str else self.dtype)
        fill_value = self._attributes.get(FILL_VALUE_ATTRIBUTE)
        masked = np.ma.masked_array(values, np.ma.nomask if fill_value is None else values == fill_value)
        return masked if values.ndim else masked[()]


class StoreDataset(AttributeAccess):
    """A store for use in a `with` statement, with the records that it had when it was opened.

    FilesError: the store cannot be read, or was not written by a run.
    """

    def __init__(self, path):
        self._path = Path(path)
        try:
            with translate_os_errors(path, "read"):
                attributes, documents = arrays.read_store_metadata(self._path)
            super().__init__(attributes)
            self.variables = {
                name: StoreVariable(name, document, self._path / name) for name, document in documents.items()
            }
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise FilesError(f"{path} cannot be read: it is not a Zarr store of a run ({error})") from None
        names_and_sizes = (
            zip(variable.dimensions, variable.shape, strict=True) for variable in self.variables.values()
        )
        self.dimensions = {name: range(size) for pairs in names_and_sizes for name, size in pairs}

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def __getitem__(self, name: str) -> StoreVariable:
        return self.variables[name]

    def filepath(self) -> str:
        return str(self._path)


def require_files(path: Path, document: dict, record_index: tuple) -> None:
    """Raise OSError if a file of a field is missing, because zarr would return fill values for it.

    `record_index`: (number of a record,) to check only this record; otherwise all records are checked.
    """
    if not arrays.is_on_grid(arrays.dimensions_of(document)):
        return
    has_one_record = record_index and isinstance(record_index[0], int | np.integer)
    records = [range(document["shape"][0])[record_index[0]]] if has_one_record else None
    for file in arrays.chunk_files(path, document, records):
        if not file.is_file():
            raise OSError(f"{file} is missing")


@contextmanager
def zarr_errors(name: str):
    """Turn the errors that zarr raises for a damaged variable into an OSError that names it."""
    try:
        yield
    except (ValueError, RuntimeError, TypeError, KeyError) as error:
        raise OSError(f"{name}: {' '.join(str(error).split()) or type(error).__name__}") from error
