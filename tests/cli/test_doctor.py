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
from swmodel.cli.doctor.exchange import MARK, say
from swmodel.cli.doctor.findings import TESTED_JAX, Finding, jax_version

doctor = importlib.import_module("swmodel.cli.doctor")  # beside the command of this name
ROOT = Path(__file__).parents[2]
MPICH, OPEN_MPI = "/opt/mpich/lib/libmpi.so.12", "/usr/lib/libmpi.so.40"
WELL = {"vendor": "MPICH Version:  5.0", "mpi4py": [MPICH], "mpi4jax": [MPICH], "size": 2, "device": "cpu"}


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
    ("facts", "last_words", "line"),
    [
        ({}, "libmpi.so: cannot open", Finding("exchange", "libmpi.so: cannot open", several.START, True)),
        ({}, "", Finding("exchange", "mpiexec printed nothing", several.START, True)),
        (WELL, "no answer after 5 s", Finding("exchange", "no answer after 5 s", several.REBUILD, True)),
        (WELL | {"exchanged": False}, "", Finding("exchange", "wrong values received", several.REBUILD, True)),
        (WELL | {"size": 1}, "", Finding("exchange", "2 processes started, MPI knows of 1", several.TWO_MPIS, True)),
        (
            {"vendor": "MPICH", "mpi4py": [MPICH]},
            "undefined symbol",
            Finding("exchange", "undefined symbol", f"mpi4jax cannot be imported; {several.REBUILD}", True),
        ),
    ],
)
def test_a_failed_exchange_says_how_far_it_came(facts, last_words, line):
    assert list(several.judge(facts, last_words))[-1] == line


def test_two_mpi_libraries_in_one_process_are_an_error():
    assert broken(several.judge(WELL | {"exchanged": True}, "")) == []
    found = list(several.judge(WELL | {"mpi4jax": [MPICH, OPEN_MPI], "exchanged": True}, ""))
    assert broken(found) == ["library, mpi4jax"]
    assert [finding.found for finding in found if finding.what.startswith("library")] == [MPICH, OPEN_MPI]


def test_facts_are_read_from_joined_lines_too(capsys):
    say(vendor="A")
    first = capsys.readouterr().out
    assert first == f'{MARK}{{"vendor": "A"}}\n'
    joined = f'{first.strip()}{MARK}{{"size": 2}} mpiexec warns\n\nswmodel.parallel.spawn: rank 0 ended: exit code 1\n'
    assert several.decode(joined) == ({"vendor": "A", "size": 2}, "mpiexec warns")


def test_processes_that_hang_are_ended():
    start = time.monotonic()
    program = "import time; print('hello', flush=True); time.sleep(60)"
    facts, last_words = several.exchange([sys.executable, "-c", program], timeout=0.5)
    assert (facts, last_words) == ({}, "no answer after 0.5 s")
    assert time.monotonic() - start < 10


@pytest.mark.parametrize(
    ("version", "tested"),
    [("0.9.2", False), ("0.10", True), ("0.10.2", True), ("0.11.2", True), ("0.12.0", False), ("1.0.0", False)],
)
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
    monkeypatch.setattr(several, "version_of", lambda name: None)
    monkeypatch.setattr(several.launch, "find_mpiexec", raise_setup_error)
    found = list(several.several_processes())
    assert found == [Finding("not installed", "mpi4py, mpi4jax", several.INSTALL)]
    code, text = run_report(monkeypatch, several_processes=found)
    assert code == 0
    assert f"→ {several.INSTALL}" in text
    assert text.endswith("Ready.\n")


def raise_setup_error(*arguments):
    raise several.SetupError


def test_something_broken_makes_the_exit_code_3(monkeypatch):
    code, text = run_report(monkeypatch, machine=[Finding("cores", "2"), Finding("GPU", "on fire", "water", True)])
    assert code == 3
    assert [line.split() for line in text.splitlines()[:4]] == [
        ["Packages"],
        ["Machine"],
        ["✓", "cores", "2"],
        ["✗", "GPU", "on", "fire"],
    ]
    assert "→ water" in text


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (({"exchanged": True}, ""), Finding("exchange", "halos went round 2 processes of 2 devices")),
        (({"exchanged": False}, ""), Finding("exchange", "wrong values received", several.ADDRESS, True)),
        (({}, "Connection refused"), Finding("exchange", "Connection refused", several.ADDRESS, True)),
    ],
)
def test_processes_of_devices_are_tried(monkeypatch, answer, found):
    monkeypatch.setattr(several, "exchange", lambda line, **environ: answer)
    assert list(several.several_devices()) == [found]


def test_several_gpus_are_tried_and_recommended(monkeypatch):
    monkeypatch.setattr(several, "gpus", lambda: ["A", "B"])
    monkeypatch.setattr(several, "exchange", lambda line, **environ: ({"exchanged": True}, ""))
    monkeypatch.setattr(several, "ring_of", bool)
    assert next(several.several_devices()) == Finding("GPUs", "halos went round 2 GPUs of one process")
    assert list(several.transports())[-1].found == "swmodel run CASE --transport sharded --devices 2"

    def fail(devices):
        raise RuntimeError("NCCL: no route\nand more")

    monkeypatch.setattr(several, "ring_of", fail)
    assert next(several.several_devices()) == Finding("GPUs", "NCCL: no route", several.NCCL, True)
    monkeypatch.setattr(several, "ring_of", raise_setup_error)
    assert next(several.several_devices()).found == "SetupError"
