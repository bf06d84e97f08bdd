"""What a machine lacks for the executor `cuda` is named; `auto` then computes without it."""

from types import SimpleNamespace

import pytest

from swmodel.config import Config, ConfigError
from swmodel.errors import SetupError
from swmodel.executors.cuda import library
from swmodel.model.resolve import log_slower_executor, resolve
from swmodel.model.validate import check_config
from swmodel.parallel import environment

SMALL = {"grid": {"nx": 8, "ny": 6}, "time": {"dt": 1.0}}
CACHED_FUNCTIONS = library.driver, library.architecture, library.gpu_memory_bytes, library.nvrtc, log_slower_executor


@pytest.fixture(autouse=True)
def forget_the_machine(monkeypatch):
    """Let functions that ask the machine ask again, before and after a test, without any library of CUDA."""

    def missing(path):
        raise OSError(f"{path}: cannot open shared object file")

    monkeypatch.setattr(library, "ctypes", SimpleNamespace(CDLL=missing))
    for function in CACHED_FUNCTIONS:
        function.cache_clear()
    yield
    monkeypatch.undo()
    for function in CACHED_FUNCTIONS:
        function.cache_clear()


@pytest.mark.fault("a machine without a GPU, its driver, NVRTC or enough memory; a GPU that is too old")
@pytest.mark.parametrize(
    ("has_gpu", "architecture", "words"),
    [
        (False, "", "finds no NVIDIA GPU"),
        (True, "", "no CUDA driver of version 12"),
        (True, "sm_37", "too old: it is of sm_37"),
        (True, "sm_90", r"NVRTC.*jax\[cuda13\]"),
    ],
)
def test_what_kernels_need_and_a_machine_lacks_is_named(monkeypatch, caplog, has_gpu, architecture, words):
    monkeypatch.setattr(environment, "has_gpu", lambda: has_gpu)
    if architecture:
        monkeypatch.setattr(library, "driver", lambda: None)
        monkeypatch.setattr(library, "architecture", lambda: architecture)
    assert resolve(Config(**SMALL)).run.executor == ("xla" if has_gpu else "native")
    assert len(caplog.records) == has_gpu
    with pytest.raises(SetupError, match=words) as error:
        check_config(Config(**SMALL, run={"executor": "cuda", "steps": 1}))
    assert all(str(error.value).split("cannot be used: ")[1][:40] in record.message for record in caplog.records)


def test_fields_larger_than_the_memory_of_a_gpu_are_refused(monkeypatch):
    monkeypatch.setattr(environment, "has_gpu", lambda: True)
    monkeypatch.setattr("swmodel.executors.cuda.machine_unsupported_reason", str)
    monkeypatch.setattr(library, "gpu_memory_bytes", lambda: 1000)
    with pytest.raises(ConfigError, match="cells of a GPU need at least"):
        check_config(Config(**SMALL, run={"executor": "xla", "steps": 1}))
