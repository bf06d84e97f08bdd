"""The tidal potential agrees with the positions of the Moon and the Sun, and its ramp with its formula."""

import math

import numpy as np
import pytest
from support.canal import DATE, equatorial_canal

import swmodel
from swmodel.config.loading.load import gather_sources
from swmodel.config.remarks import remarks
from swmodel.ocean.constituents import constituent_data, constituents_at, parse_date
from swmodel.ocean.instant import Instant
from swmodel.ocean.patch import Patch
from swmodel.ocean.terms.tide import EQUILIBRIUM, SPECIES, ramp_factor, ramp_params, species_fields

SPHERE = {"grid.kind": "latlon", "grid.west": 0, "grid.east": 120, "grid.south": -60, "grid.north": 60, "time.dt": 60.0}
TIDE = SPHERE | {"tide.constituents": ["M2"], "time.start": DATE, "run.executor": "reference"}


@pytest.mark.slow
@pytest.mark.promise("tides are those of the Moon and the Sun")
@pytest.mark.parametrize("date", ["1975-07-14T03:00", "2033-11-05 17:41:30"])
def test_constituents_agree_with_utide(date):
    """Phases, frequencies and nodal factors agree if utide leaves out the satellites of the third degree."""
    utide = pytest.importorskip("utide")
    from utide import harmonics

    names = [name for name in constituent_data() if name not in ("MF", "MM")]  # of which utide has no satellites
    indices = [utide.constit_index_dict[name] for name in names]
    day = parse_date(date).toordinal() + (parse_date(date) - parse_date(date[:10])).total_seconds() / 86400
    amplitude_ratios = harmonics.sat.amprat
    try:
        harmonics.sat.amprat = np.where(harmonics.sat.ilatfac == 0, amplitude_ratios, 0.0)
        f, u, V = (values[0] for values in harmonics.FUV(np.array([day]), day, indices, 30.0, [0, 0, 0, 0]))
    finally:
        harmonics.sat.amprat = amplitude_ratios
    constituents = constituents_at(names, date)
    cycles = np.array([each.phase for each in constituents]) / (2 * np.pi) - (V + u)
    assert np.abs(cycles - np.round(cycles)).max() < 1e-8
    np.testing.assert_allclose([each.nodal_factor for each in constituents], f, rtol=1e-12)
    frequencies = [3600 * each.frequency for each in constituents]
    np.testing.assert_allclose(frequencies, utide.ut_constants.const.freq[indices], rtol=1e-6)


def moon_and_sun(date):
    """Ecliptic longitude and latitude, and parallax over its mean, of Moon and Sun; the sidereal angle; in radians.

    Reference: Meeus, J. (1998), Astronomical Algorithms, chapters 12, 25 and 47, the largest terms.
    """
    days = (parse_date(date) - parse_date("2000-01-01T12:00")).total_seconds() / 86400
    angles_at_epoch = np.array([218.316, 297.850, 357.529, 134.963, 93.272])
    rate = np.array([13.17639648, 12.19074912, 0.98560028, 13.06499295, 13.22935024])
    L, D, M, m, F = np.radians(angles_at_epoch + rate * days)
    lon = L + np.radians(6.289 * np.sin(m) + 1.274 * np.sin(2 * D - m) + 0.658 * np.sin(2 * D) + 0.214 * np.sin(2 * m))
    lon -= np.radians(0.185 * np.sin(M) + 0.114 * np.sin(2 * F))
    lat = np.radians(5.128 * np.sin(F) + 0.281 * np.sin(m + F) + 0.278 * np.sin(m - F) + 0.173 * np.sin(2 * D - F))
    parallax = 1 + 0.0545 * np.cos(m) + 0.0100 * np.cos(2 * D - m) + 0.0082 * np.cos(2 * D) + 0.0030 * np.cos(2 * m)
    sun = np.radians(280.466 + 0.98564736 * days + 1.915 * np.sin(M) + 0.020 * np.sin(2 * M))
    sidereal = np.radians(280.46062 + 360.98564737 * days)
    return ((lon, lat, parallax), (sun, 0.0, 1 + 0.0167 * np.cos(M))), sidereal


