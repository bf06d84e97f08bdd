"""Twin experiments with few cells and steps, whose assimilation takes seconds."""

import swmodel
from swmodel.model.resolve import resolve

#: Options of the case double_gyre_twin.
SMALL_TWIN = {
    "grid.nx": 10, "grid.ny": 12, "grid.dx": 100e3, "grid.dy": 100e3, "physics.viscosity": 5e3, "time.dt": 3600.0,
    "run.steps": 30, "run.dtype": "float64", "output.every": 86400.0, "case.spinup": 60.0, "case.lead": 30.0,
    "case.forecast": 2.5, "case.repeat": 2.0, "case.separation": 250e3, "case.spacing": 100e3, "case.eta_error": 0.05,
    "case.velocity_error": 0.005, "assimilation.every_steps": 3, "assimilation.length": 300e3,
    "assimilation.sigma_eta": 2.0, "assimilation.sigma_velocity": 0.02, "assimilation.outer": 2,
    "assimilation.inner": 12,
}  # fmt: skip
#: Options of LETKF, with a realistic size of the errors of the first guess.
LETKF_OPTIONS = {
    "assimilation.method": "letkf", "assimilation.cycle_steps": 6, "assimilation.localisation": 8e5,
    "assimilation.sigma_eta": 10.0, "ensemble.members": 24,
}  # fmt: skip


def twin_config(**overrides):
    return resolve(swmodel.load("double_gyre_twin", SMALL_TWIN | overrides, environ={}))


def letkf_config(**overrides):
    return twin_config(**LETKF_OPTIONS | overrides)


def smallest_twin(case="double_gyre_twin", **overrides):
    """A configuration with 11 x 13 cells of 120 km and steps of two hours, 7 in the window and 5 after it."""
    sizes = {"grid.nx": 11, "grid.ny": 13, "grid.dx": 120e3, "grid.dy": 120e3, "physics.viscosity": 5e3}
    times = {"time.dt": 7200.0, "run.steps": 7, "output.every_steps": 3, "assimilation.every_steps": 7}
    spans = {"case.spinup": 2.0, "case.lead": 0.5, "case.forecast": 5 / 12}
    return swmodel.load(case, sizes | times | spans | overrides, environ={})


#: An almost linear experiment with waves of 1 mm on 500 m of water, in which the first guess does not know the weather.
WINDS_TWIN = {
    "grid.nx": 7, "grid.ny": 9, "grid.dx": 120e3, "grid.dy": 120e3, "physics.viscosity": 5e3, "time.dt": 7200.0,
    "run.steps": 20, "run.dtype": "float64", "output.every_steps": 5, "case.wind": 1e-4, "case.perturbation": 1e-3,
    "case.weather": 1e-4, "case.weather_days": 1.0, "case.spinup": 2.0, "case.lead": 1.0, "case.forecast": 0.5,
    "case.moorings": 1, "case.separation": 1.5e6, "case.spacing": 250e3, "case.repeat": 1.0, "case.eta_error": 1e-3,
    "case.velocity_error": 1e-4, "assimilation.controls": ["eta", "u", "v", "wind_x_correction", "wind_y_correction"],
    "assimilation.every_steps": 5, "assimilation.length": 400e3, "assimilation.balanced": False,
    "assimilation.sigma_eta": 3e-3, "assimilation.sigma_velocity": 1e-4, "assimilation.sigma_wind_correction": 1e-4,
    "assimilation.correction_every": 50e3, "assimilation.correction_length": 500e3,
    "assimilation.correlation_time": 86400.0, "assimilation.outer": 6, "assimilation.inner": 60,
}  # fmt: skip


def winds_twin(**overrides):
    return resolve(swmodel.load("double_gyre_winds", WINDS_TWIN | overrides, environ={}))
