"""Without the native step everything runs on JAX, and whoever could build it is told how, once."""

import importlib.util
import logging
import subprocess
import sys
import types

import pytest

from swmodel.cli.doctor import findings
from swmodel.config import Config, ConfigError, load
from swmodel.executors import native as kernels
from swmodel.model.resolve import resolve, say_slower
from swmodel.model.validate import check_config
from swmodel.parallel import environment

SMALL = {"grid": {"nx": 8, "ny": 6}, "run": {"steps": 1}, "time": {"dt": 1.0}}


@pytest.fixture
def not_built(monkeypatch):
    monkeypatch.setattr(kernels, "find_spec", lambda name: None)
    monkeypatch.setattr(environment, "has_gpu", lambda: False)
    say_slower.cache_clear()
    yield
    say_slower.cache_clear()


def test_auto_takes_jax_and_says_once_what_is_missing(not_built, caplog):
    with caplog.at_level(logging.INFO, "swmodel"):
        assert [resolve(Config(**SMALL)).run.executor for _ in range(3)] == ["xla"] * 3
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "it was not compiled when swmodel was installed; build it: tools/build-native" in record.getMessage()


@pytest.mark.parametrize("silent", [{"PMI_RANK": "1", "PMI_SIZE": "2"}, None], ids=["rank 1", "gpu"])
def test_other_ranks_and_gpus_are_told_nothing(not_built, monkeypatch, caplog, silent):
    if silent is None:
        monkeypatch.setattr(environment, "has_gpu", lambda: True)
    for name, value in (silent or {}).items():
        monkeypatch.setenv(name, value)
    with caplog.at_level(logging.INFO, "swmodel"):
        assert resolve(Config(**SMALL)).run.executor == "xla"
    assert not caplog.records


def test_asking_for_what_is_not_built_names_the_remedy(not_built):
    with pytest.raises(ConfigError, match="use xla, or build it: tools/build-native"):
        check_config(load("jet", {"grid.nx": 8, "grid.ny": 6, "run.steps": 1, "run.executor": "native"}, environ={}))


def test_an_import_that_fails_names_the_remedy():
    program = (
        "import sys; sys.modules['swmodel.executors.native._step'] = None\n"
        "from swmodel.executors.native import kernel\nkernel.register()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr.strip().splitlines()[-1].startswith("ImportError: the native step cannot be used")
    assert "tools/build-native" in done.stderr.splitlines()[-1]


@pytest.mark.skipif(
    importlib.util.find_spec("swmodel.executors.native._step") is None, reason="the native step was not built"
)
def test_a_step_compiled_from_another_version_is_not_called(monkeypatch):
    from swmodel.executors.native import _step
    from swmodel.executors.native import kernel as native

    monkeypatch.setattr(environment, "has_gpu", lambda: False)
    assert kernels.native_missing() == ""
    monkeypatch.setattr(_step, "convention", kernels.CONVENTION - 1)
    assert kernels.native_missing() == "it was compiled from another version of swmodel"
    with pytest.raises(ImportError, match="from another version of swmodel; tools/build-native"):
        native.register()


@pytest.mark.skipif(
    importlib.util.find_spec("swmodel.executors.native._step") is None, reason="the native step was not built"
)
def test_the_doctor_shows_a_step_built_for_another_jax(monkeypatch):
    from swmodel.executors.native import _step

    assert findings.native_step().advice == ""
    assert findings.numbers(_step.jaxlib)
    other = types.SimpleNamespace(compiler="13", jaxlib="0.1.2", convention=kernels.CONVENTION)
    monkeypatch.setattr(kernels, "_step", other)
    finding = findings.native_step()
    assert "built for jaxlib 0.1.2" in finding.found
    assert "tools/build-native" in finding.advice
