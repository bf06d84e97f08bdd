"""Data assimilation by 4D-Var and LETKF: observations and their operator, errors of the first guess, minimisation."""
