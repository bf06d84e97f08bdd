"""When a rank counts as stuck."""

import pytest

from swmodel.parallel.watchdog import START, Watchdog


@pytest.mark.parametrize("first", [0, 40])
def test_a_run_has_the_time_of_the_start_until_its_first_step_also_where_it_goes_on(tmp_path, first):
    """Its step is none until there is a simulation; then the files that it goes on with are verified."""
    watchdog = Watchdog(0, 1, tmp_path, 2.0, print)
    steps = iter([first, first, first, first + 5, first + 5])
    watchdog._count(1.0)
    watchdog.watch(lambda: next(steps))
    found = []
    for _ in range(5):
        watchdog._count(50.0)
        found.append((watchdog.waited, watchdog.patience))
    assert found == [(0.0, START), (50.0, START), (100.0, START), (0.0, 2.0), (50.0, 2.0)]


def test_a_limit_above_that_of_the_start_holds_from_the_beginning(tmp_path):
    assert Watchdog(0, 1, tmp_path, 2 * START, print).patience == 2 * START
