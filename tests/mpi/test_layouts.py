"""Any number of ranks in any layout gives the results of one process: states, gradients, messages, transforms."""

import hashlib
from functools import partial
from itertools import cycle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import transform_comparison
from support.background_case import background_case
from support.covering_array import configuration_of, rows_by_name
from support.layouts import with_layout
from support.marks import night_and_release_params, night_params
from support.network import initial_parameters, stress
from support.quick_compilation import compile_quickly
from support.random_case import DRYING, TIDE, configuration, drying_flats, random_fields, section
from support.rank_client import REPRODUCIBLE_ENVIRONMENT
from support.spectral_case import field_digest, spectral_bits
from support.stepping import advance

from swmodel import Parametric, load
from swmodel.bench.part_samples import all_equations
from swmodel.errors import UsageError
from swmodel.executors.registry import EXECUTORS
from swmodel.gradients import Problem
from swmodel.gradients.check import Checks, controls_of, failures, fingerprint
from swmodel.model.varying_params import VaryingParams
from swmodel.parallel.fourier import Fourier
from swmodel.parallel.transport import connect, mpi
from swmodel.parallel.transport.halo import exchange_halos
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.mpi

#: Layouts for the rows of the covering array in turn: cuts in x, in y and in both, and three blocks of unequal size
#: along an axis.
LAYOUTS = ((1, 2), (2, 2), (2, 1), (1, 3), (3, 1))
ROWS_WITH_LAYOUT = list(zip(rows_by_name(), cycle(LAYOUTS), strict=False))
REVERSED_LAYOUTS = zip(rows_by_name(), cycle(LAYOUTS[::-1]), strict=False)
OTHER_LAYOUTS = sorted({*ROWS_WITH_LAYOUT, *REVERSED_LAYOUTS} - {*ROWS_WITH_LAYOUT[::3]})


def digests_by_both_backends(layout):
    return {name: digests(connect("mpi", layout, 9, 14, exchange=name)) for name in ("mpi4jax", "ffi")}


def digests(transport) -> dict:
    """Digests of halos, some wider than a block, of their derivatives and members, and of sums and transforms."""
    results = {"numbers": jax.jit(transport.sum)(jnp.arange(3, dtype=jnp.int32) + transport.rank)}
    for dtype, halo in (("float32", 2), ("float64", 1), ("float64", 5)):
        rng = np.random.default_rng(transport.rank)
        fields = (jnp.asarray(rng.standard_normal((2, *transport.block.shape)), dtype) for _ in range(2))
        for name, value in jax.jit(partial(results_of_halos, transport, halo))(*fields).items():
            results[f"{name} {halo} {dtype}"] = value
    bits = {name: b"".join(np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(x)) for name, x in results.items()}
    return {name: hashlib.sha256(content).hexdigest() for name, content in bits.items()}


def results_of_halos(transport, halo, arrays, direction) -> dict:
    def with_halo(values):
        return exchange_halos(list(values), halo, transport)

    def loss(values):
        return transport.sum(sum(jnp.sum(jnp.sin(field)) for field in with_halo(values)))

    return {
        "halo": with_halo(arrays),
        "tangent": jax.jvp(with_halo, (arrays,), (direction,))[1],
        "gradient": jax.grad(loss)(arrays),
        "hessian-vector": jax.jvp(jax.grad(loss), (arrays,), (direction,))[1],
        "members": jax.vmap(with_halo)(jnp.stack([arrays, direction])),
        "transform": Fourier(transport).forward(arrays[0]),
    }


@pytest.mark.needs_mpi4jax
@pytest.mark.promise("what carries messages changes nothing (`run.exchange`)")
@pytest.mark.parametrize("layout", [(1, 2), *night_params(((2, 2),), ((1, 3),))])
def test_both_exchange_backends_give_same_bits(ranks, layout):
    for digests_by_backend in ranks(layout, digests_by_both_backends):
        assert len(digests_by_backend["ffi"]) == 19
        assert digests_by_backend["ffi"] == digests_by_backend["mpi4jax"]


