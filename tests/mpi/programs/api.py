"""The four lines of the README, on however many processes there are; prints what does not depend on their number."""

import swmodel

simulation = swmodel.Simulation(swmodel.load("jet", {"grid.nx": 45, "grid.ny": 21, "run.dtype": "float64"}))
simulation.advance(50)
eta = simulation.field("eta")

assert eta.shape == simulation.block.shape
numbers = simulation.diagnostics()
if simulation.transport.rank == 0:
    print(simulation.transport.size, numbers["mass"].hex(), *(f"{numbers[name]:.10e}" for name in sorted(numbers)))
