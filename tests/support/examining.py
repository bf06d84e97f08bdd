"""Files are examined in the process of the tests, because to start another one, as commands do, takes half a second."""

import json

from swmodel.files.integrity import guard
from swmodel.files.integrity.examine import facts

PROGRAM, IN_A_PROCESS = guard.PROGRAM, guard.examined


def examined(jobs) -> list[dict]:
    """What `guard.examined` gives; a test that replaces its program has a process for it."""
    if guard.PROGRAM != PROGRAM:
        return IN_A_PROCESS(jobs)
    return json.loads(json.dumps([facts(str(job.path), job.kind) for job in jobs]))
