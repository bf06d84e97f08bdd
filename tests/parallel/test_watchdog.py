"""When a rank counts as stuck."""

from swmodel.parallel import watchdog
from swmodel.parallel.watchdog import Watchdog


def test_a_run_has_the_time_of_the_start_until_its_first_step_also_where_it_goes_on(tmp_path, monkeypatch):
    """Its step is none until there is a simulation; then the files that it goes on with are verified."""
    monkeypatch.setattr(watchdog, "START", 100.0)
    steps, answers = [None, 40, 40, 40, 45, 45, 45], []
    one = Watchdog(0, 1, tmp_path, 20.0, print)
    one.tick = 15.0
    one.watch(lambda: steps.pop(0))
    monkeypatch.setattr(one._end, "wait", lambda seconds: not steps)
    monkeypatch.setattr(one, "_answer", lambda step, waited: answers.append((step, waited)))
    one._watch()
    assert answers == [(45, 30.0)]
