"""Blocks on several devices of one process: the bits of one block, nothing but messages to neighbours, derivatives."""

import json
import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]


def program(name, **environ):
    """What `name` of support/sharded_program.py prints."""
    path = os.pathsep.join([str(TESTS), str(TESTS.parent)])
    line = [sys.executable, str(TESTS / "support" / "sharded_program.py"), name]
    environ = os.environ | {"PYTHONPATH": path, "JAX_PLATFORMS": "cpu"} | environ
    done = subprocess.run(line, capture_output=True, text=True, timeout=400, env=environ, cwd=TESTS.parent)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_any_layout_of_devices_has_the_bits_of_one_process():
    found = program("same_bits", XLA_FLAGS="--xla_cpu_max_isa=AVX")
    assert len(found) == 5
    for what, layouts in found.items():
        assert len(layouts) == 4
        assert len(set(layouts.values())) == 1, (what, layouts)


def test_several_steps_in_a_sweep_change_no_bit_where_blocks_differ_in_size():
    one, three = program("several_steps_in_a_sweep")
    assert one == three


def test_the_compiled_step_sends_to_neighbours_only_and_works_in_place():
    for executor, found in program("collectives").items():
        in_place = found.pop("in place")
        assert found.pop("collective-permute") >= 4, executor
        assert not any(found.values()), (executor, found)
        assert in_place >= 6, executor


def test_derivatives_are_exact_and_those_of_one_process():
    """On blocks of different sizes, with respect to fields and numbers."""
    found = program("derivatives")
    assert abs(found.pop("taylor")) < 0.02
    assert len(found) == 21
    assert max(found.values()) < 1e-12, found


def test_what_is_put_on_the_devices_comes_back():
    assert program("there_and_back") == [True] * 3


def test_devices_asked_for_after_the_start_of_jax_are_refused():
    kind, message = program("too_late")
    assert kind == "SetupError"
    assert message.startswith("8 devices are asked for, and there are 4")
