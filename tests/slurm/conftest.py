"""A Slurm of one node for the tests of this folder; without Slurm they are skipped, or, in `make slurm`, fail."""

import os

import pytest

from tools.one_node_slurm import OneNodeSlurm, missing_packages


def pytest_collection_modifyitems(items):
    if "SWMODEL_SLURM" not in os.environ and missing_packages():
        for item in items:
            if item.path.parent.name == "slurm":
                item.add_marker(pytest.mark.skip(reason="needs Slurm: docs/cluster.md"))


@pytest.fixture(scope="session")
def slurm_node():
    if packages := missing_packages():
        pytest.exit(f"Slurm is missing: install {', '.join(packages)} (names of Debian)", returncode=3)
    with OneNodeSlurm() as node:
        yield node
