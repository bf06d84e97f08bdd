"""Benchmarks: the published data, the rows of a sweep, what is refused, what numbers mean."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from support.bench_record import make_record

from swmodel.bench import limits, rows, sweeps
from swmodel.bench.answers import TOLERANCE, differences, verdict
from swmodel.bench.figures.roofline import FLOPS_PER_CELL
from swmodel.bench.numbers import bandwidth, bytes_per_cell, numbers
from swmodel.bench.results import row_of
from swmodel.bench.rows import Row, grown, make_rows
from swmodel.bench.sweeps import definition, published, published_row
from swmodel.bench.tables import report
from swmodel.bench.traffic import STEPS, parse
from swmodel.cli import main
from swmodel.cli.bench import SWEEPS
from swmodel.errors import UsageError
from swmodel.ocean.state import State


@pytest.fixture
def swmodel(tmp_path, monkeypatch):
    """Runs the program in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(main, [str(word) for word in words])


def test_the_published_table_is_that_of_the_paper():
    cpu = {1: (112, 6.9), 2: (90, 8.6), 4: (39, 19), 6: (29, 27), 8: (21, 37), 16: (16, 48)}
    found = {(row["platform"], row["processes"]): (row["seconds"], row["speedup"]) for row in published()["row"]}
    gpu = {("gpu", 1): (6.3, 122), ("gpu", 2): (3.9, 197)}
    assert found == {("numpy", 1): (770, 1), **{("cpu", n): pair for n, pair in cpu.items()}, **gpu}


def test_published_speedups_follow_from_published_seconds():
    for row in published()["row"]:
        assert row["speedup"] == pytest.approx(770 / row["seconds"], rel=0.05)  # printed rounded


@pytest.mark.parametrize("name", sweeps.NAMES)
def test_each_sweep_has_rows_of_both_sizes(name):
    for quick in (False, True):
        sweep = definition(name, quick, executors=("xla",))
        made, _ = make_rows(sweep, 16)
        assert len({row.key for row in made}) == len(made) > 0
        assert all(row_of({"row": row.as_json()}) == row for row in made)
        assert {row.measure for row in made} == {sweep.measure}


def test_each_sweep_is_a_command():
    assert tuple(SWEEPS) == sweeps.NAMES


def test_the_table_is_the_published_problem():
    sweep = definition("table", executors=("xla",))
    made, _ = make_rows(sweep, 16)
    assert {(row.nx, row.ny, row.dtype, row.steps) for row in made} == {(3600, 1800, "float32", 500)}
    assert {row.nproc for row in made} == {1, 2, 4, 6, 8, 16}
    assert made[0].executor == "reference"


def test_rows_beyond_the_cores_only_when_asked_for_and_marked():
    sweep = definition("table", executors=("xla",))
    made, skipped = make_rows(sweep, 2)
    assert max(row.nproc for row in made) == 2
    assert any("4, 6, 8, 16 processes" in line and "--oversubscribe" in line for line in skipped)
    more, _ = make_rows(sweep, 2, oversubscribe=True)
    assert {row.nproc for row in more if row.oversubscribed} == {4, 6, 8, 16}


def test_gpu_rows_where_there_are_gpus_else_one_line():
    sweep = definition("table", executors=("xla",))
    made, skipped = make_rows(sweep, 2, gpus=2)
    assert [(row.executor, row.nproc) for row in made if row.platform == "gpu"] == [("xla", 1), ("xla", 2)]
    assert not any("GPU" in line for line in skipped)
    assert sum("GPU" in line for line in make_rows(sweep, 2)[1]) == 1


