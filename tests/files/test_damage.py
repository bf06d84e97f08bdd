"""Every reader names damaged files of a run and their damaged parts; none hangs or stays silent."""

import os
import re
import select
import signal
import subprocess
import sys
import zlib

import h5py
import netCDF4
import numpy as np
import pytest
from conftest import ROOT
from support.command import invoke_swmodel
from support.faults import flip_bit
from support.marks import night_params
from support.restarts import FILES, assert_same_data, resume_run, set_value

from swmodel.errors import FilesError
from swmodel.files.integrity import guard
from swmodel.files.integrity.checksums import crc32
from swmodel.files.verify import verdicts
from swmodel.plotting import animate, plot
from tools.damage import DamageCheck

pytestmark = pytest.mark.slow

VERDICTS_OF_INTACT_FILES = {"intact", "can be read; it holds no checksums"}


def flip_chunk(path, name, record):
    """Change a bit of a chunk, which zlib notices when it is read."""
    with h5py.File(path) as file:
        chunk = file[name].id.get_chunk_info(record)
    flip_bit(path, chunk.byte_offset + chunk.size // 2)


def remove_record_from_index(path, name, record):
    """Remove a chunk from the index, so that it is read as fill values, which HDF5 does not notice."""
    with h5py.File(path, "r+") as file:
        later = file[name][record + 1 :]
        file[name].resize(record, axis=0)
        file[name].resize(record + 1 + len(later), axis=0)
        file[name][record + 1 :] = later


def change_units(path, name):
    with h5py.File(path, "r+") as file:
        file[name].attrs["units"] = np.bytes_("km")


def remove(path, name):
    with h5py.File(path, "r+") as file:
        del file[name]


@pytest.mark.promise("damage to restart files, records and static fields is found")
@pytest.mark.fault("damaged values, index or attributes in the records of a run")
@pytest.mark.parametrize(
    ("name", "harm", "named"),
    [
        ("output.nc", (flip_chunk, "h", 1), "variable h in record 1 (step 4)"),
        ("output.nc", (remove_record_from_index, "zeta", 0), "variable zeta in record 0 (step 0)"),
        ("output.nc", (set_value, "eta_mean", (1, 3, 4), 0.5), "variable eta_mean in record 1 (step 4)"),
        ("output.nc", (set_value, "crc32", (1, 2), 0), "variable crc32 in record 1 (step 4)"),
        ("output.nc", (set_value, "depth", (2, 2), 1.0), "variable depth"),
        ("output.nc", (change_units, "u"), "header"), ("output.nc", (remove, "crc32"), "header"),
        ("diagnostics.nc", (set_value, "cfl", 0, 0.0), "variable cfl in record 0 (step 0)"),
    ],
)  # fmt: skip
def test_verify_and_resume_name_what_is_damaged(run_folder, name, harm, named):
    harm[0](run_folder / name, *harm[1:])
    before = {each: (run_folder / each).read_bytes() for each in FILES}
    done = invoke_swmodel("info", "--verify", run_folder)
    assert done.exit_code == 5
    assert f"{name}: damaged: {named}\n" in done.output
    assert re.search(rf"\b1 of 6\b.* {name}", done.output)
    with pytest.raises(FilesError, match=re.escape(f"{run_folder / name}: damaged: {named}; ")):
        resume_run(run_folder)
    assert {each: (run_folder / each).read_bytes() for each in FILES} == before


@pytest.mark.fault("damaged values, index or attributes in the records of a run")
def test_damaged_record_that_is_computed_again_does_no_harm(run_folder, undisturbed_run):
    """The last record exists only because the run ended there."""
    flip_chunk(run_folder / "output.nc", "h", 2)
    resume_run(run_folder)
    assert_same_data(run_folder / "output.nc", undisturbed_run / "output.nc")
    assert set(verdicts(run_folder).values()) == VERDICTS_OF_INTACT_FILES


@pytest.mark.fault("damaged values, index or attributes in the records of a run")
def test_plot_refuses_damaged_records(run_folder):
    remove_record_from_index(run_folder / "output.nc", "h", 1)
    flip_chunk(run_folder / "output.nc", "u", 1)
    plot(run_folder, fields=["v"], record=1)
    for name in ("h", "u"):
        with pytest.raises(FilesError, match=f"damaged: variable {name} in record 1$"):
            plot(run_folder, fields=[name], record=1)
    with pytest.raises(FilesError, match="damaged: variable h in record 1$"):
        animate(run_folder, field="h", output=run_folder / "film.gif")
    set_value(run_folder / "diagnostics.nc", "cfl", 1, 0.0)
    for line in (["plot", run_folder / "diagnostics.nc"], ["info", run_folder]):
        done = invoke_swmodel(*line)
        assert done.exit_code == 5
        assert done.output.endswith("diagnostics.nc: damaged: variable cfl in record 1 (step 3)\n")


def test_checksums_are_those_of_zlib(halfway_run):
    with netCDF4.Dataset(halfway_run / "output.nc") as file:
        file.set_auto_mask(False)
        names = file["crc32"].variables.split()
        assert {"time", "step", "time_bounds", "h", "eta_mean"} <= set(names)
        for record, row in enumerate(file["crc32"][:]):
            assert row[:-1].tolist() == [zlib.crc32(file[name][record].tobytes()) for name in names]
            assert row[-1] == zlib.crc32(row[:-1].tobytes())
        assert file["depth"].crc32 == crc32(file["depth"][:])


#: The program that examines files, with an action before it examines diagnostics.nc.
PROGRAM_WITH_ACTION = """
import os, sys, time; sys.path.insert(0, sys.argv[1])
from swmodel.files.integrity import examine
examine.BASE_CPU_SECONDS = 1.0
real, truth = examine.examine_safely, examine.examine
def facts(path, *rest):
    if 'diagnostics' in path:
        {action}
    found = real(path, *rest)
    examine.examine = truth
    return found
examine.examine_safely = facts
examine.main(sys.argv[2])
"""


@pytest.mark.fault("a file on which HDF5 crashes, hangs or asks for memory")
@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("""sys.stdout.write('{"dam'); sys.stdout.flush(); os.kill(os.getpid(), 11)""", "HDF5 crashed on it"),
        ("while True: pass", "it takes too long"),
        *night_params(("examine.examine = lambda *rest: bytearray(8 << 30)", "it takes too much memory")),
    ],
)
def test_file_on_which_hdf5_fails_is_named_and_others_are_read(run_folder, monkeypatch, action, words):
    monkeypatch.setattr(guard, "PROGRAM", PROGRAM_WITH_ACTION.format(action=action))
    found = verdicts(run_folder)
    assert found.pop("diagnostics.nc").startswith(f"cannot be read: {words}")
    assert set(found.values()) == VERDICTS_OF_INTACT_FILES


