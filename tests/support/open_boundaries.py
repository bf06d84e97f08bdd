"""What the tests of open boundaries share: gravity, a depth, the long-wave speed, and options for linear waves."""

import numpy as np

G, H = 9.81, 100.0
WAVE_SPEED = np.sqrt(G * H)
LINEAR_OPTIONS = {
    **{"physics__viscosity": 0.0, "physics__quadratic_drag": 0.0, "physics__f0": 0.0},
    **{"time__stepper": "rk4", "grid__periodic_x": False},
}
