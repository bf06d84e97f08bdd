"""A small twin experiment made ready in a folder: twin.py FOLDER writes twin.h5 and twin_observations.nc."""

import sys

from support.small_twin import small

from swmodel.assimilation.experiment import prepare

prepare(small(**{"run.reproducible": True}), sys.argv[1], None)
