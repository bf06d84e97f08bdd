"""The native step: thin domains, sweeps, skipped land, new memory, and what happens if it was not built."""

import logging
import re
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import stepping
from support.marks import night_params
from support.processes import run_python
from support.quick_compilation import cleared_program_cache
from support.random_case import configuration, random_fields
from support.stepping import has_same_bits

from swmodel.cli.doctor import findings
from swmodel.config import Config, load
from swmodel.errors import SetupError
from swmodel.executors import native
from swmodel.executors.native import calls, generated_step
from swmodel.model.resolve import log_slower_executor, resolve
from swmodel.model.validate import check_config
from swmodel.parallel import environment, ffi_libraries
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.slow

make_executor, run_chunks = partial(stepping.make_executor, "native"), partial(stepping.run_chunks, "native")


@pytest.mark.parametrize(
    ("size", "steps_per_sweep"), [((1, 41), 1), ((41, 1), 1), ((2, 37), 2), ((37, 3), 3), ((5, 53), 4), ((19, 17), 4)]
)
def test_thin_domains_have_same_bits_in_any_sweep(size, steps_per_sweep):
    config = configuration(*size, grid__periodic_y=True, physics__slip="no", time__stepper="ab2")
    expected = run_chunks(config, 7, threads=1, steps_per_sweep=1)
    assert has_same_bits(run_chunks(config, 7, steps_per_sweep=steps_per_sweep)[:3], expected[:3])


def test_streaming_stores_have_same_bits(monkeypatch):
    config = configuration(37, 23, physics__slip="no", time__stepper="ab2", grid__periodic_y=True)
    expected = run_chunks(config, 5)
    monkeypatch.setattr(calls, "CACHE_BYTES", 0)
    with cleared_program_cache():
        assert has_same_bits(run_chunks(config, 5), expected)


@pytest.mark.parametrize(
    ("stepper", "steps_per_sweep"), [("gfb", 1), *night_params(("ab2", 4), ("rk3", 1), ("leapfrog", 4), ("gfb", 4))]
)
@pytest.mark.fully_optimised
def test_compiled_loop_copies_no_field(stepper, steps_per_sweep):
    model, carry = make_executor(configuration(64, 96, time__stepper=stepper), steps_per_sweep=steps_per_sweep)
    compiled = model._loop.lower(carry, model.static, model.dt, jnp.int32(1)).compile()
    program = compiled.as_text()
    assert not re.findall(r"= f64\[64,96\]\S* copy(?:-start)?\(", program)
    assert "custom-call" in program
    assert compiled.memory_analysis().alias_size_in_bytes == sum(x.nbytes for x in jax.tree.leaves(carry))


def continent_configuration(stepper, sides=()):
    """A sea with a third of the cells far from any water, a lake of one cell, and random islands in the west."""
    ny, nx = 70, 500
    fields, mask = random_fields(ny, nx, coefficients=("viscosity",), amplitude=0.1), np.ones((ny, nx))
    mask[12:50, 60:250] = mask[30:60, 100:350] = mask[:6, 300:380] = mask[:, :30] = 0
    mask[20, 150] = 1
    fields["mask"][:, 350:] = 1
    fields["mask"] *= mask
    options = {"grid__periodic_x": False, "grid__dlon": 0.5, "open_boundaries__sides": sides} if sides else {}
    options |= {"time__dt": 0.5, "time__stepper": stepper, "run__dtype": "float32"}
    options |= {"scheme__vorticity_flux": {"ab3": "enstrophy", "rk3": "arakawa_lamb"}.get(stepper, "energy")}
    return configuration(ny, nx, fields, True, grid__dlat=0.5, **options)


OPEN_BOUNDARY_SIDES = ("east", "north")


@pytest.mark.promise("a grid of the Earth preserves the sea of its relief")
@pytest.mark.parametrize(
    ("stepper", "steps_per_sweep", "sides"),
    [("ab3", 3, ()), *night_params(("rk3", 1, ()), ("leapfrog", 3, ()), ("ab2", 2, OPEN_BOUNDARY_SIDES))],
)
def test_skipping_land_far_from_water_changes_no_bit(stepper, steps_per_sweep, sides, monkeypatch):
    """The bits are the same without skipping, and with every cell computed as near land."""
    config, original_flags = continent_configuration(stepper, sides), calls.NativeCalls.flags
    options = {"steps_per_sweep": steps_per_sweep} if steps_per_sweep > 1 else {}
    model, carry = make_executor(config, **options)
    static = setup_of(config).static(model.transport.block, model.generated_step.static_halo)
    calls_of_step = calls.NativeCalls(model.generated_step, model.static_of(*static), model.dt, model.transport)
    # With rk3 fewer cells can be skipped, because stages may hold any value on land and are read from further away.
    min_skipped_fraction = 0.2 if stepper == "rk3" else 0.35
    assert min_skipped_fraction < (np.asarray(calls_of_step.flags(skip_land=True)) == 2).mean() < 0.7
    assert (np.asarray(calls_of_step.flags()) < 2).all()
    assert (np.asarray(calls_of_step.flags()) == 0).mean() > 0.05
    with_skipping = run_chunks(config, 4, 3, **options)
    monkeypatch.setattr(calls.NativeCalls, "flags", lambda self, skip_land=False: original_flags(self))
    without_skipping = run_chunks(config, 7, threads=1, **options)  # with `threads`, JAX traces the patched flags
    monkeypatch.setattr(
        calls.NativeCalls, "flags", lambda self, skip_land=False: 0 * original_flags(self) + np.uint8(1)
    )
    near_land = run_chunks(config, 7, threads=2, **options)
    for fields in zip(with_skipping, without_skipping, near_land, strict=True):
        assert len({field.tobytes() for field in fields}) == 1