def test_rows_on_the_sharded_transport_are_of_devices_in_one_process():
    sweep = definition("table", executors=("native",), transport="sharded")
    made, skipped = make_rows(sweep, 4, gpus=2)
    rest = [row for row in made if row.executor != "reference"]
    assert {row.transport for row in rest} == {"sharded"}
    assert [(row.nproc, row.devices) for row in rest if row.platform == "cpu" and not row.threads] == [
        (1, 1),
        (1, 2),
        (1, 4),
    ]
    assert [(row.nproc, row.devices) for row in rest if row.platform == "gpu"] == [(1, 1), (1, 2)]
    assert any(line.startswith("6, 8, 16 devices: more than the 4 cores here") for line in skipped)
    assert len({row.key for row in made}) == len(made)
    assert all(row_of({"row": row.as_json()}) == row for row in made)


def test_processes_of_devices_can_be_rows():
    sweep = definition("strong", executors=("xla",), transport="sharded", nproc=(1, 2), devices=(2,))
    found = {(row.nproc, row.devices, row.blocks): row.label for row in make_rows(sweep, 4)[0] if row.executor == "xla"}
    assert {(1, 2, 2), (2, 2, 4)} <= found.keys()
    assert "2 processes of 2 devices" in found[2, 2, 4]


def test_every_executor_of_the_configuration_can_be_a_row():
    from swmodel.executors.registry import EXECUTORS

    assert set(rows.executors()) == set(EXECUTORS)
    assert rows.choose(("all",)) == rows.executors()
    assert rows.choose(()) == (rows.fastest(),)
    assert rows.fastest() in EXECUTORS


@pytest.mark.parametrize("n", [1, 2, 4, 6, 8, 12, 16, 64])
def test_a_weak_sweep_grows_by_the_number_of_processes(n):
    nx, ny = grown(90, 90, n)
    assert nx * ny == 8100 * n
    assert max(nx, ny) <= 3 * min(nx, ny)


def test_the_exchange_needs_two_processes():
    made, skipped = make_rows(definition("halo", executors=("reference", "xla"), nproc=(1, 2)), 2)
    assert {(row.executor, row.nproc) for row in made} == {("xla", 2)}
    assert skipped == ["1 process: exchanges nothing"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tabel"], "Did you mean 'table'?"),
        (["table", "--executor", "xlaa"], '--executor xlaa: there is no such executor; did you mean "xla"?'),
        (["table", "--nproc", "1,x"], "1,x: must be whole numbers above 0"),
        (["table", "--nproc", "0"], "0: must be whole numbers above 0"),
        (["table", "--size", "3600"], "3600: must be columns x rows, such as 3600x1800"),
        (["table", "--size", "900000x900000"], "900000 x 900000: needs about"),
        (["table", "--quick", "--launcher", "no-such-program"], "no-such-program: there is no such program"),
        (["table", "--quick", "--launcher", "'"], "--launcher ': No closing quotation"),
        (["halo", "--nproc", "1"], "1 process: exchanges nothing"),
        (["table", "--resume"], "there is nothing to resume"),
        (["table", "--steps", "0"], "--steps"),
        (["table", "--devices", "2"], "--devices: only the sharded transport has several in a process"),
        (["halo", "--transport", "sharded"], "halo: measures the transport mpi; leave out --transport sharded"),
        (
            ["ensemble", "--transport", "sharded"],
            "ensemble: members have the whole grid on one device; leave out --transport sharded",
        ),
        (["table", "--transport", "serial"], "'serial' is not one of 'mpi', 'sharded'"),
    ],
)
def test_wrong_input_is_named_and_nothing_is_measured(swmodel, tmp_path, monkeypatch, words, message):
    monkeypatch.setattr("swmodel.bench.session.all_cores", lambda: 2)
    result = swmodel("bench", *words)
    assert (result.exit_code, "Traceback" in result.stderr) == (2, False)
    assert message in result.stderr
    assert not list(tmp_path.rglob("*.json"))


def test_processes_beyond_the_cores_alone_are_refused(swmodel):
    result = swmodel("bench", "weak", "--nproc", "5000")
    assert result.exit_code == 2
    assert "--oversubscribe" in result.stderr