def test_signal_to_all_processes_of_a_job_damages_no_file(halfway_run, monkeypatch):
    """A signal to the processes of a terminal does not reach the program at all."""
    action = f"assert os.getsid(0) == os.getpid(); os.kill(os.getpid(), {signal.SIGTERM:d})"
    monkeypatch.setattr(guard, "PROGRAM", PROGRAM_WITH_ACTION.format(action=action))
    assert verdicts(halfway_run / "diagnostics.nc") == {"diagnostics.nc": "intact"}


def test_examining_process_ends_with_its_parent(halfway_run, tmp_path):
    told = tmp_path / "pid"
    os.mkfifo(told)
    program = PROGRAM_WITH_ACTION.format(action=f"open({str(told)!r}, 'w').write(str(os.getpid())); time.sleep(600)")
    path = str(halfway_run / "diagnostics.nc")
    statement = f"guard.PROGRAM = {program!r}; guard.examine_files([guard.FileToExamine({path!r})])"
    line = [sys.executable, "-c", f"from swmodel.files.integrity import guard; {statement}"]
    with subprocess.Popen(line, cwd=ROOT) as parent:
        pipe = os.open(told, os.O_RDONLY | os.O_NONBLOCK)
        select.select([pipe], [], [], 60)
        child = os.pidfd_open(int(os.read(pipe, 100)))
        os.close(pipe)
        parent.kill()
    try:
        assert select.select([child], [], [], 30)[0]
    finally:
        os.close(child)


