"""Members of an ensemble: equality with single runs, sizes of perturbations, blow-ups, and memory."""

import re

import netCDF4
import numpy as np
import pytest
from support import random_case
from support.processes import run_python
from support.rank_client import REPRODUCIBLE_ENVIRONMENT
from support.restarts import read_variables
from support.small_ensemble import configuration
from support.stepping import assert_close, has_same_bits
from support.unchecked_config import resolve_without_checks

import swmodel
from swmodel.errors import NumericalError
from swmodel.files.restart.folder import examine_restart, list_restart_files
from swmodel.files.status import read_status
from swmodel.model.domain import make_domain
from swmodel.model.ensemble import settings
from swmodel.model.ensemble.members import Members
from swmodel.model.ensemble.perturbations import Perturbations
from swmodel.model.run import run
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.slow

WITHOUT_PERTURBED_FIELDS = {f"ensemble__{key}": 0.0 for key in ("initial_eta", "initial_eta_length", "wind_length")}


def make_perturbations(config):
    """The Perturbations of an ensemble, without its jitted program."""
    return Perturbations(make_domain(settings.member_config(config)))


def state_of_single_run(config, member, steps):
    """The State of a member after some steps, computed by a Simulation as in a single run."""
    perturbations, simulation = make_perturbations(config), swmodel.Simulation(settings.member_config(config))
    executor, put = simulation._executor, simulation.transport.put
    state, params = perturbations.draw(member)
    executor.static = put(executor.static_of(perturbations.grid, params))
    simulation.carry = executor.start(put(state))
    simulation.advance(steps)
    return simulation.state


def members_with_other_bits(executor, advance):
    """The numbers of the members whose bits differ from those of a single run, after twelve steps in two calls."""
    options = {"run__executor": executor, "ensemble__members": 3, "ensemble__advance": advance}
    config = configuration(run__dtype="float64", **options)
    members = Members(config)
    members.take_steps(7)
    members.take_steps(5)
    states = [state_of_single_run(config, member, 12) for member in range(3)]
    return [n for n, state in enumerate(states) if not has_same_bits(state, [field[n] for field in members.state])]


@pytest.mark.promise("a member of an ensemble equals a run alone")
@pytest.mark.fully_optimised
@pytest.mark.parametrize("advance", ["map", "vmap"])
def test_member_has_the_bits_of_a_single_run(advance):
    assert members_with_other_bits("native", advance) == []


@pytest.mark.promise("a member of an ensemble equals a run alone")
@pytest.mark.night
@pytest.mark.mpi
def test_member_has_the_bits_of_a_single_run_in_xla(ranks):
    """The rank compiles as with `--reproducible`."""
    reproducible = ranks.with_environment("reproducible", **REPRODUCIBLE_ENVIRONMENT)
    assert reproducible(1, members_with_other_bits, "xla", "map") == [[]]


@pytest.mark.fault("the current at an open boundary is zero in files, means, ensembles")
@pytest.mark.night
def test_member_has_the_inflow_of_a_run_through_open_boundaries():
    options = {"open_boundaries__sides": ("west", "south"), "open_boundaries__constituents": ("M2",)}
    options |= {"open_boundaries__amplitude": (0.5,), "run__executor": "native"}
    config = configuration(run__dtype="float64", ensemble__members=2, **WITHOUT_PERTURBED_FIELDS, **options)
    members, simulation = Members(config), swmodel.Simulation(settings.member_config(config))
    members.take_steps(3)
    simulation.advance(3)
    fields, numbers = members.evaluate(0, ["u", "speed"])
    assert numbers == simulation.diagnostics()
    assert numbers["inflow_west"] != 0 != fields["u"][3, 0]
    for name, values in simulation.fields(["u", "speed"]).items():
        np.testing.assert_array_equal(fields[name], values)


