"""A case of the user's own, from a Python file or given in Python: the same configuration, and every fault in words."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.own_case import BUMP, PAGE, write_bump

from swmodel import Case, ConfigError, load, option, resolve
from swmodel.config import from_toml, to_toml
from swmodel.config.loading.decisive import differences
from swmodel.model.validate import check_config
from swmodel.setup import fields

ROOT = Path(__file__).parents[3]


class Bump(Case):
    """A bump of sea level in a closed basin, which runs out as a ring of waves."""

    height: float = option(0.5, "m", "height of the bump")
    radius: float = option(50e3, "m", "its e-folding radius", gt=0)

    defaults = {  # noqa: RUF012  as an author writes it
        "grid": {"nx": 60, "ny": 40, "dx": 1e4, "dy": 1e4, "periodic_x": False, "origin": "middle"},
        "run": {"days": 0.2},
    }

    def eta(self, config, at):
        return self.height * np.exp(-(at.x**2 + at.y**2) / self.radius**2)


@pytest.fixture
def bump(tmp_path):
    return write_bump(tmp_path)


def options_of(config):
    """All options but where the case comes from."""
    sections = config.model_dump()
    return sections | {"case": {key: x for key, x in sections["case"].items() if key not in ("file", "sha256")}}


def problems(source, overrides=()):
    with pytest.raises(ConfigError) as caught:
        check_config(load(source, overrides, {}))
    return list(caught.value.problems)


@pytest.mark.parametrize("way", ["file", "toml", "override", "class", "object"])
def test_a_case_is_the_same_however_it_is_given(bump, tmp_path, way):
    (tmp_path / "my.toml").write_text('[case]\nfile = "bump.py"\nheight = 0.3\n[grid]\nnx = 12\nny = 8\n')
    small = {"grid.nx": 12, "grid.ny": 8}
    changed = small | {"case.height": 0.3}
    config = {
        "file": lambda: load(bump, changed, {}),
        "toml": lambda: load(tmp_path / "my.toml", (), {}),
        "override": lambda: load("jet", changed | {"case.file": str(bump)}, {}),
        "class": lambda: load(Bump, changed, {}),
        "object": lambda: load(Bump(height=0.3), small, {}),
    }[way]()
    assert options_of(config) == options_of(load(Bump, changed, {}))
    assert (config.case.name, config.case.height, config.case.radius) == ("bump", 0.3, 50e3)
    assert (config.grid.nx, config.grid.dx, config.grid.periodic_x) == (12, 1e4, False)
    middle = fields.evaluate(config, "eta", [4], [6])  # half a cell from the middle
    assert middle == pytest.approx(0.3 * np.exp(-2 * 5e3**2 / 50e3**2))
    assert not fields.given(config, "wind_x")


def test_the_last_source_says_which_case_it_is(bump, tmp_path):
    (tmp_path / "my.toml").write_text('[case]\nfile = "bump.py"\nname = "bump"\n')
    assert load(tmp_path / "my.toml", (), {}).case.name == "bump"
    assert load(tmp_path / "my.toml", ["case.name=rest"], {}).case.name == "rest"
    assert load(tmp_path / "my.toml", (), {"SWMODEL_CASE_NAME": "rest"}).case.name == "rest"
    assert load("rest", (), {"SWMODEL_CASE_FILE": str(bump)}).case.name == "bump"
    assert load("rest", ["case.name=seiche"], {"SWMODEL_CASE_FILE": str(bump)}).case.name == "seiche"


def test_the_text_of_its_configuration_gives_it_back(bump, tmp_path):
    config = load(bump, {"case.height": 0.3}, {})
    (tmp_path / "elsewhere").mkdir()
    text = to_toml(config, comments=True)
    (tmp_path / "elsewhere" / "my.toml").write_text(text)
    assert load(tmp_path / "elsewhere" / "my.toml", (), {}) == config
    assert "# its e-folding radius [m]\nradius = 50000.0\n" in text


def test_a_resolved_configuration_names_the_copy_and_its_checksum(bump):
    config = resolve(load(bump, environ={}))
    assert config.case.file == "case.py"
    assert config.case.sha256 == subprocess.check_output(["sha256sum", bump], text=True).split()[0]
    assert config.case.file_text == BUMP
    assert resolve(config) == config
    for case in (BUMP, type(config.case)):
        assert resolve(from_toml(to_toml(config), case)) == config
    assert from_toml(to_toml(config), Case).grid == config.grid


def test_a_changed_file_is_another_case_and_another_run(bump):
    before = load(bump, {"time.dt": 10.0}, {})
    assert type(load(bump, environ={}).case) is type(before.case)
    bump.write_text(BUMP.replace("self.height *", "2 * self.height *"))
    after = load(bump, {"time.dt": 10.0}, {})
    np.testing.assert_array_equal(*(k * fields.evaluate(c, "eta", [3], [3]) for k, c in ((2, before), (1, after))))
    (found,) = differences(to_toml(resolve(before)), to_toml(resolve(after)))
    assert found.startswith("case.file: SHA-256 ")
    changed = f"{bump}: was changed: its SHA-256 is "
    pinned = {"case.file": str(bump), "case.sha256": resolve(before).case.sha256}
    assert problems("jet", pinned)[0].startswith(f"case.file: {changed}")
    with pytest.raises(ConfigError, match="was changed"):
        from_toml(to_toml(resolve(before)), bump.read_text())


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"case.file": 3}, "case.file: must be the name of a file, not 3"),
        ({"case.sha256": "ab"}, "case.sha256: is the checksum of a file, but case.file names none"),
        ({"case.file": "nothing.py"}, "case.file: nothing.py: there is no such file"),
        ({"case.file": "{}", "case.name": "jet"}, 'case.file: {}: the case in it is "bump", not "jet"'),
        ({"case.file": "{}", "case.heigth": 1.0}, 'case.heigth: no such key; did you mean "height"?'),
        ({"case.file": "{}", "case.radius": -1.0}, "case.radius: must be above 0 m, not -1.0"),
    ],
)
def test_what_is_wrong_with_the_choice_of_a_case_is_said(bump, overrides, message):
    overrides = {key: x.format(bump) if isinstance(x, str) else x for key, x in overrides.items()}
    assert problems("jet", overrides) == [message.format(bump)]


HEAD = b"from swmodel import Case, option\nclass Bad(Case):\n    "


@pytest.mark.fault("a case file is missing, is not Python, raises, or defines no case or several")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"x = (1,\n", ":1: not valid Python: "),
        (b"import numpy\nx = nq.zeros(3)\n", ":2: NameError: name 'nq' is not defined, in: x = nq.zeros(3)"),
        (b"import sys\nsys.exit(0)\n", ":2: SystemExit: 0"),
        (b"from swmodel.cases.jet import Jet\n", ": defines no case"),
        (HEAD + b"pass\nclass Two(Case): pass\n", ": defines 2 cases: Bad, Two"),
        (b"\xff\xfe", ": cannot be read: it is not text in UTF-8"),
        (b"#" * 50_001, ": is no case: it has more than 50000 bytes"),
        (HEAD + b"height: float = 1.0\n", ": Bad.height: write height: float = option("),
        (HEAD + b"height = option(1.0, 'm', '')\n", ":2: PydanticUserError: Field 'height' requires a type anno"),
        (HEAD + b"eta: float = option(1.0, 'm', '')\n", ": Bad.eta: this name has another meaning"),
        (HEAD + b"file: str = option('', '', '')\n", ": Bad.file: this name has another meaning"),
        (HEAD + b"rows: list = option([], '', '')\n", ": Bad.rows: an option is a bool, int, float, str or a tuple"),
        (HEAD + b"defaults = {'grid': 3}\n", ": Bad.defaults: must be a dict of dicts"),
        (HEAD + b"def etta(self, config, at): pass\n", ': Bad.etta: no such field; did you mean "eta"?'),
        (HEAD + b"def mask(self, at): pass\n", ": Bad.mask: must be a function of (self, config, at)"),
        (HEAD + b"def depth(self, config, at, t): pass\n", ": Bad.depth: must be a function of (self, config, at)"),
        (HEAD + b"eta = 3.0\n", ": Bad.eta: must be a function of (self, config, at)"),
    ],
)
def test_a_file_that_holds_no_case_is_refused_with_its_line(tmp_path, text, message):
    (tmp_path / "bad.py").write_bytes(text)
    (found,) = problems(tmp_path / "bad.py")
    assert found.startswith(f"{tmp_path}/bad.py{message}")
    assert problems("jet", {"case.file": f"{tmp_path}/bad.py"}) == [f"case.file: {found}"]


def test_defaults_and_options_that_the_configuration_does_not_take_are_named(tmp_path):
    option = "a: float = option('high', 'm', '')"
    text = f"{HEAD.decode()}{option}\n    defaults = {{'grid': {{'nz': 3, 'nx': 10.5}}, 'x': {{'y': 1}}}}\n"
    found = problems(write_bump(tmp_path, text))
    assert {line.rpartition(": ")[0] for line in found} == {
        f"case bad: {key}" for key in ("grid.nz", "x.y", "grid.nx")
    } | {"case.a"}


@pytest.mark.fault("a function of a case returns no field")
@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ("np.zeros((8, 12))", "4: eta of the case bad: returns an array of shape (8, 12) for 2 rows and 2 columns"),
        ("None", "4: eta of the case bad: returns nothing"),
        ("1j * at.x", "4: eta of the case bad: returns values of type complex128"),
        ("exit(3)", "5: eta of the case bad: SystemExit: 3, in: return exit(3)"),
        ("{}[3]", "5: eta of the case bad: KeyError: 3, in: return {}[3]"),
    ],
)
def test_what_a_function_may_not_do_is_said_with_its_line(tmp_path, returned, message):
    body = f"    def eta(self, config, at):\n        return {returned}\n"
    path = write_bump(tmp_path, f"import numpy as np\nfrom swmodel import Case\nclass Bad(Case):\n{body}")
    (found,) = problems(path, {"grid.nx": 12, "grid.ny": 8, "run.steps": 1, "time.dt": 1.0})
    assert found.startswith(f"{path}:{message}")


@pytest.mark.fault("a field of a case differs from block to block")
@pytest.mark.parametrize(
    "formula",
    [
        "np.random.default_rng(1).standard_normal((at.y.size, at.x.size))",
        "at.x - at.x.mean()",
        "np.where(at.j == at.j.max(), 1.0, at.y)",
    ],
)
def test_a_field_that_depends_on_the_other_points_is_refused(tmp_path, formula):
    text = BUMP.replace("self.height * np.exp(-(at.x**2 + at.y**2) / self.radius**2)", formula)
    (found,) = problems(write_bump(tmp_path, text))
    assert found.startswith("eta of the case bump: is ")
    assert found.endswith("must depend on the position of a point only")


def test_random_numbers_as_the_page_draws_them_are_accepted(tmp_path):
    drawn = "np.random.default_rng(1).standard_normal((config.grid.ny, config.grid.nx))[at.j, at.i]"
    text = BUMP.replace("np.exp(-(at.x**2 + at.y**2) / self.radius**2)", drawn)
    config = check_config(load(write_bump(tmp_path, text), environ={}))
    whole = fields.evaluate(config, "eta", range(40), range(60))
    np.testing.assert_array_equal(fields.evaluate(config, "eta", [39, 40], [5]), whole[[39, 0]][:, [5]])


def test_options_may_be_choices_and_lists_and_annotations_texts(tmp_path):
    text = (
        "from __future__ import annotations\nfrom typing import Literal\nfrom swmodel import Case, option\nLIMIT = 3\n"
        'class Shaped(Case):\n    limit = LIMIT\n    form: Literal["flat", "round"] = option("flat", "", "form")\n'
        '    sides: tuple[str, ...] = option(("west",), "", "sides")\n'
    )
    source = write_bump(tmp_path, text)
    config = load(source, ["case.form=round", "case.sides=west,east"], {})
    assert (config.case.form, config.case.sides) == ("round", ("west", "east"))
    (line,) = problems(source, ["case.form=square"])
    assert line.endswith('no choice "square"; known are flat, round')


def test_a_case_may_be_derived_from_one_of_the_package(tmp_path):
    text = next(block for block in PAGE.split("```python\n") if "RoughGyre" in block).split("```")[0]
    config = check_config(load(write_bump(tmp_path, text), {"grid.origin": "middle"}, {}))
    gyre = load("double_gyre", {"grid.origin": "middle"}, {})
    assert (config.case.name, config.physics, config.case.wind) == ("rough_gyre", gyre.physics, gyre.case.wind)
    rows, columns = range(200), range(100)
    for name in ("eta", "wind_x"):
        values = (fields.evaluate(each, name, rows, columns) for each in (config, gyre))
        np.testing.assert_array_equal(*values)
    assert (fields.evaluate(config, "depth", rows, columns) < 500).sum() == 10
    assert (fields.evaluate(gyre, "depth", rows, columns) == 500).all()


def test_a_class_that_is_no_case_is_said_of_a_class_from_python_too():
    class Wrong(Case):
        def etta(self, config, at):
            return 0.0

    assert problems(Wrong)[0].startswith('class Wrong.etta: no such field; did you mean "eta"?')


def test_loading_it_imports_neither_jax_nor_mpi(bump):
    program = (
        f"import swmodel, sys; swmodel.load({str(bump)!r}); print([n for n in ('jax', 'mpi4py') if n in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", program], cwd=ROOT, text=True) == "[]\n"
