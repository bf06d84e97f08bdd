"""Start a run on several processes, by mpiexec or `spawn`, show the messages of the ranks, and judge their ends.

It does not import JAX or MPI, as the parent of the ranks must not initialise them.
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

from ..errors import INTERNAL, STOPPED, NumericalError, SetupError, UsageError
from ..files.restart.folder import how_to_continue
from ..files.status import ended, finish, write_status
from ..parallel import environment, foreign, spawn
from . import progress

#: Lines of mpiexec, `spawn` or JAX's runtime after a rank died; the launcher prints one line instead.
BANNER = re.compile(
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
#: Lines of MPICH's mpiexec with the dead process, and later with its end; and those of Open MPI.
DIED = re.compile(r"=   PID (?P<pid>\d+) RUNNING AT (?P<host>\S+)")
EXIT = re.compile(r"YOUR APPLICATION TERMINATED WITH THE EXIT STRING: (?P<how>.*)")
DIED_OPEN_MPI = re.compile(r"process rank (?P<rank>\d+) with PID \d+ on node \S+ exited on")
EXIT_OPEN_MPI = re.compile(r"(?P<signal>signal \d+) \((?P<name>.+)\)\.")
#: The line of `spawn` with the dead process and its end.
DIED_SPAWNED = re.compile(spawn.ENDED.format(rank=r"(?P<rank>\d+)", how="(?P<how>.*)"))


def find_mpiexec() -> str:
    """Path of mpiexec: beside the Python interpreter (where the mpich wheel puts it), else on PATH.

    SetupError: mpiexec, mpi4py or what carries messages is missing.
    """
    beside = Path(sys.executable).parent / "mpiexec"
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("mpiexec")
    packages = ("mpi4py", "mpi4jax") if foreign.unsupported_reason(*foreign.EXCHANGE) else ("mpi4py",)
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if found is None:
        missing.insert(0, "mpiexec")
    if missing:
        raise SetupError(
            f"several processes need {', '.join(missing)}, not found; "
            "install MPI (docs/install.md), or run with --nproc 1"
        )
    return found


#: Memory that a process holds before it has cells, bytes; and variables that may place processes on other machines.
PROCESS_BYTES = 100e6
MACHINES = ("SLURM_JOB_ID", "PBS_NODEFILE", "LSB_HOSTS", "PE_HOSTFILE", "HYDRA_HOST_FILE")


def starter(nproc: int, transport: str = "mpi") -> list[str]:
    """What starts `nproc` processes: mpiexec, or for the sharded transport, which needs no MPI, `spawn`.

    UsageError: they do not fit into the memory of this machine.
    """
    needed, present = nproc * PROCESS_BYTES / 1e9, environment.total_memory() / 1e9
    if needed > present and os.environ.keys().isdisjoint(MACHINES):
        raise UsageError(
            f"{nproc} processes hold at least {needed:.3g} GB without any cells; this machine has {present:.3g} GB: "
            "take fewer, or start swmodel itself with mpiexec or srun on several machines"
        )
    if transport == "sharded":
        return [sys.executable, "-P", "-m", "swmodel.parallel.spawn", str(nproc)]
    return [find_mpiexec(), "-n", str(nproc)]


def command(nproc: int, directory, *options: str, transport: str = "mpi") -> list[str]:
    """The command that runs the configuration in `directory` on `nproc` processes; `options` are those of `worker`.

    Ranks are not bound to cores, as two bound runs at a time would share the same cores.
    """
    typed = shlex.join(["swmodel", *sys.argv[1:]])
    worker = [sys.executable, "-P", "-m", "swmodel", "worker", str(directory), typed, *options]
    return starter(nproc, transport) + worker


def rank_environment(nproc: int) -> dict[str, str]:
    """The environment of the ranks; each rank adds that of JAX (`environment.prepare`)."""
    environ = dict(os.environ) | {environment.LAUNCHED: "1", environment.STARTED: str(environment.started())}
    root = Path(__file__).parents[2]
    if root.name not in ("site-packages", "dist-packages"):
        environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(root), environ.get("PYTHONPATH"))))
    environment.add(environment.OPEN_MPI, environ)
    if nproc > environment.cores():
        environment.add(environment.OVERSUBSCRIBED, environ)
    return environ


def start(line: list[str], nproc: int, stderr=subprocess.STDOUT, **options) -> subprocess.Popen:
    """Start `line` in a new session, in the environment for `nproc` ranks; stdout is a pipe."""
    settings = {"env": rank_environment(nproc), "text": True, "errors": "replace", "start_new_session": True} | options
    return subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, **settings)


def kill(process: subprocess.Popen):
    """Kill a process from `start`, and all processes of its session."""
    with contextlib.suppress(ProcessLookupError):  # it has already ended
        os.killpg(process.pid, signal.SIGKILL)


def run(line: list[str], nproc: int, directory, report, lock=None, keeps=True) -> int:
    """Run a line that starts `nproc` processes (`command`).

    Args:
        directory: the run folder, where the ranks write status.json.
        report: function that receives the events of rank 0.
        lock: the folder's open lock file; mpiexec or `spawn` also holds it, in case this process is killed.
        keeps: whether ranks save their state after a signal; else a signal ends them even before all have started.

    Returns:
        The exit code in status.json (mpiexec may return 0 after a rank failed); 70 if the ranks wrote none.
    """
    ranks = Ranks(line, nproc, lock, keeps)
    with ranks.forward_signals():
        errors = threading.Thread(target=ranks.pass_on, args=(ranks.process.stderr, sys.stderr, report), daemon=True)
        errors.start()
        ranks.pass_on(ranks.process.stdout, sys.stdout, report)
        ranks.process.wait()
        errors.join()
    return judge(directory, ranks)


class Ranks:
    """The processes of a run under mpiexec or `spawn`, and the cause of its end.

    Attributes:
        ranks: {(process id, machine): rank} of the ranks that have reported.
        culprit: the rank that ended first, and how; empty for none.
        killed: whether `spawn` reported that a signal ended it.
        failure: a rank's reason to end all, a dict of `failed` (words for the user) and `exit_code`.
        signal: the last signal from the user; None for none.
        insisted: whether it was the user's second signal.
    """

    def __init__(self, line, nproc, lock=None, keeps=True):
        self.process = start(line, nproc, subprocess.PIPE, pass_fds=[lock.fileno()] if lock else [])
        self.nproc, self.keeps, self.ranks = nproc, keeps, {}
        self.dead, self.culprit, self.killed, self.failure = "a rank", "", False, {}
        self.signal, self.insisted = None, False

    @contextlib.contextmanager
    def forward_signals(self):
        """Forward SIGINT and SIGTERM to the ranks; the second one kills everything."""

        def forward(number, frame):
            self.insisted, self.signal = self.signal is not None, signal.Signals(number)
            if not self.insisted and (self.keeps or len(self.ranks) == self.nproc):
                self.send_if_ready()
            else:
                self.send(signal.SIGKILL)
                kill(self.process)

        before = {number: signal.signal(number, forward) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def send_if_ready(self):
        """Forward the user's signal after all ranks have reported; earlier it would be lost."""
        if self.signal is not None and len(self.ranks) == self.nproc:
            self.send(self.signal)

    def send(self, number):
        """Send a signal to the ranks, directly to those on this machine, as mpiexec might end them instead."""
        here = socket.gethostname()
        if any(host != here for _, host in list(self.ranks)):
            self.process.send_signal(number)
        for pid, host in list(self.ranks):
            if host == here:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), number)

    def pass_on(self, source, target, report):
        """Pass the ranks' events to `report`, note the first end, and write every other line to `target`."""
        for line in source:
            message = progress.receive(line)
            if message is None:
                self.note_culprit(line)
                if not BANNER.match(line):
                    print(line, end="", file=target, flush=True)
            elif "pid" in message:
                self.ranks[str(message["pid"]), message["host"]] = message["rank"]
                self.send_if_ready()
            elif "failed" in message:
                self.failure = self.failure or message
            elif "exit_code" in message:
                self.blame(f"rank {message['rank']}", f"exit code {message['exit_code']}")
            else:
                report(message)

    def note_culprit(self, line):
        """Remember the dead rank from a line of mpiexec or `spawn`, and its end."""
        if match := DIED.match(line):
            rank = self.ranks.get((match["pid"], match["host"]))
            self.dead = f"process {match['pid']} on {match['host']}" if rank is None else f"rank {rank}"
        if match := DIED_OPEN_MPI.search(line):
            self.dead = f"rank {match['rank']}"
        if match := EXIT.match(line):
            self.blame(self.dead, match["how"])
        if match := EXIT_OPEN_MPI.search(line):
            self.blame(self.dead, f"{match['name']} ({match['signal']})")
        if match := DIED_SPAWNED.match(line):
            self.killed = "(signal " in match["how"]
            if self.killed:
                self.culprit = ""  # this is the cause, even if other ends were reported first
            self.blame(f"rank {match['rank']}", match["how"])

    def blame(self, who, how):
        """Keep the first cause, as later ends follow from it."""
        self.culprit = self.culprit or f"{who} ended: {how}"


