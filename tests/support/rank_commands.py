"""Functions for the server of ranks (`rank_client.RankServerClient`) that run the program's commands."""

import contextlib
import io
import logging
import os
import sys

from swmodel.cli import main


class TeeToStderr(io.StringIO):
    """A stream whose text also goes to the log of the server, because a command may end all ranks."""

    def write(self, text):
        sys.__stderr__.write(text)
        return super().write(text)


def run_swmodel(*words) -> tuple[int, str, str]:
    """Run a command on this rank as if mpiexec had started it; returns (exit code, standard output, standard error)."""
    out, err = TeeToStderr(), TeeToStderr()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(list(map(str, words)), standalone_mode=True)
            code = 0
        except SystemExit as exit_request:
            code = exit_request.code or 0
        finally:
            logging.getLogger("swmodel").handlers = []
    return code, out.getvalue(), err.getvalue()


def run_on_ranks(ranks, n_ranks, *words, code=0, run=run_swmodel) -> str:
    """Run a command on a number of ranks, all of which must end with this exit code; returns their standard error."""
    results = ranks(n_ranks, run, *words, *(("--nproc", 1) if n_ranks == 1 else ()))
    errors = "".join(err for _, _, err in results)
    assert {each[0] for each in results} == {code}, errors
    return errors


def run_swmodel_in_folder(folder, *words):
    os.chdir(folder)
    return run_swmodel(*words)
