"""How the programs of tests are compiled: quickly, or as users have them."""

from jax._src import compiler

#: In the environment of processes: little optimisation, and the older of XLA's two generators of code. Compiling takes
#: a quarter of the time, and what is compiled gives the same numbers to round-off.
QUICK = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1", "XLA_FLAGS": "--xla_cpu_use_fusion_emitters=false"}

usual_options = compiler.get_compile_options


def quick_options(*arguments, **options):
    """What JAX tells XLA for each program that it compiles, with what QUICK says."""
    made = usual_options(*arguments, **options)
    made.executable_build_options.debug_options.xla_backend_optimization_level = 0
    made.executable_build_options.debug_options.xla_llvm_disable_expensive_passes = True
    made.env_option_overrides = [("xla_cpu_use_fusion_emitters", False)]
    return made


def compile_quickly(quickly: bool):
    """Have programs of this process compiled quickly from now on, or as users have them; none is kept from before."""
    from swmodel.parallel.transport.programs import jitted

    options = quick_options if quickly else usual_options
    if compiler.get_compile_options is not options:
        compiler.get_compile_options = options
        jitted.cache_clear()
