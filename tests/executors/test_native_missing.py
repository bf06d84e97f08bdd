"""Without the native step everything runs on JAX, and whoever could build it is told how, once."""

import logging
from pathlib import Path

import pytest

from swmodel.cli.doctor import findings
from swmodel.config import Config, ConfigError, load
from swmodel.executors import native as kernels
from swmodel.executors.native import kernel as native
from swmodel.model.resolve import resolve, say_slower
from swmodel.model.validate import check_config
from swmodel.parallel import environment, foreign

pytestmark = pytest.mark.slow

built = pytest.mark.skipif(not kernels.LIBRARY.exists(), reason="the native step was not built")
SMALL = {"grid": {"nx": 8, "ny": 6}, "run": {"steps": 1}, "time": {"dt": 1.0}}


@pytest.fixture
def not_built(monkeypatch):
    monkeypatch.setattr(kernels, "LIBRARY", Path("none"))
    monkeypatch.setattr(environment, "has_gpu", lambda: False)
    say_slower.cache_clear()
    yield
    say_slower.cache_clear()


def test_auto_chooses_xla_and_names_the_remedy_once(not_built, caplog):
    with caplog.at_level(logging.INFO, "swmodel"):
        assert [resolve(Config(**SMALL)).run.executor for _ in range(3)] == ["xla"] * 3
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "it was not compiled when swmodel was installed; build it: tools/build-native" in record.getMessage()


@pytest.mark.fault("on a machine with a GPU, JAX_PLATFORMS=cpu takes the native step away")
@pytest.mark.parametrize(("platforms", "native_step"), [("cpu", True), ("", False), ("cuda,cpu", False)])
@built
def test_processors_keep_the_native_step_beside_a_gpu(monkeypatch, platforms, native_step):
    monkeypatch.setattr(environment, "gpu_is_usable", lambda: True)
    monkeypatch.setenv("JAX_PLATFORMS", platforms)
    assert (kernels.machine_unsupported_reason() == "") == native_step


def test_native_without_library_is_refused(not_built):
    with pytest.raises(ConfigError, match="build it: tools/build-native"):
        check_config(load("jet", {"grid.nx": 8, "grid.ny": 6, "run.steps": 1, "run.executor": "native"}, environ={}))


def test_unloadable_library_names_the_remedy(monkeypatch, tmp_path):
    monkeypatch.setattr(kernels, "LIBRARY", tmp_path / "_step.so")
    kernels.LIBRARY.write_text("for another machine")
    with pytest.raises(ImportError, match=r"the native step cannot be used: .*_step.so.*; tools/build-native"):
        native.register()


def built_otherwise(monkeypatch, **changes):
    other = kernels.built()._replace(**changes)
    monkeypatch.setattr(foreign, "built", lambda library: other)


@pytest.mark.fault("a step compiled for another processor, scheme, compiler, version or JAX")
@built
def test_library_of_another_version_is_refused(monkeypatch):
    monkeypatch.setattr(environment, "has_gpu", lambda: False)
    assert kernels.machine_unsupported_reason() == ""
    built_otherwise(monkeypatch, convention=kernels.CONVENTION - 1)
    with pytest.raises(ImportError, match="from another version of swmodel; tools/build-native"):
        native.register()


@pytest.mark.fault("a step compiled for another processor, scheme, compiler, version or JAX")
@built
def test_library_for_a_newer_jax_is_refused(monkeypatch):
    """As JAX takes foreign calls that were built for an older one, but not for a newer one."""
    monkeypatch.setattr(environment, "has_gpu", lambda: False)
    assert findings.native_step().advice == ""
    built_otherwise(monkeypatch, jaxlib="0.1.2")
    assert kernels.machine_unsupported_reason() == ""
    finding = findings.native_step()
    assert "built for jaxlib 0.1.2" in finding.found
    assert "tools/build-native" in finding.advice
    built_otherwise(monkeypatch, jaxlib="99.1.2")
    assert "compiled for jaxlib 99.1.2, newer than the" in kernels.machine_unsupported_reason()
    assert resolve(Config(**SMALL)).run.executor == "xla"
