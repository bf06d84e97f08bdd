"""The ocean: the equations and what follows from them, independent of processes, files and configurations.

table, variable    all fields and coefficients: names, places on the C-grid, units, properties
state, grid, masks the prognostic fields; lengths, areas, depth, coasts
patch, operators   arrays that know which cells they cover; means, differences, divergence, curl, diffusion
flow, dynamics     what the terms share; the tendencies, and their parts
terms/             wind, drags, friction, body force, sponge, tracer, tides, open sides
scheme             which terms a run computes, and how far they reach
instant, timestep  the time of a stage; Adams-Bashforth and Runge-Kutta steppers, leapfrog
derived            derived fields
diagnostics        numbers of the whole domain: mass, energy, ...
squares, spectra   the quantities that have spectra; the spectra with their budgets
elliptic           Poisson's and Helmholtz's equations without land; the balanced part of a flow
random_flow        random flows of a given spectrum
"""
