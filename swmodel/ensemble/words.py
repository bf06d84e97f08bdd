"""What `--perturb` says, as overrides of the configuration. No JAX."""

from __future__ import annotations

from typing import NamedTuple

from ..config.errors import suggest
from ..errors import UsageError


class Perturbation(NamedTuple):
    """Keys of [ensemble] that a name of the command line stands for.

    Attributes:
        size: key of the standard deviation.
        length: key of the length of correlation; "" where the perturbation is one number for the whole domain.
        may_be_number: whether it is one number where no length is given.
        unit: of the standard deviation, in words.
    """

    size: str
    length: str
    may_be_number: bool
    unit: str


PERTURBATIONS = {
    "initial.eta": Perturbation("initial_eta", "initial_eta_length", False, "in m"),
    "wind": Perturbation("wind", "wind_length", True, "a relative change"),
    "viscosity": Perturbation("viscosity", "", True, "of the logarithm of a factor"),
}


def overrides(texts) -> list[str]:
    """The overrides (`ensemble.key=value`) that the texts "NAME=SIZE" or "NAME=SIZE,LENGTH" stand for.

    Raises:
        UsageError: there is no such perturbation, it is given twice, it is none, or it is written otherwise.
    """
    found = {}
    for text in texts:
        name, _, value = text.partition("=")
        if name not in PERTURBATIONS:
            raise UsageError(f"--perturb {text}: no such perturbation; {suggest(name, PERTURBATIONS)}")
        if name in found:
            raise UsageError(f"--perturb {text}: {name} is given twice")
        found[name] = keys_of(text, PERTURBATIONS[name], value.split(","))
    return [f"ensemble.{key}={number}" for keys in found.values() for key, number in keys.items()]


def keys_of(text: str, perturbation: Perturbation, numbers: list[str]) -> dict[str, str]:
    """The keys of [ensemble] with their values; see `overrides`."""
    keys = [key for key in perturbation[:2] if key]
    if not all(map(is_number, numbers)) or len(numbers) > len(keys):
        name = text.partition("=")[0]
        form = f"{name}=SIZE" + (f" or {name}=SIZE,LENGTH" if perturbation.length else "")
        length = ", LENGTH in m" if perturbation.length else ""
        raise UsageError(f"--perturb {text}: write it as {form}, with numbers: SIZE {perturbation.unit}{length}")
    if float(numbers[0]) == 0:
        raise UsageError(f"--perturb {text}: a SIZE of 0 perturbs nothing; leave it out")
    if perturbation.may_be_number and len(numbers) < len(keys):
        numbers = [*numbers, "0"]
    return dict(zip(keys, numbers, strict=False))


def is_number(text: str) -> bool:
    """Whether the text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
