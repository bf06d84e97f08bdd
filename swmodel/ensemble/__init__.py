"""Ensembles: runs that differ by random perturbations, computed together.

`settings` says what can be computed (no JAX), `perturbations` draws the members, `members` advances those of a process
on its devices, `task` is `swmodel ensemble`: steps, `health`, `records` and `restart`. Members do not talk to each
other: processes meet only where files are written and where they agree on how to go on.
"""
