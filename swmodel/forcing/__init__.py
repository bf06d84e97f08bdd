"""What drives a run from outside the equations: storms along their tracks, and earthquakes."""
