"""Commands and programs on all pages run as printed, notebooks give their stored output, and the site is complete."""

import re
import subprocess
import sys
from html import unescape
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
from support.marks import night_params
from support.quick_compilation import QUICK_ENVIRONMENT

import swmodel
from swmodel import cases
from swmodel.cli import main
from tools.notebooks import execute_notebook
from tools.page import PAGES, ROOT, RUN_LANGUAGES, read_blocks

#: Programs that check the results of a page, with the variables of its blocks.
CHECK_PROGRAMS = {
    "README": "assert eta.shape == (45, 90) and simulation.step == 100",
    "output": """
away = {"x_f": slice(0, -1), "y_f": slice(0, -1)}
assert float(abs(zeta - ds.zeta).isel(away).max()) < 1e-5 * float(abs(ds.zeta).max())
""",
    "bmi": """
assert abs(area @ depth - begin - river) < 1e-14 * begin
assert river > 3e7
""",
    "parcels": """
x, y = (xarray.DataArray(np.array(each), dims="particle") for each in (particles.x, particles.y))
assert (ds.mask.sel(x_c=x, y_c=y, method="nearest") == 1).all()
assert np.hypot(x - start.x_c.values, y - start.y_c.values).max() > 0.02
""",
    "closures": "assert losses[2] < losses[1] < losses[0]",
    # Land behind the dike, in the south, stays dry; land north of the river is flooded.
    "flood-map": "assert (depth[88:, 30:57].count(), depth[:30, 20:58].min() > 0.4) == (0, True)",
}
#: The pages whose blocks run for less than 20 s on an idle core.
SHORT_PAGES = {"assimilation", "bmi", "cluster", "python"}

PAGES_WITH_PROGRAMS = {page.stem: page for page in PAGES if read_blocks(page, *RUN_LANGUAGES)}
#: Checks of the GIS files of docs/flood-map.md for cells of any size. Cells in an open boundary have no values.
FLOOD_MAP_PROGRAM = """
import pyogrio
assert (maps.crs.to_epsg(), tuple(maps.bounds)) == (32617, (480e3, 3420e3, 520e3 - maps.res[0], 3450e3))
assert maps.descriptions == ("eta_max", "h_max", "speed_max", "wet_arrival", "hazard")
assert 1 < depth.max() < 15 and 0.1 < (depth.count() / depth.size) < 0.9
outline = pyogrio.read_info("extent.gpkg", force_total_bounds=True)
assert outline["crs"] == "EPSG:32617" and outline["total_bounds"][2] <= 520e3
"""
LONG_PAGES = night_params(*sorted({*PAGES_WITH_PROGRAMS} - SHORT_PAGES), mark=pytest.mark.release)


def run_blocks(page, check, folder):
    """Run the blocks of a page in a folder, and then the program `check`; assert that all succeed."""
    command = [sys.executable, ROOT / "tools" / "page.py", page, check]
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900, check=False)
    assert process.returncode == 0, process.stdout[-2000:] + process.stderr[-4000:]


@pytest.mark.parametrize("page", [*night_params(*sorted(SHORT_PAGES)), *LONG_PAGES])
def test_blocks_of_a_page_run_in_their_order(page, tmp_path, optimised_steps):
    run_blocks(PAGES_WITH_PROGRAMS[page], CHECK_PROGRAMS.get(page, ""), tmp_path)


@pytest.mark.night
@pytest.mark.promise("files of other programs are read and written as they are")
def test_flood_map_of_large_cells_has_the_coordinates_of_its_elevation(tmp_path):
    page = tmp_path / "flood-map.md"
    text = PAGES_WITH_PROGRAMS["flood-map"].read_text("utf-8")
    page.write_text(text.replace("--resolution 250", "--resolution 1000").replace(" --nproc 2", ""), "utf-8")
    run_blocks(page, FLOOD_MAP_PROGRAM, tmp_path)


ENVIRON = QUICK_ENVIRONMENT | {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}  # as a kernel sets it
SHORTEST_NOTEBOOK = "first_run"
OTHER_NOTEBOOKS = sorted({path.stem for path in (ROOT / "examples").glob("*.ipynb")} - {SHORTEST_NOTEBOOK})


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def words_of_output(notebook):
    """The output of each code cell: the words of texts, without numbers and checksums, and the kinds of other output.

    The words are sorted, because versions of xarray list coordinates in different orders.
    """

    def describe(output):
        if "text" not in output:
            return sorted(output.data)
        return output.name, sorted(re.findall(r"[^\W\d]{2,}", re.sub(r"\b[0-9a-f]{12}\b", "", output.text)))

    return [[describe(output) for output in cell.outputs] for cell in code_cells(notebook)]


@pytest.mark.slow
@pytest.mark.promise("notebooks show computed output")
@pytest.mark.parametrize("name", [SHORTEST_NOTEBOOK, *night_params(*OTHER_NOTEBOOKS, mark=pytest.mark.release)])
def test_notebook_gives_its_stored_output(name, tmp_path, monkeypatch, optimised_steps):
    path = ROOT / "examples" / f"{name}.ipynb"
    stored_notebook = nbformat.read(path, as_version=4)
    assert any("image/png" in output.get("data", ()) for cell in code_cells(stored_notebook) for output in cell.outputs)
    for variable, value in ENVIRON.items():
        monkeypatch.setenv(variable, value)
    assert words_of_output(execute_notebook(path, tmp_path)) == words_of_output(stored_notebook), (
        "python tools/notebooks.py --write saves the new output"
    )


@pytest.mark.night
def test_site_is_complete_without_broken_links(tmp_path):
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "docs", str(tmp_path)]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert (process.returncode, process.stderr) == (0, "")

    pages, broken_links = {path: path.read_text("utf-8") for path in tmp_path.rglob("*.html")}, []
    anchors = {path: {"", *re.findall(r'\bid="([^"]+)"', text)} for path, text in pages.items()}
    links = {(path, unescape(link)) for path in pages for link in re.findall(r'\b(?:href|src)="([^"]+)"', pages[path])}
    for path, link in links:
        parts = urlsplit(link)
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if parts.scheme or parts.netloc:
            is_valid = not link.endswith((".js", ".css", ".png"))  # pages must not load files from other sites
        else:
            is_valid = target.exists() and (target not in pages or unquote(parts.fragment) in anchors[target])
        broken_links += [] if is_valid else [(path, link)]
    assert broken_links == []

    keys = {f"{name}.{key}" for name, section in swmodel.Config() for key in type(section).model_fields}
    keys_on_page = re.findall(r'<span class="pre">(\w+\.\w+)</span>', pages[tmp_path / "reference/configuration.html"])
    assert keys <= set(keys_on_page)
    assert {f"swmodel.{name}" for name in swmodel.__all__} <= anchors[tmp_path / "reference/python.html"]
    commands = {f"swmodel-{name}" for name, command in main.commands.items() if not command.hidden}
    assert commands <= anchors[tmp_path / "reference/commands.html"]
    assert {name.replace("_", "-") for name in cases.names()} <= anchors[tmp_path / "gallery.html"]
