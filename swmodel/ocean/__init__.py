"""The ocean: what is computed, in the words of the field, with no word of processes, files or configurations.

state          the table of fields: names, places on the C-grid, units; State and Carry
grid           static fields of a block: metrics, Coriolis parameter, depth, masks, coefficients
operators      differences and means on the C-grid, of Patches, which know the cells that they cover
dynamics       the tendencies, one physical term per line
timestep       Adams-Bashforth and Runge-Kutta steppers
diagnostics    derived fields, and sums over the domain
"""
