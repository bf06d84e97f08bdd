"""How the programs of tests are compiled, quickly or as users have them; what is compiled, and what it sends."""

import contextlib
import re

import jax
from jax import monitoring

#: All code of a program made in one piece, before JAX 0.11 by XLA's older generator of code: a sixth of the time.
XLA_FLAGS = "--xla_cpu_parallel_codegen_split_count=1"
if jax.__version_info__ < (0, 11):
    XLA_FLAGS += " --xla_cpu_use_fusion_emitters=false"
#: The environment of processes whose programs are compiled quickly; they give the same numbers to round-off.
QUICK_ENVIRONMENT = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1", "XLA_FLAGS": XLA_FLAGS}
#: Options of the C++ compiler for native steps, which have the same bits (tests/executors/test_compile.py): the first
#: takes half of the time, and of adjoint steps the second halves that again, by a simple allocation of registers.
QUICK_CXXFLAGS = "-Og --param=ira-max-conflict-table-size=0"
OPTIMISATION_OPTION = "jax_disable_most_optimizations"


def compile_quickly(enabled: bool):
    """From now on compile this process's programs with little optimisation, or with all; earlier ones are dropped."""
    from swmodel.parallel.transport.programs import cached_jit

    if jax.config.values[OPTIMISATION_OPTION] != enabled:
        jax.config.update(OPTIMISATION_OPTION, enabled)
        cached_jit.cache_clear()


@contextlib.contextmanager
def cleared_program_cache():
    """Programs are compiled anew within the context, and dropped at its end."""
    from swmodel.parallel.transport.programs import cached_jit

    cached_jit.cache_clear()
    try:
        yield
    finally:
        cached_jit.cache_clear()


@contextlib.contextmanager
def record_compilations():
    """A list of the names of what JAX compiles within the context."""
    found = []

    def listen(event, seconds, **details):
        if event == "/jax/core/compile/backend_compile_duration":
            found.append(details["fun_name"])

    monitoring.register_event_duration_secs_listener(listen)
    try:
        yield found
    finally:
        monitoring.unregister_event_duration_listener(listen)


#: Messages between devices.
COLLECTIVES = (
    "all-gather",
    "all-reduce",
    "all-to-all",
    "collective-broadcast",
    "collective-permute",
    "ragged-all-to-all",
    "recv",
    "reduce-scatter",
    "send",
)


def count_collectives(program: str) -> dict[str, int]:
    """How often each of KINDS occurs in the text of a compiled program; those that do not occur are left out."""
    found = {kind: len(re.findall(rf" {kind}(?:-start)?\(", program)) for kind in COLLECTIVES}
    return {kind: number for kind, number in found.items() if number}
