"""Any number of ranks in any layout computes the reference's answer; with reproducible instructions, the same bits."""

import pytest

LAYOUTS = ["1x1", "1x2", "2x1", "2x2", "3x1", "1x3"]


def bits(mpiexec, layout, executor):
    py, px = map(int, layout.split("x"))
    done = mpiexec("layouts.py", py * px, layout, executor)
    return [line for line in done.stdout.splitlines() if line.startswith("bits")]


@pytest.fixture(scope="module")
def one_process():
    return {}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_agree_with_the_reference_and_bit_for_bit(mpiexec, monkeypatch, one_process, layout):
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_max_isa=AVX")
    lines = bits(mpiexec, layout, "xla")
    assert len(lines) == 8
    assert lines == one_process.setdefault("xla", lines)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_native_step_gives_every_layout_the_same_bits_without_being_asked(mpiexec, one_process, layout):
    lines = bits(mpiexec, layout, "native")
    assert len(lines) == 8
    assert lines == one_process.setdefault("native", lines)
