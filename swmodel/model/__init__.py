"""The model that runs: from a whole configuration to results.

validate       what can be found wrong before anything is started
resolve        what a configuration leaves open, decided
launch         `--nproc`: starting ranks and listening to them
simulation     Simulation: the fields on their devices, and stepping them
present        what is computed from the present state: derived fields, numbers, spectra
run            the time loop, which asks a Model to step, its `results` to write and its `health` whether all is well
"""
