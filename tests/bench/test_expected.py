"""What `swmodel info CONFIG --kernel` expects of the native step on this machine."""

import math
import re
from unittest.mock import Mock

import pytest
from click.testing import CliRunner

from swmodel.bench import expected
from swmodel.bench.expected import computed
from swmodel.cli import main
from swmodel.config import load
from swmodel.errors import SetupError
from swmodel.model.resolve import resolved
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("computing", "share", "bound"), [(2.0, 100, "memory"), (4.0, 75, "its operations")])
def test_a_step_takes_the_longer_of_two_times(computing, share, bound):
    text = expected.expected(3.0, computing, 16.0)
    assert f" {share} % of this machine's bandwidth" in text
    assert f"bound by {bound}" in text


@pytest.mark.parametrize("nx", [360, 19])
def test_the_time_to_compute_is_measured_on_a_part_of_the_grid_or_on_all_of_it(nx):
    assert 0 < computed(resolved(setup_of(load("jet", {"run.executor": "native", "grid.nx": nx}, {})))) < math.inf


def test_it_is_told_with_the_kernel_and_without_a_compiler_why_it_is_not(monkeypatch):
    monkeypatch.setattr(expected, "bandwidth", lambda *a, **k: {"gigabytes_per_second": 1e-3})
    told = CliRunner().invoke(main, ["info", "jet", "--kernel"]).stdout
    assert re.search(r"\nexpected +100 % of this machine's bandwidth, 0.0 GB/s; bound by memory", told)
    monkeypatch.setattr(expected, "expect", Mock(side_effect=SetupError("there is no compiler")))
    told = CliRunner().invoke(main, ["info", "jet", "--kernel"])
    assert (told.exit_code, "not measured: there is no compiler" in told.stdout) == (0, True)
