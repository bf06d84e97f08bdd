"""Any number of ranks in any layout gives the answer of one process: what the checks of layouts/ find.

All run in one start of four ranks (programs/layouts.py); those of xla's own instructions in another one.
"""

import json

import numpy as np
import pytest
from support.fourier_numbers import energies

from swmodel.gradients.check import failures
from swmodel.parallel.decomposition import block
from swmodel.parallel.transport.serial import Serial

#: Four ranks keep all cores of a small machine busy, and spin while they wait for one another.
pytestmark = [pytest.mark.mpi, pytest.mark.alone]

#: Checks in the order in which they run: the last one compiles steps as users do.
CHECKS = (
    *("exchange", "fourier", "gradient_bits", "gradient_bits_single", "gradients", "parameters"),
    *("spectral", "bits_native"),
)


def run(mpiexec, checks):
    """{check: {layout: results}} of one start; and what went wrong in the one that is missing first."""
    done = mpiexec("layouts.py", 4, *checks, timeout=900, must_end_well=False)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {line["check"]: line["found"] for line in lines}, f"exit code {done.returncode}\n{done.stderr}"


@pytest.fixture(scope="module")
def found(mpiexec, quickly_compiled, request):
    """Of the checks that the selected tests need; what XLA makes around native steps has no part in their bits."""
    wanted = {name for item in request.session.items for name in item.fixturenames}
    return run(mpiexec, [check for check in CHECKS if check in wanted])


def of_check(name):
    """A fixture: the results of a check by layout."""

    @pytest.fixture(scope="module", name=name)
    def results(found):
        answers, problem = found
        return answers[name] if name in answers else pytest.fail(f"{name} did not end well: {problem}")

    return results


globals().update({name: of_check(name) for name in CHECKS})


def close(ours, theirs, tolerance):
    """Numbers by name are the same, to a part of the largest of each."""
    assert ours.keys() == theirs.keys()
    for name, truth in theirs.items():
        np.testing.assert_allclose(ours[name], truth, rtol=0, atol=tolerance * np.abs(truth).max(), err_msg=name)


# Messages


@pytest.mark.promise("what carries messages changes nothing (`run.exchange`)")
def test_both_exchanges_give_the_same_bits_with_derivatives_members_and_transforms(exchange):
    assert exchange.keys() == {"2x2", "1x3"}
    for layout, found in exchange.items():
        assert len(found["ffi"]) == 19
        assert found["ffi"] == found["mpi4jax"], layout


# States

VARIANTS = {
    "channel on a sphere with a pole of its own, tide, weather, sponge, rk3",
    "closed basin, beta plane, Arakawa-Lamb, no slip, ab3",
    "doubly periodic, biharmonic, leapfrog",
    "x walls, enstrophy, rk4",
    "open sides, no slip, two tracers, ab2",
    "channel on a sphere, all of the tide, tracer, gfb",
    "closed basin, weno5, closures, gfb",
    "flats that flood and fall dry",
}


def assert_one_answer(answers, layouts):
    """The layouts are these; all of them and all cuts into calls have the bits of one process and one call."""
    answers = {layout: variants for layout, variants in answers.items() if variants}
    assert answers.keys() == layouts
    one = answers["1x1"]
    assert one.keys() == VARIANTS
    for layout, variants in answers.items():
        assert all(len(digests) == 1 and digests == one[name] for name, digests in variants.items()), layout


@pytest.mark.promise("the number of ranks and their layout change nothing")
@pytest.mark.fault("blocks of unequal size")
def test_the_native_step_has_the_same_bits_in_every_layout_without_being_asked(bits_native):
    cut = [name for layout, variants in bits_native.items() for name in variants if layout != "1x1"]
    assert min(map(cut.count, VARIANTS)) > 1
    assert_one_answer(bits_native, {"1x1", "1x2", "2x1", "2x2", "3x1", "1x3"})


