"""A sea without land, and digests of all results of its Fourier transforms."""

import hashlib

import numpy as np

from support.random_case import configuration, random_fields
from swmodel.model.simulation import Simulation

NY, NX = 13, 17
#: (whether y is periodic, whether x is periodic, precision) of each domain.
DOMAINS = {"channel": (False, True, "float64"), "periodic": (True, True, "float32")}


def spectral_bits(name, **options):
    """On rank 0, {field: digest} of spectra, potentials, their means and the balanced part after two steps."""
    periodic_y, periodic_x, dtype = DOMAINS[name]
    fields = random_fields(NY, NX, land=0.0) | {"depth": np.full((NY, NX), 50.0)}
    options |= {"grid__periodic_y": periodic_y, "grid__periodic_x": periodic_x, "run__dtype": dtype}
    simulation = Simulation(configuration(NY, NX, fields, run__executor="native", **options))
    potentials = ["streamfunction", "velocity_potential"]
    means = simulation.means(potentials)
    for _ in range(2):
        simulation.take_steps(1)
        means.add_state(simulation.carry.state)
    local = simulation.fields(potentials) | {f"balanced {n}": field for n, field in simulation.balanced().items()}
    local |= {f"mean {n}": field for n, field in means.values().items()}
    transport = simulation.transport
    results = {n: transport.gather_rows(np.ascontiguousarray(field), 0, NY) for n, field in local.items()}
    results["spectra"] = np.concatenate([each.ravel() for each in simulation.spectra().values()])
    return None if transport.rank else {n: field_digest(field) for n, field in results.items()}


def field_digest(field):
    return hashlib.sha256(np.ascontiguousarray(field).tobytes()).hexdigest()
