"""A case with random depth, islands, wind, drag and state, the same in every layout."""

import numpy as np

from support.field_cases import case_with_fields
from swmodel import config


def section(name, **values):
    """Overrides of the keys of a section, for `configuration`."""
    return {f"{name}__{key}": value for key, value in values.items()}


#: A grid on a sphere, whose northern rows are about half as long as its southern ones.
SPHERE = {"kind": "latlon", "west": 300.0, "south": 10.0, "dlat": 5.0, "radius": 50e3}
#: Large tides of every species, with a ramp over two and a half steps.
TIDE = {"tide__constituents": ("M2", "K1", "MF"), "tide__factor": 30.0, "time__start": "2020-03-01", "tide__ramp": 50.0}
#: Largest values of the coefficients that can be random fields.
COEFFICIENTS = {"quadratic_drag": 2e-3, "manning": 0.03, "self_attraction": 0.2}
COEFFICIENTS |= {"viscosity": 300.0, "biharmonic_viscosity": 1e8}
#: The coefficients of the closures, and their largest values as random fields.
CLOSURES = {"smagorinsky": 0.15, "biharmonic_smagorinsky": 0.06, "leith": 1.0, "leith_e": 8.0}
CLOSURES |= {"zanna_bolton": 1.0, "backscatter": 0.3}
#: Ground that absorbs water by the law of Green and Ampt where the sea falls dry.
INFILTRATION = section("physics", hydraulic_conductivity=1e-3, wetting_front_suction=0.2, moisture_deficit=0.3)


def random_fields(ny, nx, seed=0, land=0.1, amplitude=1.0, coefficients=()):
    """Random fields [ny, nx] of a case, by name."""
    rng = np.random.default_rng(seed)
    return {
        "depth": 50 + 10 * rng.random((ny, nx)),
        "mask": (rng.random((ny, nx)) > land).astype(float),
        "wind_x": 0.3 * rng.standard_normal((ny, nx)),
        "wind_y": 0.3 * rng.standard_normal((ny, nx)),
        "linear_drag": 1e-5 * rng.random((ny, nx)),
        "eta": amplitude * rng.standard_normal((ny, nx)),
        "u": amplitude * rng.standard_normal((ny, nx)),
        "v": amplitude * rng.standard_normal((ny, nx)),
        "tracer": rng.random((ny, nx)),
    } | {name: (COEFFICIENTS | CLOSURES)[name] * rng.random((ny, nx)) for name in coefficients}


#: Small cells and short steps, with which cells of `drying_flats` flood and fall dry at once and waves break: on a
#: plane and on a sphere.
DRYING = section("drying", active=True, thickness=0.05) | section("time", stepper="gfb", dt=4.0)
DRYING_SPHERE = DRYING | {"physics__viscosity": 1.0, "sphere": True, "grid__radius": 600.0, "grid__rotation": 1e-2}
DRYING |= section("grid", dx=50.0, dy=60.0) | section("physics", f0=1e-2, viscosity=1.0)


def drying_flats(ny, nx, seed=2, margin=0, coefficients=()):
    """As `random_fields`, but with a rough bed, half under water, and puddles; `margin` cells at each edge are deep."""
    rng, inner = np.random.default_rng(seed + 100), np.pad(np.ones((ny - 2 * margin, nx - 2 * margin)), margin) > 0
    depth = np.where(inner, 0.5 + 0.7 * rng.standard_normal((ny, nx)), 5 + rng.random((ny, nx)))
    eta = 1.5 * (rng.random((ny, nx)) < 0.5) + 0.1 * rng.standard_normal((ny, nx))
    puddle_level = np.where(rng.random((ny, nx)) < 0.5, 0.055 - depth, eta)
    eta = np.where(inner, np.maximum(eta, puddle_level), 0.1 * eta)
    fields = random_fields(ny, nx, seed, coefficients=coefficients) | {"depth": depth, "eta": eta}
    return fields | {"linear_drag": 100 * fields["linear_drag"]}


def random_weather(ny, nx, n_records=3, seed=5):
    """Records of wind stress, wind, air pressure, and sources and sinks of water: {name: [n_records, ny, nx]}."""
    rng = np.random.default_rng(seed)
    sizes = {"wind_x": 0.3, "wind_y": 0.3, "u10": 20.0, "v10": 20.0, "air_pressure": 300.0}
    weather = {name: size * rng.standard_normal((n_records, ny, nx)) for name, size in sizes.items()}
    water = {"rain": 2e-4, "evaporation": 1e-4, "infiltration": 5e-5, "river_inflow": 1e-4, "drainage": 3e-5}
    return weather | {name: size * rng.random((n_records, ny, nx)) for name, size in water.items()}


def configuration(ny, nx, fields=None, sphere=False, has_weather=False, has_moving_floor=False, **overrides):
    """A configuration of ny x nx cells with Coriolis force, viscosity and drag; overrides are section__key=value.

    The fields of the case are `fields`, {name: [ny, nx]}, or `random_fields`, except those that an override sets to a
    number. `has_weather` adds `random_weather`, with records at times between steps, and `has_moving_floor` an uplift
    that varies in time. On a sphere the cells have about the same size, but those of a periodic x are longer.
    """
    fields = random_fields(ny, nx) if fields is None else fields
    fields = {name: values for name, values in fields.items() if f"physics__{name}" not in overrides}
    fields = fields | (random_weather(ny, nx) if has_weather else {})
    if has_moving_floor:
        fields["uplift"] = 0.3 * np.random.default_rng(6).standard_normal((3, ny, nx))
    sections = {
        "case": case_with_fields(fields, "Random"),
        "forcing": {"every": 33.0},
        "grid": {"ny": ny, "nx": nx} | (SPHERE if sphere else {"dx": 4e3, "dy": 5e3}),
        "physics": {"f0": 0.0 if sphere else 1e-4, "viscosity": 300.0, "quadratic_drag": 2e-3, "gravity": 9.81},
        "time": {"dt": 20.0},
        "run": {"dtype": "float64", "steps": 1},
    }
    if sphere and not overrides.get("grid__periodic_x", True):
        sections["grid"]["dlon"] = 5.0
    for key, value in overrides.items():
        section, name = key.split("__")
        sections.setdefault(section, {})[name] = value
    return config.Config(**sections)
