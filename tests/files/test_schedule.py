"""Events fall on the first and the last step, and on the first step past each multiple of their interval."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swmodel.files.schedule import Schedule


@settings(max_examples=50, deadline=None)
@given(dt=st.floats(0.1, 1e4), every=st.floats(0.1, 1e5), last=st.integers(0, 300))
def test_seconds_are_due_at_the_first_step_past_each_multiple(dt, every, last):
    schedule = Schedule(dt, last, seconds=every)
    due = [step for step in range(last + 1) if schedule.due(step)]
    expected = {0, last} | {min(last, math.ceil(k * every / dt - 1e-6)) for k in range(1, int(last * dt / every) + 2)}
    assert due == sorted(expected)


@pytest.mark.parametrize(
    ("last", "every", "due"), [(10, 4, [0, 4, 8, 10]), (0, 3, [0]), (3, 7, [0, 3]), (6, 3, [0, 3, 6])]
)
def test_steps(last, every, due):
    schedule = Schedule(1.0, last, steps=every)
    assert [step for step in range(last + 1) if schedule.due(step)] == due
    visited, step = [0], 0
    while step < last:
        visited.append(step := schedule.next(step))
    assert visited == due


@pytest.mark.fault("an output interval below a time step, or that no time step divides")
@pytest.mark.parametrize("seconds", [1e-30, 1e-3, 99.9999999, 100.0])
def test_an_interval_of_a_step_or_less_is_every_step(seconds):
    schedule = Schedule(dt=100.0, last=2**31 - 1, seconds=seconds)
    for step in (0, 1, 7, 10**6, 2**31 - 3):
        assert schedule.next(step) == step + 1
        assert schedule.due(step)
