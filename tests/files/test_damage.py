"""Damaged files of a run are named, with what is damaged, by all that reads them; nothing hangs or is silent."""

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
from support.command import cli
from support.faults import flip
from support.marks import at_night
from support.restarts import FILES, assert_same_data, change, resumed

from swmodel.errors import FilesError
from swmodel.files.integrity import guard
from swmodel.files.integrity.checksums import crc
from swmodel.files.verify import verdicts
from swmodel.plotting import animate, plot
from tools.damage import Truth

GOOD = {"intact", "can be read; it holds no checksums"}


def flip_chunk(path, name, record):
    """Change a bit of a chunk, which zlib notices when it is read."""
    with h5py.File(path) as file:
        chunk = file[name].id.get_chunk_info(record)
    flip(path, chunk.byte_offset + chunk.size // 2)


def lose_record(path, name, record):
    """Have the index no longer know a chunk, which is then read as fill values: HDF5 finds nothing wrong with that."""
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
        ("output.nc", (lose_record, "zeta", 0), "variable zeta in record 0 (step 0)"),
        ("output.nc", (change, "eta_mean", (1, 3, 4), 0.5), "variable eta_mean in record 1 (step 4)"),
        ("output.nc", (change, "crc32", (1, 2), 0), "variable crc32 in record 1 (step 4)"),
        ("output.nc", (change, "depth", (2, 2), 1.0), "variable depth"),
        ("output.nc", (change_units, "u"), "header"), ("output.nc", (remove, "crc32"), "header"),
        ("diagnostics.nc", (change, "cfl", 0, 0.0), "variable cfl in record 0 (step 0)"),
    ],
)  # fmt: skip
def test_verify_and_resume_name_what_is_damaged(run_folder, name, harm, named):
    harm[0](run_folder / name, *harm[1:])
    before = {each: (run_folder / each).read_bytes() for each in FILES}
    done = cli("info", "--verify", run_folder)
    assert done.exit_code == 5
    assert f"{name}: damaged: {named}\n" in done.output
    assert re.search(rf"\b1 of 6\b.* {name}", done.output)
    with pytest.raises(FilesError, match=re.escape(f"{run_folder / name}: damaged: {named}; ")):
        resumed(run_folder)
    assert {each: (run_folder / each).read_bytes() for each in FILES} == before


@pytest.mark.fault("damaged values, index or attributes in the records of a run")
def test_damaged_record_that_is_computed_again_does_no_harm(run_folder, undisturbed):
    """The last one is there only because the run ended."""
    flip_chunk(run_folder / "output.nc", "h", 2)
    resumed(run_folder)
    assert_same_data(run_folder / "output.nc", undisturbed / "output.nc")
    assert set(verdicts(run_folder).values()) == GOOD


@pytest.mark.slow
@pytest.mark.fault("damaged values, index or attributes in the records of a run")
def test_plot_refuses_damaged_records(run_folder):
    lose_record(run_folder / "output.nc", "h", 1)
    flip_chunk(run_folder / "output.nc", "u", 1)
    plot(run_folder, fields=["v"], record=1)
    for name in ("h", "u"):
        with pytest.raises(FilesError, match=f"damaged: variable {name} in record 1$"):
            plot(run_folder, fields=[name], record=1)
    with pytest.raises(FilesError, match="damaged: variable h in record 1$"):
        animate(run_folder, field="h", output=run_folder / "film.gif")
    change(run_folder / "diagnostics.nc", "cfl", 1, 0.0)
    for line in (["plot", "--diagnostics"], ["info"]):
        done = cli(*line, run_folder)
        assert done.exit_code == 5
        assert done.output.endswith("diagnostics.nc: damaged: variable cfl in record 1 (step 3)\n")


def test_checksums_are_those_of_zlib(halfway):
    with netCDF4.Dataset(halfway / "output.nc") as file:
        file.set_auto_mask(False)
        names = file["crc32"].variables.split()
        assert {"time", "step", "time_bounds", "h", "eta_mean"} <= set(names)
        for record, row in enumerate(file["crc32"][:]):
            assert row[:-1].tolist() == [zlib.crc32(file[name][record].tobytes()) for name in names]
            assert row[-1] == zlib.crc32(row[:-1].tobytes())
        assert file["depth"].crc32 == crc(file["depth"][:])


#: The program that examines files, which does something before it examines diagnostics.nc.
ACTING = """
import os, sys, time; sys.path.insert(0, sys.argv[1])
from swmodel.files.integrity import examine
examine.SECONDS = 1.0
real, truth = examine.facts, examine.examine
def facts(path, *rest):
    if 'diagnostics' in path:
        {action}
    found = real(path, *rest)
    examine.examine = truth
    return found
examine.facts = facts
examine.main(sys.argv[2])
"""


