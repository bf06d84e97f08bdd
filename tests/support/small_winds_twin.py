"""An almost linear twin experiment with few cells and steps, in which the first guess does not know the wind."""

import swmodel
from swmodel.model.resolve import resolve

CONTROLS = ["eta", "u", "v", "wind_x_correction", "wind_y_correction"]
#: Waves of 1 mm on 500 m of water; there are few moorings and tracks.
TWIN_OPTIONS = {
    "grid.nx": 7, "grid.ny": 9, "grid.dx": 120e3, "grid.dy": 120e3, "physics.viscosity": 5e3, "time.dt": 7200.0,
    "run.steps": 20, "run.dtype": "float64", "output.every_steps": 5, "case.wind": 1e-4,
    "case.perturbation": 1e-3, "case.weather": 1e-4, "case.weather_days": 1.0, "case.spinup": 2.0,
    "case.lead": 1.0, "case.forecast": 0.5, "case.moorings": 1, "case.separation": 1.5e6, "case.spacing": 250e3,
    "case.repeat": 1.0, "case.eta_error": 1e-3, "case.velocity_error": 1e-4, "assimilation.controls": CONTROLS,
    "assimilation.every_steps": 5, "assimilation.length": 400e3, "assimilation.balanced": False,
    "assimilation.sigma_eta": 3e-3, "assimilation.sigma_velocity": 1e-4,
    "assimilation.sigma_wind_correction": 1e-4, "assimilation.correction_every": 50e3,
    "assimilation.correction_length": 500e3, "assimilation.correlation_time": 86400.0, "assimilation.outer": 6,
    "assimilation.inner": 60,
}  # fmt: skip
#: The same options for the command line.
SETTINGS = [word for key, value in TWIN_OPTIONS.items() for word in ("-s", f"{key}={value}")]


def weather_twin(**more):
    return resolve(swmodel.load("double_gyre_winds", TWIN_OPTIONS | more, environ={}))
