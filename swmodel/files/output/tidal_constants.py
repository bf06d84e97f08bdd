"""harmonics.nc of a run: amplitude and phase lag of each constituent, and the mean, of its fields."""

from __future__ import annotations

from ...ocean.constituents import DAY
from ...ocean.table import entry_of
from ...ocean.variable import Variable
from ...setup.tidal_analysis import analysis
from .maps import write_maps
from .metadata import define_variable

#: A comment for readers of the file.
COMMENT = (
    "x(t) = mean + sum of f amplitude cos(2 pi (t - start) / period + V + u - phase), by least squares; f, V and u "
    "are those of the start of the run"
)


def write(path, config, transport, constants: dict[str, tuple], command_line: str = "") -> None:
    """Write the file, which appears whole or not at all; called by all processes together.

    Args:
        constants: those of `model.accumulators.Harmonics`, on this process's block.
    """
    made, maps = analysis(config), []
    for name, (mean, pairs) in constants.items():
        entry = entry_of(name, config.physics)
        words = f"mean {entry.long_name} of the analysis"
        maps.append((Variable(f"{name}_mean", entry.location, entry.units, "", words, signed=entry.signed), mean))
        for each, (amplitude, phase) in zip(made.constituents, pairs, strict=True):
            for what, words, units, values in (
                ("amplitude", "amplitude of", entry.units, amplitude),
                ("phase", "phase lag behind Greenwich of", "degrees", phase),
            ):
                row = (
                    f"{name}_{each.name}_{what}",
                    entry.location,
                    units,
                    "",
                    f"{words} {each.name} in {entry.long_name}",
                )
                maps.append((Variable(*row, least=0.0), values))
    numbers = {}
    for each in made.constituents:
        for what, words, value, units in (
            ("period", "period", each.period / 3600, "h"),
            ("nodal_factor", "nodal factor f", each.factor, "1"),
            ("argument", "V + u at the start", each.phase, "rad"),
        ):
            numbers[f"{each.name}_{what}"] = value, {"long_name": f"{words} of {each.name}", "units": units}

    def define(dataset) -> None:
        dataset.title = f"harmonic constants: {dataset.title}"
        days = [step * config.time.dt / DAY for step in (made.steps[0], made.steps[-1])]
        dataset.setncatts({"constituents": " ".join(each.name for each in made.constituents), "comment": COMMENT})
        dataset.setncatts({"first_day": days[0], "last_day": days[1], "values": len(made.steps)})
        for name, (value, about) in numbers.items():
            define_variable(dataset, name, (), about, value)

    write_maps(path, config, transport, maps, define, command_line)
