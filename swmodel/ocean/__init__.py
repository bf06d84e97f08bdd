"""The ocean: the equations and their quantities, independent of processes, files and configurations.

table, variable    all fields and coefficients: names, locations on the C-grid, units, properties
state, grid, masks the prognostic fields; lengths, areas, depth, coasts
patch, operators   arrays that know which cells they cover; means, differences, divergence, curl, diffusion
flow, dynamics     the state as terms use it; the tendencies, and their parts
terms/             wind, drags, friction, body force, sponge, tracer, tides, open sides
scheme             the terms of a run, and their reach
instant, timestep  the time of a stage; Adams-Bashforth and Runge-Kutta steppers, leapfrog
derived            derived fields
diagnostics        numbers of the whole domain: mass, energy, ...
squares, spectra   the quantities with spectra; spectra and budgets
elliptic           Poisson's and Helmholtz's equations without land; the balanced part of a flow
random_flow        random flows of a given spectrum
"""
