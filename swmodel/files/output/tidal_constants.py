"""harmonics.nc of a run: amplitude and phase lag of each constituent, and the mean, of its fields."""

from __future__ import annotations

from ...ocean.constituents import DAY
from ...ocean.table import entry_of
from ...ocean.variable import Variable
from ...setup.tidal_analysis import analysis
from .maps import Number, put_numbers, write_maps

#: A comment for readers of the file.
COMMENT = (
    "x(t) = mean + sum of f amplitude cos(2 pi (t - start) / period + V + u - phase), by least squares; f, V and u "
    "are those of the start of the run"
)


def write(path, config, transport, constants: dict[str, tuple], command_line: str = "") -> None:
    """Write the file, which appears whole or not at all; called by all processes together.

    Args:
        constants: those of `model.harmonics.Harmonics`, on this process's block.

    Raises:
        FilesError: it could not be written, on all processes.
    """
    made, maps = analysis(config), []
    for name, (mean, pairs) in constants.items():
        entry = entry_of(name, config.physics)
        told = f"mean {entry.long_name} of the analysis"
        maps.append((Variable(f"{name}_mean", entry.location, entry.units, "", told, signed=entry.signed), mean))
        for each, (amplitude, phase) in zip(made.constituents, pairs, strict=True):
            maps.append((amplitude_of(entry, each.name), amplitude))
            maps.append((phase_of(entry, each.name), phase))
    numbers = []
    for each in made.constituents:
        for what, words, value, units in (
            ("period", "period", each.period / 3600, "h"),
            ("nodal_factor", "nodal factor f", each.factor, "1"),
            ("argument", "V + u at the start", each.phase, "rad"),
        ):
            told = {"long_name": f"{words} of {each.name}", "units": units}
            numbers.append(Number(f"{each.name}_{what}", value, told))

    def define(dataset) -> None:
        dataset.title = f"harmonic constants: {dataset.title}"
        days = [step * config.time.dt / DAY for step in (made.steps[0], made.steps[-1])]
        dataset.setncatts({"constituents": " ".join(each.name for each in made.constituents), "comment": COMMENT})
        dataset.setncatts({"first_day": days[0], "last_day": days[1], "values": len(made.steps)})
        put_numbers(dataset, numbers)

    write_maps(path, config, transport, maps, define, command_line)


def amplitude_of(entry: Variable, constituent: str) -> Variable:
    """The variable of an amplitude."""
    told = f"amplitude of {constituent} in {entry.long_name}"
    return Variable(f"{entry.name}_{constituent}_amplitude", entry.location, entry.units, "", told, least=0.0)


def phase_of(entry: Variable, constituent: str) -> Variable:
    """The variable of a phase lag."""
    told = f"phase lag behind Greenwich of {constituent} in {entry.long_name}"
    return Variable(f"{entry.name}_{constituent}_phase", entry.location, "degrees", "", told, least=0.0)
