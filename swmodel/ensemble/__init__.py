"""Ensembles: runs that differ by random perturbations, computed together.

`settings` says what can be computed (no JAX), `perturbations` draws the members, `members` advances those of a process
on its devices, as a Model of the time loop; `ensemble_file` is what they write. Members do not talk to each
other: processes meet only where files are written and where they agree on how to go on.
"""
