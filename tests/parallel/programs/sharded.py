"""Programs on several devices of one process, each with a NAME for the command line; prints JSON.

JAX's processors are split before it starts, hence a process of its own.
"""

import hashlib
import itertools
import json
import sys
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
from support.compiling import collectives, compilations, compile_quickly
from support.random_case import TIDE, configuration
from support.restarts import data
from support.spectral_case import spectral_bits
from support.stormy_sea import sea

from swmodel.gradients import Problem
from swmodel.gradients.check import Checks, controls_of
from swmodel.model.simulation import Simulation

DEVICES = 4
jax.config.update("jax_num_cpu_devices", DEVICES)
jax.config.update("jax_enable_x64", True)
LAYOUTS = ("2x2", "4x1", "1x4")
TERMS = {"sponge__rate": 1e-4, "sponge__width": 2e4, "physics__biharmonic_viscosity": 1e8, "physics__slip": "no"}
#: A sea on a sphere with two open sides, and with all that can move it.
SIDES = {
    "sphere": True,
    "open_sides__sides": ("west", "north"),
    "open_sides__constituents": ("M2",),
    "open_sides__amplitude": (0.3,),
}
EARTH = SIDES | {"in_time": True, "open_sides__pressure": 50.0, "physics__self_attraction": 0.1} | TERMS | TIDE
STEPS = 7


def of_layout(ny, nx, layout, **options):
    """The configuration on the devices of a layout; on one process if it is empty."""
    where = {"run__transport": "sharded", "run__devices": DEVICES, "run__layout": layout} if layout else {}
    return configuration(ny, nx, **options, **where)


def bits(simulation):
    """The bits of the state, of vorticity, which needs the neighbours, and of a running mean."""
    means = simulation.means(["eta", "q"])
    simulation.advance(STEPS - 1)
    for _ in range(2):
        simulation.advance(1)
        means.add(simulation.carry.state)
    arrays = [*simulation.state, simulation.field("zeta"), *means.values().values()]
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()


#: Cells, executor, stepper, whether x is a ring, layouts, options: grids that divide evenly or not, rings and walls.
VARIANTS = (
    (13, 17, "native", "ab2", True, LAYOUTS, TERMS),
    (13, 17, "native", "rk3", False, ("2x2",), TERMS),
    (12, 16, "native", "leapfrog", False, ("4x1", "1x4"), TERMS),
    (13, 17, "native", "gfb", False, ("2x2", "1x4"), TERMS),
    (12, 16, "xla", "gfb", False, ("2x2",), SIDES),
    (13, 17, "native", "ab3", False, ("2x2", "1x4"), EARTH),
    (13, 17, "xla", "ab2", True, ("2x2", "1x4"), TERMS),
    (12, 16, "xla", "ab3", False, ("4x1",), SIDES),
)


def same_bits():
    """{what: {layout: bits}}."""
    found = {}
    for ny, nx, executor, stepper, ring, layouts, more in VARIANTS:
        options = {"time__stepper": stepper, "grid__periodic_x": ring, "run__executor": executor} | more
        compile_quickly(executor == "native")  # XLA's program around the native step has no effect on the bits
        found[f"{ny} {nx} {executor} {stepper} {ring}"] = {
            layout: bits(Simulation(of_layout(ny, nx, layout, **options))) for layout in ("", *layouts)
        }
    return found


def small():
    """The short checks, in one process."""
    compile_quickly(True)
    return {
        "steps_per_sweep": several_steps_in_a_sweep(),
        "compiled again": compiled_again(),
        "messages": messages(),
        "spectral": spectral(),
        "series": series(),
    }


def spectral():
    """Bits of the results of transforms of a sea, by layout."""
    sharded = {"run__transport": "sharded", "run__devices": DEVICES}
    found = {layout: spectral_bits("rings", **sharded, run__layout=layout) for layout in ("2x2",)}
    return {"one process": spectral_bits("rings")} | found


def series():
    """Bits of series and of the constants of tides: of one process that writes each step, and of devices."""
    found = []
    for where, every in (({}, 1), ({"run__transport": "sharded", "run__devices": DEVICES, "run__layout": "2x2"}, 7)):
        with tempfile.TemporaryDirectory() as folder:
            given = {"run__executor": "native", "output__every_steps": every} | where
            Simulation(sea("formula", folder, **given)).run(folder)
            files = [data(f"{folder}/{name}.nc") for name in ("stations", "sections", "harmonics")]
            bits = [{name: hashlib.sha256(values).hexdigest() for name, values in each.items()} for each in files]
            found.append(bits)
    return found


def several_steps_in_a_sweep():
    """Bits of the native step with one and with three steps in a pass over memory."""
    config = of_layout(13, 17, "2x2", run__executor="native")
    return [bits(Simulation(config, steps_per_sweep=steps)) for steps in (1, 3)]


def compiled_again():
    """What is compiled for a second simulation of a kind, after one of another layout in between."""
    made = [of_layout(13, 17, layout, run__executor="native") for layout in ("2x2", "1x4")]
    for config in made:
        bits(Simulation(config))
    with compilations() as found:
        for config in made:
            bits(Simulation(config))
    return found


def messages():
    """[executor, messages in its compiled loop, arrays returned in place] on grids that divide evenly or not."""
    compile_quickly(False)
    found = []
    for (ny, nx), executor in itertools.product([(12, 16), (13, 17)], ("native", "xla")):
        simulation = Simulation(of_layout(ny, nx, "2x2", run__executor=executor))
        steps = simulation._executor
        text = steps._loop.lower(simulation.carry, steps.static, steps.dt, jnp.int32(3)).compile().as_text()
        in_place = text.split("entry_computation_layout")[0].count("may-alias")
        found.append([executor, collectives(text), in_place])
    return found


def derivatives():
    """Largest relative differences of derivatives from those of one process, and measures of their exactness."""

    def of(layout):
        options = {"run__executor": "native", "run__dtype": "float64", "run__steps": 4}
        config = of_layout(13, 17, layout, **options)
        problem = Problem(config, controls_of(config), lambda view, k: view.state)
        checks = Checks(problem)
        product = problem.hessian_vector(checks.x, checks.d, *checks.loss)
        return checks, problem.transport.get(checks.gradient) | {
            f"{name} of the product": x for name, x in problem.transport.get(product).items()
        }

    (_, one), (checks, four) = of(""), of("2x2")
    found = {name: float(np.abs(four[name] - x).max() / np.abs(x).max()) for name, x in one.items()}
    return found | {"dot product": checks.dot_product_error(), "taylor": checks.taylor()["taylor_slope"] - 2}


print(json.dumps(globals()[sys.argv[1]]()))
