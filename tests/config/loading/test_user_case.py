"""User-defined cases: file, class and object give the same configuration, and mistakes are refused."""

import hashlib

import numpy as np
import pytest
from support.config_file import write_toml
from support.refusals import problems_of
from support.user_case import BUMP_CODE, write_bump

from swmodel import Case, ConfigError, load, resolve
from swmodel.config import from_toml, to_toml
from swmodel.config.loading.fixed_on_resume import differences
from swmodel.model.validate import check_config
from swmodel.setup import fields

namespace = {}
exec(BUMP_CODE, namespace)
Bump = namespace["Bump"]


@pytest.fixture
def bump_file(tmp_path):
    return write_bump(tmp_path)


def options_of(config):
    """All options except those that name the file of the case."""
    return config.model_dump(exclude={"case": {"file", "sha256"}})


def problems(source, overrides=()):
    return problems_of(lambda: check_config(load(source, overrides, {})))


@pytest.mark.parametrize("source", ["file", "toml", "override", "class", "object"])
def test_user_case_is_the_same_as_file_class_or_object(bump_file, tmp_path, source):
    text = '[case]\nfile = "bump.py"\nheight = 0.3\n[grid]\nnx = 12\nny = 8\n'
    size = {"grid.nx": 12, "grid.ny": 8}
    changed = size | {"case.height": 0.3}
    config = {
        "file": lambda: load(bump_file, changed, {}),
        "toml": lambda: load(write_toml(tmp_path, text), (), {}),
        "override": lambda: load("jet", changed | {"case.file": str(bump_file)}, {}),
        "class": lambda: load(Bump, changed, {}),
        "object": lambda: load(Bump(height=0.3), size, {}),
    }[source]()
    assert options_of(config) == options_of(load(Bump, changed, {}))
    assert (config.case.name, config.case.height, config.case.radius) == ("bump", 0.3, 50e3)
    assert (config.grid.nx, config.grid.dx, config.grid.periodic_x) == (12, 1e4, False)
    middle = fields.evaluate(config, "eta", [4], [6])  # half a cell from the middle
    assert middle == pytest.approx(0.3 * np.exp(-2 * 5e3**2 / 50e3**2))
    assert not fields.has_field_source(config, "wind_x")


def test_last_source_names_the_case(bump_file, tmp_path):
    file = write_toml(tmp_path, '[case]\nfile = "bump.py"\nname = "bump"\n')
    assert load(file, (), {}).case.name == "bump"
    assert load(file, ["case.name=rest"], {}).case.name == "rest"
    assert load(file, (), {"SWMODEL_CASE_NAME": "rest"}).case.name == "rest"
    assert load("rest", (), {"SWMODEL_CASE_FILE": str(bump_file)}).case.name == "bump"
    assert load("rest", ["case.name=seiche"], {"SWMODEL_CASE_FILE": str(bump_file)}).case.name == "seiche"


def test_user_case_survives_a_round_trip_through_toml(bump_file, tmp_path):
    """A resolved configuration contains the name of the copy of the file, and its checksum."""
    config = load(bump_file, {"case.height": 0.3, "run.executor": "reference"}, {})
    text = to_toml(config, comments=True)
    assert load(write_toml(tmp_path / "elsewhere", text), (), {}) == config
    assert "# its e-folding radius [m]\nradius = 50000.0\n" in text
    config = resolve(config)
    assert (config.case.file, config.case.file_text) == ("case.py", BUMP_CODE)
    assert config.case.sha256 == hashlib.sha256(bump_file.read_bytes()).hexdigest()
    assert resolve(config) == config
    for case in (BUMP_CODE, type(config.case)):
        assert resolve(from_toml(to_toml(config), case)) == config
    assert from_toml(to_toml(config), Case).grid == config.grid


def test_changed_file_is_another_case_with_another_checksum(bump_file):
    overrides = {"time.dt": 10.0, "run.executor": "reference"}
    before = load(bump_file, overrides, {})
    assert type(load(bump_file, environ={}).case) is type(before.case)
    bump_file.write_text(BUMP_CODE.replace("self.height *", "2 * self.height *"))
    after = load(bump_file, overrides, {})
    np.testing.assert_array_equal(2 * fields.evaluate(before, "eta", [3], [3]), fields.evaluate(after, "eta", [3], [3]))
    (difference,) = differences(to_toml(resolve(before)), to_toml(resolve(after)))
    assert difference.startswith("case.file: SHA-256 ")
    drying = to_toml(resolve(load(bump_file, overrides | {"drying.thickness": 0.5}, {})))
    assert "drying.thickness" in [line.partition(":")[0] for line in differences(to_toml(resolve(after)), drying)]
    recorded = {"case.file": str(bump_file), "case.sha256": resolve(before).case.sha256}
    assert problems("jet", recorded)[0].startswith(f"case.file: {bump_file}: was changed")
    with pytest.raises(ConfigError, match="was changed"):
        from_toml(to_toml(resolve(before)), bump_file.read_text())


def test_wrong_case_file_name_or_option_is_refused(bump_file):
    for overrides, start in (
        ({"case.file": 3}, "case.file: "), ({"case.sha256": "ab"}, "case.sha256: "),
        ({"case.file": "nothing.py"}, "case.file: nothing.py: "),
        ({"case.file": str(bump_file), "case.name": "jet"}, f"case.file: {bump_file}: "),
        ({"case.file": str(bump_file), "case.heigth": 1.0}, "case.heigth: "),
        ({"case.file": str(bump_file), "case.radius": -1.0}, "case.radius: "),
    ):  # fmt: skip
        (problem,) = problems("jet", overrides)
        assert problem.startswith(start)


