"""The rows of a sweep: each is one thing measured, on one grid, by one executor, on so many processes."""

from __future__ import annotations

import math
import typing
from dataclasses import asdict, dataclass, replace

from ..config import load
from ..config.errors import suggest
from ..config.options.run import Run
from ..errors import UsageError
from ..model.progress import workers
from ..model.resolve import resolve
from .sweeps import Sweep

#: Executors that compute only on the CPU; if only these are asked for, rows on GPUs are those of xla.
CPU_ONLY = ("reference", "native")
#: What a run writes, in words; a number is the steps between snapshots.
WRITING = {"none": ", no files", "ends": ", first and last state"}


@dataclass(frozen=True)
class Row:
    """What a worker measures. All values are plain, so that a row can be passed on as JSON.

    Attributes:
        measure: model, halo, output, start, ensemble or fft.
        executor: that of the configuration; for transforms the reference is scipy.fft.
        platform: cpu or gpu.
        transport, devices: mpi (serial for one process), or sharded with so many devices of each process.
        nproc, threads: processes, and threads of each (None: all cores for one process, its share for one of several).
        nx, ny, dtype: the jet's grid and precision.
        steps: steps of a sample; None: as many as fill `seconds`, the longest time of a sample.
        writing: for `output`: none, ends, or the number of steps between snapshots.
        oversubscribed: whether there are more threads than cores.
        steps_per_sweep: steps in a sweep of the native step; None: as many as in a run.
        settings: settings of the configuration, such as "physics.linear_drag=1e-6".
        fields: whether bathymetry, land and wind come from a file (`forcing`).
        members, advance, devices: those of an ensemble: its members; runs (one run after the other), map or vmap;
            devices of one process.
    """

    measure: str
    executor: str
    nproc: int
    nx: int
    ny: int
    platform: str = "cpu"
    threads: int | None = None
    dtype: str = "float32"
    steps: int | None = None
    seconds: float = 60.0
    writing: str | int | None = None
    oversubscribed: bool = False
    steps_per_sweep: int | None = None
    settings: tuple[str, ...] = ()
    fields: bool = False
    transport: str = "mpi"
    members: int | None = None
    advance: str | None = None
    devices: int = 1

    def __post_init__(self):
        object.__setattr__(self, "settings", tuple(self.settings))  # a list, if the row comes from JSON

    @property
    def physics(self) -> str:
        """The differences from the jet, in words; empty for the jet itself."""
        switched = []
        for text in self.settings:
            key, _, value = text.partition("=")
            name = key.rpartition(".")[2].replace("_", " ")
            switched.append(f"{name} {value}" if value.isidentifier() else name)
        return ", ".join((["bathymetry", "land", "wind"] if self.fields else []) + switched)

    @property
    def key(self) -> str:
        """The row's name within its sweep, the same in every run of it."""
        parts = [self.executor, self.platform, f"n{self.nproc}", f"{self.nx}x{self.ny}", self.dtype]
        parts += [f"t{self.threads}"] if self.threads else []
        parts += [f"w{self.writing}"] if self.writing is not None else []
        parts += [f"l{self.steps_per_sweep}"] if self.steps_per_sweep else []
        parts += ["fields"] if self.fields else []
        parts += [f"sharded-d{self.devices}"] if self.transport == "sharded" else []
        parts += [f"m{self.members}", self.advance, f"d{self.devices}"] if self.members else []
        return "-".join([*parts, *self.settings])

    @property
    def label(self) -> str:
        """The row in words."""
        processes = workers(self.nproc, self.devices)
        cores = f", {'1 core' if self.threads == 1 else f'{self.threads} cores'} each" if self.threads else ""
        place = " (GPU)" if self.platform == "gpu" else ""
        writing = "" if self.writing is None else WRITING.get(self.writing, f", every {self.writing} steps")
        text = f"{self.name}{place}, {processes}{cores}, {self.nx} x {self.ny}{writing}{self.ensemble}"
        return text + "".join(f", {mark}" for mark in self.marks)

    @property
    def name(self) -> str:
        """What computes, in words."""
        return "scipy.fft" if (self.measure, self.executor) == ("fft", "reference") else self.executor

    @property
    def ensemble(self) -> str:
        """Members and how they advance, in words; empty if the row is no ensemble."""
        if not self.members:
            return ""
        return f", {self.members} member{'s' if self.members > 1 else ''} ({self.advance})"

    @property
    def marks(self) -> list[str]:
        """Transport, precision, steps in a sweep and physics, if they are not the usual ones."""
        steps = self.steps_per_sweep
        sweep = [f"{steps} step{'s' if steps > 1 else ''} a sweep"] if steps else []
        transport = ["sharded"] if self.transport == "sharded" else []
        dtype = [self.dtype] if self.dtype != "float32" else []
        return transport + dtype + sweep + ([self.physics] if self.physics else [])

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""
        return self.nproc * self.devices

    def writes(self, writing) -> Row:
        """The row with another choice of writing."""
        return replace(self, writing=writing)

    def as_json(self) -> dict:
        """The row as a dict of JSON values."""
        return asdict(self)


