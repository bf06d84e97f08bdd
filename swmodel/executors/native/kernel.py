"""The loop over native steps: its static fields, its calls, and how many steps one pass takes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...ocean.scheme import Scheme
from ...ocean.state import Carry
from ...ocean.timestep import Leapfrog, Multistep, RungeKutta
from ...parallel.transport.programs import MOST
from ..watch import NO_WATCH, Watch
from . import REMEDY, built, not_built
from .calls import BEYOND_CACHE, LANES, Calls, Static, narrowed
from .compile import Request
from .derive import derived
from .evaluate import evaluate
from .graph import leaves_of
from .trace import MASKS, Tracing, carried, kinds_of, lengths_of, numbers_of, weights_of


def register() -> None:
    """Make the foreign calls known to JAX."""
    if missing := not_built():
        raise ImportError(f"the native step cannot be used: {missing}; {REMEDY}, or choose the executor xla")
    for name in ("swmodel_step", "swmodel_put", "swmodel_get", "swmodel_flag"):
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(built().calls, name)), platform="cpu")


#: Steps in one sweep where that is faster than one: where the fields do not stay in the cache.
MANY_STEPS = 4


def choose_steps_per_sweep(smallest, width: int, method, itemsize: int) -> int:
    """Steps that one sweep takes: four where the fields of a block do not stay in the cache and halos are wide enough.

    The smallest block of the layout decides, so that all ranks answer alike. Measured with ab2, float32, ms a step with
    one and with four: 3600 x 1800 6.63 and 6.18 on one rank of two threads, 7.18 and 6.01 on two ranks; 1800 x 900 1.44
    and 1.40; 720 x 360 0.251 and 0.259. Six are no faster than four.

    Args:
        smallest: fewest rows and columns of a block.
        width: rows and columns of neighbours that one step needs.
        method: the time stepper; the stages of a Runge-Kutta method are calls of their own.
        itemsize: bytes of a number.
    """
    ny, nx = smallest
    if isinstance(method, RungeKutta) or 3 * (1 + method.counts[1]) * ny * nx * itemsize <= BEYOND_CACHE:
        return 1
    return max(1, min(MANY_STEPS, min(ny, nx) // width))


class Kernel(NamedTuple):
    """The calls for one scheme and stepper.

    Attributes:
        scheme: terms of the tendency.
        method: time stepper.
        margin: rows and columns of the static fields around the block.
        steps_per_sweep: steps that one call takes; more than one with multistep methods and the leapfrog only.
        threads: most threads; 0: all that XLA's pool has.
        derivative, controls: see `generate.generate`.
        least: fewest columns on either side of each row (`lead`), where several kernels share a memory.
    """

    scheme: Scheme
    method: Multistep | Leapfrog | RungeKutta
    margin: int
    steps_per_sweep: int = 1
    threads: int = 0
    derivative: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    least: int = 0

    def static_of(self, grid, params, shape, xp=np) -> Static:
        """The Grid and the Params of a block as the calls take them; masks are packed into one byte a cell.

        Args:
            grid, params: with `margin` cells of neighbours.
            shape: rows and columns of the block.
            xp: numpy, or jax.numpy for what is traced.
        """
        kinds, dtype = kinds_of(grid, params), grid.depth.dtype
        made = self.made(kinds, dtype)
        given = {"f": grid.f, "depth": grid.depth, **lengths_of(grid), **params}
        numbers = {name: given[name] for name in numbers_of(kinds)}
        values = {name: given[name] for name, kind in kinds if kind != "number"}
        values |= {name: getattr(grid, name) for name in MASKS}
        rows, columns = (length + 2 * self.margin for length in shape)
        parts = evaluate(made.parts, values, numbers, xp)
        around = xp.where(grid.share > 0, xp.rint(4 / xp.where(grid.share > 0, grid.share, 1)), 0)
        around = xp.where((grid.slip == 0) & (around > 0) & (around < 4), around + 4, around)
        cells = grid.wet + 2 * grid.open_u + 4 * grid.open_v + 8 * around + 64 * grid.side_u + 128 * grid.side_v
        cells = cells.astype(np.uint8)
        # The boundary condition is the value of s at corners that are not interior, wherever there is one.
        boundary = xp.max(xp.where(grid.share != 1, grid.slip, 0))
        beyond = ((0, 0), (self.lead(made) - self.margin,) * 2)
        return Static(
            kinds,
            numbers,
            boundary.reshape(1).astype(dtype),
            stacked(parts, made.lines, (rows, 1), ((0, 0), (0, 0)), dtype, xp),
            stacked(parts, made.statics, (rows, columns), beyond, dtype, xp),
            xp.pad(xp.broadcast_to(cells, (rows, columns)), beyond, mode="edge"),
        )

    def places_of(self, kinds, dtype, fields) -> tuple[int, ...] | None:
        """The numbers of the static fields that depend on these Params; None if on others too, or if one is a line."""
        made, fields = self.made(kinds, dtype), set(fields)
        below = {name: leaves_of(made.parts[name]) for name in (*made.statics, *made.lines)}
        touched = [name for name, leaves in below.items() if leaves & fields]
        if any(below[name] - fields or name in made.lines for name in touched):
            return None
        return tuple(made.statics.index(name) for name in touched)

    def fields_at(self, places, kinds, params: dict, shape):
        """The static fields at these places from Params that vary, NumPy array [n, rows, columns]; see `places_of`."""
        dtype = next(field.dtype for field in params.values() if field.dtype.kind == "f")
        made = self.made(kinds, dtype)
        names, size = [made.statics[place] for place in places], [length + 2 * self.margin for length in shape]
        parts = evaluate({name: made.parts[name] for name in names}, params, {}, np)
        return stacked(parts, names, size, ((0, 0), (self.lead(made) - self.margin,) * 2), dtype, np)

    def request(self, kinds, dtype) -> Request:
        """The step to be compiled."""
        return Request(self.scheme, self.method, kinds, str(dtype), self.derivative, self.controls)

    def made(self, kinds, dtype):
        """The Generated step."""
        return self.request(kinds, dtype).made

    def lead(self, made) -> int:
        """Columns on either side of each row, for halos and for vectors that begin or end beyond the block.

        Args:
            made: the Generated step.
        """
        beyond = max((s.east + 3) * LANES + s.late for s in made.schedules)
        return max(self.least, -(-(self.margin + beyond) // LANES) * LANES)

    def advance(self, carry: Carry, static: Static, dt, shift, n, extent=None, watch: Watch | None = None):
        """The carry n steps later; with a Watch, also what it has seen: the last step of each pass."""
        fields, tree = jax.tree.flatten((carry.state, carry.memory))
        look, seen = watch or NO_WATCH

        def look_at(seen, fields, step):
            return look(seen, carry.state._make(fields[: len(carry.state)]), step)

        fields, seen = self.run(fields, static, dt, shift, carry.step, n, extent, Watch(look_at, seen))
        later = Carry(*tree.unflatten(fields), carry.step + n)
        return later if watch is None else (later, seen)

    def run(self, fields, static: Static, dt, shift, step, n, extent=None, watch: Watch = NO_WATCH) -> tuple[list, Any]:
        """The fields of the carry [ny, nx], in the order of `trace.carried`, n steps after `step`; see `advance`."""
        call = Calls(self, static, dt, fields[0].shape, shift, extent)
        names, made = carried(self.scheme, self.method, self.derivative), call.made
        planes, given = call.numbers_of(names), dict(zip(names, fields, strict=True))
        spare = [plane for plane in range(len(made.fields)) if plane not in planes]
        memory = call.put([*planes, *spare], [*fields, *[fields[0]] * len(spare)])
        flags, seen = call.flags(leave_out=not self.derivative), watch.seen
        edges = call.edges([given[name] for name in made.fields if name in given], self.steps_per_sweep)
        for many in sorted({self.steps_per_sweep, 1}, reverse=True):
            edges = narrowed(edges, len(fields) if many > 1 else len(made.programs[0].reads), many * call.width)

            def body(_, now, many=many):
                memory, edges, step, seen = now
                memory, edges = call.step(memory, edges, step, flags, many)
                if jax.tree.leaves(seen):
                    # The barrier keeps the next pass, which writes into the memory, behind the look at it.
                    seen = watch.look(seen, call.views(memory, planes), step + many)
                    memory, seen = jax.lax.optimization_barrier((memory, seen))
                return memory, edges, step + many, seen

            memory, edges, step, seen = jax.lax.fori_loop(0, n // many, body, (memory, edges, step, seen))
            n = n % many
        return call.get(memory, planes), seen

    def values(self, static: Static, step, dt, many: int = 1):
        """The numbers that are the same for all cells, in each of the next steps [many, n].

        Products are formed in the call, so that their bits do not depend on what XLA makes of them.
        """
        of_one = values_of(self.request(static.kinds, dt.dtype))
        steps = step + jnp.arange(many, dtype=step.dtype)
        return jax.vmap(of_one, in_axes=(None, 0, None))(static.numbers, steps, dt)


@lru_cache(maxsize=MOST)
def values_of(request: Request):
    """The function (numbers, step, dt) -> values [n] of one step; see `Kernel.values`.

    The dynamics are run once for all programs that take it, not once in each.
    """
    scheme, method, kinds, dtype, derivative, controls = request

    def values(numbers, step, dt):
        tracing = Tracing(scheme, kinds, numbers | weights_of(method, step, dt), np.dtype(dtype), controls)
        derived(tracing, method, step, derivative, controls)
        named = tracing.graph.values
        return jnp.stack([jnp.asarray(named[name], dtype).reshape(()) for name in request.made.values])

    return jax.jit(values, inline=True)


def stacked(parts: dict, names, size, beyond, dtype, xp):
    """Parts by name as one array [n, rows, columns], each broadcast to `size` and padded by `beyond`; removes them."""
    if not names:
        return xp.zeros((1, 1, 1), dtype)
    some = (xp.pad(xp.broadcast_to(parts.pop(name), tuple(size)), beyond, mode="edge") for name in names)
    if xp is not np:
        return xp.stack(list(some)).astype(dtype)
    shape = (length + sum(more) for length, more in zip(size, beyond, strict=True))
    whole = np.empty((len(names), *shape), dtype)  # filled one by one: a list of all would be held beside it
    for number, field in enumerate(some):
        whole[number] = field
    return whole
