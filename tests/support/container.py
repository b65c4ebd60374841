"""A container as Gradescope's, made on this machine: root without namespaces, and the files of a zip.

It has a file system of its own: the system's programs, Python, /autograder as Gradescope lays it out, and
the environment that setup.sh would install. Root has the capabilities that Docker leaves it, so it can't
make namespaces. Run as a program in a process of its own; tests call `run_inside`.
"""

import ctypes
import json
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from autograder.kernels import linux, mounts, sandbox
from autograder.kernels.protocol import CONNECTION, WORK
from autograder.package import PACKAGE_ROOT

BASE = Path("/autograder")
ENVIRONMENT = Path("/opt/autograder")
SOURCE, SUBMISSION = "source", "submission"
# chown, dac_override, fowner, fsetid, kill, setgid, setuid, setpcap, net_bind_service, net_raw,
# sys_chroot, mknod, audit_write, setfcap
DOCKERS = (0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31)
DISK_BYTES = 3_000_000_000


@dataclass(frozen=True)
class Inside:
    """What a program inside has left.

    folder: what it wrote into the folder of its environment variable OUT.
    """

    status: int
    printed: str
    folder: Path


def run_inside(folder: Path, archive: Path, program: str, given: Path | None = None) -> Inside:
    """Run a program in a new container, into which a zip was extracted.

    folder: an empty one; program: Python, run in the environment that grades, in the folder GIVEN, which
    has a copy of the files of `given`.
    """
    for name in (WORK, CONNECTION):
        (folder / name).mkdir(parents=True)
    (folder / WORK / "program.py").write_text(program, encoding="utf-8")
    shutil.copy(archive, folder / WORK / "autograder.zip")
    if given:
        shutil.copytree(given, folder / WORK / "given")
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.container", str(folder)],
        cwd=PACKAGE_ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return Inside(done.returncode, done.stdout, folder / CONNECTION)


def _enter(folder: Path) -> None:
    """Make the container around this process, which is its first."""
    root = folder / "root"
    root.mkdir()
    files = mounts.FileSystem(root, folder, (PACKAGE_ROOT,), 0, DISK_BYTES)
    files.build()
    (root / "etc" / "hosts").write_text("127.0.0.1 localhost\n")
    (root / "etc" / "passwd").write_text("root:x:0:0:root:/root:/bin/bash\n")
    (root / "etc" / "group").write_text("root:x:0:\n")
    # the grader hides it from its own sandboxes; a container has it
    (root / "dev" / "zero").touch()
    mounts._mount("/dev/zero", root / "dev" / "zero", "", mounts.MS_BIND)
    environment = root / ENVIRONMENT.relative_to("/")
    environment.mkdir(parents=True)
    mounts._show(Path(sys.prefix), environment)
    base = root / BASE.relative_to("/")
    base.mkdir()
    mounts._mount("tmpfs", base, "tmpfs", 0, "mode=755")
    for name in (SOURCE, SUBMISSION, "results"):
        (base / name).mkdir()
    # any zip program may have extracted it: no modes, folders of 755 and files of 644
    with zipfile.ZipFile(folder / WORK / "autograder.zip") as archive:
        archive.extractall(base / SOURCE)
    shutil.copy(base / SOURCE / "run_autograder", base)
    (base / "run_autograder").chmod(0o755)
    (base / "submission_metadata.json").write_text(json.dumps({"users": ["someone"]}))
    files.enter()


def _keep_capabilities() -> None:
    """Keep what Docker leaves root."""
    for number in range(41):
        if number not in DOCKERS:
            linux.prctl(linux.PR_CAPBSET_DROP, number)
    kept = sum(1 << number for number in DOCKERS)
    header = (ctypes.c_uint32 * 2)(sandbox.CAPABILITY_VERSION, 0)
    linux.call("capset", header, (ctypes.c_uint32 * 6)(kept, kept, 0, 0, 0, 0))


def _main(folder: Path) -> None:
    """In the process that becomes the container's."""
    flags = linux.CLONE_NEWNS | linux.CLONE_NEWPID | linux.CLONE_NEWIPC | linux.CLONE_NEWUTS
    linux.call("unshare", flags)
    first = os.fork()
    if first:
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(first, 0)[1]))
    linux.end_with_parent(0)
    _enter(folder)
    _keep_capabilities()
    os.chdir(folder / WORK)
    environment = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(BASE / SOURCE),
        "GIVEN": str(folder / WORK / "given"),
        "OUT": str(folder / CONNECTION),
    }
    # as another program's child: the first process of a namespace is safe from signals
    done = subprocess.run([ENVIRONMENT / "bin" / "python", "program.py"], env=environment)
    sys.exit(done.returncode)


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
