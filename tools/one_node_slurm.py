"""A Slurm cluster of one node on this machine: munged, slurmctld and slurmd in a temporary folder.

It does not touch an installed Slurm, because configuration, state, keys, sockets and ports are separate. The daemons
belong to the user who starts them, root or not, and need neither systemd nor control groups. `python
tools/one_node_slurm.py COMMAND...` runs a command, for example a shell, that can use this Slurm.
"""

import contextlib
import getpass
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from swmodel.parallel.spawn import end_with_parent, free_port

#: The Debian package of each daemon and of the commands that start jobs. Daemons may not be on the user's PATH.
PACKAGE_OF_PROGRAM = {"munged": "munge", "slurmctld": "slurmctld", "slurmd": "slurmd", "sbatch": "slurm-client"}
PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
#: Time within which a daemon must answer and cancelled jobs must end, s.
MAX_WAIT_SECONDS = 30.0
#: Processors in the configuration of the node, which limit the number of ranks; the machine may have fewer.
N_CPUS = 8

SLURM_CONF = """
ClusterName=one-node
FirstJobId={first}
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
MailProg=/bin/true
MpiDefault=none
JobRequeue=1
KillWait=5
OverTimeLimit=0
SlurmdTimeout=10
ReturnToService=2
SchedulerParameters=batch_sched_delay=0,sched_interval=2
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus}
"""


def missing_packages() -> list[str]:
    return [package for program, package in PACKAGE_OF_PROGRAM.items() if shutil.which(program, path=PATH) is None]


class OneNodeSlurm:
    """A context in which a Slurm of one node runs.

    Attributes:
        folder: its temporary folder, removed at the end.
        environ: the environment in which sbatch, srun and other commands find it.
    """

    def __init__(self):
        self.daemons = {}

    def __enter__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="swmodel-slurm-"))
        with contextlib.ExitStack() as stack:
            stack.callback(self.shut_down)
            self._configure()
            self.start_daemon("munged", "--foreground", "--force", *self._munge_options())
            self.wait_until(lambda: self.run_command("munge", "-n", "-S", self.folder / "munge.socket"))
            self.start_daemon("slurmctld", "-D", "-i")
            self.start_daemon("slurmd", "-D")
            self.wait_until(lambda: "idle" in self.run_command("sinfo", "--noheader", "--format=%t"))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error):
        self._stack.close()

    def _configure(self):
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        self.folder.chmod(0o711)
        conf = self.folder / "slurm.conf"
        ports = free_port(), free_port()
        host, first_job_id = socket.gethostname().partition(".")[0], random.randrange(1, 10**6)
        conf.write_text(
            SLURM_CONF.format(
                host=host, first=first_job_id, ports=ports, folder=self.folder, user=getpass.getuser(), cpus=N_CPUS
            )
        )
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "SBATCH"))}
        self.environ = environ | {"SLURM_CONF": str(conf), "PATH": PATH}

    def _munge_options(self):
        names = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        return [f"--{option}={self.folder}/munge.{ending}" for option, ending in names.items()]

    def start_daemon(self, name, *arguments):
        """Start a daemon that ignores the terminal's Ctrl-C and ends with this process."""
        with (self.folder / f"{name}.out").open("a") as out:
            self.daemons[name] = subprocess.Popen(
                [shutil.which(name, path=PATH), *arguments],
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
                preexec_fn=end_with_parent,
            )

    def kill_slurmd(self):
        """Kill slurmd: jobs continue, but Slurm receives no news of them."""
        self.daemons["slurmd"].kill()
        self.daemons["slurmd"].wait()

    def crash_node(self):
        """Kill the processes of the node except the controller's, slurmstepd first, which would report how they end."""
        names = {pid: text.decode().strip() for pid, text in read_proc("comm", self.processes()).items()}
        controller = "munged", "slurmctld", "slurmscriptd"  # in a real cluster they are on another machine
        for pid in sorted(
            (pid for pid in names if names[pid] not in controller), key=lambda pid: names[pid] != "slurmstepd"
        ):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def run_command(self, *command) -> str:
        """The output of a Slurm command; empty if it fails."""
        process = subprocess.run([str(word) for word in command], env=self.environ, capture_output=True, text=True)
        return process.stdout if process.returncode == 0 else ""

    def wait_until(self, condition, seconds=MAX_WAIT_SECONDS):
        """Wait until condition() is true, and return its value.

        Raises:
            TimeoutError: it was not true within so many seconds; the message contains the logs of the daemons.
        """
        deadline = time.monotonic() + seconds
        while not (value := condition()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"the condition was not true within {seconds:g} s\n{self.logs()}")
            time.sleep(0.2)
        return value

    def logs(self) -> str:
        files = sorted([*self.folder.glob("*.log"), *self.folder.glob("*.out")])
        return "\n".join(f"{file.name}:\n" + "".join(file.open(errors="replace").readlines()[-15:]) for file in files)

    def shut_down(self):
        """End jobs, daemons and all their processes, and remove the folder."""
        if "slurmctld" in self.daemons:
            self.run_command("scancel", "--user", getpass.getuser())
            with contextlib.suppress(TimeoutError):
                self.wait_until(lambda: not self.run_command("squeue", "--noheader"))
        for daemon in reversed(self.daemons.values()):
            daemon.terminate()
        for daemon in reversed(self.daemons.values()):
            with contextlib.suppress(subprocess.TimeoutExpired):
                daemon.wait(5)
            daemon.kill()
            daemon.wait()
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def processes(self) -> list[int]:
        """The ids of processes with this Slurm in their environment: daemons, jobs and processes that they started."""
        return list(self.environment_of_processes())

    def environment_of_processes(self) -> dict[int, bytes]:
        """{process id: environment} of the processes with this Slurm in their environment."""
        variable = f"SLURM_CONF={self.folder}/slurm.conf".encode()
        pids = (int(path.name) for path in Path("/proc").glob("[0-9]*"))
        return {pid: environ for pid, environ in read_proc("environ", pids).items() if variable in environ.split(b"\0")}


def read_proc(file: str, pids) -> dict[int, bytes]:
    """The contents of a file of /proc for each process that still runs and belongs to this user."""
    contents = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            contents[pid] = Path(f"/proc/{pid}/{file}").read_bytes()
    return contents


def main():
    signal.signal(signal.SIGTERM, lambda *arguments: sys.exit(143))
    with OneNodeSlurm() as node:
        sys.exit(subprocess.call(sys.argv[1:], env=node.environ))


if __name__ == "__main__":
    main()
