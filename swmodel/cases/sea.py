"""A sea at rest, with depth and coast from `grid.file`, for your own wind, tide, weather or open boundaries.

Physics: sea level is zero everywhere and nothing drives the water. Depth and coast come from the grid's file, or from
`input.depth` and `input.mask`. Without either the sea is a basin 60 degrees wide with a flat floor. On a sphere the
Coriolis parameter is that of the latitude. Quadratic bottom drag is that of a sandy floor.

Cost: 1080 steps on 7200 cells for a day: seconds.

Theme: Starting points

Command: swmodel grid sea.nc --region -100,20,-60,65 --resolution 1
swmodel run sea -s grid.file=sea.nc -s time.start=2012-03-01 -s tide.constituents=M2 -s tide.ramp="1 day"
-s physics.linear_drag=6e-6 --days 6 -s output.harmonics=M2 -s output.harmonics_from="4 days"

Plot: swmodel plot outputs/sea/harmonics.nc

Verification: u = v = 0 and eta = 0 at all times, to the last bit, over any relief and along any coast.
"""

from ..config.options.case import Case


class Sea(Case):
    defaults = {
        "grid": {"kind": "latlon", "periodic_x": False, "nx": 120, "ny": 60, "west": -60.0, "east": 0.0, "south": 15.0,
                 "north": 45.0},
        "physics": {"depth": 4000.0, "quadratic_drag": 3e-3},
        "run": {"days": 1.0, "dtype": "float64"},
        "output": {"every": 3600.0, "fields": ("h", "u", "v", "eta", "speed")},
    }  # fmt: skip
