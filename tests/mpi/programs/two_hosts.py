"""One of several processes of JAX's distributed runtime: two_hosts.py RANK PORT LAYOUT FOLDER runs a small jet.

It is started by hand, without a launcher; only the configuration says how many devices there should be.
"""

import sys

import jax
import numpy as np

import swmodel

PROCESSES, DEVICES = 2, 2
jax.distributed.initialize(f"localhost:{sys.argv[2]}", PROCESSES, int(sys.argv[1]))

options = {"grid.nx": 46, "grid.ny": 31, "run.steps": 30, "output.every_steps": 10, "output.maxima": ["speed"]}
options |= {"output.stations": [{"name": "a", "x": 114e3, "y": 79e3}, {"name": "b", "x": 20e3, "y": 150e3}]}
options |= {"output.sections": [{"name": "across", "start": [20e3, 0.0], "end": [190e3, 130e3]}], "output.arrival": 0.3}
options |= {"output.drifters": [{"box": [0.0, 230e3, 0.0, 155e3], "spacing": 11e3}]}
where = {"run.transport": "sharded", "run.nproc": PROCESSES, "run.devices": DEVICES, "run.layout": sys.argv[3]}
simulation = swmodel.Simulation(swmodel.load("jet", options | where))
held = simulation.transport.held_bytes(simulation.carry.state)
assert held == 3 * 4 * 2 * (16 * 23), "a process holds more than its two blocks"
simulation.run(sys.argv[4])
again = swmodel.Simulation.from_restart(sys.argv[4])
assert (again.step, again.transport.size) == (30, PROCESSES)
assert all(np.array_equal(*pair) for pair in zip(again.state, simulation.state, strict=True))
