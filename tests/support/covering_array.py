"""A covering array: 24 configurations that contain every pair of options, for tests that need machine code.

A row of TABLE has one level of each factor in FACTORS; "-" is the level without the option. The step of each row is
compiled once in a test run. No row has a pair of FORBIDDEN. A level in ALTERNATING_OPTIONS stands for two options that
alternate, for example rk3 and rk4. After a change of FACTORS, `python tools/covering.py` prints a new table.
tests/executors/test_product.py compares every stepper with every flux, without a compiler.
"""

import itertools
from functools import cache

import numpy as np

import swmodel
from support import random_case
from support.random_case import DRYING, DRYING_SPHERE, TIDE, configuration, drying_flats, random_fields, section
from swmodel import operators as op
from swmodel.ocean.coordinates import axes, from_grid_axes
from swmodel.ocean.terms.barriers import BarrierOptions, BarriersOptions

NY, NX = 19, 23
SPONGE = section("sponge", rate=1e-4, width=2e4)
OPEN_BOUNDARIES = section("open_boundaries", constituents=("M2", "K1"), amplitude=(0.3, 0.2), phase=(70, -30))
OPEN_BOUNDARIES |= section("open_boundaries", sides=("west", "south"), transport_x=2.0) | {"grid__periodic_x": False}
OTHER_BOUNDARIES = OPEN_BOUNDARIES | section("open_boundaries", sides=("east", "north"), current_x=0.1)
SPHERE = {"sphere": True, "grid__south": -40.0}
PROJECTED = {"grid__crs": "EPSG:32633", "grid__easting": 4e5, "grid__northing": 5.9e6}
TRACER, DYE = {"name": "tracer", "diffusivity": 100.0}, {"name": "dye", "initial": 2.0}
WENO5_TRACERS = tuple(each | {"advection": "weno5"} for each in (TRACER, DYE))
BODY_FORCE = section("body_force", x=1e-5, y_amplitude=1e-4, y_phase=0.4, period=300.0)
BACKSCATTER = section("physics", backscatter=0.3, zanna_bolton=1.0, biharmonic_smagorinsky=0.06)
#: The levels of each factor, and the options that they set.
FACTORS = {
    "stepper": {name: {"time__stepper": name} for name in ("ab2", "ab3", "rk", "leapfrog", "gfb")} | {"drying": {}},
    "flux": {name: {"scheme__vorticity_flux": name} for name in ("energy", "enstrophy", "arakawa_lamb", "weno")},
    "boundary": {"periodic": {"grid__periodic_y": True}, "channel": {}}
    | {"basin": {"grid__periodic_x": False}, "open": OPEN_BOUNDARIES},
    "geometry": {"f_plane": {}, "beta_plane": {"physics__beta": 2e-10}, "sphere": {}},
    "friction": {"viscosity": {}, "inviscid": {"physics__viscosity": 0.0}}
    | {"biharmonic": section("physics", viscosity=0.0, biharmonic_viscosity=1e8)},
    "closure": {
        "-": {},
        "smagorinsky": section("physics", smagorinsky=0.15, biharmonic_smagorinsky=0.06),
        "leith": section("physics", leith=1.0, leith_e=8.0),
        "backscatter": BACKSCATTER | {"physics__biharmonic_viscosity": 1e7},
    },
    "drag": {"quadratic": {}, "manning": section("physics", manning=0.03, quadratic_drag=0.0)},
    "tracers": {"-": {}, "two": {"physics__tracers": (TRACER, DYE)}}
    | {"fifth_order": {"physics__tracers": WENO5_TRACERS}},
    "coefficients": {"numbers": {}, "fields": {}},
    "slip": {"free": {}, "no": {"physics__slip": "no"}},
    "dtype": {name: {"run__dtype": name} for name in ("float64", "float32")},
    "tide": {"-": {}, "tide": TIDE | {"physics__self_attraction": 0.1}},
    "weather": {"-": {}, "weather": {"has_weather": True}},
    "sponge": {"-": {}, "sponge": SPONGE},
    "force": {"-": {}, "force": BODY_FORCE},
    "term": {"-": {}, "user_term": {}},
}
#: Factors of coefficients on the small cells of the rows with drying.
DRYING_SCALE = {"viscosity": (50 / 4e3) ** 2, "biharmonic_viscosity": (50 / 4e3) ** 4}
#: Pairs of levels that no run can have together.
FORBIDDEN = {
    *((("boundary", "periodic"), ("geometry", geometry)) for geometry in ("beta_plane", "sphere")),
    *((("geometry", geometry), ("tide", "tide")) for geometry in ("f_plane", "beta_plane")),
    *((("stepper", name), ("tracers", "fifth_order")) for name in ("ab2", "ab3", "rk", "leapfrog")),
    (("boundary", "periodic"), ("tide", "tide")),
    (("stepper", "leapfrog"), ("boundary", "open")),
}
#: The two sets of options between which a level alternates from one of its rows to the next.
ALTERNATING_OPTIONS = {
    ("stepper", "rk"): ({"time__stepper": "rk3"}, {"time__stepper": "rk4"}),
    ("flux", "weno"): ({"scheme__vorticity_flux": "weno5"}, {"scheme__vorticity_flux": "weno7"}),
    ("weather", "weather"): ({"has_weather": True}, {"has_weather": True, "wind_drag__law": "large_pond"}),
    ("boundary", "open"): (OPEN_BOUNDARIES, OTHER_BOUNDARIES),
    ("geometry", "beta_plane"): ({"physics__beta": 2e-10}, PROJECTED),
    ("geometry", "sphere"): (SPHERE, SPHERE | {"grid__pole": (-42.0, 76.0)}),
}
TABLE = """
ab2 energy basin f_plane viscosity smagorinsky quadratic - fields free float64 - - sponge force user_term
ab2 enstrophy channel beta_plane biharmonic backscatter quadratic two fields no float64 - weather - - -
ab2 arakawa_lamb open sphere inviscid - manning - fields no float32 tide - sponge force -
ab2 weno periodic f_plane inviscid leith manning two numbers no float32 - weather sponge force -
ab3 energy open beta_plane biharmonic backscatter manning two fields free float64 - weather - force -
ab3 enstrophy basin sphere inviscid smagorinsky manning two fields no float64 tide - - - user_term
ab3 arakawa_lamb periodic f_plane viscosity leith quadratic - fields free float32 - weather sponge - user_term
ab3 weno channel beta_plane biharmonic - manning two numbers no float32 - - - - user_term
rk energy periodic f_plane biharmonic smagorinsky manning - numbers free float32 - - - - user_term
rk enstrophy open f_plane viscosity leith quadratic two numbers no float64 - - - force -
rk arakawa_lamb channel beta_plane biharmonic - quadratic - numbers no float32 - - - - -
rk weno basin sphere inviscid backscatter quadratic two fields no float32 tide weather sponge - -
leapfrog energy channel f_plane inviscid - quadratic - numbers free float64 - weather - - -
leapfrog enstrophy basin beta_plane biharmonic leith quadratic - fields no float32 - - - force -
leapfrog arakawa_lamb channel sphere biharmonic smagorinsky quadratic two numbers free float64 tide - sponge force -
leapfrog weno periodic f_plane viscosity backscatter manning - fields free float64 - - - force user_term
gfb energy open sphere biharmonic leith manning fifth_order numbers free float32 tide weather - force -
gfb enstrophy periodic f_plane inviscid - manning two fields free float64 - - sponge force user_term
gfb arakawa_lamb basin sphere inviscid backscatter quadratic - fields no float64 tide - sponge - user_term
gfb weno channel beta_plane viscosity smagorinsky quadratic fifth_order fields free float64 - weather - - -
drying energy channel beta_plane inviscid leith manning - fields no float64 - - sponge force -
drying enstrophy periodic f_plane inviscid backscatter manning fifth_order numbers no float32 - - sponge force user_term
drying arakawa_lamb basin sphere viscosity - manning fifth_order numbers no float32 tide weather sponge force -
drying weno open sphere biharmonic smagorinsky quadratic two numbers free float64 - - - - user_term
"""


