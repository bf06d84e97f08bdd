"""User-defined functions that a model calls at intervals of model time."""

from __future__ import annotations

import math
import traceback
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import NumericalError, SetupError, Stopped, UsageError, failure
from ..files.schedule import Schedule
from ..ocean.option import parse_duration
from ..ocean.own_term import place_of
from ..parallel.watchdog import limited_wait
from .validate import MOST_STEPS

#: The unit of an interval in steps.
STEPS = ("steps", "step")
#: Files that are not named as the place of an error in a user's function.
PACKAGE = str(Path(__file__).parents[1])


class Call(NamedTuple):
    """A function of the model, and its schedule.

    Attributes:
        what: its name and its interval, for messages.
        text: the same in the record of a run: "nudge every 10 steps", or with seconds.
    """

    function: Callable
    schedule: Schedule
    what: str
    text: str


class Calls(list):
    """The Calls of a model, in the order of their addition.

    Attributes:
        wanted: number of each text in the run that the model continues.
        error: the error that a function raised on this process.
    """

    error: BaseException | None = None

    def __init__(self, wanted: Iterable[str] = ()) -> None:
        super().__init__()
        self.wanted = Counter(wanted)

    def add(self, interval, function: Callable, dt: float) -> None:
        """Add a function to call after each interval. UsageError: see `Simulation.every`."""
        if not callable(function):
            raise UsageError(
                f"every({interval!r}, ...): {function!r:.60} cannot be called; needs a function of the model"
            )
        steps, seconds = parsed(interval, dt)
        name = getattr(function, "__name__", type(function).__name__)
        text = f"{name} every {f'{steps} steps' if steps else f'{seconds!r} s'}"
        self.append(Call(function, Schedule(dt, MOST_STEPS, steps, seconds), f"{name}, called every {interval}", text))

    def recorded(self, config):
        """The configuration with the names and intervals of the functions, for the record of a run."""
        texts = [call.text for call in self]
        texts += (self.wanted - Counter(texts)).elements()
        return config.model_copy(update={"python": config.python.model_copy(update={"calls": tuple(texts)})})

    def agree(self, model) -> None:
        """Check that all processes call the same functions, and all those of the run; all processes call it together.

        SetupError: a process has other functions. UsageError: a function of the run is missing.
        """
        if model.transport.size == 1 and not self.wanted:
            return  # keeps `advance(1)` almost as fast as a step
        texts = [call.text for call in self]
        sign = zlib.crc32("\n".join(texts).encode())
        low, high = model.transport.reduce(np.array([-sign, sign]), "max")
        if high != -low:
            everyone = model.transport.allgather(texts)
            rank = next(rank for rank, others in enumerate(everyone) if others != everyone[0])
            here, there = (", ".join(everyone[number]) or "nothing" for number in (0, rank))
            raise SetupError(
                f"the processes differ: every(...) gives rank 0 {here}, rank {rank} {there}; give all the same"
            )
        if missing := self.wanted - Counter(texts):
            raise UsageError(
                f"the run called functions from Python: {', '.join(missing.elements())}; give each again as "
                "model.every(...) before the next step, or omit them by `swmodel resume DIR -s python.calls=[]`"
            )

    def next(self, step: int) -> int:
        """The first step after `step` at which a function is due."""
        return min((call.schedule.next(step) for call in self), default=MOST_STEPS)

    def stops(self, model, last: int) -> Iterator[int]:
        """The steps up to `last` at which functions are due, which are called there.

        Stopped: a function failed; raised on all processes.
        """
        self.agree(model)
        while self and (step := self.next(model.step)) <= last:
            yield step
            if words := self.make(model):
                where = f"at step {model.step} (day {model.time / 86400:.3f})"
                raise Stopped(f"stopped by {words} {where}") from self.error
        yield last

    def make(self, model) -> str:
        """Call the functions that are due at the model's present step; all processes call it together.

        Returns the reason and the line of the first failure, the same on all processes, or "". A failure ends the
        calls.
        """
        self.error = None
        transport, alone = model.transport, model.transport.size == 1
        for call in self:
            if model.step == 0 or not call.schedule.regular(model.step):
                continue
            waits = f"at step {model.step} rank {transport.rank} waits for others in {call.what}; do all do the same?"
            with limited_wait(0.0 if alone else model.config.run.watchdog, waits, transport.rank):
                words = transport.allgather(self.attempt(call, model))
            for rank, text in enumerate(words):
                if text:
                    return text if alone else f"{text} (on rank {rank})"
            self.agree(model)  # the function may have added others
        return ""

    def attempt(self, call: Call, model) -> str:
        """Call a function; returns the reason of its failure, or ""."""
        step = model.step
        try:
            call.function(model)
            if model.step != step:
                raise UsageError(f"it took the model from step {step} to {model.step}; it may only set the state")
        except NumericalError:  # the same on all processes
            raise
        except (Exception, SystemExit) as error:
            self.error = error
            frames = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
            own = [name for name in frames if not name.startswith(PACKAGE)]
            return failure(error, (own or [place_of(call.function)])[-1], call.what)
        return ""


def parsed(interval, dt: float) -> tuple[int | None, float | None]:
    """The steps, or the model seconds, of an interval: "6 h", seconds, "10 steps"."""
    call = f"every({interval!r}, ...)"
    if isinstance(interval, str) and interval.endswith(STEPS):
        number = interval.rsplit(maxsplit=1)[0]
        if not number.isdecimal() or not 1 <= int(number) <= MOST_STEPS:
            raise UsageError(f'{call}: needs a whole number of steps, at least 1, as "10 steps"')
        return int(number), None
    seconds = seconds_of(interval, f'{call} is no length of time; write "6 h", a number of seconds or "10 steps"')
    if seconds < dt:
        raise UsageError(f"{call}: {seconds:g} s is shorter than a time step, {dt:g} s")
    return None, seconds


def seconds_of(length, complaint: str) -> float:
    """The seconds of "6 h" or of a number. UsageError with the complaint: it is neither."""
    try:
        seconds = float(parse_duration(length))
    except (TypeError, ValueError):
        seconds = math.nan
    if not math.isfinite(seconds):
        raise UsageError(complaint)
    return seconds
