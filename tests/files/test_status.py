"""Numbers that are not finite are null in the files that the model writes."""

import json
import math

from swmodel.files.status import dumps, write_status


def test_what_is_not_finite_is_null_and_all_else_stays():
    value = {"a": [1.5, math.nan, {"b": (math.inf, -math.inf, 0)}], "c": None, "d": "nan", "e": True}
    text = dumps(value)
    read = json.loads(text, parse_constant=lambda name: 1 / 0)
    assert read == {"a": [1.5, None, {"b": [None, None, 0]}], "c": None, "d": "nan", "e": True}


def test_the_status_of_a_run_that_blew_up_is_read_by_everyone(tmp_path):
    write_status(tmp_path, state="failed", energy=math.nan)
    assert json.loads((tmp_path / "status.json").read_text(), parse_constant=lambda name: 1 / 0)["energy"] is None
