"""Functions for the server of ranks (`rank_client.RankServerClient`) that run the program's commands."""

import contextlib
import io
import logging
import os
import sys

from swmodel.cli import main


class TeeToStderr(io.StringIO):
    """A stream that is also written to the log of the server, in case a command ends all ranks."""

    def write(self, text):
        sys.__stderr__.write(text)
        return super().write(text)


def run_swmodel(*words) -> tuple[int, str, str]:
    """Exit code, standard output and error of a command on this rank, as if mpiexec had started it."""
    out, err = TeeToStderr(), TeeToStderr()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(list(map(str, words)), standalone_mode=True)
            code = 0
        except SystemExit as ended:
            code = ended.code or 0
        finally:
            logging.getLogger("swmodel").handlers = []
    return code, out.getvalue(), err.getvalue()


def run_on_ranks(ranks, number, *words, code=0, run=run_swmodel) -> str:
    """Run a command on a number of ranks, which must end with this code; returns their standard error."""
    done = ranks(number, run, *words, *(("--nproc", 1) if number == 1 else ()))
    said = "".join(err for _, _, err in done)
    assert {each[0] for each in done} == {code}, said
    return said


def run_swmodel_in_folder(folder, *words):
    os.chdir(folder)
    return run_swmodel(*words)
