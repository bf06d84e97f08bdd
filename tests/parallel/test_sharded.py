"""Blocks on several devices of one process: the bits of one block, nothing but messages to neighbours, derivatives."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.compiling import QUICK

pytestmark = pytest.mark.night

TESTS = Path(__file__).parents[1]


def program(name, **environ):
    """What `name` of programs/sharded.py prints."""
    path = os.pathsep.join([str(TESTS), str(TESTS.parent)])
    line = [sys.executable, str(TESTS / "parallel" / "programs" / "sharded.py"), name]
    environ = os.environ | {"PYTHONPATH": path, "JAX_PLATFORMS": "cpu"} | environ
    done = subprocess.run(line, capture_output=True, text=True, timeout=400, env=environ, cwd=TESTS.parent)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def small():
    return program("small")


@pytest.mark.promise("devices and hosts do not change the answer")
def test_any_layout_of_devices_has_the_bits_of_one_process():
    found = program("same_bits", XLA_FLAGS="--xla_cpu_max_isa=AVX")
    assert len(found) == 8
    for what, layouts in found.items():
        assert len(layouts) > 1
        assert len(set(layouts.values())) == 1, (what, layouts)


def test_several_steps_in_a_sweep_change_no_bit_where_blocks_differ_in_size(small):
    one, three = small["steps_per_sweep"]
    assert one == three


@pytest.mark.fault(
    "several processes or devices have other series while the weather varies; harmonic constants fail on several devices"
)
def test_series_and_constants_of_tides_have_the_bits_of_one_process_that_writes_each_step(small):
    """The weather varies: steps are cut where its records are, and rows of the series are not."""
    alone, devices = small["series"]
    assert min(map(len, alone)) > 5
    assert devices == alone


@pytest.mark.promise("spectra add up")
def test_spectra_and_what_else_transforms_give_have_the_bits_of_one_process(small):
    alone, *others = small["spectral"].values()
    assert len(alone) == 8
    for found in others:
        assert found == alone


def test_a_second_simulation_of_a_kind_compiles_nothing_though_another_layout_was_in_between(small):
    assert small["compiled again"] == []


@pytest.mark.promise("devices and hosts do not change the answer")
def test_the_compiled_step_sends_four_messages_to_neighbours_and_no_other_and_works_in_place(small):
    """For each tendency; the loop of xla has one body of three steps and one of one."""
    for executor, messages, in_place in small["messages"]:
        assert messages == {"collective-permute": {"native": 4, "xla": 16}[executor]}
        assert in_place >= 6, executor
    assert len(small["messages"]) == 4


@pytest.mark.promise("devices and hosts do not change the answer")
def test_derivatives_are_exact_and_those_of_one_process():
    """On blocks of different sizes, with respect to fields and numbers."""
    found = program("derivatives", **QUICK)
    assert abs(found.pop("taylor")) < 0.02
    controls = {"eta", "u", "v", "depth", "wind_x", "wind_y", "linear_drag"}
    controls |= {"quadratic_drag", "viscosity", "gravity"}
    assert set(found) == controls | {f"{name} of the product" for name in controls} | {"dot product"}
    assert max(found.values()) < 1e-12, found
