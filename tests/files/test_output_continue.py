"""A file that is continued after a stop becomes the file of the undisturbed run; one of another run is refused."""

import h5py
import netCDF4
import numpy as np
import pytest
from support.random_case import configuration, random_fields
from support.ranks import run_ranks

from swmodel.config import config_hash, to_toml
from swmodel.errors import FilesError
from swmodel.files.output import Diagnostics, Output, continuation
from swmodel.files.verify import verdicts
from swmodel.model.resolve import resolve
from swmodel.ocean.diagnostics import QUANTITIES
from swmodel.ocean.table import VARIABLES
from swmodel.parallel.decomposition import block
from swmodel.parallel.transport.serial import Serial
from swmodel.plotting.record import read_map
from swmodel.setup.fields.netcdf_input import read_field

pytestmark = pytest.mark.slow

NY, NX = 11, 13
UNDISTURBED = (0, 7, 14, 21, 28)
CASE = random_fields(NY, NX, land=0.4)


def config_of(means=("eta", "u"), fields=CASE, **more):
    options = {"output__fields": ("h", "zeta"), "output__means": means, "run__dtype": "float32", "run__steps": 28}
    return resolve(configuration(NY, NX, fields, **(options | {"grid__periodic_y": False} | more)))


def write(path, kind, config, steps, keep=None, layout=(1, 1)):
    """Write records of these steps, means in all but the first, into a new file or behind the records to keep."""

    def values(transport, name, step):
        here = transport.block
        whole = np.random.default_rng([step, *name.encode()]).standard_normal((NY, NX)).astype(np.float32)
        return whole[here.y.start : here.y.stop, here.x.start : here.x.stop]

    def rank(transport):
        with kind(path, config, transport, command_line=f"swmodel {steps}", keep=keep) as file:
            for step in steps:
                if kind is Diagnostics:
                    file.write(step, 20.0 * step, {name: step / 3 + len(name) for name in QUANTITIES})
                    continue
                fields = {name: values(transport, name, step) for name in config.output.fields}
                means = {f"{name}_mean": values(transport, name, step + 1000) for name in config.output.means if step}
                file.write(step, 20.0 * step, fields | means)
            file.flush()

    run_ranks(rank, layout, NY, NX)


def everything(path):
    """All variables and attributes of a file: types, shapes, storage and bytes; except for the history."""
    found = {}
    with h5py.File(path, "r") as file, netCDF4.Dataset(path) as data:
        for name, variable in file.items():
            found[name] = variable.dtype, variable.shape, variable.maxshape, variable.chunks, variable[...].tobytes()
            found[name, "attributes"] = str(data.variables.get(name))
        found["dimensions"] = {name: (len(d), d.isunlimited()) for name, d in data.dimensions.items()}
        found |= {("", name): data.getncattr(name) for name in data.ncattrs() if name != "history"}
    return found


@pytest.mark.promise("a restart changes nothing, also of an ensemble")
@pytest.mark.parametrize(("kind", "means"), [(Output, ("eta", "u")), (Diagnostics, ())])
@pytest.mark.parametrize(
    ("before", "kept", "after"),
    [
        ((0, 7, 14, 21, 28), 28, ()),
        ((0, 7, 14, 17), 17, (21, 28)),
        ((0, 7, 9), 8, (14, 21, 28)),
        ((0, 7), -1, (0, 7, 14, 21, 28)),
    ],
)
def test_a_continued_file_is_that_of_the_undisturbed_run(tmp_path, kind, means, before, kept, after):
    """Kept are the records up to a step that the undisturbed run would have too; more ranks may go on than began."""
    config, whole, resumed = config_of(means), tmp_path / "whole.nc", tmp_path / "resumed.nc"
    write(whole, kind, config, UNDISTURBED)
    write(resumed, kind, config, before)
    write(resumed, kind, config, after, keep=lambda step: step <= kept and step in UNDISTURBED, layout=(2, 1))
    assert everything(resumed) == everything(whole)


def test_a_file_can_be_continued_any_number_of_times(tmp_path, monkeypatch):
    """The history would outgrow an attribute of HDF5; its first line and the latest stay."""
    path = tmp_path / "file.nc"
    monkeypatch.setattr(continuation, "HISTORY_LINES", 10)
    for step in range(15):
        with Diagnostics(
            path, config_of(), Serial(block(0, (1, 1), NY, NX)), "x" * 500, (lambda step: True) if step else None
        ) as series:
            series.write(step, 20.0 * step, dict.fromkeys(QUANTITIES, 1.0))
    with netCDF4.Dataset(path) as data:
        assert data["step"][:].tolist() == list(range(15))
        assert len(data.history.splitlines()) == 12