def test_a_missing_mpi_is_said_before_anything_is_measured(swmodel, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("swmodel.bench.session.all_cores", lambda: 2)
    result = swmodel("bench", "table", "--quick", "--nproc", "2")
    assert result.exit_code == 3
    assert "mpi4py, mpi4jax, not found" in result.stderr


def test_memory_is_estimated_before_a_row_starts():
    row = Row("model", "xla", 1, 3600, 1800)
    needed = limits.bytes_needed(row)
    assert needed > 12 * 4 * 3600 * 1800
    assert limits.shortage(row, 2 * needed) is None
    reason = limits.shortage(row, needed)
    assert limits.gib(needed) in reason
    assert limits.fitting([row], 2 * needed, strict=True) == ([row], [])
    small = Row("model", "xla", 1, 90, 45)
    assert limits.fitting([row, small], needed, strict=False) == ([small], [reason])
    with pytest.raises(UsageError, match="needs about"):
        limits.fitting([row, small], needed, strict=True)


def test_efficiency_is_the_time_on_one_core_over_cores_and_time():
    record = make_record(cores=4, times={"reference": 8.0, "xla-t1": 4.0, 1: 1.25, 2: 1.5, 4: 1.0})
    found = {one.row.key: one for one in numbers(record)}
    one_core, shared, two, four = (found[key] for key in found if key.startswith("xla"))
    assert (one_core.cores, shared.cores, two.cores, four.cores) == (1, 4, 4, 4)
    assert one_core.efficiency == 1
    assert four.efficiency == pytest.approx(4.0 / (4 * 1.0))
    assert shared.efficiency == pytest.approx(4.0 / (4 * 1.25))
    assert two.speedup == pytest.approx(8.0 / 1.5)
    assert found["reference-cpu-n1-3600x1800-float32"].efficiency is None


def test_weak_efficiency_is_the_time_of_one_process_over_that_of_many():
    record = make_record(sweep="weak", cores=4, times={1: 1.0, 2: 1.1, 4: 1.25})
    efficiencies = [one.efficiency for one in numbers(record)]
    assert efficiencies == pytest.approx([1.0, 1 / 1.1, 1 / 1.25])


def test_rates_and_bandwidth_follow_from_the_time_of_a_step():
    record = make_record(cores=1, times={"reference": 1.0, 1: 0.1}, bandwidth=10.0)
    one = numbers(record)[-1]
    cells = 3600 * 1800
    assert one.rate == pytest.approx(cells / 0.1)
    assert bytes_per_cell("float32") == 48
    assert one.gigabytes_per_second == pytest.approx(48 * cells / 0.1 / 1e9)
    assert one.share == pytest.approx(one.gigabytes_per_second / 10)


def test_the_share_of_several_gpus_is_that_of_all_their_bandwidth():
    record = make_record(cores=2, times={1: 0.1, 2: 0.05}) | {"gpu_bandwidth": {"gigabytes_per_second": 100.0}}
    for entry in record["rows"]:
        entry["row"]["platform"] = "gpu"
    one, two = numbers(record)
    assert two.share == pytest.approx(one.share) == pytest.approx(one.gigabytes_per_second / 100)


def test_the_limit_is_the_best_of_the_rounds():
    record = make_record(cores=1, times={1: 0.1})
    record["bandwidth"] = [{"gigabytes_per_second": value} for value in (40.0, 44.0, 12.0)]
    assert bandwidth(record) == 44.0
    assert bandwidth(record | {"bandwidth": []}) is None


def test_a_single_sample_has_no_spread():
    assert [one.spread for one in numbers(make_record(times={1: 0.1}))] == [None]
    assert numbers(make_record(times={1: 0.1}, noise=(0.9, 1.0, 1.2)))[0].spread == pytest.approx(0.3)


def test_published_numbers_stand_beside_rows_of_the_published_problem_only():
    text = report([make_record(cores=2, times={"reference": 0.276, "xla-t1": 0.1, 1: 0.057, 2: 0.06})])
    first = text.split("\n\n")[1]
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in first.splitlines()]
    seconds, ours = lines[0].index("published s"), lines[0].index("s for 500 steps")
    assert [line[seconds] for line in lines[2:]] == ["770", "", "112", "90"]
    assert [line[ours] for line in lines[2:]] == ["138", "50", "28.5", "30"]
    small = make_record(cores=2, times={"reference": 1.0, 1: 0.1}, size=(360, 180))
    assert "published" not in report([small]).partition("\n")[2]
    assert published_row("cpu", 3) is None


