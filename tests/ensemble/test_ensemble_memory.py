"""The memory that members take is that of the check before the start, measured on processes; steps take none."""

import pytest
from support.processes import python

from swmodel.model.ensemble.settings import STATES

pytestmark = pytest.mark.night

CELLS, FEW, MANY = 300, 2, 42

PROGRAM = """
import pathlib, sys, tempfile
from swmodel.parallel import environment
environment.prepare()
import swmodel
from swmodel.model.ensemble import settings
from swmodel.model.ensemble.members import Members
from swmodel.model.ensemble.ensemble_file import EnsembleFile
cells, size = map(int, sys.argv[1:])
options = {"grid.nx": cells, "grid.ny": cells, "run.steps": 2, "time.cfl": 0.1, "ensemble.members": size}
config = settings.check_ensemble(swmodel.load("double_gyre", options, environ={}))
members = Members(config)
before = [leaf.unsafe_buffer_pointer() for leaf in members.carry.state]
members.state
members.take_steps(2)
assert [leaf.unsafe_buffer_pointer() for leaf in members.carry.state] == before
with tempfile.TemporaryDirectory() as folder:
    with EnsembleFile(pathlib.Path(folder, "ensemble.nc"), config, members.transport) as records:
        records.write(members)
print(environment.peak_memory())
"""


def test_members_take_the_memory_of_the_check():
    """Malloc has one arena, because those of threads would keep megabytes of free memory, and the program waits for
    each step, because how much of a step's memory is free at a moment would depend on the machine's load."""
    environment = {"JAX_CPU_ENABLE_ASYNC_DISPATCH": "false", "MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}
    few, many = (int(*python(PROGRAM, CELLS, size, **environment)) for size in (FEW, MANY))
    fields = (many - few) / ((MANY - FEW) * CELLS**2 * 4)
    assert 3 * STATES["ab3"] - 1.5 < fields < 3 * STATES["ab3"] + 4
