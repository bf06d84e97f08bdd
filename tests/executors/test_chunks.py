"""However a run is cut into calls, it has the same bits: native and reference.

xla has them with reproducible instructions only (tests/mpi/test_bits.py): it compiles the steps of a turn of its loop
together, and the last ones alone, and contracts products and sums differently.
"""

import pytest
from support.random_case import configuration
from support.stepping import DTYPES, FLUXES, STEPPERS, build, fields_of, same_bits

TERMS = {"sponge__rate": 1e-4, "sponge__width": 2e4, "physics__biharmonic_viscosity": 1e8, "physics__slip": "no"}
#: Every stepper in both precisions, the fluxes by turns: steps in C++ that tests/ocean/test_rotation.py takes, too.
VARIANTS = [
    (STEPPERS[j], DTYPES[(i + j) % 2], FLUXES[i]) for j in range(len(STEPPERS)) for i in ((0, 1), (1, 2))[j % 2]
]


@pytest.mark.parametrize("executor", ["native", "reference"])
@pytest.mark.parametrize(("stepper", "dtype", "flux"), VARIANTS)
def test_seven_steps_are_three_and_four(executor, stepper, dtype, flux):
    options = {"scheme__vorticity_flux": flux, "time__stepper": stepper, "run__dtype": dtype}
    config = configuration(11, 13, **options, **TERMS)
    model, carry = build(executor, config)

    def advanced(*chunks):
        carry = build(executor, config)[1]
        for steps in chunks:
            carry = model.advance(carry, steps)
        return fields_of(carry)

    once = advanced(7)
    for chunks in ((3, 4), (1, 0, 6), (2, 2, 3), (1,) * 7):
        assert same_bits(advanced(*chunks), once), chunks
    assert not same_bits(advanced(3, 3), once)