def error_of_wide_halo(layout):
    """The largest error of a halo of five cells, which is wider than a block."""
    transport, whole_field = connect("mpi", layout, 9, 14), np.random.default_rng(1).random((9, 14))
    rows, columns = (slice(span.start, span.stop) for span in (transport.block.y, transport.block.x))
    (result,) = jax.jit(lambda field: exchange_halos([field], 5, transport))(jnp.asarray(whole_field[rows, columns]))
    block_and_halo = (slice(part.start, part.stop + 10) for part in (rows, columns))
    return float(np.abs(result - np.pad(whole_field, 5, mode="wrap")[tuple(block_and_halo)]).max())


@pytest.mark.parametrize("layout", [(2, 2), (3, 1)])
def test_halo_wider_than_a_block_is_exact(ranks, layout):
    assert max(ranks(layout, error_of_wide_halo)) == 0


def state_after(layout, name, executor="native", ends=(2, 5)):
    return state_of_config(layout, configuration_of(name), executor, ends)


def state_of_config(layout, config, executor, ends):
    """The bits of the whole fields on rank 0 after calls that end at the steps `ends`; on another rank, its number."""
    compile_quickly(executor == "native")
    setup = setup_of(config)
    transport, (ny, _) = connect("mpi", layout, *setup.shape), setup.shape
    model = EXECUTORS[executor](setup, transport, *setup.static(transport.block))
    forcing, carry = VaryingParams(setup, transport), model.start(setup.state(transport.block))
    for last in ends:
        carry = advance(model, carry, last - int(carry.step), forcing)
    whole_fields = [transport.gather_rows(np.asarray(field), 0, ny) for field in jax.tree.leaves(carry.state)]
    return transport.rank or [field.tobytes() for field in whole_fields]


@pytest.mark.promise("the number of ranks and their layout change nothing")
@pytest.mark.fault("blocks of unequal size")
@pytest.mark.parametrize(
    ("name", "layout"), [*ROWS_WITH_LAYOUT[::3], *night_and_release_params(OTHER_LAYOUTS, every=2)]
)
def test_layouts_have_same_bits(ranks, name, layout):
    """The native step does not need `--reproducible` for this, if all processes have the same options of XLA."""
    (one,) = ranks((1, 1), state_after, name, "native", (5,))
    assert ranks(layout, state_after, name)[0] == one


def state_with_rivers(layout, series, drying):
    """The state with a drain and with a river whose cells lie in two blocks and on both sides of a periodic edge."""
    unit = 20.0 if drying else 1000.0  # so that both lie in the domain
    rivers = (
        {"name": "wide", "x": unit, "y": 27 * unit, "series": series, "radius": 9 * unit, "tracers": {"tracer": 2.0}},
        {"name": "drain", "x": 26 * unit, "y": 23 * unit, "discharge": -3 * unit},
    )
    options = {"forcing__rivers": rivers, "physics__tracers": ({"name": "tracer"},)} | (DRYING if drying else {})
    fields = drying_flats(11, 13) if drying else random_fields(11, 13, land=0.0)
    return state_of_config(layout, configuration(11, 13, fields, **options), "native", (6,))


@pytest.mark.promise("the number of ranks and their layout change nothing")
@pytest.mark.parametrize("drying", [False, True])
def test_layouts_have_same_bits_with_rivers(ranks, tmp_path, drying):
    (path := tmp_path / "river.csv").write_text("time,discharge\n0,4000\n50,9000\n130,1000\n")
    (one,), (two, _) = (ranks(layout, state_with_rivers, str(path), drying) for layout in ((1, 1), (1, 2)))
    assert two == one