def executors() -> tuple[str, ...]:
    """The names of all executors, the reference among them; the configuration lists them."""
    return tuple(name for name in typing.get_args(Run.model_fields["executor"].annotation) if name != "auto")


def fastest() -> str:
    """The executor that a run takes when none is named."""
    return resolve(load("jet", {"run.steps": 1}, environ={})).run.executor


def choose(names: tuple[str, ...]) -> tuple[str, ...]:
    """The executors called `names`, without repetition; all for "all", the fastest if there are no names.

    Raises:
        UsageError: there is no such executor.
    """
    known = executors()
    for name in names:
        if name not in (*known, "all", "auto"):
            raise UsageError(f"--executor {name}: there is no such executor; {suggest(name, (*known, 'all'))}")
    if "all" in names:
        return known
    return tuple(dict.fromkeys(fastest() if name == "auto" else name for name in names)) or (fastest(),)


def make_rows(sweep: Sweep, cores: int, gpus: int = 0, oversubscribe: bool = False) -> tuple[list[Row], list[str]]:
    """The rows of a sweep on a machine of so many cores and GPUs, and a line for each kind of row left out."""
    rows, skipped = [], []
    computing = [name for name in sweep.executors if name != "reference"]
    reference = sweep.measure not in ("halo", "ensemble") and (sweep.reference or "reference" in sweep.executors)
    sharded = sweep.transport == "sharded"
    counts = [(n, devices) for n in sweep.nproc for devices in (sweep.devices if sharded else (1,))]
    several = [pair for pair in counts if math.prod(pair) * (sweep.threads or 1) > cores]
    if several and not oversubscribe:
        numbers = ", ".join(str(math.prod(pair)) for pair in several)
        numbers += " devices" if sharded else " processes"
        skipped.append(f"{numbers}: more than the {cores} cores here; --oversubscribe measures them all the same")
    allowed = [pair for pair in counts if oversubscribe or pair not in several]
    if sweep.measure == "halo" and (1, 1) in allowed:
        skipped.append("1 process: exchanges nothing")
        allowed.remove((1, 1))
    for nx, ny in sweep.sizes:
        if reference:
            rows.append(row(sweep, "reference", 1, nx, ny))
        for executor in computing:
            if sweep.one_core and cores > 1:
                rows.append(row(sweep, executor, 1, nx, ny, threads=1))
            for n, devices in allowed:
                size = grown(nx, ny, n * devices) if sweep.weak else (nx, ny)
                rows.append(row(sweep, executor, n, *size, devices=devices, oversubscribed=(n, devices) in several))
        for executor in [name for name in computing if name not in CPU_ONLY] or ["xla"] if sweep.gpu else []:
            numbers = [n for n in range(1, gpus + 1) if n in (sweep.devices if sharded else sweep.nproc)]
            pairs = [(1, n) if sharded else (n, 1) for n in numbers]
            rows += [row(sweep, executor, n, nx, ny, platform="gpu", devices=devices) for n, devices in pairs]
    if sweep.gpu and not gpus:
        skipped.append("GPU: JAX sees none here")
    return [made for one in rows for made in varied(one, sweep)], skipped


def row(sweep: Sweep, executor: str, nproc: int, nx: int, ny: int, **values) -> Row:
    """A row of the sweep."""
    if executor != "reference" and values.get("platform") != "gpu":
        values.setdefault("threads", sweep.threads)
    if executor != "reference":
        values["transport"] = sweep.transport
    shared = {"dtype": sweep.dtype, "steps": sweep.steps, "seconds": sweep.seconds}
    return Row(sweep.measure, executor, nproc, nx, ny, **shared, **values)


def varied(one: Row, sweep: Sweep) -> list[Row]:
    """The row once for each choice of writing, if the sweep is about that, and once for each variant of the model."""
    variants = () if one.executor == "reference" else sweep.variants
    return [replace(one, writing=w, **variant) for w in sweep.writing or (None,) for variant in variants or ({},)]


def grown(nx: int, ny: int, n: int) -> tuple[int, int]:
    """A grid of n times the cells: factors of n multiply y and x in turns, the largest first."""
    factors, rest, divisor = [], n, 2
    while rest > 1:
        while rest % divisor == 0:
            factors.append(divisor)
            rest //= divisor
        divisor += 1
    for factor in reversed(factors):
        nx, ny = (nx, ny * factor) if ny <= nx else (nx * factor, ny)
    return nx, ny
