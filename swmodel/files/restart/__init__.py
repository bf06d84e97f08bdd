"""Restart files: everything that a run needs to continue bit for bit.

`folder` names and chooses restart files (without JAX and NetCDF), `examine` verifies one, and the ranks of a run
`write` and `read` them. A file holds global fields, which do not depend on the layout of the run that wrote it.
"""