def test_the_history_has_a_line_for_each_run_and_the_configuration_is_the_latest(tmp_path):
    path, longer = tmp_path / "file.nc", config_of(run__steps=100)
    write(path, Output, config_of(), (0, 7))
    write(path, Output, longer, (14,), keep=lambda step: True)
    with netCDF4.Dataset(path) as data:
        lines = data.history.splitlines()
        assert [line.partition("Z: ")[2] for line in lines] == ["swmodel (0, 7)", "swmodel (14,)"]
        assert (data.configuration, data.configuration_sha256) == (to_toml(longer), config_hash(longer))
        assert data["time_bounds"][:].tolist() == [[0, 0], [0, 140], [140, 280]]


@pytest.mark.promise("nothing is overwritten by accident, also from Python")
@pytest.mark.parametrize("kind", [Output, Diagnostics])
def test_a_file_of_another_configuration_is_refused_and_left_as_it_is(tmp_path, kind):
    path = tmp_path / "file.nc"
    write(path, kind, config_of(), (0, 7))
    before = path.read_bytes()
    with pytest.raises(FilesError, match=r"cannot be continued: grid\.dx: 4000.0 before, 1.0 now; run\.dtype: "):
        write(path, kind, config_of(grid__dx=1.0, run__dtype="float64"), (14,), keep=lambda step: False)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["file.nc"]


def test_a_file_with_other_fields_is_refused(tmp_path):
    """The configuration is the same, but the files or formulas that it names have changed."""
    path = tmp_path / "file.nc"
    write(path, Output, config_of(), (0, 7))
    with h5py.File(path, "r+") as file:
        file["depth"][3, 4] = 1.0
        file["f"][0, 0] = 0.5
    with pytest.raises(FilesError, match=r"cannot be continued: depth has other values in the file; f has other"):
        write(path, Output, config_of(), (14,), keep=lambda step: True)


@pytest.mark.parametrize("harm", ["absent", "empty", "cut", "foreign"])
def test_a_file_that_is_none_is_refused_by_all_ranks(tmp_path, harm):
    path = tmp_path / "file.nc"
    write(path, Diagnostics, config_of(), (0, 7))
    if harm == "absent":
        path.unlink()
    elif harm == "foreign":
        with netCDF4.Dataset(path, "w") as data:
            data.createDimension("time")
    else:
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2] if harm == "cut" else b"")
    before = path.read_bytes() if harm != "absent" else None

    def rank(transport):
        with pytest.raises(FilesError, match=r"file\.nc cannot be continued: ."):
            Diagnostics(path, config_of(), transport, keep=lambda step: True)

    run_ranks(rank, (1, 2), NY, NX)
    assert (path.read_bytes() if path.exists() else None) == before


@pytest.mark.fault("a field of a coefficient has changed when a run is resumed")
@pytest.mark.parametrize("name", ["wind_x", "manning"])
def test_a_field_of_a_coefficient_that_has_changed_is_noticed(tmp_path, name):
    path, fields = tmp_path / "file.nc", random_fields(NY, NX, land=0.4, coefficients=("manning",))
    config = config_of(fields=fields)
    write(path, Output, config, (0,))
    changed = config_of(fields=fields | {name: fields[name] * np.where(np.eye(NY, NX), 1.01, 1.0)})
    changed = changed.model_copy(update={"python": config.python})  # as where a file that is read has changed
    with pytest.raises(FilesError, match=f"cannot be continued: {name} has other values in the file$"):
        write(path, Output, changed, (7,), keep=lambda step: True)


def test_units_with_a_broken_power_which_udunits_lacks_stand_behind_the_long_name(tmp_path):
    path, fields = tmp_path / "file.nc", random_fields(NY, NX, coefficients=("manning",))
    write(path, Output, config_of(fields=fields), (0,))
    with netCDF4.Dataset(path) as data:
        assert "units" not in data["manning"].ncattrs()
        assert data["manning"].long_name == "Manning's roughness of the bottom (s m-1/3)"
        assert read_map(data, "manning").units == "s m-1/3"
    grid = config_of().grid
    again = read_field(f"{path}:manning", VARIABLES["manning"], grid, np.arange(NY), np.arange(NX))
    np.testing.assert_array_equal(again, np.where(fields["mask"] > 0, fields["manning"], np.nan))


@pytest.mark.fault("a file of an earlier version lacks a variable")
@pytest.mark.parametrize(("kind", "name"), [(Output, "linear_drag"), (Diagnostics, "tracer")])
def test_a_file_of_a_version_that_did_not_write_a_variable_is_continued_without_it(tmp_path, monkeypatch, kind, name):
    path, config = tmp_path / "file.nc", config_of(physics__tracers=({"name": "tracer"},))
    with monkeypatch.context() as before:
        before.setattr("swmodel.files.output.series.quantities", lambda *_: QUANTITIES)
        before.setattr("swmodel.files.output.static.COEFFICIENTS", {})
        write(path, kind, config, (0, 7))
    write(path, kind, config, (14,), keep=lambda step: True)
    with netCDF4.Dataset(path) as data:
        assert data["step"][:].tolist() == [0, 7, 14]
        assert name not in data.variables
    assert verdicts(path) == {"file.nc": "intact"}
