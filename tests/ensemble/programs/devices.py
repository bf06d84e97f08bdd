"""Members on several devices compared with runs alone; a program, as JAX has its devices from the start."""

import jax
from support.compiling import collectives
from support.small_ensemble import alone, configuration, same

from swmodel.model.ensemble.members import Members

jax.config.update("jax_numpy_dtype_promotion", "strict")
expected = {}
for executor, advance, devices in (("native", "map", 2), ("native", "vmap", 4), ("xla", "map", 1), ("xla", "vmap", 4)):
    config = configuration(run__executor=executor, run__devices=devices, ensemble__advance=advance)
    if executor not in expected:
        expected[executor] = alone(config, range(5), 12)
    members = Members(config)
    assert len(members.carry.step.devices()) == devices
    members.take_steps(12)
    for member, state in enumerate(expected[executor]):
        assert same(state, [field[member] for field in members.state]), (executor, advance, devices, member)
    program = members._loop.lower(members.carry, members._own, (members._shared, members._executor.dt, 1))
    text = program.compile().as_text()
    assert "while" in text
    assert collectives(text) == {}, (executor, devices)