@pytest.mark.promise("the number of ranks and their layout change nothing")
@pytest.mark.promise("chunk length does not change the answer")
@pytest.mark.parametrize(
    ("name", "layout", "reproducible"),
    [
        ("leapfrog-energy-channel-f_plane", (2, 1), False),
        *night_params(("ab2-energy-basin-f_plane", (1, 2), False)),
        *night_and_release_params([(*case, True) for case in ROWS_WITH_LAYOUT[1::9]], every=3),
    ],
)
def test_layouts_and_chunks_have_same_bits_in_xla(ranks, name, layout, reproducible):
    """The programs have no fused multiply-adds; some ranks compile as with `--reproducible` in every respect."""
    ranks = ranks.with_environment("reproducible", **REPRODUCIBLE_ENVIRONMENT) if reproducible else ranks
    assert ranks(layout, state_after, name, "xla")[0] == ranks((1, 1), state_after, name, "xla", (5,))[0]


#: Domains with islands: two have tides at open boundaries, and one of these also has tides inside and weather.
OPEN_BOUNDARY_OPTIONS = section("open_boundaries", sides=("west", "north"), constituents=("M2",), amplitude=(0.3,))
DOMAINS = {
    "open": OPEN_BOUNDARY_OPTIONS,
    "earth": OPEN_BOUNDARY_OPTIONS | {"sphere": True, "has_weather": True, "open_boundaries__pressure": 50.0} | TIDE,
    "eddies": {"scheme__vorticity_flux": "weno5", "physics__leith": 1.0, "time__stepper": "gfb"},
    "coast": DRYING | {"time__dt": 0.5},
}


def derivative_checks(layout, domain, executor="native", dtype="float64", sharded=False):
    """The checks of the derivatives of six steps with respect to all control variables."""
    size = (19, 18) if domain in ("eddies", "coast") else (12, 10)  # blocks must be as wide as the adjoint's stencil
    fields = random_fields(*size, seed=3, land=0.15, amplitude=0.3) if domain != "coast" else drying_flats(*size)
    options = {"grid__periodic_x": False, "physics__slip": "no", "run__steps": 6, "run__dtype": dtype} | DOMAINS[domain]
    config = with_layout(configuration(*size, fields, **options), layout, sharded, executor=executor)
    return Checks(Problem(config, controls_of(config), lambda view, k: view.state, every=3))


def gradient_bits(layout, *arguments):
    checks = derivative_checks(layout, *arguments)
    return fingerprint(checks.problem, checks.gradient)


@pytest.mark.promise("a gradient does not depend on the layout")
@pytest.mark.parametrize(
    ("domain", "dtype", "layouts"),
    [
        ("open", "float32", [(1, 1), (1, 2)]),
        *night_params(
            ("earth", "float64", [(1, 1), (3, 1)]),
            ("coast", "float64", [(1, 1), (2, 2)]),
            ("earth", "float32", [(1, 1), (2, 2)]),
            *(("eddies", dtype, [(1, 1), (2, 2), (1, 3)]) for dtype in ("float32", "float64")),
        ),
    ],
)
def test_layouts_have_same_gradient_bits(ranks, domain, dtype, layouts):
    assert len({ranks(layout, gradient_bits, domain, "native", dtype)[0] for layout in layouts}) == 1


def exactness_and_derivatives(layout, domain, executor, second_order, sharded=False):
    """The measures of exactness and the derivatives on the grid, with `second_order` also Hessian-vector products."""
    checks = derivative_checks(layout, domain, executor, sharded=sharded)
    transport = checks.problem.transport

    def whole(x):
        rows = transport.block.y.axis_size
        arrays = {name: np.asarray(values) for name, values in x.items()}
        return {name: transport.gather_rows(a, 0, rows) if a.ndim else a for name, a in arrays.items()}

    measures = checks.taylor() | {"dot_product_error": checks.dot_product_error(), "dtype": "float64"}
    measures |= {"value": checks.value, "bits": fingerprint(checks.problem, checks.gradient)}
    if not second_order:
        return measures, whole(checks.gradient)
    measures["hessian_symmetry"] = checks.hessian_symmetry()
    product = checks.problem.hessian_vector(checks.x, checks.d, *checks.loss)
    return measures, whole(checks.gradient), whole(product)


def assert_close(ours, theirs, tolerance):
    """Assert that arrays by name are equal, to a tolerance relative to the largest value of each."""
    assert ours.keys() == theirs.keys()
    for name, truth in theirs.items():
        np.testing.assert_allclose(ours[name], truth, rtol=0, atol=tolerance * np.abs(truth).max(), err_msg=name)


