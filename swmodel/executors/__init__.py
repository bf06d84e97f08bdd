"""Back ends that compute a block: `xla` (JAX), `native` (C++), `cuda` (GPUs), `reference` (NumPy); see `registry`."""
