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
from support.restarts import RECORD_FILES, assert_same_data, resume_run, set_value

from swmodel.errors import FilesError
from swmodel.files.integrity import guard
from swmodel.files.integrity.checksums import crc32
from swmodel.files.verify import verdicts
from swmodel.plotting import animate, plot
from tools.damage import DamageCheck

pytestmark = pytest.mark.slow

VERDICTS_OF_INTACT_FILES = {"intact", "can be read; it holds no checksums"}


def flip_bit_of_chunk(path, name, record):
    """Change a bit of a chunk; zlib notices the damage when the chunk is read."""
    with h5py.File(path) as file:
        chunk = file[name].id.get_chunk_info(record)
    flip_bit(path, chunk.byte_offset + chunk.size // 2)


def remove_record_from_index(path, name, record):
    """Remove a chunk from the index, so that HDF5 reads fill values without noticing the damage."""
    with h5py.File(path, "r+") as file:
        later_records = file[name][record + 1 :]
        file[name].resize(record, axis=0)
        file[name].resize(record + 1 + len(later_records), axis=0)
        file[name][record + 1 :] = later_records


def change_units(path, name):
    with h5py.File(path, "r+") as file:
        file[name].attrs["units"] = np.bytes_("km")


def remove_variable(path, name):
    with h5py.File(path, "r+") as file:
        del file[name]


@pytest.mark.promise("damage to restart files, records and static fields is found")
@pytest.mark.fault("damaged values, index or attributes in the records of a run")
@pytest.mark.parametrize(
    ("name", "damage", "part"),
    [
        ("output.nc", (flip_bit_of_chunk, "h", 1), "variable h in record 1 (step 4)"),
        ("output.nc", (remove_record_from_index, "zeta", 0), "variable zeta in record 0 (step 0)"),
        ("output.nc", (set_value, "eta_mean", (1, 3, 4), 0.5), "variable eta_mean in record 1 (step 4)"),
        ("output.nc", (set_value, "crc32", (1, 2), 0), "variable crc32 in record 1 (step 4)"),
        ("output.nc", (set_value, "depth", (2, 2), 1.0), "variable depth"),
        ("output.nc", (change_units, "u"), "header"), ("output.nc", (remove_variable, "crc32"), "header"),
        ("diagnostics.nc", (set_value, "cfl", 0, 0.0), "variable cfl in record 0 (step 0)"),
    ],
)  # fmt: skip
def test_verify_and_resume_name_the_damaged_part(run_folder, name, damage, part):
    damage[0](run_folder / name, *damage[1:])
    before = {file: (run_folder / file).read_bytes() for file in RECORD_FILES}
    result = invoke_swmodel("info", "--verify", run_folder)
    assert result.exit_code == 5
    assert f"{name}: damaged: {part}\n" in result.output
    assert re.search(rf"\b1 of 6\b.* {name}", result.output)
    with pytest.raises(FilesError, match=re.escape(f"{run_folder / name}: damaged: {part}; ")):
        resume_run(run_folder)
    assert {file: (run_folder / file).read_bytes() for file in RECORD_FILES} == before


@pytest.mark.fault("damaged values, index or attributes in the records of a run")
def test_damaged_record_that_a_resumed_run_replaces_is_ignored(run_folder, uninterrupted_run):
    """The last record exists only because the run ended there."""
    flip_bit_of_chunk(run_folder / "output.nc", "h", 2)
    resume_run(run_folder)
    assert_same_data(run_folder / "output.nc", uninterrupted_run / "output.nc")
    assert set(verdicts(run_folder).values()) == VERDICTS_OF_INTACT_FILES


@pytest.mark.fault("damaged values, index or attributes in the records of a run")
def test_plot_refuses_damaged_records(run_folder):
    remove_record_from_index(run_folder / "output.nc", "h", 1)
    flip_bit_of_chunk(run_folder / "output.nc", "u", 1)
    plot(run_folder, fields=["v"], record=1)
    for name in ("h", "u"):
        with pytest.raises(FilesError, match=f"damaged: variable {name} in record 1$"):
            plot(run_folder, fields=[name], record=1)
    with pytest.raises(FilesError, match="damaged: variable h in record 1$"):
        animate(run_folder, field="h", output=run_folder / "animation.gif")
    set_value(run_folder / "diagnostics.nc", "cfl", 1, 0.0)
    for command in (["plot", run_folder / "diagnostics.nc"], ["info", run_folder]):
        result = invoke_swmodel(*command)
        assert result.exit_code == 5
        assert result.output.endswith("diagnostics.nc: damaged: variable cfl in record 1 (step 3)\n")


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
original_safely, original = examine.examine_safely, examine.examine
def act_and_examine(path, *rest):
    if 'diagnostics' in path:
        {action}
    facts = original_safely(path, *rest)
    examine.examine = original
    return facts
examine.examine_safely = act_and_examine
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
    verdict_of = verdicts(run_folder)
    assert verdict_of.pop("diagnostics.nc").startswith(f"cannot be read: {words}")
    assert set(verdict_of.values()) == VERDICTS_OF_INTACT_FILES


def test_signal_to_all_processes_of_a_job_does_not_disturb_the_examination(halfway_run, monkeypatch):
    """The examining program ignores it; a signal to the processes of a terminal does not even reach the program."""
    action = f"assert os.getsid(0) == os.getpid(); os.kill(os.getpid(), {signal.SIGTERM:d})"
    monkeypatch.setattr(guard, "PROGRAM", PROGRAM_WITH_ACTION.format(action=action))
    assert verdicts(halfway_run / "diagnostics.nc") == {"diagnostics.nc": "intact"}


def test_examining_process_ends_with_its_parent(halfway_run, tmp_path):
    fifo = tmp_path / "pid"
    os.mkfifo(fifo)
    program = PROGRAM_WITH_ACTION.format(action=f"open({str(fifo)!r}, 'w').write(str(os.getpid())); time.sleep(600)")
    path = str(halfway_run / "diagnostics.nc")
    statement = f"guard.PROGRAM = {program!r}; guard.examine_files([guard.FileToExamine({path!r})])"
    command = [sys.executable, "-c", f"from swmodel.files.integrity import guard; {statement}"]
    with subprocess.Popen(command, cwd=ROOT) as parent:
        pipe = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
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
def define_contents(dataset):
    dataset.createDimension("time")
    dataset.createVariable("time", "f8", ("time",))
    dataset.createVariable("other", "f8", ("time",))
def fail(records):
    for variable in records.file.values():  # h5py's lock is held until the iteration ends
        raise {error}
file = BackgroundFile(sys.argv[1], SerialTransport(block_of_rank(0, (1, 1), 2, 2)), define_contents)
file.submit(fail)
try:
    file.close()
except BaseException as error:
    print(repr(error))
with h5py.File(sys.argv[1]) as hdf5_file:
    print(sorted(hdf5_file))
_WRITER.submit(time.sleep, 1e6)
"""


@pytest.mark.fault("any error in the thread that writes")
@pytest.mark.parametrize("error", ["AttributeError('maxshape')", *night_params("SystemExit(3)")])
def test_error_in_the_thread_that_writes_is_raised_and_the_program_ends(tmp_path, error):
    """This holds even if the error leaves an iteration of h5py suspended, and the thread never returns."""
    command = [sys.executable, "-c", SUSPENDED_PROGRAM.format(error=error), str(tmp_path / "file.nc"), *sys.path]
    process = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert process.stdout.splitlines() == [error, "['other', 'time']"], process.stderr
    assert process.returncode == 0


def overwrite(content):
    return lambda path: path.write_bytes(content)


def link_to_itself(path):
    path.unlink()
    path.symlink_to(path.name)


def replace_by_folder(path):
    path.unlink()
    path.mkdir()


@pytest.mark.fault("a folder, a broken link, a link loop, invalid data or nothing in place of a file")
@pytest.mark.parametrize("damage", [replace_by_folder, link_to_itself, overwrite(b"\xff\xfe" * 500), overwrite(b"")])
@pytest.mark.parametrize("name", ["output.nc", "diagnostics.nc", "status.json", "config.toml"])
def test_folder_link_or_garbage_in_place_of_a_file_ends_with_code_5(run_folder, name, damage):
    """`info` treats an empty configuration as one that is not written yet."""
    damage(run_folder / name)
    commands = [["info", "--verify", run_folder]]
    commands += [["info", run_folder]] if name != "config.toml" or (run_folder / name).lstat().st_size else []
    commands += [["plot", run_folder]] if name == "output.nc" else []
    for command in commands:
        result = invoke_swmodel(*command)
        assert (result.exit_code, result.exception.code) == (5, 5), (command, result.output)
        assert name in result.output
        assert "None" not in result.output
        assert "--verify" in command or len(result.output.splitlines()) == 1


@pytest.mark.fault("a folder, a broken link, a link loop, invalid data or nothing in place of a file")
def test_folder_of_broken_links_is_replaced_only_by_force(tmp_path):
    links, nowhere = tmp_path / "links", tmp_path / "nowhere"
    links.mkdir()
    for name in ("config.toml", "output.nc", "diagnostics.nc", "status.json", "restart"):
        (links / name).symlink_to(nowhere / name)
    options = ["-s", "grid.nx=5", "-s", "grid.ny=4", "--steps", 2, "--executor", "reference", "--quiet"]
    run_command = ["run", "rest", *options, "--output", links]
    for command in (["info", links], ["plot", links], ["resume", links], run_command):
        result = invoke_swmodel(*command)
        assert (result.exit_code in (2, 5), "Error: " in result.output, "None" in result.output) == (True, True, False)
    assert invoke_swmodel("info", "--verify", links).exit_code == 5
    assert invoke_swmodel(*run_command, "--force").exit_code == 0
    assert not os.path.lexists(nowhere)
    assert set(verdicts(links).values()) == VERDICTS_OF_INTACT_FILES


@pytest.fixture(scope="module")
def damage_check(tmp_path_factory):
    return DamageCheck(tmp_path_factory.mktemp("damage"))


@pytest.mark.fault("any damage to any file of a run (`make damage` tries 500)")
@pytest.mark.parametrize("seed", [0, 1, *night_params(*range(2, 8))])
def test_any_damage_is_named_or_does_no_harm(damage_check, seed):
    damage_check.check(seed, ["verify", ("info", "plot", "series", "resume")[seed % 4]])
