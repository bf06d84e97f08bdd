"""What other programs and earlier versions of this one make of the files of a run: verified, drawn and gone on with."""

import h5py
import netCDF4
import numpy as np
import pytest
import xarray
from click.testing import CliRunner
from support.restarts import FILES, change, data, resumed, simulation

from swmodel.cli import main
from swmodel.errors import FilesError
from swmodel.files.verify import verdicts
from swmodel.plotting import plot

pytestmark = pytest.mark.slow


def cli(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def remove_checksums(path):
    """A file as earlier versions wrote it."""
    with h5py.File(path, "r+") as file:
        del file["crc32"], file["checked"], file.attrs["header_crc32"]
        for variable in list(file):
            file[variable].attrs.pop("crc32", None)


def test_files_of_versions_without_checksums_are_read_and_gone_on_with(run_folder, tmp_path):
    simulation().run(tmp_path / "whole")
    for name in FILES:
        remove_checksums(run_folder / name)
        assert verdicts(run_folder)[name] == "can be read; it holds no checksums"
    assert cli("info", run_folder).exit_code == 0
    assert cli("plot", run_folder).exit_code == 0
    resumed(run_folder)
    for name in FILES:
        ours, theirs = data(run_folder / name), data(tmp_path / "whole" / name)
        del theirs["crc32"]
        assert {key: value.tobytes() for key, value in ours.items()} == {k: v.tobytes() for k, v in theirs.items()}


def other_program(path):
    """What people do to a file: a remark, and a variable of their own."""
    with netCDF4.Dataset(path, "a") as file:
        file.comment = "of Tuesday"
        file["h"].remark = "see there"
        file.createVariable("vorticity", "f8", ("time", "y_c", "x_c"))[:] = 1.0


def test_what_another_program_adds_is_no_damage(run_folder):
    other_program(run_folder / "output.nc")
    assert verdicts(run_folder)["output.nc"] == "intact"
    for line in (["info"], ["plot", "--field", "h"], ["plot", "--field", "vorticity"], ["info", "--verify"]):
        done = cli(*line, run_folder)
        assert (done.exit_code, "damaged" in done.output) == (0, False), done.output


def part(path, decode, take):
    """What xarray keeps of a file of records."""
    with xarray.open_dataset(path, decode_times=decode) as data:
        take(data).to_netcdf(path.with_name("part.nc"))
    return path.with_name("part.nc")


def test_records_that_xarray_has_taken_out_are_verified(run_folder):
    path = part(run_folder / "output.nc", False, lambda data: data.isel(time=slice(1, 3)))
    assert verdicts(path) == {"part.nc": "intact"}
    change(path, "h", (1, 3, 4), 1.0)
    assert verdicts(path) == {"part.nc": "damaged: variable h in record 1 (step 7)"}
    plot(path, fields=["u"])
    with pytest.raises(FilesError, match="damaged: variable h in record 1$"):
        plot(path, fields=["h"])


@pytest.mark.parametrize("take", [lambda data: data.isel(time=slice(0, 2)), lambda data: data[["h"]]])
def test_what_xarray_has_written_anew_is_drawn_with_a_warning(run_folder, caplog, take):
    """It rounds times and words their units otherwise, and checksums are left out where they are not asked for."""
    path = part(run_folder / "output.nc", True, take)
    for command in ("info", "plot"):
        caplog.clear()
        done = cli(command, path)
        assert done.exit_code == 0, done.output
        (warned,) = [record.getMessage() for record in caplog.records if record.name.startswith("swmodel")]
        assert warned.startswith(f"{path}: damaged: header")
        assert "\n" not in warned
    assert verdicts(path)["part.nc"].startswith("damaged: header")


def set_text(path, name, text):
    """A global attribute of any bytes, none if there are none."""
    with h5py.File(path, "r+") as file:
        del file.attrs[name]
        if text is not None:
            file.attrs.create(name, text)


@pytest.mark.parametrize(
    ("history", "lines"),
    [(np.bytes_("Montag: geändert\nDienstag".encode("latin-1")), 3), (h5py.Empty("S1"), 1), (None, 1)],
    ids=["latin-1", "null", "missing"],
)
def test_a_run_goes_on_whatever_the_history_says(run_folder, history, lines):
    for name in FILES:
        set_text(run_folder / name, "history", history)
    assert cli("info", run_folder).exit_code == 0
    resumed(run_folder)
    for name in FILES:
        with netCDF4.Dataset(run_folder / name) as file:
            assert file.history.endswith("swmodel.Simulation")
            assert len(file.history.splitlines()) == lines


@pytest.mark.parametrize("text", [b"\xff\xfe = [", h5py.Empty("S1")])
def test_a_file_whose_configuration_is_none_cannot_be_continued(run_folder, text):
    """In a file of a version without checksums, which would tell."""
    remove_checksums(run_folder / "output.nc")
    set_text(run_folder / "output.nc", "configuration", np.bytes_(text) if isinstance(text, bytes) else text)
    with pytest.raises(FilesError, match="output.nc cannot be continued: "):
        resumed(run_folder)
