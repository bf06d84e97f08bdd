"""However a run is cut into calls, it has the same bits: native and reference.

xla has them with reproducible instructions only (tests/mpi/test_layouts.py): it compiles the steps of a turn of its
loop together, and the last ones alone, and contracts products and sums differently.
"""

import pytest
from support.random_case import configuration
from support.stepping import ALL_TERMS, SCHEMES, build, fields_of, same_bits


@pytest.mark.parametrize("executor", ["native", "reference"])
@pytest.mark.parametrize(("stepper", "dtype", "flux"), SCHEMES)
def test_seven_steps_are_three_and_four(executor, stepper, dtype, flux):
    options = {"scheme__vorticity_flux": flux, "time__stepper": stepper, "run__dtype": dtype}
    config = configuration(11, 13, **options, **ALL_TERMS)
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
