"""A twin experiment of a few cells and steps, whose assimilation takes seconds."""

SMALL = {
    "grid.nx": 10,
    "grid.ny": 12,
    "grid.dx": 100e3,
    "grid.dy": 100e3,
    "physics.viscosity": 5e3,
    "time.dt": 3600.0,
    "run.steps": 30,
    "run.dtype": "float64",
    "output.every": 86400.0,
    "case.spinup": 60.0,
    "case.lead": 30.0,
    "case.forecast": 2.5,
    "case.repeat": 2.0,
    "case.separation": 250e3,
    "case.spacing": 100e3,
    "case.eta_error": 0.05,
    "case.velocity_error": 0.005,
    "assimilation.every_steps": 3,
    "assimilation.length": 300e3,
    "assimilation.sigma_eta": 2.0,
    "assimilation.sigma_velocity": 0.02,
    "assimilation.outer": 2,
    "assimilation.inner": 12,
}

#: The same options as words of a command line.
SETTINGS = [word for key, value in SMALL.items() for word in ("-s", f"{key}={value}")]
