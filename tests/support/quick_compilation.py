"""Compile the programs of tests quickly or with all optimisations, record compilations, and count collectives."""

import contextlib
import os
import re
import subprocess
from collections import Counter
from hashlib import blake2b
from pathlib import Path

import jax
from jax import monitoring

from swmodel.errors import SetupError
from swmodel.executors.native import step_library

#: XLA generates the code of a program in one piece, and before JAX 0.11 by its older emitters: a sixth of the time.
XLA_FLAGS = "--xla_cpu_parallel_codegen_split_count=1"
if jax.__version_info__ < (0, 11):
    XLA_FLAGS += " --xla_cpu_use_fusion_emitters=false"
#: The environment of processes whose programs are compiled quickly; results are equal to round-off.
QUICK_ENVIRONMENT = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1", "XLA_FLAGS": XLA_FLAGS}
#: The option with which the C++ compiler takes a third of the time for native steps; results have the same bits
#: (tests/executors/test_compile.py).
QUICK_CXXFLAGS = "-O0"
OPTIMISATION_OPTION = "jax_disable_most_optimizations"


def compile_quickly(enabled: bool):
    """Compile this process's XLA programs with few optimisations, or with all, from now on; drop earlier programs."""
    from swmodel.parallel.transport.programs import cached_jit

    if jax.config.values[OPTIMISATION_OPTION] != enabled:
        jax.config.update(OPTIMISATION_OPTION, enabled)
        cached_jit.cache_clear()


def set_cxxflags(cache: Path) -> None:
    """Use QUICK_CXXFLAGS, and the folder of a compiled sweep.h, which g++ reads quickly and other compilers ignore."""
    os.environ["SWMODEL_CXXFLAGS"] = QUICK_CXXFLAGS
    with contextlib.suppress(SetupError, subprocess.CalledProcessError):
        options = [*step_library.options_for("native"), "-x", "c++-header", str(step_library.HERE / "sweep.h")]
        content = [*map(str.encode, options), *map(Path.read_bytes, sorted(step_library.HERE.glob("*.h")))]
        compiled = cache / blake2b(b"".join(content), digest_size=8).hexdigest() / "sweep.h.gch"
        if not compiled.exists():
            compiled.parent.mkdir(parents=True, exist_ok=True)
            draft = compiled.with_name(str(os.getpid()))
            subprocess.run([*step_library.compiler(), *options, "-o", str(draft)], check=True, capture_output=True)
            draft.replace(compiled)
        if " " not in str(compiled):  # blanks separate options
            os.environ["SWMODEL_CXXFLAGS"] += f" -I{compiled.parent}"


@contextlib.contextmanager
def cleared_program_cache():
    """A context in which all programs are compiled again; its end drops them."""
    from swmodel.parallel.transport.programs import cached_jit

    cached_jit.cache_clear()
    try:
        yield
    finally:
        cached_jit.cache_clear()


@contextlib.contextmanager
def record_compilations():
    """A context with a list of the names of the functions that JAX compiles within it."""
    names = []

    def listen(event, seconds, **details):
        if event == "/jax/core/compile/backend_compile_duration":
            names.append(details["fun_name"])

    monitoring.register_event_duration_secs_listener(listen)
    try:
        yield names
    finally:
        monitoring.unregister_event_duration_listener(listen)


#: A pattern of the names of operations that exchange messages between devices.
COLLECTIVES = "all-(?:gather|reduce|to-all)|collective-(?:broadcast|permute)|ragged-all-to-all|recv|reduce-scatter|send"


def count_collectives(program: str) -> dict[str, int]:
    """{name: count} of the operations COLLECTIVES in the text of a compiled program."""
    return dict(Counter(re.findall(rf" ({COLLECTIVES})(?:-start)?\(", program)))
