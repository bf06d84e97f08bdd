"""Terms of the user's own: what a function may be, and what is said of one that cannot be, before the first step."""

import re
from functools import partial

import numpy as np
import pytest

import swmodel
from swmodel import Case, ConfigError, Term, load, resolve
from swmodel import operators as op
from swmodel.config.loading.decisive import differences
from swmodel.config.loading.own_terms import with_fresh_terms
from swmodel.config.loading.toml import to_toml
from swmodel.model.resolve import resolved
from swmodel.model.validate import check_config
from swmodel.ocean.variable import Variable
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.slow

SMALL = {"grid.nx": 12, "grid.ny": 8, "time.dt": 1.0, "run.steps": 1, "run.executor": "xla"}


def damp(state, grid, t, rate=1e-3):
    return {"u": -rate * state.u}


def rough(state, grid, t, roughness):
    return {"u": -op.mx_f(roughness) * state.u}


def far(state, grid, t):
    h = state.h
    for _ in range(20):
        h = op.mx_c(op.mx_f(h))
    return {"h": h}


class Icy(Case):
    strength: float = swmodel.option(1e-3, "1", "strength of the drag")

    def ice(self, config, at):
        return 1.0 * (at.x > 20e3)

    def ice_drag(self, state, grid, t, ice, gravity):
        return {"u": -self.strength * op.mx_f(ice) * state.u, "h": 0.0 * gravity * state.eta}


def made(*terms, case=Case, **fields):
    return load(case, SMALL, {}, fields=fields, terms=terms)


def problems(*terms, case=Case, **fields):
    with pytest.raises(ConfigError) as caught:
        made(*terms, case=case, **fields)
    return list(caught.value.problems)


def test_one_configuration_has_one_scheme_and_each_run_of_a_term_has_its_own():
    """Programs are kept by the scheme; one that was made of a term may not serve another run."""
    icy = load(Icy, SMALL, {})
    assert (
        setup_of(icy).scheme
        == resolved(setup_of(icy)).scheme
        != setup_of(load(Icy, SMALL | {"case.strength": 2.0}, {})).scheme
    )
    for config in (icy, made(damp)):
        setup = setup_of(config)
        assert setup.scheme == setup_of(config.model_copy()).scheme
        assert with_fresh_terms(setup).scheme != with_fresh_terms(setup).scheme


def test_what_a_term_computes_is_recorded_whatever_it_is_called_or_closes_over():
    def closing_over(number):
        return lambda state, grid, t: {"u": -number * state.u}

    same = [damp, closing_over(1e-3), partial(damp, rate=1e-3)]
    checksums = [resolve(made(term)).python.terms[0].split()[1] for term in same]
    assert checksums[0] == checksums[1] == checksums[2]
    before, now = (to_toml(resolve(made(closing_over(number)))) for number in (1e-3, 1.0001e-3))
    (told,) = differences(before, now)
    assert re.fullmatch(r"python.<lambda>: SHA-256 \w{12}\.\.\. before, SHA-256 \w{12}\.\.\. now", told)


#: What a term does with the state that it may not do, and what is said of it.
WRONG = [
    (lambda state: None, "returns a NoneType; must be a dict of tendencies"),
    (lambda state: {"eta": state.h}, 'tendency of "eta"; prognostic fields are h, u, v'),
    (lambda state: {"u": True}, "returns a bool of shape"),
    (lambda state: {"u": state.u.map(lambda x: x[None])}, "of shape (1, 9"),
    (lambda state: {"u": state.u.map(lambda x: x[1:])}, "TypeError: map: the function turns shape"),
    (lambda state: {"u": state.u.moved(3, 0)}, "must be a number, or a Patch on the block"),
    (lambda state: {"u": state.u / (0 * state.h), "v": 1.0}, "not finite for u"),
    (lambda state: {"u": state.u.map(lambda x: x - x.mean())}, "tendency of u depends on the block"),
    (lambda state: {"h": state.h.map(lambda x: np.roll(x, 3, 1))}, "tendency of h depends on the block"),
    (lambda state: {"u": state.u.map(np.float32)}, "returns float32 of shape"),
    (lambda state: {"u": state.w}, "AttributeError: the state has no w, in: "),
    (
        lambda state: {"u": state.u * np.ones((8, 12))},
        "TypeError: an array of shape (8, 12) cannot be combined with a Patch",
    ),
    (lambda state: {"u": state.u if state.u > 0 else 0.0}, "TypeError: a field cannot decide a branch"),
    (lambda state: {"u": [0][len("abc")] * state.u}, "IndexError: list index out of range, in: "),
]


@pytest.mark.fault("a term from Python that returns no tendency, a wrong shape or precision, or raises")
@pytest.mark.fault(
    "a term that branches on a field, gives NaN everywhere, changes the shape, or depends on the block of a cell"
)
@pytest.mark.parametrize(("value", "message"), WRONG)
def test_what_a_term_may_not_do_is_said_with_its_line(value, message):
    def term(state, grid, t):
        return value(state)

    (found,) = problems(term)
    assert re.match(rf"terms: {re.escape(__file__)}:\d+: term:? ", found), found
    assert message in found


@pytest.mark.fault("a term from Python that returns no tendency, a wrong shape or precision, or raises")
@pytest.mark.parametrize(
    ("term", "message"),
    [
        (3, "terms: 3 is no term; needs a function of (state, grid, t), or a Term"),
        (Icy, "is no term; needs a function of (state, grid, t), or a Term"),
        (
            lambda state, t: {},
            "has the parameters (state, t); needs a function of (state, grid, t), followed by names of",
        ),
        (lambda state, grid, t, depth: {}, "terms: depth is no coefficient; it is in the state or in the grid"),
        (rough, 'terms: rough asks for roughness; give it, as fields={"roughness": function}, or one of wind_x, '),
        (far, "terms: far reads cells further than 16 rows or columns away"),
        (Term("wind", damp), "terms: wind is a term of swmodel; give yours another name"),
        (Term("mine", damp, options=Case), "terms: mine has options; yours may only have name, tendency, coefficient"),
    ],
)
def test_what_is_no_term_is_refused(term, message):
    (found,) = problems(term)
    assert message in found


def test_a_list_is_asked_for_and_names_are_told_apart():
    with pytest.raises(ConfigError, match=r"^terms: <function damp at .* is no list, as \[function\]$"):
        load(Case, SMALL, {}, terms=damp)
    assert problems(damp, partial(damp, rate=1.0)) == ["terms: there are two called damp; give one another name"]
    assert problems(roughness=1.0)[0].startswith("fields: no field roughness; known are depth, mask, ")


def test_a_field_that_a_term_asks_for_is_checked_as_others_are():
    holes = {"roughness": lambda at: np.where(at.j == 2, np.nan, 1.0) + 0 * at.x}
    with pytest.raises(
        ConfigError, match=r"^roughness \(roughness\): must be finite on water, but is missing at row 2"
    ):
        swmodel.Simulation(Case, SMALL, fields=holes, terms=[rough])


def test_a_term_object_may_say_how_fast_it_acts_and_so_limits_the_time_step():
    rate = Variable("mine_rate", "centre", "s-1", "", "rate of mine")

    def tendency(flow, params, now):
        return {"u": -op.mx_f(params["mine_rate"]) * flow.u}

    term = Term("mine", tendency, (rate,), rate=lambda values, dx, dy: values["mine_rate"])
    check_config(made(term, mine_rate=1e-3))
    with pytest.raises(ConfigError, match=r"time.dt: 1 s is above the largest stable .* \(friction, drag and sponge\)"):
        check_config(made(term, mine_rate=10.0))
