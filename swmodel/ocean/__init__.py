"""The ocean: what is computed, in the words of the field, with no word of processes, files or configurations.

table, variable    all fields and coefficients: names, places on the C-grid, units, what they may be
state, grid, masks the prognostic fields; lengths, areas, depth, coasts
patch, operators   arrays that know which cells they cover; means, differences, divergence, curl, diffusion
flow, dynamics     what the terms share; the tendencies
terms/             wind, drags, friction, body force, sponge, tracer: one file each
scheme, reach      which terms there are, and how far they read
instant, timestep  the time of a stage; Adams-Bashforth and Runge-Kutta steppers, leapfrog
derived            derived fields
diagnostics        numbers of the whole domain: mass, energy, ...
squares, spectra   what spectra are of; the spectra with their budgets, over the rings of wavenumbers and bins
elliptic, balance  Poisson's and Helmholtz's equation without land; the part of a flow that is in balance
random_flow        random flows of a given spectrum
"""
