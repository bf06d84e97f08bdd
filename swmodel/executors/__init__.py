"""Who computes a block: `xla` (JAX), `native` (C++), `reference` (NumPy, the judge). `registry` has them by name."""