CLASS_HEADER = b"from swmodel import Case, option\nclass Bad(Case):\n    "


@pytest.mark.fault("a case file is missing, is not Python, raises, or defines no case or several")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"x = (1,\n", ":1: "), (b"import numpy\nx = nq.zeros(3)\n", ":2: NameError: name 'nq'"),
        (b"from swmodel.cases.jet import Jet\n", ": "),
        (CLASS_HEADER + b"pass\nclass Two(Case): pass\n", ": defines 2 cases"),
        (b"\xff\xfe", ": cannot be read: "), (b"#" * 50_001, ": is too large for a case: it has more than 50000"),
        (CLASS_HEADER + b"height: float = 1.0\n", ": Bad.height: "),
        (CLASS_HEADER + b"eta: int = option(1, '', '')", ": Bad.eta: "),
        (CLASS_HEADER + b"height = option(1.0, 'm', '')\n", ":2: PydanticUserError: Field 'height'"),
        (CLASS_HEADER + b"rows: list = option([], '', '')\n", ": Bad.rows: "),
        (CLASS_HEADER + b"defaults = 3\n", ": Bad.defaults: "),
        (CLASS_HEADER + b"def etta(self, config, at): pass\n", ': Bad.etta: no such field; did you mean "eta"?'),
        (CLASS_HEADER + b"def mask(self, at): pass\n", ": Bad.mask: must be a function of (self, config, at)"),
        (CLASS_HEADER + b"def theory(self, config, at, t): pass\n", ": Bad.theory: is called analytic_solution now"),
        (CLASS_HEADER + b"kinds = ('plane',)\n", ": Bad.kinds: is called grid_kinds now"),
        (CLASS_HEADER + b"def outside_level(self): pass\n", ": Bad.outside_level: is called boundary_level"),
    ],
)  # fmt: skip
def test_file_without_a_valid_case_is_refused(tmp_path, text, message):
    (tmp_path / "bad.py").write_bytes(text)
    (problem,) = problems(tmp_path / "bad.py")
    assert problem.startswith(f"{tmp_path}/bad.py{message}")
    assert problems("jet", {"case.file": f"{tmp_path}/bad.py"}) == [f"case.file: {problem}"]


def test_all_unknown_defaults_of_a_class_are_named(tmp_path):
    defaults = "{'grid': {'nz': 3, 'nx': 10.5}, 'x': {'y': 1}}"
    text = f"{CLASS_HEADER.decode()}a: float = option('high', 'm', '')\n    defaults = {defaults}\n"
    keys = {line.rpartition(": ")[0] for line in problems(write_bump(tmp_path, text))}
    assert keys == {"case bad: grid.nz", "case bad: x.y", "case bad: grid.nx", "case.a"}


@pytest.mark.fault("a function of a case returns no field, or one that differs from block to block")
@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("np.zeros((8, 12))", ":4: eta of the case bad: returns an array of shape (8, 12)"),
        ("None", ":4: eta of the case bad: "), ("1j * at.x", ":4: eta of the case bad: "),
        ("exit(3)", ":5: eta of the case bad: SystemExit: 3"), ("{}[3]", ":5: eta of the case bad: KeyError: 3"),
        ("np.random.default_rng(1).standard_normal((at.y.size, at.x.size))", "eta of the case bad: is "),
        ("at.x - at.x.mean()", "eta of the case bad: is "),
        ("np.where(at.j == at.j.max(), 1.0, at.y)", "eta of the case bad: is "),
    ],
)  # fmt: skip
def test_function_that_returns_no_field_is_refused(tmp_path, expression, message):
    """A value must not depend on other points either, because blocks have different points."""
    body = f"    def eta(self, config, at):\n        return {expression}\n"
    path = write_bump(tmp_path, f"import numpy as np\nfrom swmodel import Case\nclass Bad(Case):\n{body}")
    (problem,) = problems(path, {"grid.nx": 12, "grid.ny": 8, "run.steps": 1, "time.dt": 1.0})
    assert problem.startswith(f"{path}{message}" if message[0] == ":" else message)


def test_random_numbers_of_the_whole_grid_are_accepted(tmp_path):
    expression = "np.random.default_rng(1).standard_normal((config.grid.ny, config.grid.nx))[at.j, at.i]"
    text = BUMP_CODE.replace("np.exp(-(at.x**2 + at.y**2) / self.radius**2)", expression)
    config = check_config(load(write_bump(tmp_path, text), {"run.executor": "reference"}, environ={}))
    whole_field = fields.evaluate(config, "eta", range(40), range(60))
    np.testing.assert_array_equal(fields.evaluate(config, "eta", [39, 40], [5]), whole_field[[39, 0]][:, [5]])


def test_options_may_be_choices_and_lists(tmp_path):
    """This also works if annotations are texts, as after `from __future__ import annotations`."""
    text = (
        "from __future__ import annotations\nfrom typing import Literal\nfrom swmodel import Case, option\nLIMIT = 3\n"
        'class Shaped(Case):\n    limit = LIMIT\n    form: Literal["flat", "round"] = option("flat", "", "form")\n'
        '    sides: tuple[str, ...] = option(("west",), "", "sides")\n'
    )
    source = write_bump(tmp_path, text)
    config = load(source, ["case.form=round", "case.sides=west,east"], {})
    assert (config.case.form, config.case.sides) == ("round", ("west", "east"))
    assert problems(source, ["case.form=square"])[0].endswith("flat, round")
