"""What the doctor concludes from what it finds."""

from __future__ import annotations

import importlib
import io
import sys
import time
import tomllib
from pathlib import Path

import pytest
from rich.console import Console

from swmodel.cli.doctor import findings, several
from swmodel.cli.doctor.findings import TESTED_JAX, Finding, jax_version

doctor = importlib.import_module("swmodel.cli.doctor")  # beside the command of this name
ROOT = Path(__file__).parents[2]
#: What processes print, and what the doctor makes of it.
FOUND, PROBLEM = '\n@doctor {"found": "well"}\n', '\n@doctor {"problem": "undefined symbol"}\n'


def broken(found) -> list[str]:
    return [finding.what for finding in found if finding.broken]


def run_report(
    monkeypatch, packages=(), machine=(), one_process=(), several_processes=(), several_devices=(), transports=()
) -> tuple[int, str]:
    """Exit code and text of a report on given findings."""
    for name, given in list(locals().items())[1:]:
        monkeypatch.setattr(doctor, name, lambda given=given: iter(given))
    text = io.StringIO()
    return doctor.report(Console(file=text, width=100)), text.getvalue()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (2 * FOUND, Finding("exchange", "well")),
        (f"{FOUND}mpiexec warns{PROBLEM}", Finding("exchange", "undefined symbol", "mend it", True)),
        ("libmpi.so: cannot open\n", Finding("exchange", "libmpi.so: cannot open", "mend it", True)),
        ("", Finding("exchange", "the processes ended without a word", "mend it", True)),
    ],
)
def test_an_exchange_is_well_or_says_what_is_wrong(words, found):
    assert several.exchange([sys.executable, "-c", f"print({words!r})"], "mend it") == found


def test_processes_that_hang_are_ended():
    start = time.monotonic()
    program = "import time; print('hello', flush=True); time.sleep(60)"
    found = several.exchange([sys.executable, "-c", program], "mend it", timeout=0.5)
    assert found == Finding("exchange", "no answer after 0.5 s", "mend it", True)
    assert time.monotonic() - start < 10


@pytest.mark.parametrize(("version", "tested"), [("0.9.2", False), ("0.10", True), ("0.11.2", True), ("0.12.0", False)])
def test_versions_of_jax_outside_the_tested_range_are_pointed_out(version, tested):
    finding = jax_version(version)
    assert (finding.advice == "") is tested
    assert not finding.broken


def test_the_tested_range_of_jax_is_that_of_the_package():
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert f"jax>={TESTED_JAX[0]},<{TESTED_JAX[1]}" in wanted


def test_a_missing_package_is_named_with_what_to_do(monkeypatch):
    monkeypatch.setattr(findings, "REQUIRED", ("numpy", "no-such-package"))
    found = list(findings.packages())
    assert broken(found) == ["no-such-package"]
    assert Finding("no-such-package", "missing", findings.INSTALL, True) in found


def test_what_is_optional_may_be_missing(monkeypatch):
    def find_mpiexec():
        raise several.SetupError("there is no MPI")

    monkeypatch.setattr(several, "version_of", lambda name: None)
    monkeypatch.setattr(several.launch, "find_mpiexec", find_mpiexec)
    found = list(several.several_processes())
    assert found == [Finding("not installed", "there is no MPI", several.INSTALL)]
    code, text = run_report(monkeypatch, several_processes=found)
    assert code == 0
    assert f"→ {several.INSTALL}" in text
    assert text.endswith("Ready.\n")


def test_something_broken_makes_the_exit_code_3(monkeypatch):
    code, text = run_report(monkeypatch, machine=[Finding("cores", "2"), Finding("GPU", "on fire", "water", True)])
    assert code == 3
    assert "✓  cores" in text
    assert "✗  GPU" in text
    assert "→ water" in text


def test_several_gpus_are_tried_and_recommended(monkeypatch):
    monkeypatch.setattr(several, "gpus", lambda: ["A", "B"])
    monkeypatch.setattr(several, "exchange", lambda *given, **environ: Finding("exchange", "well"))
    monkeypatch.setattr("swmodel.parallel.transport.ring", lambda *given: True)
    assert next(several.several_devices()) == Finding("GPUs", "halos went round 2 GPUs of one process")
    assert list(several.transports())[-1].found == "swmodel run CASE --transport sharded --devices 2"
    monkeypatch.setattr("swmodel.parallel.transport.ring", lambda *given: False)
    assert broken(several.several_devices()) == ["GPUs"]
