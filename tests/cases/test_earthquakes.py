"""Earthquakes of many subfaults: their files, sums of displacements, sloping floors, the filter, and rupture."""

import numpy as np
import pytest

import swmodel
from swmodel.errors import UsageError
from swmodel.forcing import finite_fault
from swmodel.forcing.earthquake import Earthquake
from swmodel.forcing.fault_files import parse_faults, read_faults
from swmodel.forcing.finite_fault import Subfaults, along_earth_axes, slip_fraction, sum_of_displacements
from swmodel.forcing.kajiura import kajiura_filter
from swmodel.ocean.coordinates import azimuthal_projection, points

OPTIONS = {"grid.nx": 90, "grid.ny": 80, "grid.west": 20.0, "grid.south": 33.0, "grid.east": 25.0, "grid.north": 37.0}
OPTIONS |= {"output.stations": [], "run.executor": "reference"}
SEA = {"depth": lambda at: 3000 + 0 * at.lat, "mask": lambda at: 1 + 0 * at.lat}
ROWS = [(22.1, 34.5, 21.0, 12.0), (22.4, 34.6, 24.5, 3.5), (22.2, 34.8, 28.0, 0.0)]  # lon, lat, depth in km, slip in m
TABLE = "lon,lat,depth_km,strike,dip,rake,slip (cm),length [km],width_m,rupture_time,rise_time\n" + "\n".join(
    f"{lon},{lat},{depth},16,20,104,{100 * slip},40,30e3,{10 + n},6" for n, (lon, lat, depth, slip) in enumerate(ROWS)
)
PARAM = """#Total number of fault_segments=     1
#Fault_segment =   1 nx(Along-strike)=   3 Dx= 40.00km ny(downdip)=   1 Dy= 30.00km
#Boundary of Fault_segment     1. EQ in cell 1,1. Lon:   22.1   Lat: 34.5
#Lon.  Lat.  Depth
  22.0  34.4  6.5
#Lat. Lon. depth slip rake strike dip t_rup t_ris t_fal mo
""" + "\n".join(
    f"{lat} {lon} {depth} {100 * slip} 104 16 20 {10 + n} 3 3 1e26" for n, (lon, lat, depth, slip) in enumerate(ROWS)
)
FSP = """% ------ FINITE-SOURCE RUPTURE MODEL ------
% Mech : STRK = 16.0 DIP = 20 RAKE = 104  Htop = 15.9 km
% Invs : Nx = 3  Nz = 1 Fmin = 0.01 Hz
% Invs : Dx = 40.0 km  Dz = 30.0 km
% Nsbfs = 3 subfaults
% Coordinates are given for center of each subfault or segment: |'|
% LAT LON X==EW Y==NS Z SLIP RAKE TRUP RISE SF_MOMENT
""" + "\n".join(f"{lat} {lon} 0 0 {depth} {slip} 104 {10 + n} 6 1e19" for n, (lon, lat, depth, slip) in enumerate(ROWS))


def many_subfaults(along=12, down=5, size=20e3):
    """Subfaults of a plane, with random slip, that rupture one column after the other, every two seconds."""
    n, rng = along * down, np.random.default_rng(1)
    i, j = (indices.ravel() for indices in np.meshgrid(np.arange(along), np.arange(down)))
    lon, lat = 21.5 + i * size / 110e3 * 0.5, 34.0 + i * size / 110e3 * 0.9 - j * 0.05
    ones = np.ones(n)
    planes = (16 * ones, 14 * ones, 104 * ones, rng.uniform(1, 20, n), size * ones, size * ones)
    return Subfaults(lon, lat, 0.5 * ones, 2e3 + j * size * 0.24, *planes, 2.0 * i, 5 * ones, 3 * ones)


def configuration(**options):
    return swmodel.load("chile2010", OPTIONS | {f"case.{name}": value for name, value in options.items()})


def uplift_of(config):
    at = points(config.grid, "centre", np.arange(config.grid.ny), np.arange(config.grid.nx))
    return config.case.uplift(config, at)


def test_subfault_of_a_file_has_the_bits_of_the_fault_of_the_options(tmp_path):
    fault = {"strike": 21.0, "dip": 17.0, "rake": 99.0, "slip": 7.0, "length": 90e3, "width": 40e3, "top_lon": 22.0,
             "top_lat": 35.0, "top_depth": 9e3}  # fmt: skip
    (tmp_path / "one.csv").write_text(";".join(fault) + "\n" + ";".join(f"{value:g}" for value in fault.values()))
    uplift = uplift_of(configuration(faults=str(tmp_path / "one.csv")))
    assert np.array_equal(uplift, uplift_of(configuration(**fault)))
    assert np.ptp(uplift) > 1


def test_three_formats_give_the_same_subfaults():
    table, *other_formats = (parse_faults(text, "file") for text in (TABLE, PARAM, FSP))
    for subfaults in other_formats:
        for expected, values in zip(table, subfaults, strict=True):
            np.testing.assert_allclose(values, expected, rtol=1e-12)
    from_upper_edge = parse_faults(FSP.replace("for center", "for top-center"), "file")
    np.testing.assert_allclose(from_upper_edge.top_depth, table.top_depth + 15e3 * np.sin(np.radians(20)))