@pytest.mark.promise("a member of an ensemble equals a run alone")
def test_member_is_the_run_with_its_viscosity_and_wind():
    config = configuration(run__dtype="float64", ensemble__members=3, **WITHOUT_PERTURBED_FIELDS)
    members, states = Members(config), []
    members.take_steps(12)
    for member in range(3):
        single = settings.member_config(config)
        viscosity = single.physics.viscosity * settings.viscosity_factors(config)[member]
        wind = single.case.wind * settings.wind_factors(config)[member]
        sections = {"physics": {"viscosity": viscosity}, "case": {"wind": wind}}
        sections = {name: getattr(single, name).model_copy(update=changes) for name, changes in sections.items()}
        simulation = swmodel.Simulation(single.model_copy(update=sections))
        simulation.advance(12)
        states.append(simulation.state)
        assert_close([field[member] for field in members.state], simulation.state, 1e-12)
    assert np.abs(states[1].u - states[0].u).max() > 1e-6 * np.abs(states[0].u).max()


def test_perturbations_have_the_requested_size():
    config = configuration(run__dtype="float64", ensemble__members=400, ensemble__wind_length=0.0)
    factors = np.log(settings.viscosity_factors(config))[1:] / 0.3, (settings.wind_factors(config)[1:] - 1) / 0.2
    for standardised in factors:
        assert abs(standardised.mean()) < 4 / np.sqrt(399)
        assert abs(standardised.std() - 1) < 4 / np.sqrt(2 * 399)
    perturbations = make_perturbations(configuration(run__dtype="float64", ensemble__members=200))
    eta = np.stack([perturbations.draw(member)[0].h - perturbations.initial_state.h for member in range(1, 200)])
    independent = 5  # least number of independent values in a field of 960 by 1280 km with a length of 200 km
    assert abs(np.sqrt(np.mean(eta**2)) / 0.5 - 1) < 4 / np.sqrt(2 * 199 * independent)


def test_perturbed_wind_is_periodic_only_on_periodic_axes():
    channel = {"grid__periodic_x": True, "grid__periodic_y": False, "run__executor": "reference"}
    config = random_case.configuration(12, 16, **channel, ensemble__wind=0.2, ensemble__wind_length=2e4)
    perturbations = Perturbations(make_domain(config))
    params, unperturbed, n = perturbations.draw(1)[1], perturbations.params, perturbations.static_halo
    factor = params["wind_x"] / unperturbed["wind_x"]
    inside = 1 + np.asarray(perturbations.background.draw(0, 1)["wind_x"])
    for actual, expected in (
        (params["wind_y"] / unperturbed["wind_y"], factor),
        (factor[n:-n, n:-n], inside),
        (factor[:, :n], factor[:, -2 * n : -n]),
        (factor[:, -n:], factor[:, n : 2 * n]),
        (factor[:n], np.broadcast_to(factor[n], factor[:n].shape)),
        (factor[-n:], np.broadcast_to(factor[-n - 1], factor[-n:].shape)),
    ):
        np.testing.assert_allclose(actual, expected, rtol=1e-14)


def test_perturbations_depend_only_on_seed_and_member():
    def draw_members(**changes):
        perturbations = make_perturbations(configuration(run__dtype="float64", **changes))
        return [perturbations.draw(member) for member in range(3)]

    members, members_of_other_seed = draw_members(), draw_members(ensemble__seed=1)
    np.testing.assert_equal(draw_members(ensemble__members=3), members)
    assert not np.array_equal(members_of_other_seed[1][0].h, members[1][0].h)
    assert not np.array_equal(members[1][0].h, members[2][0].h)


def set_values(members, start, **values):
    fields = {name: np.array(field) for name, field in start.state._asdict().items()}
    for name, changes in values.items():
        for *indices, value in changes:
            fields[name][tuple(indices)] = value
    members.set_carry(start._replace(state=type(start.state)(**fields)), 0)


