"""Numbers that are not finite are null in the files that the model writes."""

import json
import math

from swmodel.files.status import write_status


def test_what_is_not_finite_is_null_and_all_else_stays(tmp_path):
    value = {"a": [1.5, math.nan, {"b": (math.inf, -math.inf, 0)}], "c": None, "d": "nan", "e": True}
    write_status(tmp_path, **value)
    read = json.loads((tmp_path / "status.json").read_text(), parse_constant=lambda name: 1 / 0)
    assert read == {"a": [1.5, None, {"b": [None, None, 0]}], "c": None, "d": "nan", "e": True}
