"""One of several processes of JAX's distributed runtime: two_hosts.py RANK PORT LAYOUT FOLDER runs a small jet."""

import sys

import jax

import swmodel

PROCESSES, DEVICES = 2, 2
jax.config.update("jax_num_cpu_devices", DEVICES)
jax.distributed.initialize(f"localhost:{sys.argv[2]}", PROCESSES, int(sys.argv[1]))

options = {"grid.nx": 46, "grid.ny": 31, "run.steps": 30, "output.every_steps": 10}
where = {"run.transport": "sharded", "run.nproc": PROCESSES, "run.devices": DEVICES, "run.layout": sys.argv[3]}
simulation = swmodel.Simulation(swmodel.load("jet", options | where))
largest = max(field.size for field in (*simulation.grid, *simulation.state) if field is not None)
assert largest < 46 * 31, "a process holds a whole field"
simulation.run(sys.argv[4])
