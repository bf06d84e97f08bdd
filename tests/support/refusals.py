"""The problems that the model reports when it refuses a configuration."""

import pytest

from swmodel import ConfigError


def problems_of(function, *arguments, **options):
    """The problems in the ConfigError that a function raises."""
    with pytest.raises(ConfigError) as excinfo:
        function(*arguments, **options)
    return list(excinfo.value.problems)