def judge(directory, ranks: Ranks) -> int:
    """The exit code of the run; prints the cause, and writes it into status.json, if the ranks did not.

    If a signal ended the ranks before they could stop, the state is `stopped`. Ranks themselves report a blow-up or an
    early stop, and print the traceback of a bug; this function only names the rank then.
    """
    cause, state, code = ranks.culprit, "failed", INTERNAL
    if ranks.failure:
        cause, code = ranks.failure["failed"].removeprefix("Error: "), ranks.failure["exit_code"]
    elif ranks.signal and not ended(directory):
        state, code = "stopped", STOPPED
        if ranks.insisted or not cause:
            cause = f"ended at once by {'a second ' if ranks.insisted else ''}{ranks.signal.name}"
    elif not ended(directory) and not cause:
        cause = f"the ranks ended without a word, exit code {ranks.process.returncode}"
    status = finish(directory, state, code, cause)
    if ranks.killed and status["exit_code"] == INTERNAL:  # another rank may have reported failed messages
        status["message"] = cause
        write_status(directory, **status)
    if status["exit_code"] not in (0, INTERNAL, STOPPED, NumericalError.exit_code):
        cause = status["message"]
    if status["exit_code"] and cause:
        print(f"Error: {cause}{how_to_continue(directory)}", file=sys.stderr)
    return status["exit_code"]
