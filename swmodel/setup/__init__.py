"""From a configuration to fields, Grid, Params, State, and the positions of gauges and sections.

`fields/`: values on the grid from formulas, numbers, files and Python, and their records in time.
`positions/`: the points and faces of gauges, stations and sections.
`checks/`: extremes of the fields, the largest stable time step, water outside open boundaries.
`setup.py`: the Setup of a run, which executors, health, derivatives and ensembles take.
"""
