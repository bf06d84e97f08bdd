"""Any number of ranks in any layout, and any cut into calls, has the same bits; each agrees with the reference.

The native step always; xla with `--reproducible`, which is this choice of instructions.
"""

from support.compiling import QUICK

VARIANTS = {
    "channel on a sphere with a pole of its own, tide, weather, sponge, rk3",
    "closed basin, beta plane, Arakawa-Lamb, no slip, ab3",
    "doubly periodic, biharmonic, leapfrog",
    "x walls, enstrophy, rk4",
    "open sides, no slip, two tracers, ab2",
}
LAYOUTS = {"1x1", "1x2", "2x1", "2x2", "3x1", "1x3"}


def bits(mpiexec, executor):
    """{(variant, dtype): {layout: bits of each cut into calls}}."""
    found = {}
    for line in mpiexec("bits.py", 4, executor, timeout=240).stdout.splitlines():
        if line.startswith("bits|"):
            _, variant, dtype, layout, *digests = line.split("|")
            found.setdefault((variant, dtype), {})[layout] = digests
    assert {variant for variant, _ in found} == VARIANTS
    return found


def assert_one_answer(layouts):
    """All layouts and all cuts into calls have the bits of one process and one call."""
    assert all(digests == layouts["1x1"] for digests in layouts.values()), layouts
    assert len(layouts["1x1"]) == 1


def test_the_native_step_has_the_same_bits_in_every_layout_without_being_asked(mpiexec, steps_of_users, monkeypatch):
    """What XLA makes of the program around it has no part in them."""
    for name, value in QUICK.items():
        monkeypatch.setenv(name, value)
    found = bits(mpiexec, "native")
    assert len(found) == 2 * len(VARIANTS)
    for layouts in found.values():
        assert layouts.keys() == LAYOUTS
        assert_one_answer(layouts)


def test_xla_has_the_same_bits_in_every_layout_with_reproducible_instructions(mpiexec, monkeypatch):
    """Each boundary, flux and stepper split in x and in y; one in rings of three blocks."""
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_max_isa=AVX")
    found = bits(mpiexec, "xla")
    assert len(found) == len(VARIANTS)
    assert {dtype for _, dtype in found} == {"float32", "float64"}
    for (variant, _), layouts in found.items():
        rings = {"3x1", "1x3"} if variant == "doubly periodic, biharmonic, leapfrog" else set()
        assert layouts.keys() == {"1x1", "2x2"} | rings
        assert_one_answer(layouts)
