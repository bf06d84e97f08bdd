"""A check of the user's XLA_FLAGS in another process: XLA ends its process if it does not understand them."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys

from ..errors import SetupError

NAME = "XLA_FLAGS"
ASK = "from jaxlib import xla_client; xla_client.make_cpu_client()"
#: Seconds after which no answer counts as consent.
PATIENCE = 60
#: What precedes the message in a line of XLA's log.
HEAD = re.compile(r"^[A-Z]\d{4} \S+ +\d+ \S+:\d+\] ")


def check_flags():
    """Make sure that XLA accepts the user's XLA_FLAGS, if there are any; it takes 0.2 s.

    Raises:
        SetupError: it does not.
    """
    if not os.environ.get(NAME):
        return
    line = [sys.executable, "-P", "-c", ASK]
    with contextlib.suppress(subprocess.TimeoutExpired):
        done = subprocess.run(
            line, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=PATIENCE
        )
        said = [HEAD.sub("", line) for line in done.stderr.splitlines() if HEAD.match(line)]
        if done.returncode and said:
            raise SetupError(f"XLA does not take {NAME}={os.environ[NAME]}: {said[0]}")
