"""`swmodel plot` and `swmodel view` without options: the picture that a result asks for; FILE.nc has its own."""

import pytest
from click.testing import CliRunner

from swmodel import plotting
from swmodel.cli import main, pictures

pytestmark = pytest.mark.slow

FUNCTIONS = ("plot", "plot_maxima", "plot_diagnostics", "plot_stations", "plot_sections")


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """drawn(words) -> the name of the function that draws, and its path."""
    calls = []
    for name in FUNCTIONS:
        monkeypatch.setattr(plotting, name, lambda path, *_, name=name, **__: calls.append((name, path.name)) or "it")

    def run(*words):
        result = CliRunner().invoke(main, ["plot", *map(str, words)])
        assert result.exit_code == 0, result.output
        return calls.pop()

    return run


def folder(tmp_path, *files, config=""):
    path = tmp_path / "run"
    path.mkdir()
    for name in files:
        (path / name).touch()
    (path / "config.toml").write_text(config)
    return path


def test_the_usual_picture_of_a_folder_is_that_of_its_results(drawn, tmp_path):
    path = folder(tmp_path, "output.nc", "diagnostics.nc", "stations.nc")
    assert drawn(path) == ("plot", "run")
    for maxima in ('maxima = ["eta"]\narrival = "none"', "maxima = []\narrival = 0.01"):
        (path / "config.toml").write_text(f"[output]\n{maxima}\n")
        assert drawn(path) == ("plot_maxima", "run")
    (path / "harmonics.nc").touch()
    assert drawn(path) == ("plot", "harmonics.nc")
    for words in (["--field", "u"], ["--member", 1]):
        assert drawn(path, *words) == ("plot", "run")
    for words in (["--record", 1], ["--time", "1 h"], ["--arrows"]):
        assert drawn(path, *words) == ("plot_maxima", "run")
    assert drawn(path, "--station", "A") == ("plot_stations", "run")


def test_a_file_has_its_own_picture_and_older_flags_choose_it(drawn, tmp_path):
    path = folder(tmp_path, "output.nc", "harmonics.nc")
    for name in ("diagnostics", "stations", "sections"):
        (path / f"{name}.nc").touch()
        assert drawn(path / f"{name}.nc") == (f"plot_{name}", f"{name}.nc")
        assert drawn(path, f"--{name}") == (f"plot_{name}", "run")
    assert drawn(path, "--maxima", "--record", 2) == ("plot_maxima", "run")
    assert drawn(path / "output.nc") == ("plot", "output.nc")


def test_a_page_is_opened_where_a_user_sees_it(monkeypatch, tmp_path):
    opened, seen = [], []
    monkeypatch.setattr(plotting, "view", lambda *_: tmp_path / "view.html")
    monkeypatch.setattr(pictures.webbrowser, "open", opened.append)
    monkeypatch.setattr(pictures, "has_screen", lambda: bool(seen))
    for words in ([], ["--no-open"]):
        assert CliRunner().invoke(main, ["view", "run", *words]).output == f"Wrote {tmp_path / 'view.html'}\n"
    assert opened == []
    seen.append(True)
    for words in ([], ["--no-open"]):
        CliRunner().invoke(main, ["view", "run", *words])
    assert opened == [(tmp_path / "view.html").as_uri()]


def test_a_session_over_ssh_has_no_screen(monkeypatch):
    monkeypatch.setattr(pictures.sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    for name in ("SSH_CONNECTION", "SSH_TTY"):
        monkeypatch.delenv(name, raising=False)
    assert pictures.has_screen()
    monkeypatch.setenv("SSH_CONNECTION", "somewhere")
    assert not pictures.has_screen()
