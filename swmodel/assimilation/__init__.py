"""Data assimilation by 4D-Var and LETKF: observations, their operator, errors of the first guess, minimisation."""
