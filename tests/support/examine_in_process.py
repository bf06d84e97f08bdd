"""Files are examined in the process of the tests, because to start another one, as commands do, takes half a second."""

import json

from swmodel.files.integrity import guard
from swmodel.files.integrity.examine import examine_safely

PROGRAM, IN_A_PROCESS = guard.PROGRAM, guard.run_examiner


def examine_here(jobs) -> list[dict]:
    """What `guard.run_examiner` gives; a test that replaces its program has a process for it."""
    if guard.PROGRAM != PROGRAM:
        return IN_A_PROCESS(jobs)
    return json.loads(json.dumps([examine_safely(str(job.path), job.kind) for job in jobs]))
