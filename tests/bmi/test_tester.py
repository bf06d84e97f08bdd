"""The tester of CSDMS finds nothing wrong with a component that has every kind of variable."""

import os
import subprocess
import sys

import pytest
from conftest import ROOT

pytestmark = pytest.mark.night

pytest.importorskip("bmi_tester", reason="needs the tester of CSDMS: pip install bmi-tester")

COMPONENT = """
from swmodel import bmi
class Component(bmi.Model):
    def __init__(self):
        super().__init__(["wind_x", "wind_y", "u10", "v10", "air_pressure"])
"""
SEA = """
case.name = "vortex"
run = {{dtype = "{dtype}", executor = "reference", steps = 40}}
tracer = [{{name = "dye"}}]
grid = {{nx = 14, ny = 11, dx = 5e3, dy = 4e3}}
"""
TESTER = "import sys; from bmi_tester.main import main; sys.exit(main())"


@pytest.mark.promise("the Basic Model Interface is the model")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tester_of_csdms_passes(tmp_path, dtype):
    files = {"component.py": COMPONENT, "sea.toml": SEA.format(dtype=dtype), "pytest.ini": "[pytest]"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    line = [sys.executable, "-c", TESTER, "component:Component", "--root-dir=.", "--config-file=sea.toml"]
    paths = os.pathsep.join([str(tmp_path), str(ROOT), os.environ.get("PYTHONPATH", "")])
    environ = os.environ | {"PYTHONPATH": paths, "PYTEST_ADDOPTS": f"-c {tmp_path}/pytest.ini --rootdir={tmp_path}"}
    done = subprocess.run(line, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert " failed" not in done.stdout
    assert done.stdout.count(" passed") == 4  # the bootstrap and three stages
    assert "not a valid standard name" not in done.stdout
