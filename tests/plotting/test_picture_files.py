"""Pictures, films and pages on the disk: whole or not at all, with the reason and the exit code; which is drawn."""

import logging
import os

import pytest
from click.testing import CliRunner
from support.faults import small_disk
from support.marks import at_night

from swmodel import plotting
from swmodel.cli import main, pictures
from swmodel.errors import FilesError
from swmodel.plotting import PlotError, animation

pytestmark = pytest.mark.slow

TARGETS = ["it.png", *at_night("it.gif", "it.mp4")]


def draw(run, target):
    """A picture or a film of the run."""
    return (plotting.plot if target.suffix == ".png" else plotting.animate)(run, "eta", output=target)


@pytest.mark.fault("a picture or film that cannot be written")
@pytest.mark.night
@pytest.mark.parametrize("name", TARGETS)
def test_full_disk_leaves_nothing_behind(finished, tmp_path, name, caplog):
    with small_disk(tmp_path / "disk", "4k") as disk:
        if not os.path.ismount(disk):
            pytest.skip("no permission to mount a disk")
        with pytest.raises(FilesError, match=f"{name} .*No space left on device$"):
            draw(finished, disk / name)
        assert list(disk.iterdir()) == []
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.fault("a picture or film that cannot be written")
@pytest.mark.parametrize("name", TARGETS)
def test_old_picture_stays_until_the_new_one_is_whole(finished, tmp_path, monkeypatch, name):
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
def test_reason_of_ffmpeg_is_told_in_one_line(finished, tmp_path, monkeypatch, caplog):
    broken = tmp_path / "ffmpeg"
    broken.write_text("#!/bin/sh\necho '[out @ 0x5] first' >&2\necho '[mp4 @ 0x5] Unknown encoder.' >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setattr(animation, "ffmpeg", lambda: str(broken))
    with pytest.raises(FilesError, match="it.mp4 .*Unknown encoder$"):
        draw(finished, tmp_path / "it.mp4")
    assert not (tmp_path / "it.mp4").exists()
    assert caplog.records == []


def test_links_are_followed_and_pictures_are_png_by_default(finished, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link.png").symlink_to(tmp_path / "real" / "it.png")
    assert plotting.plot(finished, "eta", output=tmp_path / "link") == tmp_path / "link.png"
    assert (tmp_path / "link.png").is_symlink()
    assert (tmp_path / "real" / "it.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.fault("a folder without records is plotted or filmed")
def test_folder_without_records_is_refused_with_what_it_holds(tmp_path):
    (tmp_path / "analysis.nc").touch()
    with pytest.raises(PlotError, match=r"diagnostics\.nc.*analysis\.nc"):
        plotting.plot_diagnostics(tmp_path)
    result = CliRunner().invoke(main, ["animate", str(tmp_path)])
    assert (result.exit_code, "analysis.nc" in result.stderr) == (2, True)


def test_usual_picture_is_that_of_the_results(monkeypatch, tmp_path):
    calls, path = [], tmp_path / "run"
    for name in ("plot", "plot_maxima", "plot_diagnostics", "plot_stations", "plot_sections"):
        monkeypatch.setattr(plotting, name, lambda path, *_, name=name, **__: calls.append((name, path.name)) or "it")

    def drawn(*words):
        """The name of the function that draws, and its path."""
        assert CliRunner().invoke(main, ["plot", *map(str, words)]).exit_code == 0
        return calls.pop()

    path.mkdir()
    for name in ("output.nc", "diagnostics.nc", "stations.nc", "sections.nc", "config.toml"):
        (path / name).touch()
    assert drawn(path) == ("plot", "run")
    for maxima in ('maxima = ["eta"]\narrival = "none"', "maxima = []\narrival = 0.01"):
        (path / "config.toml").write_text(f"[output]\n{maxima}\n")
        assert drawn(path) == ("plot_maxima", "run")
    (path / "harmonics.nc").touch()
    assert drawn(path) == ("plot", "harmonics.nc")
    for words in (["--field", "u"], ["--member", 1]):
        assert drawn(path, *words) == ("plot", "run")
    for words in (["--record", 1], ["--time", "1 h"], ["--arrows"], ["--maxima", "--record", 2]):
        assert drawn(path, *words) == ("plot_maxima", "run")
    assert drawn(path, "--station", "A") == ("plot_stations", "run")
    for name in ("diagnostics", "stations", "sections"):
        assert drawn(path / f"{name}.nc") == (f"plot_{name}", f"{name}.nc")
        assert drawn(path, f"--{name}") == (f"plot_{name}", "run")
    assert drawn(path / "output.nc") == ("plot", "output.nc")


def test_page_is_opened_where_a_user_sees_it(monkeypatch, tmp_path):
    """Not in a session over SSH, and not with --no-open."""
    opened = []
    monkeypatch.setattr(plotting, "view", lambda *_: tmp_path / "view.html")
    monkeypatch.setattr(pictures.webbrowser, "open", opened.append)
    for screen in (False, True):
        monkeypatch.setattr(pictures, "has_screen", lambda screen=screen: screen)
        for words in ([], ["--no-open"]):
            assert str(tmp_path / "view.html") in CliRunner().invoke(main, ["view", "run", *words]).output
    assert opened == [(tmp_path / "view.html").as_uri()]
    monkeypatch.undo()
    monkeypatch.setattr(pictures.sys.stdout, "isatty", lambda: True, raising=False)
    for name, value in {"DISPLAY": ":0", "SSH_CONNECTION": "somewhere"}.items():
        monkeypatch.setenv(name, value)
    assert not pictures.has_screen()