def rows() -> list[dict[str, str]]:
    return [dict(zip(FACTORS, line.split(), strict=True)) for line in TABLE.split("\n") if line]


def pairs_of_levels(levels: dict[str, str]) -> set:
    return set(itertools.combinations(levels.items(), 2))


def required_pairs() -> set:
    """All pairs of levels of two factors, except FORBIDDEN."""
    all_levels = [[(factor, level) for level in levels] for factor, levels in FACTORS.items()]
    return {pair for two in itertools.combinations(all_levels, 2) for pair in itertools.product(*two)} - FORBIDDEN


def rows_by_name() -> dict[str, dict[str, str]]:
    """The rows by name; a name consists of stepper, flux, boundary and geometry."""
    return {"-".join([*row.values()][:4]): row for row in rows()}


def names_without_drying() -> list[str]:
    """The names of all rows, for executors without drying; the rows still have every pair of the other options."""
    return [name.replace("drying-", "gfb_instead_of_drying-") for name in rows_by_name()]


def row_of(name: str) -> tuple[int, dict[str, str]]:
    """The number of a row and its levels. If `name` begins with "gfb_instead_of_", the level drying becomes gfb."""
    number = [*rows_by_name()].index(name.removeprefix("gfb_instead_of_"))
    return number, rows()[number] | ({"stepper": "gfb"} if name.startswith("gfb_instead_of_") else {})


