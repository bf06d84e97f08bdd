"""How Sphinx makes the site of these pages: `make docs`."""

import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE / "site"), str(HERE.parent / "tools")]

import trust  # noqa: E402

(HERE / "reference" / "tests.md").write_text(trust.make_page(), encoding="utf-8")

PROJECT = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]

project = "swmodel"
author = "the authors of swmodel"
version = release = PROJECT["version"]
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_click",
    "sphinx_copybutton",
    "mathml",  # in site/
    "reference",
]
exclude_patterns = ["site", "_build", "jupyter_execute"]
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]  # types of other packages: nothing is fetched to build the site

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # notebooks are kept with what they have shown
suppress_warnings = ["myst.header"]  # pages that begin with a table

autodoc_typehints = "none"  # the docstrings say types and units
autodoc_member_order = "bysource"
napoleon_google_docstring = True
napoleon_use_ivar = True
default_role = "literal"
smartquotes = False  # options keep their two dashes

html_theme = "furo"
html_math_renderer = "mathml"
html_title = f"swmodel {version}"
html_extra_path = [str(film) for film in (HERE / "images" / "cases").glob("*.mp4")]
html_static_path = ["site/static"]
html_css_files = ["formulas.css", "pages.css"]
html_show_copyright = False
html_show_sourcelink = False
html_copy_source = False
