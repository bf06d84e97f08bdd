"""Restart files: everything that a run needs to continue with the same bits.

`folder` names and chooses them (without JAX and NetCDF), `examine` checks one, and the ranks of a run `write` and
`read` them. A file holds global fields, independent of the layout of the run that wrote it.
"""
