"""Variational data assimilation (4D-Var): observations, their operator, errors of the first guess, minimisation."""
