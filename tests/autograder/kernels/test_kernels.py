"""Students' kernels in another Python, and what travels between the grader and its fork server."""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from autograder.errors import WorkerPoolError
from autograder.installing import how_to_install
from autograder.instructor_settings import Limits, Settings
from autograder.kernels import forkserver
from autograder.kernels.protocol import KernelRequest
from autograder.kernels.student_kernel import KernelStartError, StudentKernel
from autograder.kernels.versions import kernel_versions, refuse_missing_packages
from autograder.package import PACKAGE, PACKAGE_ROOT
from tests.support.needs import needs_fork_server, needs_sandbox

SANDBOXED = pytest.param(True, marks=needs_sandbox, id="sandboxed")


def environment(folder):
    """A new virtual environment without packages; returns its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def other_python(tmp_path_factory):
    """The interpreter of an environment with the packages of this one, and a prefix of its own."""
    python = environment(tmp_path_factory.mktemp("another") / "venv")
    code = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    Path(done.stdout.strip(), "shared.pth").write_text(sysconfig.get_paths()["purelib"])
    yield str(python)
    if forkserver.available():
        forkserver.server(str(python)).end()


def printed(kernel, code):
    reply = kernel.run(code, 30)
    assert reply.status == "ok", reply
    return "".join(output["text"] for output in reply.outputs)


@pytest.mark.parametrize("sandboxed", [pytest.param(False, id="not sandboxed"), SANDBOXED])
def test_students_kernels_run_in_the_python_that_is_set(other_python, sandboxed):
    code = (
        "import os, sys, torch\nprint(sys.prefix)\nprint(sys.executable)\n"
        "print([m for m in sys.modules if m.split('.')[0] == 'autograder' and 'runtime' not in m])\n"
        "print('VIRTUAL_ENV' in os.environ, torch.ones(2).sum().item())"
    )
    prefix = str(Path(other_python).parents[1])
    with StudentKernel(Settings(Limits(sandbox=sandboxed), other_python)) as kernel:
        assert printed(kernel, code).split("\n")[:4] == [prefix, other_python, "[]", "False 2.0"]
        draw = {"inputs": {}, "parameter_seed": 0}
        reply = kernel.ask({"expression": "1 + 1", "forbidden": [], "draws": [draw]}, 20)
        assert json.loads(reply.value)[0]["value"] == {"kind": "number", "value": 2}
    with StudentKernel(Settings(Limits(sandbox=sandboxed))) as kernel:
        assert printed(kernel, "import sys\nprint(sys.prefix)") == f"{sys.prefix}\n"


def test_the_versions_are_those_of_the_python_that_is_set(other_python):
    packages = ("numpy", "torch")
    assert kernel_versions(other_python, packages) == kernel_versions(sys.executable, packages)
    assert set(kernel_versions(other_python, packages)) == {"python", *packages}
    # an exercise without torch is not graded again when torch is another one
    assert set(kernel_versions(other_python, ("numpy", "pandas"))) == {"python", "numpy"}


def test_a_python_without_packages_is_refused(tmp_path):
    python = environment(tmp_path / "empty")
    with pytest.raises(WorkerPoolError, match="needs numpy, torch and ipykernel") as raised:
        kernel_versions(str(python), ("numpy", "torch"))
    assert str(python) in str(raised.value) and "c.Grader.python" in str(raised.value)


def test_a_package_that_is_offered_and_missing_is_named_before_anybody_is_graded(other_python):
    refuse_missing_packages(Settings())
    for python in (sys.executable, other_python):
        refuse_missing_packages(Settings(python=python, packages=("numpy", "json")))
        with pytest.raises(WorkerPoolError) as raised:
            refuse_missing_packages(Settings(python=python, packages=("numpy", "no_such_one")))
        assert "c.Grader.packages" in str(raised.value)
        assert how_to_install("no_such_one", python=python) in str(raised.value)


def requirements(*names):
    """Normalised names of distributions with all that they require here."""
    found, waiting = set(), list(names)
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in found:
            continue
        try:
            wanted = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        found.add(name)
        waiting += [re.match(r"[\w.-]+", line).group() for line in wanted if "extra ==" not in line]
    return found


IMPORTING = """
import importlib.abc, sys

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {missing}:
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Missing())
import autograder.kernels.forkserver_main, autograder.kernels.preload
print(*(name for name in sys.modules if name.split(".")[0] == "autograder"))
"""


@pytest.mark.parametrize("also", [(), ("torch",), ("torch", "matplotlib")], ids=" and ".join)
def test_students_python_needs_no_other_packages(also):
    present = requirements("numpy", "ipykernel", *also)
    missing = {
        module
        for module, owners in importlib.metadata.packages_distributions().items()
        # the grader itself may be installed, too
        if module != "autograder"
        and not {re.sub(r"[-_.]+", "-", owner).lower() for owner in owners} & present
    }
    assert {"nbgrader", "nbformat", "nh3", "distributed"} <= missing
    assert not missing & set(also) and (also or {"torch", "matplotlib"} <= missing)
    done = subprocess.run(
        [sys.executable, "-c", IMPORTING.format(missing=missing)],
        env={"PYTHONPATH": str(PACKAGE_ROOT), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    allowed = r"autograder(\.(kernels|runtime)(\.\w+)?|\.instructor_settings|\.errors|\.package)?"
    ours = done.stdout.split()
    assert [name for name in ours if not re.fullmatch(allowed, name)] == []
    assert "autograder.kernels.student_kernel" not in ours and "autograder.runtime.evaluate" in ours


def test_no_kernel_runs_as_the_grader_where_it_should_run_as_another_user(monkeypatch):
    monkeypatch.setattr(forkserver, "available", lambda: False)
    with pytest.raises(KernelStartError, match="another user"):
        StudentKernel(Settings(user=1_900_000_000))


def test_a_request_survives_the_wire():
    request = KernelRequest(
        ("-f", "connection.json"),
        Path("/tmp/grade-ä"),
        {"HOME": "/tmp/grade-ä/home"},
        (PACKAGE, Path("/folder/of/a course")),
        Limits(memory_mb=700, sandbox=True),
        1_900_000_000,
    )
    assert KernelRequest.from_bytes(request.to_bytes()) == request


IN_A_WORKER = """
import os, sys, tempfile
from pathlib import Path
from autograder.kernels import forkserver
from autograder.kernels.student_kernel import StudentKernel
from autograder.instructor_settings import Settings
with tempfile.TemporaryDirectory() as folder:
    source = forkserver.ForkServerSource(sys.executable, Path(folder, "forks"))
    forkserver.copy_from(sys.executable, Path(folder, "forks"))
    found = []
    for _ in range(2):
        with StudentKernel(Settings()) as kernel:
            # a copy has the command line of its source
            code = "import os; print(os.getppid(), open(f'/proc/{os.getppid()}/cmdline').read().replace(chr(0), ' '))"
            server, *words = kernel.run(code, 30).outputs[0]["text"].split()
            print("copies" in words, end=" ")
            found.append(server)
        os.kill(int(server), 9)
    print(found[0] != found[1], end=" ")
    source.end()
    with StudentKernel(Settings()) as kernel:
        print(kernel.run("print(6 * 7)", 30).outputs[0]["text"])
"""


@needs_fork_server
def test_a_fork_server_is_copied_and_replaced_when_it_or_its_source_dies():
    done = subprocess.run(
        [sys.executable, "-c", IN_A_WORKER], cwd=PACKAGE_ROOT, capture_output=True, text=True
    )
    assert done.stdout.split() == ["True", "True", "True", "42"], done.stderr