@pytest.mark.promise("derivatives are exact")
@pytest.mark.promise("devices and hosts do not change the answer")
@pytest.mark.promise("a gradient does not depend on the layout")
@pytest.mark.parametrize(
    ("domain", "executor", "layout", "second_order", "sharded"),
    [
        *night_params(("earth", "native", (2, 2), False, False), ("eddies", "native", (2, 2), True, False)),
        *night_params(("open", "native", (3, 1), False, False), ("eddies", "native", (2, 2), True, True)),
        *night_params(("earth", "native", (2, 2), True, False), mark=pytest.mark.release),
        *night_params(("open", "xla", (3, 1), True, False), mark=pytest.mark.release),
    ],
)
def test_derivatives_on_blocks_are_exact(ranks, domain, executor, layout, second_order, sharded):
    """Taylor slope, adjoint and Hessian are exact. Results agree with one process, the native gradient bit for bit.

    The blocks are those of ranks or, with `sharded`, of devices of one process.
    """
    processes = 1 if sharded else layout[0] * layout[1]
    measures, *ours = ranks(processes, exactness_and_derivatives, layout, domain, executor, second_order, sharded)[0]
    measures_of_one, *theirs = ranks((1, 1), exactness_and_derivatives, domain, executor, second_order)[0]
    assert failures(measures) == []
    assert executor == "xla" or measures["bits"] == measures_of_one["bits"]
    assert measures["value"] == pytest.approx(measures_of_one["value"], rel=1e-12)
    for derivative, expected in zip(ours, theirs, strict=True):
        assert_close(derivative, expected, 1e-12)


def gradient_by_network(layout, *controls, factors=(1.0,), second_order=True, sum_over_blocks=True, sharded=False):
    """Energy after four steps, its gradient with respect to a network, and a Hessian-vector product.

    Returns:
        A list of these, one for each of the `factors` of the initial values of `controls`.
    """
    random = random_fields(11, 13, seed=3, land=0.15, amplitude=0.3)
    config = configuration(11, 13, random, grid__periodic_x=False, run__steps=4, run__executor="xla")
    config = load(with_layout(config, layout, sharded), terms=[Parametric(stress, initial_parameters())])
    problem = Problem(config, ["stress", *controls], lambda view, k: view.state, alone=layout == (1, 1))
    x = problem.first_guess()
    d = {name: jnp.zeros_like(x[name]) for name in controls} | {"stress": initial_parameters(1)}

    def energy(series):
        block_energy = sum(jnp.sum(field[-1] ** 2) for field in series)
        return problem.transport.sum(block_energy) if sum_over_blocks else block_energy

    def flat(derivatives):
        return np.concatenate([np.ravel(derivatives["stress"][name]) for name in ("in", "bias", "out")])

    product, results = flat(problem.hessian_vector(x, d, energy)) if second_order else 0.0, []
    for factor in factors:
        value, gradient = problem.value_and_gradient(x | {name: factor * x[name] for name in controls}, energy)
        results.append({"value": float(value), "gradient": flat(gradient), "hessian-vector": product})
    return results


def gradient_of_member():
    """The derivatives of one member per rank, each on the whole grid."""
    return gradient_by_network((1, 1), "eta", factors=[MEMBER_FACTORS[mpi.HOST_COMM.rank]])


#: The factor of the initial sea level in each member.
MEMBER_FACTORS = (1.0, 0.9)


@pytest.mark.night
@pytest.mark.promise("derivatives are exact")
@pytest.mark.promise("derivatives with respect to a network are exact")
@pytest.mark.parametrize(
    ("layout", "second_order", "sharded"), [((2, 1), False, False), ((2, 2), True, False), ((2, 2), True, True)]
)
def test_gradient_by_a_network_does_not_depend_on_layout(ranks, layout, second_order, sharded):
    """Nor does the Hessian-vector product. Blocks are those of ranks or of devices; there are walls and islands."""
    ((one,),) = ranks(1, partial(gradient_by_network, (1, 1), second_order=second_order))
    processes = 1 if sharded else layout[0] * layout[1]
    (ours,) = ranks(processes, partial(gradient_by_network, layout, second_order=second_order, sharded=sharded))[0]
    assert np.abs(one["gradient"]).min() > 0
    assert_close(ours, one, 1e-13)


