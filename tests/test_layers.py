"""The architecture: imports go to lower layers, and few modules import each library."""

import ast
import graphlib
from functools import cache

import pytest
from conftest import ROOT
from support.processes import run_python

pytestmark = pytest.mark.slow

#: The layers of packages, from the lowest: a file may import from its own layer and from lower ones. Some packages are
#: listed in parts that belong to different layers.
LAYERS = (
    "errors extras text_table | parallel | ocean forcing | setup | config.messages config.options | cases | "
    "config.loading | config.remarks | config typing | files | executors | model | plotting | gradients | "
    "assimilation.background assimilation.diffusion assimilation.spectral assimilation.variance | "
    "model.ensemble | assimilation | bmi | "
    "bench verification | cli | __main__"
)
LEVEL_OF_ROOM = {name: number for number, names in enumerate(LAYERS.split("|")) for name in names.split()}
#: The modules and packages that may import a library.
IMPORTERS_OF_LIBRARY = {
    "jax": "ocean parallel executors model gradients assimilation cli.doctor cli.rank_checks bench",
    "mpi4jax": "parallel.transport.mpi4jax_messages bench.process_measures cli.rank_checks",
    "mpi4py": "parallel.transport cli.doctor.exchange bench.process_measures",
    "xarray": "setup.fields.netcdf_input setup.fields.python_fields model.dataset model.simulation gradients.problem "
    "assimilation.observation_file",
    "cf_xarray": "setup.fields.netcdf_input",
    "netCDF4": "setup.fields.netcdf_input files plotting forcing.ibtracs",
    "pyTMD": "setup.fields.netcdf_input.atlas",
    "zarr": "files.store",
    "matplotlib": "plotting bench.figures model.simulation",
    "cmocean": "plotting",
    "bmipy": "bmi",
}
#: All that the NumPy reference shares with the dynamics that it tests.
SHARED_WITH_REFERENCE = {
    *(
        "setup.fields.evaluate",
        "setup.fields.source_of",
        "setup.fields.varies_in_time",
        "setup.fields.varying.read_record",
    ),
    *("ocean.coordinates.points", "ocean.state.Carry", "ocean.state.State", "errors.UsageError"),
    *("ocean.constituents.constituents_at", "ocean.terms.tide.EQUILIBRIUM"),
    *("ocean.barrier_faces.crest_heights", "ocean.barrier_faces.has_barrier"),
}


def enclosing_packages(name: str) -> list[str]:
    """The name of a module and those of its enclosing packages, the longest first."""
    parts = name.split(".")
    return [".".join(parts[:n]) for n in range(len(parts), 0, -1)]


@cache
def imports_of_modules() -> dict[str, set[str]]:
    """{module of swmodel: all names that it imports, anywhere in the file}."""
    found = {}
    for path in sorted((ROOT / "swmodel").rglob("*.py")):
        *package, name = path.relative_to(ROOT).with_suffix("").parts
        names = found[".".join([*package[1:], name]).removesuffix(".__init__")] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                origin = package[: len(package) + 1 - node.level] if node.level else ()
                base = ".".join([*origin, *filter(None, [node.module])])
                names |= {f"{base}.{alias.name}" for alias in node.names}
    del found["__init__"]  # it imports public names only when they are used
    return found


def imported_modules(name: str) -> set[str]:
    inside = [full.removeprefix("swmodel.") for full in imports_of_modules()[name] if full.startswith("swmodel.")]
    return {
        next(prefix for prefix in enclosing_packages(full) if prefix in imports_of_modules()) for full in inside
    } - {name}


def test_imports_go_to_lower_layers_without_cycles():
    level = {
        name: next(LEVEL_OF_ROOM[prefix] for prefix in enclosing_packages(name) if prefix in LEVEL_OF_ROOM)
        for name in imports_of_modules()
    }
    assert [
        (name, other) for name in imports_of_modules() for other in imported_modules(name) if level[other] > level[name]
    ] == []
    graphlib.TopologicalSorter({name: imported_modules(name) for name in imports_of_modules()}).prepare()


def test_dynamics_import_no_configuration():
    rooms = {"setup", "executors", "model.health", "model.varying_params", "parallel", "ocean"}
    inside = [name for name in imports_of_modules() if rooms & set(enclosing_packages(name))]
    assert [
        name for name in inside if any("config" in enclosing_packages(other) for other in imported_modules(name))
    ] == []