@pytest.mark.promise("the number of ranks and their layout change nothing")
@pytest.mark.promise("chunk length does not change the answer")
@pytest.mark.night
def test_xla_has_the_same_bits_in_every_layout_with_reproducible_instructions(mpiexec, monkeypatch):
    """Each boundary, flux and stepper split in x and in y; one in rings of three blocks.

    `--reproducible` is this choice of instructions.
    """
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_max_isa=AVX")
    answers, problem = run(mpiexec, ["bits_xla"])
    assert answers, problem
    assert answers["bits_xla"]["2x2"].keys() == VARIANTS
    assert_one_answer(answers["bits_xla"], {"1x1", "2x2", "3x1", "1x3"})


# Derivatives


@pytest.mark.promise("a gradient does not depend on the layout")
def test_the_bits_of_a_gradient_are_those_of_one_process(gradient_bits):
    """With respect to fields and numbers, on a sphere under weather with tides."""
    assert gradient_bits.keys() == {"1x1", "3x1"}
    assert len(set(gradient_bits.values())) == 1


@pytest.mark.promise("a gradient does not depend on the layout")
@pytest.mark.night
def test_the_bits_of_a_gradient_in_single_precision_are_those_of_one_process(gradient_bits_single):
    assert gradient_bits_single.keys() == {"1x1", "1x2", "2x2"}
    assert len(set(gradient_bits_single.values())) == 1


@pytest.mark.promise("derivatives are exact")
@pytest.mark.night
@pytest.mark.parametrize(
    ("layout", "sea"),
    [
        *(("1x1", "open"), ("3x1", "open"), ("1x1", "earth"), ("2x2", "earth")),
        *((layout, "eddies") for layout in ("1x1", "1x2", "3x1", "2x2")),
    ],
)
def test_derivatives_are_exact_on_any_number_of_ranks(gradients, layout, sea):
    """Between walls and around islands: with open sides; on a sphere under weather with tides; of eddies."""
    ours, one = (gradients[each][sea] for each in (layout, "1x1"))
    assert failures(ours) == []
    assert ours["value"] == pytest.approx(one["value"], rel=1e-12)
    for name in ("gradient", "hessian-vector"):
        close(ours[name], one[name], 1e-12)


@pytest.mark.promise("derivatives with respect to a network are exact")
@pytest.mark.night
@pytest.mark.parametrize("cut", ["3x1", "2x2", "devices"])
def test_the_gradient_by_a_network_is_that_of_one_process(parameters, cut):
    """And the Hessian along a direction, between walls and around islands, on ranks and on devices."""
    one = parameters["1x1"]
    assert np.abs(one["ranks"]["gradient"]).min() > 0
    close(one["devices"] if cut == "devices" else parameters[cut], one["ranks"], 1e-13)


@pytest.mark.promise("derivatives with respect to a network are exact")
@pytest.mark.night
def test_members_on_ranks_have_the_gradient_of_their_sum(parameters):
    close(parameters["1x2"], parameters["1x1"]["members"], 1e-13)


# Transforms


@pytest.mark.promise("spectra add up")
@pytest.mark.night
def test_spectra_potentials_balanced_flows_and_errors_have_the_bits_of_one_process(spectral):
    assert spectral.keys() == {"1x1", "1x3", "2x2"}
    assert len(spectral["1x1"]) == 9
    assert all(bits == spectral["1x1"] for bits in spectral.values())


@pytest.mark.promise("transforms of blocks equal those of one process")
@pytest.mark.night
def test_transforms_have_the_bits_of_one_process(fourier):
    assert {layout: each["other bits"] for layout, each in fourier.items()} == {"1x2": [], "3x1": [], "2x2": []}


@pytest.mark.night
def test_sums_over_the_spectrum_have_the_bits_of_one_process(fourier):
    one_process = energies(Serial(block(0, (1, 1), 13, 17)))
    assert len(one_process) > 8
    assert [each["energies"] for each in fourier.values()] == [one_process] * 3


@pytest.mark.promise("transforms of blocks equal those of one process")
@pytest.mark.night
def test_derivatives_of_transforms_are_those_of_one_process(fourier):
    """jvp, grad, their product, and grad of several states at once."""
    assert max(each["derivatives"] for each in fourier.values()) < 1e-13


@pytest.mark.night
def test_one_all_to_all_along_y_and_two_along_x(fourier):
    assert {layout: each["messages"] for layout, each in fourier.items()} == {"1x2": 2, "3x1": 1, "2x2": 3}
