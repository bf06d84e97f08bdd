"""`open_sides.tide`: the tide outside from harmonics.nc of another run."""

import netCDF4
import numpy as np
import pytest

from swmodel import load
from swmodel.config import ConfigError


def constants_of(path, *names):
    """The path of a file with constants of fields and constituents."""
    with netCDF4.Dataset(path, "w") as data:
        data.constituents = " ".join(dict.fromkeys(name.split("_")[-1] for name in names))
        for name in names:
            for what in ("amplitude", "phase"):
                data.createVariable(f"{name}_{what}", "f8", ())
    return path


@pytest.mark.fault("`open_sides.tide` names a file without constants, or omits constituents without a message")
def test_a_file_of_constants_gives_the_parts_of_each_tide_and_what_is_named_comes_first(tmp_path, caplog):
    """An array that a configuration gives replaces that of the file."""
    path = constants_of(tmp_path / "harmonics.nc", "eta_K1", "transport_x_M2", "eta_M2", "eta_MS4")
    toml = tmp_path / "my.toml"
    toml.write_text(
        '[open_sides]\nsides = ["west"]\ntide = "harmonics.nc"\n'
        '[input]\noutside_tide_transport_y = ["v.nc:a,g", "other.nc:vRe,vIm"]\n'
    )
    config = load(toml, environ={})
    assert config.open_sides.constituents == ("M2", "K1")
    found = {name: text for name in type(config.input).model_fields if (text := getattr(config.input, name))}
    assert found == {
        "outside_tide_level": (f"{path}:eta_M2_amplitude,eta_M2_phase", f"{path}:eta_K1_amplitude,eta_K1_phase"),
        "outside_tide_transport_x": (f"{path}:transport_x_M2_amplitude,transport_x_M2_phase", ""),
        "outside_tide_transport_y": (str(tmp_path / "v.nc:a,g"), str(tmp_path / "other.nc:vRe,vIm")),
    }
    assert "MS4 of" in caplog.text
    assert config.open_sides.tide == ""
    assert load(config, environ={}) == config


def test_constituents_along_an_axis_are_found_by_their_numbers(tmp_path):
    path = tmp_path / "harmonics.nc"
    with netCDF4.Dataset(path, "w") as data:
        data.createDimension("constituent", 2)
        data.createVariable("constituent", str, ("constituent",))[:] = np.array(["K1", "M2"], object)
        for name in ("eta_amplitude", "eta_phase"):
            data.createVariable(name, "f8", ("constituent",))
    options = load("rest", {"open_sides.sides": ["west"], "open_sides.tide": str(path)}, environ={})
    assert options.open_sides.constituents == ("M2", "K1")
    assert options.input.outside_tide_level == tuple(f"{path}:eta_amplitude,eta_phase@{number}" for number in (1, 0))


@pytest.mark.fault("`open_sides.tide` names a file without constants, or omits constituents without a message")
@pytest.mark.parametrize(
    ("names", "sides", "words"),
    [
        (None, ["west"], "there is no file"),
        ((), ["west"], "has no amplitude and phase of eta"),
        (("u_M2",), ["west"], "has no amplitude and phase of eta"),
        (("eta_MS4",), ["west"], "has no amplitude and phase of eta"),
        (("eta_M2",), [], "has no effect without open_sides.sides"),
    ],
)
def test_a_file_without_the_constants_of_sea_level_is_refused(tmp_path, names, sides, words):
    path = tmp_path / "harmonics.nc"
    if names is not None:
        constants_of(path, *names)
    with pytest.raises(ConfigError, match=f"open_sides.tide: .*{words}"):
        load("rest", {"open_sides.tide": str(path), "open_sides.sides": sides}, environ={})
