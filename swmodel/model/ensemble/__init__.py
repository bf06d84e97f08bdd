"""Ensembles: runs that differ by random perturbations, computed together.

`settings` checks the configuration (no JAX), `perturbations` draws the members, `members` advances those of a process
on its devices, and `ensemble_file` writes them. Members exchange no messages: processes communicate only to write files
and to agree on the next steps.
"""
