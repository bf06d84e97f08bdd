"""Pictures and films on the disk: whole or not at all, with the reason and the exit code; folders without any."""

import logging
import os
import stat
import subprocess
import sys

import pytest
from click.testing import CliRunner
from support.faults import obey_permissions, small_disk

from swmodel import plotting
from swmodel.cli import main
from swmodel.errors import FilesError
from swmodel.plotting import PlotError, animation

pytestmark = pytest.mark.slow

TARGETS = ["it.png", "it.gif", "it.mp4"]


def draw(run, target):
    """A picture or a film of the run."""
    return (plotting.plot if target.suffix == ".png" else plotting.animate)(run, "eta", output=target)


@pytest.mark.fault("a picture or film that cannot be written")
@pytest.mark.night
def test_a_folder_that_cannot_be_written_is_named_with_the_reason(finished, tmp_path):
    """In one process that permissions hold for, as even root's children then."""
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    program = (
        "import sys; from swmodel.cli import main; from click.testing import CliRunner\n"
        "for command, name in (('plot', 'it.png'), ('animate', 'it.mp4'), ('animate', 'it.gif')):\n"
        "    done = CliRunner().invoke(main, [command, sys.argv[1], '-o', f'{sys.argv[2]}/{name}'])\n"
        "    print(done.exit_code, done.output.strip())\n"
    )
    line = [sys.executable, "-c", program, str(finished), str(tmp_path)]
    done = subprocess.run(line, capture_output=True, text=True, preexec_fn=obey_permissions, timeout=100)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        f"5 Error: {tmp_path}/{name} cannot be written: Permission denied" for name in ("it.png", "it.mp4", "it.gif")
    ]


@pytest.fixture
def full_disk(tmp_path):
    """A folder on a disk of four kilobytes, where mounting is allowed."""
    with small_disk(tmp_path / "disk", "4k") as disk:
        if not os.path.ismount(disk):
            pytest.skip("no permission to mount a disk")
        yield disk


@pytest.mark.fault("a picture or film that cannot be written")
@pytest.mark.night
@pytest.mark.parametrize("name", TARGETS)
def test_a_full_disk_leaves_nothing_behind(finished, full_disk, name, caplog):
    with pytest.raises(FilesError, match=f"{name} cannot be written: .*No space left on device$") as error:
        draw(finished, full_disk / name)
    assert "\n" not in str(error.value)
    assert list(full_disk.iterdir()) == []
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.fault("a picture or film that cannot be written")
@pytest.mark.parametrize("name", TARGETS)
def test_what_stood_there_stays_until_the_new_one_is_whole(finished, tmp_path, monkeypatch, name):
    target = tmp_path / name
    target.write_text("the old one")

    def stop(*arguments, **options):
        assert target.read_text() == "the old one"
        raise KeyboardInterrupt

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", stop)
    with pytest.raises(KeyboardInterrupt):
        draw(finished, target)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert target.read_text() == "the old one"


@pytest.mark.fault("a picture or film that cannot be written")
def test_what_ffmpeg_says_is_the_reason_in_one_line(finished, tmp_path, monkeypatch, caplog):
    broken = tmp_path / "ffmpeg"
    broken.write_text("#!/bin/sh\necho '[out @ 0x5] first' >&2\necho '[mp4 @ 0x5] Unknown encoder.' >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setattr(animation, "ffmpeg", lambda: str(broken))
    with pytest.raises(FilesError, match="it.mp4 cannot be written: ffmpeg: Unknown encoder$"):
        draw(finished, tmp_path / "it.mp4")
    assert not (tmp_path / "it.mp4").exists()
    assert caplog.records == []


def test_a_link_is_followed_and_a_name_without_an_ending_is_a_png(finished, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link.png").symlink_to(tmp_path / "real" / "it.png")
    draw(finished, tmp_path / "link.png")
    assert (tmp_path / "link.png").is_symlink()
    assert plotting.plot(finished, "eta", output=tmp_path / "plain") == tmp_path / "plain.png"
    assert (tmp_path / "real" / "it.png").read_bytes()[:4] == (tmp_path / "plain.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.fault("a folder without records is plotted or filmed")
def test_a_folder_that_holds_something_else_is_refused_with_what_it_holds(tmp_path):
    (tmp_path / "analysis.nc").touch()
    with pytest.raises(PlotError, match="holds no diagnostics.nc: it holds analysis.nc"):
        plotting.plot_diagnostics(tmp_path)
    result = CliRunner().invoke(main, ["animate", str(tmp_path)])
    assert (result.exit_code, "it holds analysis.nc" in result.stderr) == (2, True)