SUSPENDED_PROGRAM = """
import sys, time, h5py
sys.path[:0] = sys.argv[2:]
from swmodel.parallel.decomposition import block_of_rank
from swmodel.files.background import _WRITER, BackgroundFile
from swmodel.parallel.transport.serial import SerialTransport
def define(dataset):
    dataset.createDimension("time")
    dataset.createVariable("time", "f8", ("time",))
    dataset.createVariable("other", "f8", ("time",))
def fail(records):
    for variable in records.file.values():  # h5py's lock is held until the iteration ends
        raise {error}
file = BackgroundFile(sys.argv[1], SerialTransport(block_of_rank(0, (1, 1), 2, 2)), define)
file.submit(fail)
try:
    file.close()
except BaseException as error:
    print(repr(error))
with h5py.File(sys.argv[1]) as again:
    print(sorted(again))
_WRITER.submit(time.sleep, 1e6)
"""


@pytest.mark.fault("any error in the thread that writes")
@pytest.mark.parametrize("error", ["AttributeError('maxshape')", *night_params("SystemExit(3)")])
def test_error_in_the_thread_that_writes_ends_the_program(tmp_path, error):
    """Even if the error leaves an iteration of h5py suspended, and the thread never returns."""
    line = [sys.executable, "-c", SUSPENDED_PROGRAM.format(error=error), str(tmp_path / "file.nc"), *sys.path]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == [error, "['other', 'time']"], done.stderr
    assert done.returncode == 0


def write_bytes(text):
    return lambda path: path.write_bytes(text)


def link_to_itself(path):
    path.unlink()
    path.symlink_to(path.name)


def replace_by_folder(path):
    path.unlink()
    path.mkdir()


@pytest.mark.fault("a folder, a broken link, a link loop, invalid data or nothing in place of a file")
@pytest.mark.parametrize("harm", [replace_by_folder, link_to_itself, write_bytes(b"\xff\xfe" * 500), write_bytes(b"")])
@pytest.mark.parametrize("name", ["output.nc", "diagnostics.nc", "status.json", "config.toml"])
def test_folder_link_or_garbage_in_place_of_a_file_ends_with_code_5(run_folder, name, harm):
    """`info` treats an empty configuration as one that is not written yet."""
    harm(run_folder / name)
    lines = [["info", "--verify", run_folder]]
    lines += [["info", run_folder]] if name != "config.toml" or (run_folder / name).lstat().st_size else []
    lines += [["plot", run_folder]] if name == "output.nc" else []
    for line in lines:
        done = invoke_swmodel(*line)
        assert (done.exit_code, done.exception.code) == (5, 5), (line, done.output)
        assert name in done.output
        assert "None" not in done.output
        assert "--verify" in line or len(done.output.splitlines()) == 1


@pytest.mark.fault("a folder, a broken link, a link loop, invalid data or nothing in place of a file")
def test_folder_of_broken_links_is_replaced_only_by_force(tmp_path):
    links, none = tmp_path / "links", tmp_path / "nowhere"
    links.mkdir()
    for name in ("config.toml", "output.nc", "diagnostics.nc", "status.json", "restart"):
        (links / name).symlink_to(none / name)
    small = ["-s", "grid.nx=5", "-s", "grid.ny=4", "--steps", 2, "--executor", "reference", "--quiet"]
    run = ["run", "rest", *small, "--output", links]
    for line in (["info", links], ["plot", links], ["resume", links], run):
        done = invoke_swmodel(*line)
        assert (done.exit_code in (2, 5), "Error: " in done.output, "None" in done.output) == (True, True, False)
    assert invoke_swmodel("info", "--verify", links).exit_code == 5
    assert invoke_swmodel(*run, "--force").exit_code == 0
    assert not os.path.lexists(none)
    assert set(verdicts(links).values()) == VERDICTS_OF_INTACT_FILES


@pytest.fixture(scope="module")
def damage_check(tmp_path_factory):
    return DamageCheck(tmp_path_factory.mktemp("damage"))


@pytest.mark.fault("any damage to any file of a run (`make damage` tries 500)")
@pytest.mark.parametrize("seed", [0, 1, *night_params(*range(2, 8))])
def test_any_damage_is_named_or_does_no_harm(damage_check, seed):
    damage_check.check(seed, ["verify", ("info", "plot", "series", "resume")[seed % 4]])
