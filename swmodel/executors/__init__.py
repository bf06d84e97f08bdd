"""Back ends that compute a block: `xla` (JAX), `native` (C++), `reference` (NumPy, for tests); see `registry`."""