DIGEST_PROGRAM = """
import hashlib
import jax, numpy as np
jax.config.update("jax_enable_x64", True)
from support.covering_array import configuration_of
from support.stepping import run_chunks
print(np.empty(5000).tobytes()[:4000].hex())
for row in ("ab3-arakawa_lamb-periodic-f_plane", "rk-weno-basin-sphere", "gfb-energy-open-sphere"):
    fields = run_chunks("native", configuration_of(row), 5, threads=2)
    print(hashlib.sha256(b"".join(field.tobytes() for field in fields)).hexdigest())
"""


@pytest.mark.promise("no uninitialised value is read")
@pytest.mark.night
@pytest.mark.usefixtures("quick_compilation_in_subprocesses")
def test_native_step_reads_no_uninitialised_memory():
    """Results are the same if the C library fills new memory with bytes 0x7f (1e306) or 0xfe (-5e303)."""
    (bytes_1, *digests_1), (bytes_2, *digests_2) = (
        run_python(DIGEST_PROGRAM, MALLOC_PERTURB_=byte) for byte in ("128", "1")
    )
    assert bytes_1 != bytes_2  # new memory was filled
    assert digests_1 == digests_2
    assert len(digests_1) == 3


needs_native_step = pytest.mark.skipif(not native.LIBRARY.exists(), reason="the native step was not built")
TINY_CONFIG = {"grid": {"nx": 8, "ny": 6}, "run": {"steps": 1}, "time": {"dt": 1.0}}


def test_without_the_library_auto_chooses_xla_and_native_is_refused(monkeypatch, caplog):
    """A warning, logged once, and the error both say how to build the native step."""
    monkeypatch.setattr(native, "LIBRARY", Path("none"))
    monkeypatch.setattr(environment, "has_gpu", lambda: False)
    log_slower_executor.cache_clear()
    with caplog.at_level(logging.INFO, "swmodel"):
        assert [resolve(Config(**TINY_CONFIG)).run.executor for _ in range(3)] == ["xla"] * 3
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "it was not compiled when swmodel was installed; build it: tools/build-native" in record.getMessage()
    with pytest.raises(SetupError, match="build it: tools/build-native"):
        check_config(load("jet", {"grid.nx": 8, "grid.ny": 6, "run.steps": 1, "run.executor": "native"}, environ={}))


@pytest.mark.fault("on a machine with a GPU, the native step is refused although JAX_PLATFORMS=cpu")
@pytest.mark.parametrize(("platforms", "is_available"), [("cpu", True), ("", False), ("cuda,cpu", False)])
@needs_native_step
def test_native_step_is_available_beside_a_gpu_if_jax_uses_the_cpu(monkeypatch, platforms, is_available):
    monkeypatch.setattr(environment, "is_gpu_usable", lambda: True)
    monkeypatch.setenv("JAX_PLATFORMS", platforms)
    assert (native.machine_unsupported_reason() == "") == is_available


def test_error_of_unloadable_library_names_the_remedy(monkeypatch, tmp_path):
    monkeypatch.setattr(native, "LIBRARY", tmp_path / "_step.so")
    native.LIBRARY.write_text("for another machine")
    with pytest.raises(ImportError, match=r"the native step cannot be used: .*_step.so.*; tools/build-native"):
        generated_step.register()


def fake_build_info(monkeypatch, **changes):
    library = native.load_foreign_calls()._replace(**changes)
    monkeypatch.setattr(ffi_libraries, "load_library", lambda path: library)


@pytest.mark.fault("a library built for another version of swmodel or a newer JAX")
@needs_native_step
def test_library_for_another_version_or_newer_jax_is_refused(monkeypatch):
    """JAX accepts foreign calls that were built for an older jaxlib, but not for a newer one."""
    monkeypatch.setattr(environment, "has_gpu", lambda: False)
    assert findings.check_native_step().advice == ""
    fake_build_info(monkeypatch, jaxlib="0.1.2")
    assert native.machine_unsupported_reason() == ""
    finding = findings.check_native_step()
    assert "built for jaxlib 0.1.2" in finding.result
    assert "tools/build-native" in finding.advice
    fake_build_info(monkeypatch, jaxlib="99.1.2")
    assert "compiled for jaxlib 99.1.2, newer than the" in native.machine_unsupported_reason()
    assert resolve(Config(**TINY_CONFIG)).run.executor == "xla"
    fake_build_info(monkeypatch, abi_version=native.ABI_VERSION - 1)
    with pytest.raises(ImportError, match="from another version of swmodel; tools/build-native"):
        generated_step.register()
