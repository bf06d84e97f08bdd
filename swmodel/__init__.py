"""swmodel: a distributed, differentiable shallow-water ocean model."""