@pytest.mark.slow
@pytest.mark.promise("tides are those of the Moon and the Sun")
def test_constituents_add_up_to_attraction_of_moon_and_sun():
    """The potential of second degree is a (parallax)³ (3/2 cos² z - 1/2), with the zenith distance z.

    a = 0.3584 m for the Moon, 0.1645 m for the Sun (Doodson's constant over g, and 0.459 of it). Means over time are
    removed. The correlation with the sum of the eleven constituents shows that their signs and phases are right.
    """
    lon, lat = np.array([[0.0, 70.0, 200.0]]), np.array([[-50.0], [0.0], [25.0], [65.0]])
    lon_rad, lat_rad = np.radians(lon), np.radians(lat)
    sin_e, cos_e = np.sin(np.radians(23.439)), np.cos(np.radians(23.439))  # of the obliquity of the ecliptic
    potentials, tides = [], []
    for hour in range(0, 24 * 60, 5):
        date = f"2012-{3 + hour // 744:02d}-{1 + hour % 744 // 24:02d}T{hour % 24:02d}:00"
        bodies, sidereal = moon_and_sun(date)
        potential = 0.0
        for (body_lon, body_lat, parallax), amplitude in zip(bodies, (0.3584, 0.1645), strict=True):
            declination = np.arcsin(np.sin(body_lat) * cos_e + np.cos(body_lat) * sin_e * np.sin(body_lon))
            right_ascension = np.arctan2(np.sin(body_lon) * cos_e - np.tan(body_lat) * sin_e, np.cos(body_lon))
            hour_angle = sidereal + lon_rad - right_ascension
            cos_z = np.sin(lat_rad) * np.sin(declination) + np.cos(lat_rad) * np.cos(declination) * np.cos(hour_angle)
            potential = potential + amplitude * parallax**3 * (1.5 * cos_z**2 - 0.5)
        potentials.append(potential)
        tide = 0.0
        for each in constituents_at(tuple(EQUILIBRIUM), date):
            cosine, *sine = species_fields(SPECIES[each.name], lon, lat).values()
            shape = cosine * np.cos(each.phase) - sum(sine) * np.sin(each.phase)
            tide = tide + each.nodal_factor * EQUILIBRIUM[each.name].amplitude * shape
        tides.append(np.broadcast_to(tide, potential.shape))
    potentials, tides = np.array(potentials), np.array(tides)
    for weight in (np.ones_like(lat), np.sin(2 * lat_rad)):
        potential, tide = ((each - each.mean(axis=0)) * weight for each in (potentials, tides))
        assert np.corrcoef(potential.ravel(), tide.ravel())[0, 1] > 0.97
        assert (potential * tide).sum() / (tide**2).sum() == pytest.approx(1, abs=0.03)


@pytest.mark.fault("a tide's ramp differs after a restart, between executors or layouts")
def test_ramp_follows_its_formula_in_each_stage():
    """The ramp is (1 - cos(pi t / T)) / 2, from the step count alone, so that a restart does not change it."""
    config, *_ = equatorial_canal(24, tide__ramp=7e5)
    params = {name: Patch(value, (0, 0)) for name, value in ramp_params(config, "r").items()}
    for step, stage in ((0, 0.0), (100, 0.5), (1500, 1.0), (2**31 - 1, 0.5)):
        factor = np.asarray(ramp_factor("r", params, Instant(np.int32(step), stage), np.dtype("float64"))).item()
        t = min((step + stage) * config.time.dt / 7e5, 1.0)
        assert factor == pytest.approx(0.5 - 0.5 * math.cos(math.pi * t), abs=1e-14)
    assert factor == 1


@pytest.mark.fault("constants are fitted to a tide that still grows")
def test_harmonic_analysis_or_end_within_ramp_is_reported():
    options = TIDE | {"output.harmonics": ["M2"], "run.days": 5.0}
    for ramp, analysis_start, n_remarks in (("2 days", "1 day", 1), ("2 days", "2 days", 0), ("6 days", "2 days", 2)):
        with_ramp = options | {"tide.ramp": ramp, "output.harmonics_from": analysis_start}
        resolved = swmodel.resolve(swmodel.load("rest", with_ramp, {}))
        lines = remarks(resolved, gather_sources("rest", with_ramp, {}), writes_records=False)
        assert sum("tide.ramp" in line for line in lines) == n_remarks


def test_main_selects_all_constituents_of_equilibrium_tide():
    config = swmodel.load("rest", TIDE | {"tide.constituents": ["main"]}, {})
    assert config.tide.constituents == tuple(EQUILIBRIUM)
