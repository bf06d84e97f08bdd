"""Spectra, potentials, balanced flows and errors with a given spectrum have the same bits on any number of ranks."""

import json


def test_every_layout_has_the_bits_of_one_process(mpiexec, quickly_compiled):
    found = json.loads(mpiexec("spectral.py", 4, timeout=200).stdout.splitlines()[-1])
    assert found.keys() == {"1x1", "1x3", "2x2"}
    assert len(found["1x1"]) == 9
    for what, bits in found["1x1"].items():
        assert {layout: found[layout][what] for layout in found} == dict.fromkeys(found, bits), what
