"""Observations, and what the model would have been seen to do: observation files, their operator, synthetic ones.

observations    Observations: read from a file with every check, written to one
interpolation   Operator: the observed quantities of a model's states, for Problem's `observe`
synthetic       where an altimeter and moorings look, and what they see of a known state
"""