def test_libraries_are_imported_by_few_modules():
    for library, doors in IMPORTERS_OF_LIBRARY.items():
        users = {
            name for name, used in imports_of_modules().items() if any(full.split(".")[0] == library for full in used)
        }
        assert [name for name in users if not set(enclosing_packages(name)) & set(doors.split())] == [], library


def test_reference_shares_no_code_with_the_dynamics():
    reference = {name for name in imports_of_modules() if "executors.reference" in enclosing_packages(name)}
    used = {
        full.removeprefix("swmodel.")
        for name in reference
        for full in imports_of_modules()[name]
        if full[:7] == "swmodel"
    }
    assert {full for full in used if "executors.reference" not in enclosing_packages(full)} == SHARED_WITH_REFERENCE


#: Functions whose result does not depend on the order of a set.
ORDER_INDEPENDENT_FUNCTIONS = {"sorted", "set", "frozenset", "any", "all", "min", "max", "len"}


def is_set(node, names) -> bool:
    """Whether an expression is a set, by its syntax or because it is one of the `names` of variables that are sets."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr | ast.BitAnd | ast.Sub | ast.BitXor):
        return any(is_set(each, names) or ast.unparse(each).endswith(".keys()") for each in (node.left, node.right))
    made = isinstance(node, ast.Call) and ast.unparse(node.func) in ("set", "frozenset")
    return made or isinstance(node, ast.Set | ast.SetComp) or (isinstance(node, ast.Name) and node.id in names)


def sets_with_visible_order(function) -> list[ast.expr]:
    """The sets in a function on whose order the function depends: in loops, lists, dicts and arguments."""
    nodes, names = list(ast.walk(function)), set()
    for each in nodes:
        if isinstance(each, ast.Assign) and is_set(each.value, names):
            names |= {target.id for target in each.targets if isinstance(target, ast.Name)}
    free = {each for node in nodes if isinstance(node, ast.Set | ast.SetComp) for each in ast.iter_child_nodes(node)}
    for node in nodes:
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ORDER_INDEPENDENT_FUNCTIONS:
            free |= {*node.args, *(each for one in node.args for each in ast.iter_child_nodes(one))}
    seen = [node.value for node in nodes if isinstance(node, ast.Starred) and node not in free]
    seen += [node.iter for node in nodes if isinstance(node, ast.For)]
    seen += [node.iter for node in nodes if isinstance(node, ast.comprehension) and node not in free]
    calls = [
        node
        for node in nodes
        if isinstance(node, ast.Call) and ast.unparse(node.func) not in ORDER_INDEPENDENT_FUNCTIONS
    ]
    takes = ("list", "tuple", "enumerate", "zip", "map", "dict.fromkeys")
    seen += [each for call in calls if ast.unparse(call.func) in takes for each in call.args if call not in free]
    return [each for each in seen if is_set(each, names)]


@pytest.mark.fault(
    "two tracers on two processes: their sums are exchanged, as the order of a set differs between ranks"
)
def test_order_of_a_set_has_no_effect():
    """The order differs between processes, except for numbers, of which the sets in files/relief are."""
    found = []
    for path in sorted((ROOT / "swmodel").rglob("*.py")):
        tree = ast.parse(path.read_text())
        if "relief" not in path.parts:
            parts = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
            found += [f"{path}:{each.lineno}" for part in parts for each in sets_with_visible_order(part)]
    assert found == []


def test_launcher_loads_neither_jax_nor_mpi_nor_netcdf():
    """A run without input files does not load xarray either."""
    program = """
import sys, swmodel.cli, swmodel.model.launch, swmodel.model.validate, swmodel.cli.doctor
import swmodel.model.ensemble.task, swmodel.bench.session
swmodel.model.validate.check_config(swmodel.load("jet"))
print(*sys.modules.keys() & {"jax", "jaxlib", "mpi4py", "mpi4jax", "netCDF4", "xarray", "matplotlib"})
swmodel.Simulation("jet", {"run.executor": "reference"}).advance(1)
print(*sys.modules.keys() & {"xarray", "pandas"})
"""
    assert run_python(program) == []
