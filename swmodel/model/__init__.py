"""The model: from a configuration to results.

validate       checks before a run starts
resolve        default values that depend on the configuration
launch         `--nproc`: starts ranks and reads their messages
simulation     Simulation: the fields on their devices, and the steps
present        derived fields, diagnostics and spectra of the present state
run            the time loop, which calls a Model, its `results` and its `health`
"""
