"""XLA ends the process that starts it with XLA_FLAGS that it does not understand: it is asked beforehand, elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from .errors import SetupError

NAME = "XLA_FLAGS"
ASK = "from jaxlib import xla_client; xla_client.make_cpu_client()"
#: What stands before the words in a line of XLA's log.
HEAD = re.compile(r"^[A-Z]\d{4} \S+ +\d+ \S+:\d+\] ")


def check():
    """Make sure that XLA takes the user's XLA_FLAGS. Without any nothing is to be asked; else it takes 0.2 s.

    Raises:
        SetupError: it does not.
    """
    if not os.environ.get(NAME):
        return
    done = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, errors="replace")
    if done.returncode and "ModuleNotFoundError" not in done.stderr:
        why = HEAD.sub("", next(iter(done.stderr.splitlines()), f"exit code {done.returncode}"))
        raise SetupError(f"XLA does not take {NAME}={os.environ[NAME]}: {why}")
