"""What JAX compiles."""

import contextlib

from jax import monitoring


@contextlib.contextmanager
def compilations():
    """A list of the names of what JAX compiles within the context."""
    found = []

    def listen(event, seconds, **details):
        if event == "/jax/core/compile/backend_compile_duration":
            found.append(details["fun_name"])

    monitoring.register_event_duration_secs_listener(listen)
    try:
        yield found
    finally:
        monitoring.unregister_event_duration_listener(listen)
