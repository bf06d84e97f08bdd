"""Turn a configuration into fields, Grid, Params, State, and the positions of gauges, sections and drifters.

`fields/`: values on the grid from formulas, numbers, files and Python, and their records in time.
`positions/`: the points and faces of gauges, sections and drifters, and checks of the rivers.
`checks/`: extremes of the fields, the largest stable time step, boundary data.
`tidal_analysis.py`: the constituents and steps of the harmonic analysis of a run.
`describe.py`: a Setup as a table for the user.
`setup.py`: the Setup of a run, which executors, health checks, derivatives and ensembles use.
"""