def refusal_of_unequal_loss(layout, sharded=False) -> str:
    with pytest.raises(UsageError) as error:
        gradient_by_network(layout, second_order=False, sum_over_blocks=False, sharded=sharded)
    return str(error.value)


@pytest.mark.fault("the loss of a Problem is no sum over the blocks")
@pytest.mark.night
def test_loss_that_differs_between_blocks_is_refused(ranks):
    on_devices = partial(refusal_of_unequal_loss, (2, 2), sharded=True)
    for message in (*ranks(2, refusal_of_unequal_loss, (2, 1)), *ranks(1, on_devices)):
        assert "sum over all blocks" in message


@pytest.mark.promise("derivatives with respect to a network are exact")
@pytest.mark.night
def test_members_on_ranks_have_gradients_of_one_process(ranks):
    (together,) = ranks(1, partial(gradient_by_network, (1, 1), "eta", factors=MEMBER_FACTORS))
    for (ours,), one in zip(ranks(2, gradient_of_member), together, strict=True):
        assert_close(ours, one, 1e-13)


def digests_of_spectra(layout):
    """The digests of spectra, potentials and balanced flows of a channel, and of a random error of the first guess."""
    run_options = {"run__nproc": layout[0] * layout[1], "run__layout": "{}x{}".format(*layout), "run__transport": "mpi"}
    results = spectral_bits("channel", **run_options)
    correlation = {"assimilation__correlation": "spectrum", "assimilation__length": 2e4}
    controls = dict.fromkeys(("eta", "u", "v"), (0.1, 20000.0))
    options = correlation | {"name": "mpi", "land": False, "controls": controls, "balanced": False}
    background, _, transport, _ = background_case(layout, 13, 17, **options)
    whole_fields = [transport.gather_rows(np.asarray(field), 0, 13) for field in background.draw(1, 0).values()]
    return results and results | {"error of a first guess": field_digest(np.stack(whole_fields))}


@pytest.mark.promise("spectra add up")
@pytest.mark.parametrize("layout", [(2, 1), *night_params(((1, 3),), ((2, 2),))])
def test_spectra_and_balanced_flows_have_same_bits(ranks, layout):
    one = ranks((1, 1), digests_of_spectra)[0]
    assert len(one) == 9
    assert ranks(layout, digests_of_spectra)[0] == one


def results_of_transforms(layout, pairs):
    """The pairs of kinds with different bits, the error of derivatives, and the number of messages of a transform."""
    transport = connect("mpi", layout, 13, 17)
    arrays = transform_comparison.scatter(transport, transform_comparison.random_arrays(13, 17, "float64"))
    program = jax.make_jaxpr(transport.jit(Fourier(transport).forward))(arrays)
    n_messages = sum(each.primitive.name == "transpose_on_ring" for each in all_equations(program.jaxpr))
    different_pairs = transform_comparison.pairs_with_different_bits(transport, "float64", pairs)
    return different_pairs, transform_comparison.error_of_derivatives(transport, pairs[:2]), n_messages


@pytest.mark.promise("transforms of blocks equal those of one process")
@pytest.mark.parametrize(("layout", "messages"), [((2, 2), 3), *night_params(((1, 2), 2), ((3, 1), 1))])
def test_transforms_equal_those_of_one_process(ranks, layout, messages):
    """Bits are equal, derivatives agree to round-off. There is one all-to-all along y, and there are two along x."""
    pairs = transform_comparison.PERIODIC_AND_WALLS[1:] if layout == (2, 2) else transform_comparison.FOUR_PAIRS
    different_pairs, error, n_messages = ranks(layout, results_of_transforms, pairs)[0]
    assert (different_pairs, n_messages) == ([], messages)
    assert error < 1e-13
