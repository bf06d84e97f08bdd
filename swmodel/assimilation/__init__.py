"""Variational data assimilation (4D-Var): observations, their operator, errors of the first guess, minimisation.

observations    Observations, read from a file with every check, and written to one
interpolation   the observation operator H: observed quantities of the model's states, for Problem's `observe`
synthetic       where an altimeter and moorings observe, and what they observe of a known state
"""
