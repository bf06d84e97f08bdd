"""The model: from a configuration to results."""
