"""Observed series of gauges in the layouts of agencies and spreadsheets: the same levels and times, or the row."""

import codecs

import numpy as np
import pytest

from swmodel.errors import UsageError
from swmodel.files.gauge_series import read_gauge_series

TIMES = np.datetime64("2010-02-27T22:00") + np.arange(4) * np.timedelta64(1, "h")
LEVEL = np.array([1.25, 0.5, -0.125, 2.0])

DATES = [str(time).split("T") for time in TIMES]
ROWS = [(*date.split("-"), *clock.split(":")) for date, clock in DATES]
LAYOUTS = {
    "UHSLC": "".join(f"{y},{m},{d},{h},{1e3 * v:.0f}\n" for (y, m, d, h, _), v in zip(ROWS, LEVEL, strict=True))
    + "2010,2,28,2,-32767\n",
    "CO-OPS": "Date Time, Water Level, Sigma, O or I (for verified), F, R, L, Quality \n"
    + "".join(f"{d} {c},{v},0.003,0,0,0,0,v\n" for (d, c), v in zip(DATES, LEVEL, strict=True))
    + "2010-02-28 02:00,,,,,,,\n",
    "a page of CO-OPS": '"Date","Time (GMT)","Predicted (m)","Preliminary (m)","Verified (m)"\n'
    + "".join(
        f'"{d.replace("-", "/")}","{c}","9.0",{pair}\n'
        for (d, c), pair in zip(DATES, ('"-","1.25"', '"0.5","-"', '"7","-0.125"', '"-","2.0"'), strict=True)
    ),
    "DART": "#YY  MM DD hh mm ss T   HEIGHT\n#yr  mo dy hr mn  s -      m\n2010 02 28 02 00 00 1 9999.000\n"
    + "".join(
        f"{y} {m} {d} {h} {n} 00 1 {v:.3f}\n" for (y, m, d, h, n), v in reversed([*zip(ROWS, LEVEL, strict=True)])
    ),
    "a table": "time;level (cm);flag\n"
    + "".join(f"{d} {c};{100 * v};ok\n" for (d, c), v in zip(DATES, LEVEL, strict=True)),
}
VARIANTS = {
    "decimal commas": LAYOUTS["a table"].replace(".", ","),
    "dates with dots": "# mine\nDate;Time (UTC);Water Level [m]\n"
    + "".join(
        f"{d}.{m}.{y};{h}:{n};{str(v).replace('.', ',')}\n" for (y, m, d, h, n), v in zip(ROWS, LEVEL, strict=True)
    ),
    "zones": "time,eta\n"
    + "".join(f"{t + np.timedelta64(90, 'm')}:00+01:30,{v}\n" for t, v in zip(TIMES, LEVEL, strict=True)),
    "ERDDAP": "time,sea_level,latitude\nUTC,millimeters,degrees_north\n"
    + "".join(f"{t}:00Z,{1e3 * v},21.3\n" for t, v in zip(TIMES, LEVEL, strict=True)),
    "feet": LAYOUTS["a page of CO-OPS"].replace("(m)", "(ft)"),
}


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("start_and_end", [(b"", "\n"), (codecs.BOM_UTF8, "\r\n")], ids=["plain", "BOM, CRLF"])
def test_layouts_hold_the_same_series(tmp_path, name, start_and_end):
    start, end = start_and_end
    (tmp_path / "gauge.csv").write_bytes(start + LAYOUTS[name].replace("\n", end).encode())
    series = read_gauge_series(tmp_path / "gauge.csv")
    assert series.layout == name
    assert (series.times == TIMES).all()
    np.testing.assert_allclose(series.level, LEVEL, rtol=0, atol=1e-12)
    assert series.has_own_datum == (name != "a table")


@pytest.mark.parametrize("name", VARIANTS)
def test_numbers_times_and_units_of_spreadsheets_are_understood(tmp_path, name):
    (tmp_path / "gauge.csv").write_text(VARIANTS[name])
    series = read_gauge_series(tmp_path / "gauge.csv")
    assert (series.times == TIMES).all()
    np.testing.assert_allclose(series.level, LEVEL * (0.3048 if name == "feet" else 1), rtol=0, atol=1e-12)


@pytest.mark.fault("a bad row of a gauge is left out, or a time zone or a month is guessed")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2010,2,27,22,1250\n2010,2,27,23,12x\n", 'csv:2: "12x" is not a number'),
        ("2010,2,27,22,1250\n2010,2,30,23,12\n", "csv:2: .*day"),
        ("2010,2,27,22,1250\n2010,2,27\n", "csv:2: has 3 values, not 5"),
        ("time,level\n27/02/2010 22:00,1\n", 'csv:2: "27/02/2010 22:00" is not a time'),
        ("time (LST),level\n2010-02-27 22:00,1\n", "time .lst.* UTC"),
        ('"Date","Time (LST/LDT)","Verified (m)"\n"2010/02/27","22:00","1"\n', "lst/ldt.* UTC"),
        ("time,level\n0001-01-01T00:00+01:00,1\n", "csv:2: date value out of range"),
        ("time,level (fathoms)\n2010-02-27,1\n", "level .fathoms"),
        ("Date,Verified (m)\n2010/02/27,1\n", "begins no known series"),
        ("time,level\n2010-02-27 22:00:75,1\n", 'csv:2: "2010-02-27 22:00:75" is not a time'),
        ("hello\n", 'csv:1: "hello" begins no known series'),
        ("", "has no rows"),
        ("time,level\n2010-02-27,-9999\n", "has no values"),
    ],
)
def test_rows_that_cannot_be_read_are_named(tmp_path, text, words):
    (tmp_path / "gauge.csv").write_text(text)
    with pytest.raises(UsageError, match=words):
        read_gauge_series(tmp_path / "gauge.csv")
