"""Configurations of earlier versions are read, with one line that says what to write now."""

import pytest

from swmodel.config import ConfigError, load, to_toml
from swmodel.config.loading.decisive import decisive


def test_the_section_own_is_python_now(tmp_path, caplog):
    path = tmp_path / "old.toml"
    path.write_text("[own]\nfields = []\ncalls = ['track every 3600 s']\n")
    assert load(path, environ={}).python.calls == ("track every 3600 s",)
    assert "python.calls" in caplog.text
    assert "python.fields" not in caplog.text
    assert load("jet", ["own.calls=['a']"], environ={}).python.calls == ("a",)
    new = to_toml(load(path, environ={}))
    assert decisive(new.replace("[python]", "[own]")) == decisive(new)


SIDES = '[open_sides]\nsides = ["west"]\n'


def loaded(tmp_path, text, overrides=()):
    path = tmp_path / "old.toml"
    path.write_text(SIDES + text)
    return load(path, overrides, environ={})


def test_keys_of_each_constituent_are_lists_now(tmp_path, caplog):
    config = loaded(tmp_path, "k1_amplitude = 0.2\nm2_phase = 30\nm2_amplitude = 1\n", ["open_sides.k1_phase=-20"])
    assert config.open_sides.constituents == ("M2", "K1")
    assert config.open_sides.amplitude == (1.0, 0.2)
    assert config.open_sides.phase == (30.0, -20.0)
    assert "open_sides.constituents = ['M2', 'K1']" in caplog.text
    assert load(config, environ={}) == config


def test_files_of_each_part_are_one_entry_for_both(tmp_path):
    text = "outside_m2_cosine = 'a.nc:amp,lag'\noutside_m2_sine = 'a.nc:amp,lag'\n"
    text += "outside_s2_transport_x_cosine = 'b.nc:uRe'\noutside_s2_transport_x_sine = 'b.nc:-uIm'\n"
    config = loaded(tmp_path, f"[input]\n{text}")
    assert config.open_sides.constituents == ("M2", "S2")
    assert config.input.outside_tide_level == (str(tmp_path / "a.nc:amp,lag"), "")
    assert config.input.outside_tide_transport_x == ("", str(tmp_path / "b.nc:uRe,uIm"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("m2_amplitude = 'much'\n", "open_sides.m2_amplitude: must be a number"),
        ("[input]\noutside_m2_cosine = 'a.nc:real'\n", "two variables of one file"),
        ("[input]\noutside_m2_cosine = 'a.nc:real'\noutside_m2_sine = 'c.nc:imag'\n", "two variables of one file"),
    ],
)
def test_what_has_no_form_of_today_is_refused(tmp_path, text, words):
    with pytest.raises(ConfigError, match=words):
        loaded(tmp_path, text)


def test_a_number_on_top_of_a_case_with_lists_changes_one_of_them():
    config = load("salish_sea", {"open_sides.k1_amplitude": 0.0}, environ={})
    assert config.open_sides.constituents == ("M2",)
    assert config.open_sides.amplitude == (0.8,)


def test_the_configuration_of_an_earlier_run_determines_the_same_answer(tmp_path):
    """Its text has each key of each constituent, most of them zero."""
    new = to_toml(load("salish_sea", {"open_sides.amplitude": [0.7, 0.4]}, environ={}))
    begin, end = new.index("constituents"), new.index("tide = ", new.index("constituents"))
    old = "m2_amplitude = 0.7\nm2_phase = 0.0\nk1_amplitude = 0.4\nk1_phase = 0.0\ns2_amplitude = 0.0\ns2_phase = 0.0\n"
    before, after = decisive(new[:begin] + old + new[end:]), decisive(new)
    assert before.pop("open_sides.phase", []) == []
    assert after.pop("open_sides.phase") == []
    assert before == after


def test_errors_of_fields_of_constituents_are_those_of_the_array(tmp_path, caplog):
    text = "[assimilation]\ncontrols = ['eta', 'outside_m2_cosine', 'outside_m2_sine']\n"
    text += "sigma_outside_m2_cosine = 0.1\nsigma_outside_m2_sine = 0.1\nsigma_outside_s2_transport_x_sine = 0.0\n"
    config = loaded(tmp_path, text)
    assert config.assimilation.controls == ("eta", "outside_tide_level[M2,cosine]", "outside_tide_level[M2,sine]")
    assert config.assimilation.sigma_outside_tide_level == 0.1
    assert "assimilation.sigma_outside_tide_level = 0.1" in caplog.text
