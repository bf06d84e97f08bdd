"""Start a run on several processes with mpiexec or `spawn`, show their messages, and find out how they ended.

This module does not import JAX or MPI, because the parent process of the ranks must not initialise them.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

from ..errors import EXIT_INTERNAL, EXIT_STOPPED, NumericalError, SetupError, UsageError
from ..files.restart.folder import resume_hint
from ..files.status import has_ended, write_final_status, write_status
from ..parallel import environment, ffi_libraries, spawn
from . import progress

#: Lines that mpiexec, `spawn` or JAX's runtime print after a rank died; the launcher prints one message instead.
LAUNCHER_NOISE = re.compile(
    r"$|={10,}$|=   |YOUR APPLICATION TERMINATED|This typically refers|Please see the FAQ|"
    r"swmodel\.parallel\.spawn:|\[mpiexec@|\[proxy:|Abort\(\d+\) .* application called MPI_Abort|"
    r"[EF]\d{4} \S+ +\d+ (coordination_service_agent\.cc|client\.h):\d+\] |Additional GRPC error|:UNKNOWN:Error|"
    r"\*\*\* Check failure stack trace|    @ +0x|"
    r"-{74}$|Primary job  terminated normally|a non-zero exit code\. Per user-direction|\S+ noticed that process rank |"
    r"signal \d+ \(.+\)\.$|MPI_ABORT was invoked on rank |with errorcode \d+\.$|NOTE: invoking MPI_ABORT causes |"
    r"You may or may not see output from|exactly when Open MPI kills them|\[\S+:\d+\] .*ORTE_ERROR_LOG: |"
    r"\S+ detected that one or more processes exited with |the job to be terminated\. The first process to do so was:|"
    r"  Process name: \[\[|  Exit code:  "
)
#: Lines in which the mpiexec of MPICH, or of Open MPI, names the dead process, and later lines that say how it ended.
MPICH_RANK_DIED = re.compile(r"=   PID (?P<pid>\d+) RUNNING AT (?P<host>\S+)")
MPICH_EXIT = re.compile(r"YOUR APPLICATION TERMINATED WITH THE EXIT STRING: (?P<how>.*)")
OPEN_MPI_RANK_DIED = re.compile(r"process rank (?P<rank>\d+) with PID \d+ on node \S+ exited on")
OPEN_MPI_EXIT = re.compile(r"(?P<signal>signal \d+) \((?P<name>.+)\)\.")
#: The line in which `spawn` names the dead rank and how it ended.
SPAWNED_RANK_ENDED = re.compile(spawn.RANK_ENDED_LINE.format(rank=r"(?P<rank>\d+)", how="(?P<how>.*)"))


def find_mpiexec() -> str:
    """Path of mpiexec: next to the Python interpreter (where the mpich wheel puts it), else on PATH.

    SetupError: mpiexec, mpi4py, or both mpi4jax and the exchange library are missing.
    """
    beside_python = Path(sys.executable).parent / "mpiexec"
    path = str(beside_python) if os.access(beside_python, os.X_OK) else shutil.which("mpiexec")
    packages = ("mpi4py", "mpi4jax") if ffi_libraries.exchange_unsupported_reason() else ("mpi4py",)
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if path is None:
        missing.insert(0, "mpiexec")
    if path is None or missing:
        raise SetupError(
            f"several processes need {', '.join(missing)}, which cannot be found; "
            "install MPI (docs/install.md), or run with --nproc 1"
        )
    return path


#: Lower bound of the memory of a process without any cells, bytes.
MIN_PROCESS_BYTES = 100e6
#: Environment variables of schedulers, which may place processes on other machines.
CLUSTER_VARIABLES = ("SLURM_JOB_ID", "PBS_NODEFILE", "LSB_HOSTS", "PE_HOSTFILE", "HYDRA_HOST_FILE")


def launcher_command(nproc: int, transport: str = "mpi") -> list[str]:
    """The command that starts `nproc` processes: mpiexec, or `spawn` for sharded. UsageError: too little memory."""
    gigabytes_needed, gigabytes_present = nproc * MIN_PROCESS_BYTES / 1e9, environment.total_memory() / 1e9
    if gigabytes_needed > gigabytes_present and os.environ.keys().isdisjoint(CLUSTER_VARIABLES):
        raise UsageError(
            f"{nproc} processes need at least {gigabytes_needed:.3g} GB without any cells; this machine has "
            f"{gigabytes_present:.3g} GB: use fewer, or start swmodel itself with mpiexec or srun on several machines"
        )
    if transport == "sharded":
        return [sys.executable, "-P", "-m", "swmodel.parallel.spawn", str(nproc)]
    return [find_mpiexec(), "-n", str(nproc)]


def run_command(nproc: int, directory, *options: str, transport: str = "mpi") -> list[str]:
    """The command that runs the configuration in `directory` on `nproc` processes; `options` are those of `worker`.

    Ranks are not bound to cores, because two runs at a time would be bound to the same cores.
    """
    command_line = shlex.join(["swmodel", *sys.argv[1:]])
    worker = [sys.executable, "-P", "-m", "swmodel", "worker", str(directory), command_line, *options]
    return launcher_command(nproc, transport) + worker


def rank_environment(nproc: int) -> dict[str, str]:
    """The environment of the ranks, to which each rank adds settings of JAX (`environment.prepare_environment`)."""
    environ = dict(os.environ) | {
        environment.STARTED_BY_LAUNCHER_VARIABLE: "1",
        environment.START_TIME_VARIABLE: str(environment.program_start_time()),
    }
    root = Path(__file__).parents[2]
    if root.name not in ("site-packages", "dist-packages"):
        environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(root), environ.get("PYTHONPATH"))))
    environment.set_defaults(environment.OPEN_MPI_VARIABLES, environ)
    if nproc > environment.n_cores():
        environment.set_defaults(environment.OVERSUBSCRIPTION_VARIABLES, environ)
    return environ


def start_processes(command: list[str], nproc: int, stderr=subprocess.STDOUT, **options) -> subprocess.Popen:
    """Start `command` in a new session, in the environment for `nproc` ranks; stdout is a pipe."""
    options = {"env": rank_environment(nproc), "text": True, "errors": "replace", "start_new_session": True, **options}
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, **options)


def kill_session(process: subprocess.Popen):
    with contextlib.suppress(ProcessLookupError):  # the process has already ended
        os.killpg(process.pid, signal.SIGKILL)


def run(command: list[str], nproc: int, directory, report, lock=None, saves_state=True) -> int:
    """Run a command that starts `nproc` processes (`run_command`).

    Args:
        directory: the run folder, where the ranks write status.json.
        report: function that receives the events of rank 0.
        lock: the folder's open lock file; mpiexec or `spawn` also holds it, in case this process is killed.
        saves_state: whether ranks save their state after a signal; if not, a signal ends them even before all have
            started.

    Returns:
        The exit code in status.json, because mpiexec may return 0 after a rank failed. If the ranks wrote none: the
        code of the failure that a rank reported, EXIT_STOPPED after a signal, else EXIT_INTERNAL.
    """
    ranks = RankProcesses(command, nproc, lock, saves_state)
    with ranks.forward_signals():
        stderr_thread = threading.Thread(
            target=ranks.forward_output, args=(ranks.process.stderr, sys.stderr, report), daemon=True
        )
        stderr_thread.start()
        ranks.forward_output(ranks.process.stdout, sys.stdout, report)
        ranks.process.wait()
        stderr_thread.join()
    return report_end(directory, ranks)


class RankProcesses:
    """The processes of a run under mpiexec or `spawn`, and why the run ended.

    Attributes:
        rank_by_process: {(process id, machine): rank} of the ranks that have reported.
        first_end: the rank that ended first, and how; empty if none has ended.
        was_killed: whether `spawn` reported that a signal ended this rank.
        reported_failure: a rank's reason to end all, a dict of `failed` (words for the user) and `exit_code`.
        signal: the last signal from the user, or None.
        has_second_signal: whether `signal` was not the user's first one.
    """

    def __init__(self, command, nproc, lock=None, saves_state=True):
        self.process = start_processes(command, nproc, subprocess.PIPE, pass_fds=[lock.fileno()] if lock else [])
        self.nproc, self.saves_state, self.rank_by_process = nproc, saves_state, {}
        self.dead_rank, self.first_end, self.was_killed, self.reported_failure = "a rank", "", False, {}
        self.signal, self.has_second_signal = None, False

    @contextlib.contextmanager
    def forward_signals(self):
        """Forward SIGINT and SIGTERM to the ranks; a second signal kills all processes."""

        def handler(number, frame):
            self.has_second_signal, self.signal = self.signal is not None, signal.Signals(number)
            if not self.has_second_signal and (self.saves_state or len(self.rank_by_process) == self.nproc):
                self.send_signal_if_ready()
            else:
                self.send_signal(signal.SIGKILL)
                kill_session(self.process)

        previous_handlers = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, previous_handler in previous_handlers.items():
                signal.signal(number, previous_handler)

    def send_signal_if_ready(self):
        """Forward the user's signal if all ranks have reported, because ranks that are still starting would lose it."""
        if self.signal is not None and len(self.rank_by_process) == self.nproc:
            self.send_signal(self.signal)

    def send_signal(self, signal_number):
        """Send a signal to the ranks; directly to those on this machine, because mpiexec might kill them instead."""
        hostname = socket.gethostname()
        if any(host != hostname for _, host in list(self.rank_by_process)):
            self.process.send_signal(signal_number)
        for pid, host in list(self.rank_by_process):
            if host == hostname:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal_number)

    def forward_output(self, source, target, report):
        """Pass the ranks' events to `report`, record which rank ended first, and write all other lines to `target`."""
        for line in source:
            message = progress.parse_message(line)
            if message is None:
                self.parse_end(line)
                if not LAUNCHER_NOISE.match(line):
                    print(line, end="", file=target, flush=True)
            elif "pid" in message:
                self.rank_by_process[str(message["pid"]), message["host"]] = message["rank"]
                self.send_signal_if_ready()
            elif "failed" in message:
                self.reported_failure = self.reported_failure or message
            elif "exit_code" in message:
                self.record_first_end(f"rank {message['rank']}", f"exit code {message['exit_code']}")
            else:
                report(message)

    def parse_end(self, line):
        """Record the dead rank, and how it ended, from a line of mpiexec or `spawn`."""
        if match := MPICH_RANK_DIED.match(line):
            rank = self.rank_by_process.get((match["pid"], match["host"]))
            self.dead_rank = f"process {match['pid']} on {match['host']}" if rank is None else f"rank {rank}"
        if match := OPEN_MPI_RANK_DIED.search(line):
            self.dead_rank = f"rank {match['rank']}"
        if match := MPICH_EXIT.match(line):
            self.record_first_end(self.dead_rank, match["how"])
        if match := OPEN_MPI_EXIT.search(line):
            self.record_first_end(self.dead_rank, f"{match['name']} ({match['signal']})")
        if match := SPAWNED_RANK_ENDED.match(line):
            self.was_killed = "(signal " in match["how"]
            if self.was_killed:
                self.first_end = ""  # this is the cause, even if other ranks were reported earlier
            self.record_first_end(f"rank {match['rank']}", match["how"])

    def record_first_end(self, process, how):
        """Record how a process ended, unless another one ended before: the first end causes the others."""
        self.first_end = self.first_end or f"{process} ended: {how}"


