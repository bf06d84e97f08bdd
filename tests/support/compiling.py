"""How the programs of tests are compiled: quickly, or as users have them."""

from jax._src import compiler

#: Options of XLA: the older of its two generators of code, and all code of a program made in one piece.
OPTIONS = {"xla_cpu_use_fusion_emitters": False, "xla_cpu_parallel_codegen_split_count": 1}
#: Variables for processes: these options, and little optimisation. Compiling takes a sixth of the time, and programs
#: give the same numbers to round-off.
QUICK = {
    "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
    "XLA_FLAGS": " ".join(f"--{name}={value}".lower() for name, value in OPTIONS.items()),
}

usual_options = compiler.get_compile_options


def quick_options(*arguments, **options):
    """JAX's options to XLA for each program that it compiles, with those of QUICK."""
    made = usual_options(*arguments, **options)
    made.executable_build_options.debug_options.xla_backend_optimization_level = 0
    made.executable_build_options.debug_options.xla_llvm_disable_expensive_passes = True
    made.env_option_overrides = list(OPTIONS.items())
    return made


def compile_quickly(quickly: bool):
    """From now on compile this process's programs quickly, or as for users; earlier ones are dropped."""
    from swmodel.parallel.transport.programs import jitted

    options = quick_options if quickly else usual_options
    if compiler.get_compile_options is not options:
        compiler.get_compile_options = options
        jitted.cache_clear()
