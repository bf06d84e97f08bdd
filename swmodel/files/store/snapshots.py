"""output.zarr of a run: the contents of output.nc in a Zarr store."""

from __future__ import annotations

from ..output.snapshots import Snapshots
from .record_store import RecordStore


class OutputStore(Snapshots, RecordStore):
    """output.zarr of a run, which all processes write; see `RecordStore`."""