def alternatives_of(level: tuple[str, str]) -> tuple[dict, dict]:
    """The options of the first, third, ... row with a level, and those of the other rows with it."""
    return ALTERNATING_OPTIONS.get(level) or 2 * (FACTORS[level[0]][level[1]],)


def overrides_of(name: str) -> dict:
    """The overrides that a row sets, for `random_case.configuration`."""
    (number, row), options = row_of(name), {}
    if row["stepper"] == "drying":
        options = (DRYING_SPHERE if row["geometry"] == "sphere" else DRYING) | {"time__dt": 0.5, "forcing__every": 0.8}
    for level in row.items():
        occurrence = sum(level in other.items() for other in rows()[:number]) % 2
        options |= alternatives_of(level)[occurrence]
    if (row["boundary"], row["sponge"]) == ("channel", "sponge"):
        options |= {"sponge__sides": ("south", "north")}
    if (row["boundary"], row["weather"]) == ("open", "weather"):
        options |= {"open_boundaries__pressure": 50.0}
    if (row["stepper"], row["force"]) == ("drying", "force"):
        options |= random_case.INFILTRATION
    for key, scale in DRYING_SCALE.items() if row["stepper"] == "drying" else ():
        if f"physics__{key}" in options:
            options[f"physics__{key}"] *= scale
    return options


def roughness(at):
    return 1e-5 * (2 + np.sin(at.i + at.j))


def user_drag(state, grid, t, roughness):
    """A user term: linear drag that varies in time on u, and quadratic drag, written with conditions, on v."""
    northward = (state.v > 0) & (op.my_f(state.h) > 0) | (state.v == 0)
    return {
        "u": -op.mx_f(roughness) * state.u * np.where((t >= 0.0) & (t < 1e6) | (t > 1e9), 2 + np.cos(t / 50), 0.0),
        "v": -op.my_f(roughness) * np.where(northward, state.v, -state.v) * state.v,
    }


def user_drag_for_reference(tendency):
    """`user_drag` for the NumPy reference, without the operators of the model."""
    u_roughness, v_roughness = tendency.domain.at_faces("roughness")
    inner = np.s_[1:-1, 1:-1]

    def add(x, F):
        u, v = x[1][inner], x[2][inner]
        F[1][inner] -= u_roughness * u * (2 + np.cos(tendency.time / 50))
        F[2][inner] -= v_roughness * np.abs(v) * v

    return add


def barriers_on(grid) -> BarriersOptions:
    """Barriers through corners of cells: a sill with a bend, whose crest rises above the sea, and a gate that opens."""

    def line(*corners):
        x, y = axes(grid)
        positions = ((x.first + (i + 0.5) * x.spacing, y.first + (j + 0.5) * y.spacing) for i, j in corners)
        return [[*map(float, from_grid_axes(grid, *position))] for position in positions]

    points = zip(line((4, 3), (4, 9), (12, 9)), (-0.3, -0.1, 0.2), strict=True)
    sill = BarrierOptions(name="sill", line=[[*point, crest] for point, crest in points])
    gate = BarrierOptions(name="gate", line=line((8, 12), (15, 14)), gate=((0.0, 1.0), (60.0, -9.0)))
    return BarriersOptions(lines=(sill, gate), discharge_coefficient=0.9)


@cache
def configuration_of(name: str) -> swmodel.Config:
    (_, row), options = row_of(name), overrides_of(name)
    nonzero_defaults = dict.fromkeys(("physics__viscosity", "physics__quadratic_drag"), True)
    names = [key for key in random_case.COEFFICIENTS if (nonzero_defaults | options).get(f"physics__{key}")]
    names = names if row["coefficients"] == "fields" else []
    options = {key: value for key, value in options.items() if key.removeprefix("physics__") not in names}
    if row["stepper"] == "drying":
        fields = drying_flats(NY, NX, margin=2 * (row["boundary"] == "open"), coefficients=names)
        fields |= {name: fields[name] * DRYING_SCALE[name] for name in names if name in DRYING_SCALE}
    else:
        fields = random_fields(NY, NX, coefficients=names, amplitude=0.3)
    config = configuration(NY, NX, fields, **options)
    if row["force"] == "force":
        config = config.model_copy(update={"barriers": barriers_on(config.grid)})
    if row["term"] == "user_term":
        return swmodel.load(config, fields={"roughness": roughness}, terms=[user_drag])
    return config
