"""Restart files: everything a run needs to go on as if it had never stopped.

`folder` names and chooses them (it imports neither JAX nor NetCDF), `examine` checks one, `write` and `read` are for
the ranks of a run. A file holds global fields and nothing of the layout of the run that wrote it.
"""