def test_a_scaled_row_is_marked_with_the_steps_that_were_timed():
    text = report([make_record(cores=1, times={"reference": 1.0, 1: 0.1}, steps={"reference": 60})])
    assert "500* |" in text
    assert "fewer steps timed, scaled to 500: reference, 1 process, 3600 x 1800 (60)" in text


def test_a_wrong_answer_is_a_failed_row_without_a_number():
    record = make_record(cores=1, times={"reference": 1.0, 1: 0.1}, wrong=(1,))
    text = report([record])
    assert "FAILED, wrong answer" in text
    assert not [one for one in numbers(record) if one.row.executor == "xla"]


def test_an_answer_is_judged_in_roundings_of_its_precision():
    import numpy as np

    expected = np.stack([np.full((4, 5), 100.0), np.full((4, 5), 8.0), np.zeros((4, 5))])
    eps = np.finfo(np.float64).eps
    off = expected.copy()
    off[2, 1, 1] += 8.0 * 10 * eps
    found = differences(State(*off), expected, lambda values, operation: values)
    assert found == pytest.approx({"h": 0, "u": 0, "v": 10})
    assert verdict(found, "here") == ""
    assert "v differs" in verdict(found | {"v": TOLERANCE + 1}, "here")
    off[0, 0, 0] = np.nan
    assert "h differs" in verdict(differences(State(*off), expected, lambda values, operation: values), "here")


def test_messages_are_counted_in_the_log_of_mpi4jax():
    sendrecv = (
        "r0 | yOlQRGvD | MPI_Sendrecv <- 1 (tag 7, 108 items) / -> 1 (tag 7, 108 items)\n"
        "r0 | yOlQRGvD | MPI_Sendrecv done with code 0 (2.80e-05s)\n"
    )
    assert parse(sendrecv * 2 * STEPS, 4) == {"messages": 2, "bytes": 864}


def test_the_operations_of_the_roofline_are_those_of_the_step():
    """Counted in the program that JAX makes of a step, on a grid whose rim weighs little."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    from swmodel.bench.answers import configuration
    from swmodel.config.build import build_grid, build_params, build_state, scheme_of
    from swmodel.executors.xla import make_step
    from swmodel.ocean.state import Carry
    from swmodel.ocean.timestep import method_of
    from swmodel.parallel.decomposition import block
    from swmodel.parallel.transport.serial import Serial

    config = configuration(Row("model", "xla", 1, 400, 300))
    transport, method = Serial(block(0, (1, 1), 300, 400)), method_of("ab2", 0.1, 0.05)
    dtype = np.dtype("float32")
    grid, params = build_grid(config, transport.block, dtype), build_params(config, transport.block, dtype)
    state = jax.tree.map(jnp.asarray, build_state(config, transport.block, dtype))
    carry = Carry(state, method.remember(state), jnp.zeros((), jnp.int32))
    step = make_step(scheme_of(config), method, transport)

    each = dict.fromkeys(("add", "sub", "mul", "div", "difference_of_neighbours"), 1) | {"mean_of_neighbours": 2}

    def count(jaxpr):
        inner = [value for eqn in jaxpr.eqns for value in eqn.params.values() if hasattr(value, "jaxpr")]
        own = [(eqn.outvars[0].aval.size, each[eqn.primitive.name]) for eqn in jaxpr.eqns if eqn.primitive.name in each]
        return sum(size * times for size, times in own) + sum(count(value.jaxpr) for value in inner)

    operations = count(jax.make_jaxpr(step)(carry, grid, params, jnp.float32(1)).jaxpr)
    assert operations / (300 * 400) == pytest.approx(FLOPS_PER_CELL, rel=0.1)
