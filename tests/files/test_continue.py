"""A file or store continued after a stop equals that of the uninterrupted run; that of another run is refused."""

import shutil

import h5py
import netCDF4
import numpy as np
import pytest
from support.marks import night_params
from support.random_case import random_fields
from support.rank_threads import run_rank_threads
from support.restarts import bytes_of_files, read_variables
from support.snapshots import CLASS_OF_FILE, NX, NY, make_config, write_records

from swmodel.config import config_hash, to_toml
from swmodel.errors import FilesError
from swmodel.files.output import continuation
from swmodel.files.store import arrays
from swmodel.files.verify import verdicts
from swmodel.ocean.diagnostics import DIAGNOSTICS
from swmodel.plotting.dataset import open_netcdf_or_zarr

pytestmark = pytest.mark.slow

ALL_STEPS = (0, 7, 14, 21, 28)
OUTPUTS = ("output.nc", "output.zarr")


def file_contents(path):
    """Values, types, shapes, attributes and storage of the file and its variables, without history and checksum."""
    with open_netcdf_or_zarr(path) as file:
        attributes = {name: file.getncattr(name) for name in file.ncattrs() if name not in ("history", "header_crc32")}
        if path.suffix == ".nc":
            attributes |= {(name, "about"): str(variable) for name, variable in file.variables.items()}
    if path.suffix == ".zarr":
        files = sorted(each.relative_to(path) for each in path.rglob("*"))
        values = {(name, "values"): each.tobytes() for name, each in read_variables(path).items()}
        return attributes | values | {"documents": arrays.read_store_metadata(path)[1], "files": files}
    with h5py.File(path, "r") as file:
        variables = {name: (each.dtype, each.maxshape, each.chunks, each[...].tobytes()) for name, each in file.items()}
        return attributes | variables


@pytest.mark.promise("a restart changes nothing, also of an ensemble")
@pytest.mark.fault("a store holds other values than the NetCDF file, or a run continues it on other blocks")
@pytest.mark.parametrize("name", CLASS_OF_FILE)
@pytest.mark.parametrize(
    ("before", "last_kept", "after", "layouts"),
    [
        ((0, 7, 14, 17), 17, (21, 28), ((2, 1), (3, 1))),
        ((0, 7, 9), 8, (14, 21, 28), ((2, 2), (1, 3))),
        *night_params((ALL_STEPS, 28, (), ((1, 1), (2, 1))), ((0, 7), -1, ALL_STEPS, ((3, 2), (1, 1)))),
    ],
)
def test_continued_file_is_that_of_an_uninterrupted_run(tmp_path, name, before, last_kept, after, layouts):
    """The run keeps records up to a step if the uninterrupted run has them, too, and continues with another layout."""
    config, paths = make_config(), [tmp_path / folder / name for folder in ("whole", "pieces")]
    for path, steps in zip(paths, (ALL_STEPS, before), strict=True):
        path.parent.mkdir()
        write_records(path, config, steps, layout=layouts[0])
    keep = {step for step in ALL_STEPS if step <= last_kept}
    write_records(paths[1], config, after, keep=keep.__contains__, layout=layouts[1])
    assert file_contents(paths[1]) == file_contents(paths[0])
    assert verdicts(paths[1]) == {name: "intact"}


@pytest.mark.parametrize("name", OUTPUTS)
def test_history_is_bounded_and_configuration_is_the_latest(tmp_path, monkeypatch, name):
    """The history of many runs would exceed the size of an HDF5 attribute."""
    monkeypatch.setattr(continuation, "MAX_HISTORY_LINES", 3)
    path, longer = tmp_path / name, make_config(run__steps=100)
    for step in range(6):
        write_records(path, make_config() if step < 5 else longer, (step,), keep=(lambda step: True) if step else None)
    with open_netcdf_or_zarr(path) as file:
        first, _, *latest = [line.partition("Z: ")[2] for line in file.history.splitlines()]
        assert [first, *latest] == [f"swmodel ({step},)" for step in (0, 3, 4, 5)]
        assert (file.configuration, file.configuration_sha256) == (to_toml(longer), config_hash(longer))
        assert file["time_bounds"][:].tolist() == [[0, 0], *([20 * step - 20, 20 * step] for step in range(1, 6))]


def turn_into_foreign_file(path):
    if path.suffix == ".zarr":
        attributes, documents = arrays.read_store_metadata(path)
        del attributes["configuration"]
        arrays.publish_records(path, attributes, documents, 2)
    else:
        with netCDF4.Dataset(path, "w") as file:
            file.createDimension("time")


def truncate(path):
    header = path / "zarr.json" if path.is_dir() else path
    header.write_bytes(header.read_bytes()[: header.stat().st_size // 2])


def remove(path):
    shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.mark.promise("nothing is overwritten by accident, also from Python")
@pytest.mark.fault("half a store, a store of another run, a damaged or missing chunk")
@pytest.mark.parametrize("name", CLASS_OF_FILE)
@pytest.mark.parametrize("damage", [None, remove, truncate, turn_into_foreign_file])
def test_file_of_another_run_is_refused_on_all_ranks_and_left_unchanged(tmp_path, name, damage):
    """If `damage` is None, the file is intact but from another run."""
    path, config, words = tmp_path / name, make_config(), "."
    write_records(path, config, (0, 7))
    if damage:
        damage(path)
    else:
        config, words = make_config(grid__dx=1.0, run__dtype="float64"), "grid.dx: 4000.0 before, 1.0 now; run.dtype: "
    before = bytes_of_files(tmp_path)

    def open_file(transport):
        with pytest.raises(FilesError, match=rf"{name} cannot be continued: .*{words}"):
            CLASS_OF_FILE[name](path, config, transport, keep=lambda step: True)

    run_rank_threads(open_file, (1, 2), NY, NX)
    assert bytes_of_files(tmp_path) == before


@pytest.mark.fault("a field of a coefficient has changed when a run is resumed")
@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.parametrize("field", ["depth", "wind_x", "manning"])
def test_file_with_another_field_is_refused(tmp_path, name, field):
    """The configuration is the same, but a file or formula that it names has changed."""
    fields = random_fields(NY, NX, land=0.4, coefficients=("manning",))
    config = make_config(fields)
    write_records(tmp_path / name, config, (0,))
    changed = make_config(fields | {field: fields[field] * np.where(np.eye(NY, NX), 1.01, 1.0)})
    changed = changed.model_copy(update={"python": config.python})
    with pytest.raises(FilesError, match=f"cannot be continued: {field} has other values in the \\w+$"):
        write_records(tmp_path / name, changed, (7,), keep=lambda step: True)


@pytest.mark.fault("a file of an earlier version lacks a variable")
@pytest.mark.parametrize(("name", "variable"), [("output.nc", "linear_drag"), ("diagnostics.nc", "tracer")])
def test_file_of_an_earlier_version_continues_without_a_variable(tmp_path, monkeypatch, name, variable):
    path, config = tmp_path / name, make_config(physics__tracers=({"name": "tracer"},))
    with monkeypatch.context() as patch:
        patch.setattr("swmodel.files.output.domain_series.diagnostics_of_run", lambda *_: DIAGNOSTICS)
        patch.setattr("swmodel.files.output.static.COEFFICIENTS", {})
        write_records(path, config, (0, 7))
    write_records(path, config, (14,), keep=lambda step: True)
    with netCDF4.Dataset(path) as file:
        assert file["step"][:].tolist() == [0, 7, 14]
        assert variable not in file.variables
    assert verdicts(path) == {name: "intact"}
