"""What the adapters use of libraries beyond their documented interfaces is there, and works as they say.

When one of these fails after an upgrade, correct the adapter that the test names, and its docstring.
"""

import codecs
import datetime
import importlib.metadata
import inspect
import re
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
import sqlalchemy
import torch
import zmq
from nbgrader.api import Gradebook, SubmittedAssignment
from nbgrader.apps import AutogradeApp
from nbgrader.apps.api import NbGraderAPI
from nbgrader.converters import Autograde, BaseConverter
from nbgrader.coursedir import CourseDirectory
from nbgrader.server_extensions.formgrader import handlers
from nbgrader.utils import compute_checksum
from sqlalchemy import text
from traitlets.config import Config

from autograder import nbgrader_adapter
from autograder.errors import GradebookError
from autograder.grade import nbgrader_autograde
from autograder.instructor_settings import Settings
from autograder.kernels import forkserver, jupyter_adapter
from autograder.kernels.student_kernel import StudentKernel
from autograder.package import PACKAGE_ROOT
from autograder.runtime import torch_internals
from autograder.runtime.torch_internals import FORBIDDABLE, ForbiddenCall, forbidding
from tests.support.course import COURSE
from tests.support.grading import add_exercise
from tests.support.needs import needs_fork_server

# Versions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("adapter", "library"),
    [
        (jupyter_adapter, "jupyter_client"),
        (jupyter_adapter, "ipykernel"),
        (nbgrader_adapter, "nbgrader"),
        (torch_internals, "torch"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_an_adapter_names_the_version_that_is_pinned_and_installed(adapter, library):
    named = re.search(rf"\b{library} (\d[\d.]*\d)", adapter.__doc__).group(1)
    pins = (PACKAGE_ROOT / "constraints.txt").read_text(encoding="utf-8")
    pinned = re.search(rf"^{library}==(\S+)", pins, re.MULTILINE).group(1)
    assert importlib.metadata.version(library).partition("+")[0] == pinned
    assert f"{pinned}.".startswith(f"{named}.")


# jupyter_client and ipykernel: autograder/kernels/jupyter_adapter.py ----------------------------


@pytest.fixture(scope="module")
def kernel():
    with StudentKernel(Settings()) as kernel:
        yield kernel


@needs_fork_server
def test_a_kernel_manager_uses_the_provisioner_that_it_was_given(kernel):
    provisioner = kernel._manager.provisioner
    assert type(provisioner) is jupyter_adapter.ForkServerProvisioner
    assert isinstance(provisioner.process, forkserver.ForkedProcess)
    reply = kernel.run("import os\nprint(os.getpid(), os.getppid())", 20)
    pid, parent = map(int, reply.outputs[0]["text"].split())
    assert pid == provisioner.pid == provisioner.pgid
    # forked after ipykernel was imported
    assert b"forkserver_main" in Path(f"/proc/{parent}/cmdline").read_bytes()


def test_a_kernel_manager_interrupts_what_the_provisioner_started(kernel):
    assert kernel.run("import time\ntime.sleep(60)", 0.5).status == "timeout"
    assert not kernel.dead and kernel.run("1", 20).status == "ok"


def test_sockets_are_files_named_after_their_ports(kernel):
    assert jupyter_adapter.is_listening(kernel._manager)
    folder = Path(kernel._manager.connection_file).parent
    found = {path.name for path in folder.iterdir() if path.is_socket()}
    ports = kernel._manager.get_connection_info()
    assert found == {f"k-{ports[f'{name}_port']}" for name in jupyter_adapter.SOCKETS}


def test_a_manager_that_has_started_nothing_is_not_listening(tmp_path):
    manager = jupyter_adapter.kernel_manager(tmp_path, sys.executable, Settings().limits)
    assert manager.kernel_spec.argv[0] == sys.executable
    assert not jupyter_adapter.is_listening(manager)
    jupyter_adapter.close(manager)
    assert manager.context.closed


def test_sockets_take_their_limits_from_the_managers_context(kernel):
    channels = (kernel._client.shell_channel, kernel._client.iopub_channel)
    # nobody reads the manager's own
    for socket in (*(channel.socket for channel in channels), kernel._manager._control_socket):
        assert socket.getsockopt(zmq.MAXMSGSIZE) == jupyter_adapter.MAX_PART
        assert socket.getsockopt(zmq.RCVHWM) == jupyter_adapter.MAX_WAITING


def test_the_first_message_of_the_iopub_channel_is_a_welcome(tmp_path):
    (tmp_path / "connection").mkdir()
    (tmp_path / "work").mkdir()
    manager = jupyter_adapter.kernel_manager(tmp_path, sys.executable, Settings().limits)
    manager.start_kernel(cwd=str(tmp_path / "work"), env=forkserver.kept_environment())
    while not jupyter_adapter.is_listening(manager):
        assert manager.is_alive()
        time.sleep(0.01)
    client, relays = jupyter_adapter.open_client(manager, tmp_path)
    assert client.iopub_channel.socket.poll(20_000)
    parts = client.iopub_channel.socket.recv_multipart()
    message = jupyter_adapter.read_message(client.session, parts)
    client.stop_channels()
    for relay in relays.values():
        relay.close()
    jupyter_adapter.end_kernel(manager)
    jupyter_adapter.close(manager)
    assert message["msg_type"] == jupyter_adapter.WELCOME


def test_a_message_that_nobody_signed_is_refused(kernel):
    session = kernel._client.session
    parts = session.serialize(session.msg("status", {"execution_state": "idle"}))
    assert jupyter_adapter.read_message(session, parts)["msg_type"] == "status"
    parts[1] = b"0" * len(parts[1])
    with pytest.raises(ValueError, match="Invalid Signature"):
        jupyter_adapter.read_message(session, parts)


@pytest.mark.parametrize(
    "piece", [{}, [], 1, "ab", "\\", '"'], ids=["objects", "lists", "numbers", "texts", "\\", '"']
)
def test_a_message_of_very_many_members_is_not_taken_apart(kernel, piece):
    session = kernel._client.session
    parts = session.serialize(session.msg("stream", {"text": [piece] * 300_000}))
    with pytest.raises(ValueError, match="very many members"):
        jupyter_adapter.read_message(session, parts)


def test_a_text_may_hold_what_separates_members(kernel):
    session = kernel._client.session
    text = 'a [1, 2], {"b": "c\\"}\n' * 30_000
    parts = session.serialize(session.msg("stream", {"text": text}, metadata={"buffers": 1}))
    parts.append(b"[,{" * 300_000)
    assert jupyter_adapter.read_message(session, parts)["content"]["text"] == text


# nbgrader: autograder/nbgrader_adapter.py -------------------------------------------------------


@pytest.fixture
def url(tmp_path):
    """The address of a new gradebook; nbgrader needs the PATH that nbgrader_config.py sets."""
    assert COURSE.config.GenerateAssignment
    return f"sqlite:///{tmp_path}/gradebook.db"


def a_cell(name, kind="code", **metadata):
    made = nbformat.v4.new_code_cell if kind == "code" else nbformat.v4.new_markdown_cell
    given = {"grade": True, "solution": False, "locked": True, "points": 1, "schema_version": 3}
    return made("answer", metadata={"nbgrader": {"grade_id": name, **given, **metadata}})


def test_save_cells_refuses_removed_cells_only_once_there_are_submissions(url):
    with Gradebook(url) as book:
        book.add_assignment("ps1")
    cells = [a_cell("one"), a_cell("two")]
    for cell in cells:
        cell.metadata.nbgrader.cell_type = "code"
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbgrader_adapter.save_cells("ps1", url, notebook)
    with Gradebook(url) as book:
        assert {cell.name for cell in book.find_notebook("ps1", "ps1").grade_cells} == {
            "one",
            "two",
        }
        book.add_student("ada")
        book.add_submission("ps1", "ada")
    nbgrader_adapter.save_cells("ps1", url, notebook)
    with pytest.raises(RuntimeError):
        nbgrader_adapter.save_cells("ps1", url, nbformat.v4.new_notebook(cells=cells[:1]))


def test_a_transaction_is_written_whole_or_not_at_all(url):
    transactions = nbgrader_adapter.Transactions(url)
    with transactions.begin() as book:
        book.add_student("ada")
    with pytest.raises(KeyError), transactions.begin() as book:
        # nbgrader commits by itself
        book.add_student("bob")
        raise KeyError
    transactions.close()
    with Gradebook(url) as book:
        assert [student.id for student in book.students] == ["ada"]


def test_new_tables_have_the_version_that_nbgrader_gives_them(url):
    program = "from nbgrader.api import get_alembic_version; print(get_alembic_version())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    with nbgrader_adapter.explained(url), Gradebook(url) as book:
        (version,) = book.db.execute(text("SELECT version_num FROM alembic_version")).scalars()
    assert version == done.stdout.strip() != ""


@pytest.mark.parametrize(("method", "taken"), [("none", None), ("zero", 5)])
def test_late_penalties_come_from_the_configured_plugin(method, taken):
    config = Config({"LateSubmissionPlugin": {"penalty_method": method}})
    assert nbgrader_adapter.late_penalty(config, "ada", 5, 3600) == taken


def test_written_answers_count_nothing_while_they_are_untouched():
    cell = a_cell("why", "markdown", solution=True, locked=False, cell_type="markdown")
    cell.metadata.nbgrader.checksum = compute_checksum(cell)
    assert nbgrader_adapter.written_score(cell) == 0 and nbgrader_adapter.is_untouched(cell)
    cell.source = "because"
    assert nbgrader_adapter.written_score(cell) is None
    assert not nbgrader_adapter.is_untouched(cell)


def test_timestamps_are_read_in_utc(tmp_path):
    assert nbgrader_adapter.timestamp(tmp_path) is None
    (tmp_path / "timestamp.txt").write_text("2026-03-01 12:00:00.5 America/New_York")
    assert nbgrader_adapter.timestamp(tmp_path) == datetime.datetime(2026, 3, 1, 17, 0, 0, 500_000)
    (tmp_path / "timestamp.txt").write_text("yesterday, I think")
    with pytest.raises(ValueError, match="yesterday"):
        nbgrader_adapter.timestamp(tmp_path)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_a_time_stamp_is_read_as_windows_saves_it(tmp_path, encoding):
    mark = codecs.BOM_UTF16_BE if encoding == "utf-16-be" else b""
    content = mark + "2026-03-01 12:00 UTC\r\n".encode(encoding)
    (tmp_path / "timestamp.txt").write_bytes(content)
    assert nbgrader_adapter.timestamp(tmp_path) == datetime.datetime(2026, 3, 1, 12)
    (tmp_path / "timestamp.txt").write_bytes(b"2026-03-01 12:00 \xff")
    with pytest.raises(ValueError, match="no text in UTF-8"):
        nbgrader_adapter.timestamp(tmp_path)


def test_an_error_of_the_database_is_told_in_one_sentence(tmp_path, caplog, capsys):
    url = f"sqlite:///{tmp_path}/gradebook.db"
    with Gradebook(url) as gradebook:
        gradebook.add_student("ada")
        with pytest.raises(GradebookError, match="can't be used"), nbgrader_adapter.explained(url):
            # what a full disk or a lock does in the middle
            gradebook.add_student("ada")
    assert "Rolling back" not in caplog.text + capsys.readouterr().err


def test_a_gradebook_that_another_program_writes_to_is_told(tmp_path):
    with (
        pytest.raises(GradebookError, match="locked by another program, such as formgrader"),
        nbgrader_adapter.explained(f"sqlite:///{tmp_path}/gradebook.db"),
    ):
        raise sqlalchemy.exc.OperationalError(
            "", None, sqlite3.OperationalError("database is locked")
        )


def test_bootstrap_is_bundled():
    assert list(nbgrader_adapter.bootstrap_folder().glob("bootstrap*.css"))


def test_release_steps_are_run_one_by_one():
    steps = nbgrader_adapter.release_steps(COURSE.config)
    names = [type(step).__name__ for step in steps]
    assert "ClearSolutions" in names and "LockCells" in names
    assert not {"InstantiateTests", "SaveCells"} & set(names)
    cell = a_cell("one", grade=False, solution=True, locked=False, points=0, cell_type="code")
    cell.source = "### BEGIN SOLUTION\nx = 1\n### END SOLUTION"
    clear = steps[names.index("ClearSolutions")]
    cleared, _ = clear(nbformat.v4.new_notebook(cells=[cell]), {"language": "python"})
    assert "NotImplementedError" in cleared.cells[0].source


@pytest.fixture
def started(monkeypatch):
    """The converters that were started by `Autograde.start`; the class is restored afterwards."""
    # nbgrader_config.py may have replaced it already
    monkeypatch.setattr(Autograde, "start", BaseConverter.start)
    nbgrader_autograde.install()
    assert Autograde.start is nbgrader_autograde._start
    converters = []
    monkeypatch.setattr(Autograde, "start", lambda converter: converters.append(converter))
    return converters


def test_formgrader_starts_the_replaced_converter(started, tmp_path):
    api = NbGraderAPI(CourseDirectory(root=str(tmp_path)))
    assert api.autograde("ps1", "ada", force=False, create=False)["success"]
    (converter,) = started
    assert (converter.force, converter.create_student) == (False, False)
    assert Path(converter.coursedir.root) == tmp_path
    assert converter.coursedir.submitted_directory and converter.coursedir.db_url


def test_formgrader_says_which_submission_it_shows():
    source = inspect.getsource(handlers.SubmissionHandler)
    for name in ("'submission_id': ", "'assignment_id': "):
        assert name in source
    assert "self.exporter.from_filename(filename, resources=resources)" in source


def test_formgrader_lists_no_submission_without_notebooks(tmp_path):
    # reading the settings puts alembic, which nbgrader calls, on the path
    assert COURSE.config
    folders = CourseDirectory(root=str(tmp_path), db_url=f"sqlite:///{tmp_path}/gradebook.db")
    with Gradebook(folders.db_url) as gradebook:
        add_exercise(gradebook, "ps1", duedate=datetime.datetime(2027, 3, 1), all=5)
        gradebook.add_student("ada")
        gradebook.add_student("bob")
        gradebook.add_submission("ps1", "ada")
    with nbgrader_adapter.transaction(folders.db_url) as gradebook:
        student, assignment = gradebook.find_student("bob"), gradebook.find_assignment("ps1")
        day = datetime.timedelta(days=1)
        gradebook.db.add(SubmittedAssignment(assignment=assignment, student=student, extension=day))
        gradebook.db.commit()
    for name in ("source/ps1", "submitted", "autograded"):
        (tmp_path / name).mkdir(parents=True)
    api = NbGraderAPI(folders)
    assert [found["student"] for found in api.gradebook.submission_dicts("ps1")] == ["ada"]
    assert not [s for s in api.get_submissions("ps1") if s["student"] == "bob"]
    assert {s["id"]: s["score"] for s in api.get_students()} == {"ada": 0, "bob": 0}
    (shown,) = api.get_student_submissions("bob")
    assert (shown["submitted"], shown["score"]) == (False, 0)


def test_nbgraders_command_starts_the_replaced_converter(started, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    app = AutogradeApp()
    app.initialize(["ps1", "--student", "ada", "--force", f"--CourseDirectory.root={tmp_path}"])
    app.start()
    (converter,) = started
    folders = converter.coursedir
    assert (folders.assignment_id, folders.student_id, converter.force) == ("ps1", "ada", True)


# torch: autograder/runtime/torch_internals.py ---------------------------------------------------


def find(path):
    """A function of torch by its path."""
    module, _, name = path.rpartition(".")
    __import__(module)
    return getattr(sys.modules[module], name)


def test_everything_that_can_be_forbidden_exists():
    for ready_made in FORBIDDABLE.values():
        for operator in ready_made.operators:
            assert hasattr(torch.ops.aten, operator), operator
        for path in ready_made.functions:
            assert hasattr(find(path), "__code__"), path
        for name in ready_made.modules:
            assert issubclass(getattr(torch.nn, name), torch.nn.Module)


@pytest.mark.parametrize("name", FORBIDDABLE)
def test_forbidden_operators_are_refused_and_allowed_again(name):
    x = torch.ones(1, 2, 4, 4)
    arguments = {
        "scaled_dot_product_attention": (x, x, x),
        "_scaled_dot_product_attention_math": (x, x, x),
        "_scaled_dot_product_flash_attention_for_cpu": (x, x, x),
        "_native_multi_head_attention": (
            *[torch.ones(1, 2, 4)] * 3,
            4,
            1,
            torch.ones(12, 4),
            torch.ones(12),
            torch.ones(4, 4),
            torch.ones(4),
        ),
        "_transformer_encoder_layer_fwd": (
            torch.ones(1, 2, 4),
            4,
            1,
            torch.ones(12, 4),
            torch.ones(12),
            torch.ones(4, 4),
            torch.ones(4),
            *(False, False, 1e-5),
            *[torch.ones(4)] * 4,
            torch.ones(8, 4),
            torch.ones(8),
            torch.ones(4, 8),
            torch.ones(4),
        ),
    }
    for operator in FORBIDDABLE[name].operators:
        call = getattr(torch.ops.aten, operator)
        with torch.no_grad():
            call(*arguments[operator])
            noted = []
            with forbidding([name], noted), pytest.raises(ForbiddenCall, match="from scratch"):
                call(*arguments[operator])
            assert noted == [operator.lstrip("_")]
            call(*arguments[operator])


def test_what_was_imported_or_made_before_is_refused():
    function = torch.nn.functional.multi_head_attention_forward
    attention = torch.nn.functional.scaled_dot_product_attention
    module = torch.nn.MultiheadAttention(4, 1)
    x, noted = torch.ones(2, 3, 4, requires_grad=True), []
    with forbidding(list(FORBIDDABLE), noted):
        for call in (function, lambda: module(x, x, x), lambda: attention(x, x, x)):
            with pytest.raises(ForbiddenCall):
                call()
        with pytest.raises(ForbiddenCall):
            torch.nn.TransformerEncoderLayer(4, 1)
    assert len(noted) == 4
    assert module(x, x, x)[0].shape == x.shape
    assert torch.isfinite(attention(x, x, x)).all()


def test_the_default_generator_is_the_one_that_manual_seed_seeds():
    torch.manual_seed(5)
    expected = torch.randn(3)
    torch_internals.seed_default_generator(5)
    assert torch.equal(torch.randn(3), expected)


def test_tensors_are_counted_while_they_exist():
    one = torch.ones(1000, dtype=torch.float64)
    with torch_internals.tensor_memory(20_000):
        for _ in range(50):
            one = one + 1
        assert (one[:10] + one.expand(9, 1000)[0, :10]).sum() == 1020
    with pytest.raises(MemoryError), torch_internals.tensor_memory(20_000):
        kept = [one + n for n in range(3)]
        assert len(kept) < 3


def test_counting_tensors_imports_nothing():
    code = (
        "import sys\nimport torch\nfrom autograder.runtime.torch_internals import tensor_memory\n"
        "before = len(sys.modules)\nwith tensor_memory(10**6):\n    torch.ones(3) + 1\n"
        "print(len(sys.modules) - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 20