@pytest.mark.promise("a blow-up stops the run, or the ensemble, and keeps the last good state")
@pytest.mark.fault("the time step becomes too long")
def test_unstable_member_stops_the_ensemble_and_leaves_its_state(tmp_path, caplog):
    """The time step exceeds the largest stable one, 3646 s, so a warning is logged at once and a member blows up."""
    intervals = {"run__check_every_steps": 5, "restart__every_steps": 10}
    config = configuration(run__steps=300, run__dtype="float64", **intervals)
    config = config.model_copy(update={"time": config.time.model_copy(update={"dt": 5500.0})})
    model = Members(resolve_without_checks(config))
    with pytest.raises(NumericalError) as error:
        run(model, tmp_path, lambda event: None)
    pattern = r"step (?P<step>\d+) .* members? (?P<member>\d)[ \d,]*: (?P<name>[huv]) is (?P<value>\S+) m.* at row "
    pattern += r"(?P<row>\d+), column (?P<column>\d+).*blowup\.nc.*step-(?P<restart>\d+)\.nc"
    match = re.search(pattern, str(error.value))
    step, member, row, column = (int(match[name]) for name in ("step", "member", "row", "column"))
    with netCDF4.Dataset(tmp_path / "blowup.nc") as data:
        for name in ("h", "u", "v"):
            np.testing.assert_array_equal(data[name][-1].filled(0), getattr(model.state, name)[member])
        assert np.isclose(data[match["name"]][-1, row, column], float(match["value"]), rtol=1e-5)
    with netCDF4.Dataset(tmp_path / "ensemble.nc") as data:
        assert data["step"][:].tolist() == list(range(0, step, 6))
        assert np.isfinite(data["eta_mean"][:]).all()
    assert int(match["restart"]) == examine_restart(list_restart_files(tmp_path)[0])["step"] < step
    status = read_status(tmp_path)
    assert (status["state"], status["exit_code"], status["message"]) == ("failed", 4, str(error.value))
    assert [message.split(" (")[0] for message in caplog.messages if "3646 s" in message] == ["step 1"]


@pytest.mark.fault("NaN, no thickness, or water that crosses more than three cells in a step")
@pytest.mark.fault("a tracer leaves its bounds without a message")
def test_bad_members_are_named_with_the_place_of_the_first(tmp_path):
    members = Members(configuration(physics__tracers=({"name": "tracer", "initial": 2.0},), run__executor="xla"))
    start, health = members.get(members.carry), members.health(tmp_path)
    thickness = 15 * start.state.h[3, 5, 4]
    set_values(members, start, tracer_content=[(3, 5, 4, thickness)])
    health.check()
    for values, message in (
        ({"tracer_content": [(3, 5, 4, 2 * thickness)]}, "member 3: tracer is 30 at row 5, column 4"),
        ({"h": [(1, 3, 2, np.nan)], "u": [(3, 5, 4, 5e3)]}, "members 1, 3: h is nan m at row 3, column 2"),
        ({"h": [(2, 7, 3, -4.0)]}, "member 2: h is -4 m at row 7, column 3"),
    ):
        set_values(members, start, **values)
        with pytest.raises(NumericalError, match=message):
            health.check()
    assert read_variables(tmp_path / "blowup.nc")["h"][-1, 7, 3] == -4.0


MEMORY_PROGRAM = """
import sys
from swmodel.parallel import environment
environment.prepare_environment()
from support.small_ensemble import configuration
from swmodel.model.ensemble.members import Members
from swmodel.model.ensemble.ensemble_file import EnsembleFile
cells, n_members, file = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
options = {"grid__nx": cells, "grid__ny": cells, "time__stepper": "ab3", "ensemble__members": n_members}
config = configuration(**options, run__steps=2, time__cfl=0.1)
members = Members(config)
before = [leaf.unsafe_buffer_pointer() for leaf in members.carry.state]
members.state
members.take_steps(2)
assert [leaf.unsafe_buffer_pointer() for leaf in members.carry.state] == before
with EnsembleFile(file, config, members.transport) as records:
    records.write(members)
print(environment.resident_memory(), environment.peak_memory())
"""


@pytest.mark.night
def test_members_take_the_memory_that_the_check_predicts(tmp_path):
    """There is no noise, because the program waits for each step and the allocator returns freed memory at once."""
    environment = {"JAX_CPU_ENABLE_ASYNC_DISPATCH": "false", "MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}
    memory = [np.array(run_python(MEMORY_PROGRAM, 300, n, tmp_path / f"{n}.nc", **environment), int) for n in (12, 92)]
    resident_fields, peak_fields = (memory[1] - memory[0]) / (80 * 300**2 * 4)
    counted_fields = settings.fields_per_member(setup_of(configuration(time__stepper="ab3")))
    # In the native step, the padding of their rows for vectors makes the two winds half as large again.
    assert counted_fields - 0.5 < resident_fields < counted_fields + 2
    assert peak_fields < resident_fields + 7  # two copies of the static fields, which the start makes, are 6.2 fields