@pytest.mark.slow
@pytest.mark.fault("a file on which HDF5 crashes, hangs or asks for memory")
@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("""sys.stdout.write('{"dam'); sys.stdout.flush(); os.kill(os.getpid(), 11)""", "HDF5 crashed on it"),
        ("while True: pass", "it takes too long"),
        *at_night(("examine.examine = lambda *rest: bytearray(8 << 30)", "it takes too much memory")),
    ],
)
def test_file_on_which_hdf5_fails_is_named_and_others_are_read(run_folder, monkeypatch, action, words):
    monkeypatch.setattr(guard, "PROGRAM", ACTING.format(action=action))
    found = verdicts(run_folder)
    assert found.pop("diagnostics.nc").startswith(f"cannot be read: {words}")
    assert set(found.values()) == GOOD


@pytest.mark.slow
def test_signal_to_all_processes_of_a_job_damages_no_file(halfway, monkeypatch):
    """A signal to those of a terminal does not reach the program at all."""
    action = f"assert os.getsid(0) == os.getpid(); os.kill(os.getpid(), {signal.SIGTERM:d})"
    monkeypatch.setattr(guard, "PROGRAM", ACTING.format(action=action))
    assert verdicts(halfway / "diagnostics.nc") == {"diagnostics.nc": "intact"}


@pytest.mark.slow
def test_program_that_examines_ends_with_its_parent(halfway, tmp_path):
    told = tmp_path / "pid"
    os.mkfifo(told)
    program = ACTING.format(action=f"open({str(told)!r}, 'w').write(str(os.getpid())); time.sleep(600)")
    job = f"guard.PROGRAM = {program!r}; guard.facts([guard.Job({str(halfway / 'diagnostics.nc')!r})])"
    line = [sys.executable, "-c", f"from swmodel.files.integrity import guard; {job}"]
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


SUSPENDED = """
import sys, time, h5py
sys.path[:0] = sys.argv[2:]
from swmodel.parallel.decomposition import block
from swmodel.files.background import _WRITER, BackgroundFile
from swmodel.parallel.transport.serial import Serial
def define(dataset):
    dataset.createDimension("time")
    dataset.createVariable("time", "f8", ("time",))
    dataset.createVariable("other", "f8", ("time",))
def fail(records):
    for variable in records.file.values():  # h5py's lock is held until the iteration ends
        raise {error}
file = BackgroundFile(sys.argv[1], Serial(block(0, (1, 1), 2, 2)), define)
file.put(fail)
try:
    file.close()
except BaseException as error:
    print(repr(error))
with h5py.File(sys.argv[1]) as again:
    print(sorted(again))
_WRITER.submit(time.sleep, 1e6)
"""


@pytest.mark.slow
@pytest.mark.fault("any error in the thread that writes")
@pytest.mark.parametrize("error", ["AttributeError('maxshape')", *at_night("SystemExit(3)")])
def test_error_in_the_thread_that_writes_ends_the_program(tmp_path, error):
    """Though it leaves an iteration of h5py suspended; even if the thread never comes back."""
    line = [sys.executable, "-c", SUSPENDED.format(error=error), str(tmp_path / "file.nc"), *sys.path]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == [error, "['other', 'time']"], done.stderr
    assert done.returncode == 0


def put(text):
    return lambda path: path.write_bytes(text)


def link_to_itself(path):
    path.unlink()
    path.symlink_to(path.name)


def folder(path):
    path.unlink()
    path.mkdir()


@pytest.mark.fault("a folder, a broken link, a link loop, invalid data or nothing in place of a file")
@pytest.mark.parametrize("harm", [folder, link_to_itself, put(b"\xff\xfe" * 500), put(b"")])
@pytest.mark.parametrize("name", ["output.nc", "diagnostics.nc", "status.json", "config.toml"])
def test_folder_link_or_garbage_as_file_ends_with_code_5(run_folder, name, harm):
    """For `info`, an empty configuration is one that is not there yet."""
    harm(run_folder / name)
    lines = [["info", "--verify"]]
    lines += [["info"]] if name != "config.toml" or (run_folder / name).lstat().st_size else []
    lines += {"output.nc": [["plot"]], "diagnostics.nc": [["plot", "--diagnostics"]]}.get(name, [])
    for line in lines:
        done = cli(*line, run_folder)
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
        done = cli(*line)
        assert (done.exit_code in (2, 5), "Error: " in done.output, "None" in done.output) == (True, True, False)
    assert cli("info", "--verify", links).exit_code == 5
    assert cli(*run, "--force").exit_code == 0
    assert not os.path.lexists(none)
    assert set(verdicts(links).values()) == GOOD


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    return Truth(tmp_path_factory.mktemp("damage"))


@pytest.mark.slow
@pytest.mark.fault("any damage to any file of a run (`make damage` tries 500)")
@pytest.mark.parametrize("seed", [0, 1, *at_night(*range(2, 8))])
def test_any_damage_is_named_or_does_no_harm(truth, seed):
    """`make damage` tries more, with all commands."""
    truth.holds(seed, ["verify", ("info", "plot", "series", "resume")[seed % 4]])