def report_end(directory, ranks: RankProcesses) -> int:
    """The exit code of the run; prints the cause, and writes it into status.json, if the ranks did not.

    If a signal ended the ranks before they could stop, the state is `stopped`. The ranks themselves report a blow-up or
    an early stop, and print the traceback of a bug; in that case this function only names the rank.
    """
    cause, state, code = ranks.first_end, "failed", EXIT_INTERNAL
    if ranks.reported_failure:
        cause, code = ranks.reported_failure["failed"].removeprefix("Error: "), ranks.reported_failure["exit_code"]
    elif ranks.signal and not has_ended(directory):
        state, code = "stopped", EXIT_STOPPED
        if ranks.has_second_signal or not cause:
            cause = f"ended at once by {'a second ' if ranks.has_second_signal else ''}{ranks.signal.name}"
    elif not has_ended(directory) and not cause:
        cause = f"the ranks ended without a message, exit code {ranks.process.returncode}"
    status = write_final_status(directory, state, code, cause)
    if ranks.was_killed and status["exit_code"] == EXIT_INTERNAL:  # another rank may have reported a failed exchange
        status["message"] = cause
        write_status(directory, **status)
    if status["exit_code"] not in (0, EXIT_INTERNAL, EXIT_STOPPED, NumericalError.exit_code):
        cause = status["message"]
    if status["exit_code"] and cause:
        print(f"Error: {cause}{resume_hint(directory)}", file=sys.stderr)
    return status["exit_code"]
