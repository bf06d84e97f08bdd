"""What the model says when it refuses a configuration."""

import pytest

from swmodel import ConfigError


def problems_of(function, *arguments, **options):
    """The lines of the ConfigError that a function raises."""
    with pytest.raises(ConfigError) as caught:
        function(*arguments, **options)
    return list(caught.value.problems)