def test_segments_of_a_file_are_read_one_after_another():
    """Each segment has its own length and, in the format FSP, its own strike."""
    first_line, one_segment = PARAM.split("\n", 1)
    other_segment = one_segment.replace("segment =   1", "segment =   2").replace("40.00", "20.00")
    param = "\n".join([first_line, one_segment, other_segment])
    head, rows = FSP.replace("% Nsbfs = 3 subfaults\n", "").split("\n% LAT")
    segment = f"% SEGMENT # {{}}: STRIKE = {{}} deg DIP = 20 deg\n% Dx = {{}} km Dz = 30 km\n% Nsbfs = 3\n% LAT{rows}"
    fsp = "\n".join([head, segment.format(1, 16, 40), segment.format(2, 50, 20)])
    for text, strikes in ((param, (16, 16)), (fsp, (16, 50))):
        subfaults = parse_faults(text, "file")
        assert (subfaults.count, *subfaults.length[::5], *subfaults.strike[::5]) == (6, 40e3, 20e3, *strikes)


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        (TABLE.replace("21.0,16,20", "21.0,16,95"), "file:2: dip is 95 .* 0 to 90"),
        (TABLE.replace("21.0,16", "n,16"), 'file:2: the depth is "n"'),
        (TABLE.replace("depth_km", "depth"), "28 m deep.*depth_km"),
        (TABLE.replace("[km]", "[miles]"), "length .miles."),
        (TABLE.replace("rake", "angle"), "columns rake"),
        (TABLE.replace("21.0,16", "2.0,16"), "file:2: the upper edge .* above the surface"),
        (TABLE.replace("rise_time", "depth_m"), "depth_km and depth_m are both"),
        (TABLE.splitlines()[0], "no subfaults"),
        (PARAM + "\n1 2 3", "file:10: has 3 values for 11 columns"),
        (PARAM.replace("=   3 Dx", "=   4 Dx"), "3 subfaults, .* 4"),
        (FSP.replace("for center", "for corner"), "corner.*must be"),
        (FSP.replace("% Coord", "% Note: coord").replace("given for", "given at"), "does not say"),
        (FSP.replace("Dz = 30.0 km", ""), "no Dz"),
        (FSP.replace("% Nsbfs = 3 subfaults\n", "").replace("Nx = 3", "Nx = 4"), "3 subfaults, .* 4"),
        (FSP.replace(" SLIP RAKE", " SLIP[m] RAKE"), "file:8: no line above names the columns"),
        (TABLE.replace("length [km]", "length"), "file:2: length is 40 m"),
        (FSP.replace("% Nsbfs", "% LEN = 60.0 km WID = 30.0 km\n% Nsbfs"), "do not cover"),
    ],
)
def test_wrong_files_are_refused(text, pattern):
    with pytest.raises(UsageError, match=pattern):
        parse_faults(text, "file")


def test_blocks_of_a_finite_fault_have_the_bits_of_the_whole_sum():
    """The sum is exact to 1e-7 of the largest slip, both where it is interpolated and where it is not."""
    size = {"nx": 150, "ny": 140, "dlon": 0.05, "dlat": 0.05}
    faults, grid = many_subfaults(), configuration().grid.model_copy(update=size)
    rows, columns = np.arange(grid.ny), np.arange(grid.nx)
    whole_grid = Earthquake(faults, grid, None, has_horizontal=False).uplift(rows, columns)
    selected_cells = Earthquake(faults, grid, None).uplift(rows[5::31], columns[7::29])
    assert np.array_equal(selected_cells, whole_grid[5::31, 7::29])
    at = points(grid, "centre", rows[::31], columns[::29])
    exact = sum(sum_of_displacements(faults[[n]], np.ones((1, 1)), at, grid)[0, 0] for n in range(faults.count))
    assert np.abs(whole_grid[::31, ::29] - exact).max() < 1e-7 * faults.slip.max()
    assert faults.count > finite_fault.MIN_INTERPOLATED


def test_slip_grows_as_the_cosine_of_its_rise_and_fall():
    faults = many_subfaults()[[0, 5]]
    t = np.linspace(-1, 30, 3001)
    fraction, end = slip_fraction(faults, t), faults.start + faults.rise + faults.fall
    assert (fraction[t < faults.start[:, None]] == 0).all()
    assert (fraction[t >= end[:, None]] == 1).all()
    seconds = t - faults.start[:, None]
    rate = np.where(seconds < 5, 1 - np.cos(np.pi * seconds / 5), 1 + np.cos(np.pi * (seconds - 5) / 3)) / 8
    rate[(seconds < 0) | (seconds > 8)] = 0
    np.testing.assert_allclose(np.gradient(fraction, t, axis=1), rate, atol=2e-3)


