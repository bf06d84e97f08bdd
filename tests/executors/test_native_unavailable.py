"""Without the native step everything runs on JAX, and one message says how to build it."""

import logging
from pathlib import Path

import pytest

from swmodel.cli.doctor import findings
from swmodel.config import Config, ConfigError, load
from swmodel.executors import native as kernels
from swmodel.executors.native import kernel as native
from swmodel.model.resolve import log_slower_executor, resolve
from swmodel.model.validate import check_config
from swmodel.parallel import environment, foreign

pytestmark = pytest.mark.slow

needs_native_step = pytest.mark.skipif(not kernels.LIBRARY.exists(), reason="the native step was not built")
SMALL = {"grid": {"nx": 8, "ny": 6}, "run": {"steps": 1}, "time": {"dt": 1.0}}


@pytest.fixture
def without_native_step(monkeypatch):
    monkeypatch.setattr(kernels, "LIBRARY", Path("none"))
    monkeypatch.setattr(environment, "has_gpu", lambda: False)
    log_slower_executor.cache_clear()
    yield
    log_slower_executor.cache_clear()


def test_auto_chooses_xla_and_names_the_remedy_once(without_native_step, caplog):
    with caplog.at_level(logging.INFO, "swmodel"):
        assert [resolve(Config(**SMALL)).run.executor for _ in range(3)] == ["xla"] * 3
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "it was not compiled when swmodel was installed; build it: tools/build-native" in record.getMessage()


@pytest.mark.fault("on a machine with a GPU, JAX_PLATFORMS=cpu takes the native step away")
@pytest.mark.parametrize(("platforms", "native_step"), [("cpu", True), ("", False), ("cuda,cpu", False)])
@needs_native_step
def test_processors_keep_the_native_step_beside_a_gpu(monkeypatch, platforms, native_step):
    monkeypatch.setattr(environment, "is_gpu_usable", lambda: True)
    monkeypatch.setenv("JAX_PLATFORMS", platforms)
    assert (kernels.machine_unsupported_reason() == "") == native_step


def test_native_without_library_is_refused(without_native_step):
    with pytest.raises(ConfigError, match="build it: tools/build-native"):
        check_config(load("jet", {"grid.nx": 8, "grid.ny": 6, "run.steps": 1, "run.executor": "native"}, environ={}))


def test_unloadable_library_names_the_remedy(monkeypatch, tmp_path):
    monkeypatch.setattr(kernels, "LIBRARY", tmp_path / "_step.so")
    kernels.LIBRARY.write_text("for another machine")
    with pytest.raises(ImportError, match=r"the native step cannot be used: .*_step.so.*; tools/build-native"):
        native.register()


def fake_build_info(monkeypatch, **changes):
    other = kernels.load_foreign_calls()._replace(**changes)
    monkeypatch.setattr(foreign, "load_library", lambda library: other)


@pytest.mark.fault("a step compiled for another processor, scheme, compiler, version or JAX")
@needs_native_step
def test_library_of_another_version_is_refused(monkeypatch):
    monkeypatch.setattr(environment, "has_gpu", lambda: False)
    assert kernels.machine_unsupported_reason() == ""
    fake_build_info(monkeypatch, abi_version=kernels.ABI_VERSION - 1)
    with pytest.raises(ImportError, match="from another version of swmodel; tools/build-native"):
        native.register()


@pytest.mark.fault("a step compiled for another processor, scheme, compiler, version or JAX")
@needs_native_step
def test_library_for_a_newer_jax_is_refused(monkeypatch):
    """JAX accepts foreign calls that were built for an older jaxlib, but not for a newer one."""
    monkeypatch.setattr(environment, "has_gpu", lambda: False)
    assert findings.check_native_step().advice == ""
    fake_build_info(monkeypatch, jaxlib="0.1.2")
    assert kernels.machine_unsupported_reason() == ""
    finding = findings.check_native_step()
    assert "built for jaxlib 0.1.2" in finding.result
    assert "tools/build-native" in finding.advice
    fake_build_info(monkeypatch, jaxlib="99.1.2")
    assert "compiled for jaxlib 99.1.2, newer than the" in kernels.machine_unsupported_reason()
    assert resolve(Config(**SMALL)).run.executor == "xla"
