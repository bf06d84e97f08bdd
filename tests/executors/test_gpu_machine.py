"""Errors name what a machine lacks for the executor `cuda`; `auto` then chooses another executor."""

import ctypes
import json
import subprocess
import sys
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from conftest import ROOT

from swmodel.config import Config, ConfigError
from swmodel.errors import SetupError
from swmodel.executors.availability import AVAILABILITY
from swmodel.executors.cuda import kernel_library, kernels
from swmodel.model.resolve import log_slower_executor, resolve
from swmodel.model.validate import check_config
from swmodel.parallel import environment

SMALL_SECTIONS = {"grid": {"nx": 8, "ny": 6}, "time": {"dt": 1.0}}
CACHED_FUNCTIONS = [each for each in vars(kernel_library).values() if hasattr(each, "cache_clear")]


class FakeDriver(NamedTuple):
    """A CUDA driver that reports its version."""

    version: int

    def cuDriverGetVersion(self, version):
        version.value = self.version
        return 0


@pytest.fixture(autouse=True)
def machine_without_cuda_libraries(monkeypatch):
    """Let no CUDA library be found, and clear the caches of functions that ask the machine, before and after a test."""

    def refuse_to_load(path):
        raise OSError(f"{path}: cannot open shared object file")

    fake_ctypes = SimpleNamespace(CDLL=refuse_to_load, c_int=ctypes.c_int, byref=lambda value: value)
    monkeypatch.setattr(kernel_library, "ctypes", fake_ctypes)
    for function in (*CACHED_FUNCTIONS, log_slower_executor):
        function.cache_clear()
    yield
    monkeypatch.undo()
    for function in (*CACHED_FUNCTIONS, log_slower_executor):
        function.cache_clear()


@pytest.mark.fault("a machine without a GPU, its driver, NVRTC or enough memory; a GPU that is too old")
@pytest.mark.parametrize(
    ("has_gpu", "driver_version", "architecture", "pattern"),
    [
        (False, None, "", "finds no NVIDIA GPU"),
        (True, None, "", "no CUDA driver of version 12"),
        (True, 12080, "", r"supports CUDA 12.8, .* for CUDA 13: .*jax\[cuda12\]"),
        (True, 13000, "sm_37", "too old: its architecture is sm_37"),
        (True, 13000, "sm_90", r"NVRTC.*jax\[cuda13\]"),
    ],
)
def test_error_names_what_the_machine_lacks(monkeypatch, caplog, has_gpu, driver_version, architecture, pattern):
    monkeypatch.setattr(environment, "has_gpu", lambda: has_gpu)
    monkeypatch.setattr(kernel_library.importlib.util, "find_spec", lambda name: name == "jax_cuda13_plugin" or None)
    if driver_version:
        monkeypatch.setattr(kernel_library, "driver", lambda: FakeDriver(driver_version))
        monkeypatch.setattr(kernel_library, "architecture", lambda: architecture)
    assert resolve(Config(**SMALL_SECTIONS)).run.executor != "cuda"
    with pytest.raises(SetupError, match=pattern) as error:
        check_config(Config(**SMALL_SECTIONS, run={"executor": "cuda", "steps": 1}))
    reason = str(error.value).partition("cannot be used: ")[2].removesuffix("; use auto or xla")
    assert any(reason in record.message for record in caplog.records) == has_gpu


def test_fields_larger_than_the_memory_of_a_gpu_are_refused(monkeypatch):
    monkeypatch.setattr(environment, "has_gpu", lambda: True)
    monkeypatch.setattr("swmodel.executors.cuda.machine_unsupported_reason", str)
    monkeypatch.setattr(kernel_library, "gpu_memory_bytes", lambda: 1000)
    with pytest.raises(ConfigError, match="cells of a GPU need at least"):
        check_config(Config(**SMALL_SECTIONS, run={"executor": "xla", "steps": 1}))


def test_blocks_with_more_cells_than_kernels_can_number_need_xla(monkeypatch):
    monkeypatch.setattr(environment, "has_gpu", lambda: True)
    reasons = {"machine_unsupported_reason": str, "step_unsupported_reason": lambda request: ""}
    monkeypatch.setitem(AVAILABILITY, "cuda", AVAILABILITY["cuda"]._replace(**reasons))
    assert resolve(Config(**SMALL_SECTIONS)).run.executor == "cuda"
    monkeypatch.setattr(kernels, "MAX_PLANE_CELLS", 262 * 264 - 1)
    assert resolve(Config(**SMALL_SECTIONS)).run.executor == "xla"
    with pytest.raises(ConfigError, match="6 x 8 cells is too large"):
        check_config(Config(**SMALL_SECTIONS, run={"executor": "cuda", "steps": 1}))
    two_devices = {"devices": 2, "layout": "1x2"}
    assert resolve(Config(**SMALL_SECTIONS, run=two_devices)).run.executor == "cuda"


@pytest.mark.release
def test_gpu_tool_finds_that_executors_agree_to_round_off(tmp_path):
    """Here the executor xla takes the place of the kernels."""
    row = "ab3-enstrophy-basin-sphere"
    command = [sys.executable, ROOT / "tools" / "gpu.py", tmp_path, "--executor", "xla", "--rows", row, "--no-bench"]
    subprocess.run(command, check=True, timeout=300)
    (comparison,) = json.loads((tmp_path / "bits.json").read_text()).values()
    for counts in comparison.values():
        assert 0 < counts["different"] < counts["numbers"]
        assert counts["largest_difference"] < 1e-12