def test_horizontal_motion_of_a_slope_adds_to_the_uplift():
    """A floor at -depth that moves by (east, north, up) rises at a point by up + east d_x depth + north d_y depth."""
    grid, faults, rows, columns = configuration().grid, many_subfaults()[[3]], np.arange(80), np.arange(5, 70)
    at, slope_y, rise_per_column = points(grid, "centre", rows, columns), 0.03, 150.0

    def depth(rows, columns):
        return 2000 + slope_y * at.dy * rows[:, None] - rise_per_column * columns[None, :]

    projected = azimuthal_projection(grid, (faults.lon[0], faults.lat[0]), at)
    up, east, north = along_earth_axes(faults[0], *projected, True)
    uplift = Earthquake(faults, grid, depth, has_horizontal=True).uplift(rows, columns)
    np.testing.assert_allclose(uplift, up + slope_y * north - rise_per_column / at.dx * east, rtol=1e-9, atol=1e-12)
    assert np.abs(uplift - up).max() > 0.01


def test_filter_keeps_the_volume_and_smooths_more_in_deeper_water():
    grid, depth = configuration().grid, np.broadcast_to(np.linspace(-200, 6000, 90), (80, 90))
    at = points(grid, "centre", np.arange(80), np.arange(90))
    floor_uplift = np.random.default_rng(0).standard_normal((80, 90))
    surface_uplift = kajiura_filter(floor_uplift, depth, at.dx, at.dy)
    assert (surface_uplift * at.dx).sum() == pytest.approx((floor_uplift * at.dx).sum(), rel=1e-10)
    np.testing.assert_allclose(kajiura_filter(floor_uplift, -1.0 + 0 * depth, at.dx, at.dy), floor_uplift, atol=1e-12)
    roughness = np.abs(np.diff(surface_uplift, axis=0)).mean(axis=0)
    assert roughness[-20:].mean() < 0.7 * roughness[:20].mean()
    quakes = [Earthquake(many_subfaults(), grid, lambda rows, columns: depth, is_filtered=on) for on in (True, False)]
    filtered, unfiltered = (each.uplift(np.arange(80), np.arange(90)) for each in quakes)
    np.testing.assert_allclose(filtered, kajiura_filter(unfiltered, depth, at.dx, at.dy))


def test_rupture_of_a_file_moves_the_floor_and_a_changed_file_is_refused(tmp_path):
    path = tmp_path / "faults.csv"
    path.write_text(TABLE)
    options = OPTIONS | {"case.faults": str(path), "time.dt": 5.0}
    simulation = swmodel.Simulation("chile2010", options, fields=SEA)
    assert np.abs(simulation.field("uplift")).max() == 0
    final_uplift = uplift_of(configuration(faults=str(path), kinematic=False))
    simulation.advance(3)
    assert 0.01 < np.abs(simulation.field("uplift")).max() < 0.99 * np.abs(final_uplift).max()
    simulation.advance(1)
    np.testing.assert_allclose(simulation.field("uplift"), final_uplift, atol=1e-12)
    recorded_case = simulation.config.case.for_record()
    path.write_text(TABLE.replace("104", "105"))
    with pytest.raises(swmodel.ConfigError, match=r"faults\.csv differs"):
        recorded_case.model_copy(update={"rupture_interval": 9.0}).subfaults()
    with pytest.raises(swmodel.ConfigError, match=r"rupture_interval: 0\.001 s gives 18000 uplifts"):
        uplift_of(configuration(faults=str(path), rupture_interval=0.001))
    path.unlink()
    with pytest.raises(swmodel.ConfigError, match=r"faults\.csv: cannot be read"):
        swmodel.Simulation("chile2010", options)


@pytest.mark.slow
def test_slow_rupture_approaches_the_sudden_one_as_its_rise_time_falls(tmp_path):
    """Sea level after two minutes differs from that of a sudden uplift by an amount that is linear in the rise time."""
    path, levels = tmp_path / "faults.csv", []
    options = OPTIONS | {"case.faults": str(path), "case.rupture_interval": 5.0, "time.dt": 5.0}
    header, *rows = TABLE.splitlines()
    for rise_time in (80, 40, 20, 0):
        path.write_text("\n".join([header, *(f"{row.rsplit(',', 2)[0]},0,{rise_time}" for row in rows)]))
        simulation = swmodel.Simulation("chile2010", options | {"case.kinematic": rise_time > 0}, fields=SEA)
        simulation.advance(24)
        levels.append(simulation.field("eta"))
    errors = [np.abs(level - levels[-1]).max() for level in levels[:-1]]
    assert errors[0] > 0.05 * np.abs(levels[-1]).max()
    np.testing.assert_allclose([errors[0] / errors[1], errors[1] / errors[2]], 2.0, rtol=0.2)


def test_files_with_empty_columns_or_another_encoding_are_read(tmp_path):
    """Spreadsheets add empty columns at the end of rows; a header may have another encoding than UTF-8."""
    (tmp_path / "table.csv").write_text(TABLE.replace("\n", ",,\n") + ",,")
    (tmp_path / "model.fsp").write_text(FSP.replace("% Mech", "% Author : Béjar\n% Mech"), encoding="latin-1")
    for file, text in (("table.csv", TABLE), ("model.fsp", FSP)):
        subfaults, expected = read_faults(tmp_path / file), parse_faults(text, "file")
        assert all(map(np.array_equal, subfaults, expected))
