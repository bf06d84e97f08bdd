"""Estimating initial states, fields and coefficients from observations."""
