"""User-defined functions that a model calls at regular intervals."""

from __future__ import annotations

import math
import traceback
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import NumericalError, SetupError, Stopped, UsageError, describe_failure
from ..files.schedule import EventSchedule
from ..ocean.option import parse_duration
from ..ocean.user_term import source_line_of
from ..parallel.watchdog import abort_after_timeout
from .validate import MAX_STEPS

if TYPE_CHECKING:
    from ..config.options.model import Config

#: The words for the unit of an interval in steps.
STEP_UNITS = ("steps", "step")
#: The folder of the package, whose files are not named in messages about errors in user-defined functions.
PACKAGE_FOLDER = str(Path(__file__).parents[1])


class ScheduledCall(NamedTuple):
    """A user-defined function of the model, and its schedule.

    Attributes:
        label: name and interval of the function, for messages.
        record_text: the same for config.toml: "nudge every 10 steps" or "nudge every 3600.0 s".
    """

    function: Callable
    schedule: EventSchedule
    label: str
    record_text: str


class ScheduledCalls(list):
    """The ScheduledCalls of a model, in the order in which they were added.

    Attributes:
        expected: for each `record_text`, the number of such functions in the run that the model continues.
        error: the error that a function raised on this process; None: no function failed here.
    """

    error: BaseException | None = None

    def __init__(self, expected: Iterable[str] = ()) -> None:
        super().__init__()
        self.expected = Counter(expected)

    def add(self, interval, function: Callable, dt: float) -> None:
        """Add a function of the model, to be called after each interval. For UsageErrors see `Simulation.every`."""
        if not callable(function):
            raise UsageError(
                f"every({interval!r}, ...): {function!r:.60} is not callable; give a function of the model"
            )
        steps, seconds = parse_interval(interval, dt)
        name = getattr(function, "__name__", type(function).__name__)
        text = f"{name} every {f'{steps} steps' if steps else f'{seconds!r} s'}"
        schedule = EventSchedule(dt, MAX_STEPS, steps, seconds)
        self.append(ScheduledCall(function, schedule, f"{name}, called every {interval}", text))

    def config_with_calls(self, config: Config):
        """The configuration with each `record_text` of the functions, and of `expected` functions that are missing."""
        texts = [call.record_text for call in self]
        texts += (self.expected - Counter(texts)).elements()
        return config.model_copy(update={"python": config.python.model_copy(update={"calls": tuple(texts)})})

    def check_agreement(self, model) -> None:
        """Check names and intervals of the functions; all processes call it together.

        SetupError: they differ between processes. UsageError: a function that the continued run had is missing.
        """
        if model.transport.size == 1 and not self.expected:
            return  # keeps `advance(1)` almost as fast as a step
        texts = [call.record_text for call in self]
        checksum = zlib.crc32("\n".join(texts).encode())
        low, high = model.transport.reduce(np.array([-checksum, checksum]), "max")
        if high != -low:
            texts_of_ranks = model.transport.allgather(texts)
            rank = next(rank for rank, others in enumerate(texts_of_ranks) if others != texts_of_ranks[0])
            first_text, other_text = (", ".join(texts_of_ranks[number]) or "nothing" for number in (0, rank))
            raise SetupError(
                f"the processes differ: every(...) has {first_text} on rank 0, but on rank {rank} {other_text}; give "
                "all processes the same functions"
            )
        if missing := self.expected - Counter(texts):
            raise UsageError(
                f"the run called functions from Python: {', '.join(missing.elements())}; add each again with "
                "model.every(...) before the next step, or omit them with `swmodel resume DIR -s python.calls=[]`"
            )

    def next_step(self, step: int) -> int:
        return min((call.schedule.next(step) for call in self), default=MAX_STEPS)

    def stop_steps(self, model, last: int) -> Iterator[int]:
        """Yield each step at which functions are due, and call them; then yield `last`. Stopped: a function failed."""
        self.check_agreement(model)
        while self and (step := self.next_step(model.step)) <= last:
            yield step
            if reason := self.call_due_functions(model):
                where = f"at step {model.step} (day {model.time / 86400:.3f})"
                raise Stopped(f"stopped by {reason} {where}") from self.error
        yield last

    def call_due_functions(self, model) -> str:
        """Call the functions that are due at the present step until one fails; all processes call it together.

        Returns the source line and the reason of the failure, the same on all processes; "" if none failed.
        """
        self.error = None
        transport, is_only_process = model.transport, model.transport.size == 1
        for call in self:
            if model.step == 0 or not call.schedule.is_regular(model.step):
                continue
            message = (
                f"at step {model.step} rank {transport.rank} waits for the others in {call.label}; do all ranks make "
                "the same calls?"
            )
            with abort_after_timeout(0.0 if is_only_process else model.config.run.watchdog, message, transport.rank):
                reasons = transport.allgather(self.call_function(call, model))
            for rank, text in enumerate(reasons):
                if text:
                    return text if is_only_process else f"{text} (on rank {rank})"
            self.check_agreement(model)  # the function may have added functions
        return ""

    def call_function(self, call: ScheduledCall, model) -> str:
        """Call a function; returns the source line and the reason of its failure, or "".

        NumericalError: the solution blew up.
        """
        step = model.step
        try:
            call.function(model)
            if model.step != step:
                raise UsageError(f"it took the model from step {step} to {model.step}; it may only set the state")
        except NumericalError:  # raised on all processes alike
            raise
        except (Exception, SystemExit) as error:
            self.error = error
            frames = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
            user_files = [name for name in frames if not name.startswith(PACKAGE_FOLDER)]
            return describe_failure(error, (user_files or [source_line_of(call.function)])[-1], call.label)
        return ""


def parse_interval(interval, dt: float) -> tuple[int | None, float | None]:
    """(steps, None) of an interval such as "10 steps"; (None, model seconds) of "6 h" or a number of seconds.

    UsageError: the interval has another form, or is shorter than `dt`, a time step in s.
    """
    context = f"every({interval!r}, ...)"
    number, _, unit = interval.strip().rpartition(" ") if isinstance(interval, str) else ("", "", "")
    if unit in STEP_UNITS:
        if not number.isdecimal() or not 1 <= int(number) <= MAX_STEPS:
            raise UsageError(f'{context}: needs a whole number of steps, from 1 to {MAX_STEPS}, such as "10 steps"')
        return int(number), None
    message = f'{context} is not a length of time; give "6 h", a number of seconds or "10 steps"'
    seconds = parse_seconds(interval, message)
    if seconds < dt:
        raise UsageError(f"{context}: {seconds:g} s is shorter than a time step, {dt:g} s")
    return None, seconds


def parse_seconds(length, message: str) -> float:
    """A length of time such as "6 h", or a number of seconds, in s. UsageError with `message`: it is neither."""
    try:
        seconds = float(parse_duration(length))
    except (TypeError, ValueError):
        seconds = math.nan
    if not math.isfinite(seconds):
        raise UsageError(message)
    return seconds
