"""Observed series of gauges have the same levels and times in all formats; rows that cannot be read are named."""

import numpy as np
import pytest

from swmodel.errors import UsageError
from swmodel.files.gauge_series import read_gauge_series

TIMES = np.datetime64("2010-02-27T22:00") + np.arange(4) * np.timedelta64(1, "h")
LEVEL = np.array([1.25, 0.5, -0.125, 2.0])


def rows(template):
    """The template, filled in for each time `t` and its level, which is `m` in m, `cm` in cm and `mm` in mm."""
    series = zip(TIMES.tolist(), LEVEL, strict=True)
    return [template.format(t=t, m=level, cm=100 * level, mm=1e3 * level) + "\n" for t, level in series]


#: The series in each format; in three there is also a row without a value.
FORMATS = {
    "UHSLC": [*rows("{t:%Y,%m,%d,%H},{mm:.0f}"), "2010,2,28,2,-32767\n"],
    "CO-OPS": ["Date Time, Water Level, Sigma, O or I (for verified), F, R, L, Quality \n",
               *rows("{t:%Y-%m-%d %H:%M},{m},0.003,0,0,0,0,v"), "2010-02-28 02:00,,,,,,,\n"],
    "a page of CO-OPS": ['"Date","Time (GMT)","Predicted (m)","Preliminary (m)","Verified (m)"\n',
                         '"2010/02/27","22:00","9.0","-","1.25"\n', '"2010/02/27","23:00","9.0","0.5","-"\n',
                         '"2010/02/28","00:00","9.0","7","-0.125"\n', '"2010/02/28","01:00","9.0","-","2.0"\n'],
    "DART": ["#YY  MM DD hh mm ss T   HEIGHT\n", "#yr  mo dy hr mn  s -      m\n", "2010 02 28 02 00 00 1 9999.000\n",
             *reversed(rows("{t:%Y %m %d %H %M} 00 1 {m:.3f}"))],
    "a table": ["time;level (cm);flag\n", *rows("{t:%Y-%m-%d %H:%M};{cm};ok")],
}  # fmt: skip
FORMATS = {name: "".join(lines) for name, lines in FORMATS.items()}
VARIANTS = {
    "decimal commas": FORMATS["a table"].replace(".", ","),
    "dates with dots": "# mine\nDate;Time (UTC);Water Level [m]\n27.02.2010;22:00;1,25\n27.02.2010;23:00;0,5\n"
    "28.02.2010;00:00;-0,125\n28.02.2010;01:00;2,0\n",
    "zones": "time,eta\n2010-02-27T23:30:00+01:30,1.25\n2010-02-28T00:30:00+01:30,0.5\n"
    "2010-02-28T01:30:00+01:30,-0.125\n2010-02-28T02:30:00+01:30,2.0\n",
    "ERDDAP": "time,sea_level,latitude\nUTC,millimeters,degrees_north\n"
    + "".join(rows("{t:%Y-%m-%dT%H:%M:00Z},{mm},21.3")),
    "spaces and decimal commas": FORMATS["DART"].replace(".", ","),
    "feet": FORMATS["a page of CO-OPS"].replace("(m)", "(ft)"),
}


def read_series(folder, text):
    """The series of a file with this text."""
    path = folder / "gauge.csv"
    path.write_text(text, encoding="utf-8", newline="")
    return read_gauge_series(path)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(("start", "end"), [("", "\n"), ("\ufeff", "\r\n")], ids=["plain", "BOM, CRLF"])
def test_series_is_the_same_in_every_format(tmp_path, name, start, end):
    series = read_series(tmp_path, start + FORMATS[name].replace("\n", end))
    assert series.format_name == name
    assert (series.times == TIMES).all()
    np.testing.assert_allclose(series.level, LEVEL, rtol=0, atol=1e-12)
    assert series.has_own_datum == (name != "a table")


@pytest.mark.parametrize("name", VARIANTS)
def test_numbers_times_and_units_are_read_as_spreadsheets_write_them(tmp_path, name):
    series = read_series(tmp_path, VARIANTS[name])
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
        ("time,level\n2010-02-27 22:00:75,1\n", 'csv:2: "2010-02-27 22:00:75" is not a time'),
        ("time,level\n2010-02-27,1\n2010-02-27,1\n2010-02-27T00:00,2\n", "csv:4: the level at this time is 2 m"),
        ("hello\n", 'csv:1: "hello" begins no known series'), ("", "has no rows"),
        ("time,level (cm)\n2010-02-27,-999\n", "has no values"), ("Date,Verified (m)\n2010/02/27,1\n", "no known"),
        ("time,level\n2010-02-27,1\n2010-02-28,99.9\n2010-03-01,2\n", "csv:3: the level is 99.9 m"),
        ("time,height,water level\n2010-02-27,3,1\n", "csv: has several columns of levels, height, water level"),
    ],
)  # fmt: skip
def test_rows_that_cannot_be_read_are_named(tmp_path, text, words):
    with pytest.raises(UsageError, match=words):
        read_series(tmp_path, text)
