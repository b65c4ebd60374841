"""Clones of students' repositories: read object by object, whatever lies in them."""

import subprocess

import nbformat
import pytest

from audit_cases.repositories import FILE, FOLDER, Repository
from audit_cases.repository_attacks import BUILDERS, hostile_clone
from autograder.exercises import reference_answers, solved
from autograder.lms import clones
from autograder.lms.clones import CloneError
from autograder.lms.collect_github import take

NAME = "ch9_small.ipynb"
# what git does in a hostile clone that is trusted: it hands in another's work, or what GitHub doesn't show
GAINED_BY_GIT = (
    "a clone that borrows another student's objects",
    "a clone whose objects are a link to another student's",
    "a repository whose notebook is replaced by another",
)


def git(place, *words, **options):
    """What git prints in a folder, as somebody runs it there."""
    command = ["git", "-c", "safe.directory=*", *words]
    done = subprocess.run(command, cwd=place, capture_output=True, check=True, **options)
    return done.stdout


def right_notebook(exercise):
    return nbformat.writes(solved(exercise, reference_answers(exercise))).encode()


@pytest.mark.parametrize("name", BUILDERS)
def test_a_hostile_repository_gives_nothing_but_its_own_files(small_exercise, tmp_path, name):
    clone = hostile_clone(name, small_exercise, tmp_path)
    before = sorted(tmp_path.rglob("*"))
    try:
        found = take(clone, small_exercise.name)
    except CloneError as error:
        assert len(str(error)) < 1_000 and str(error).isprintable()
    else:
        assert set(found.files) == {NAME}
        assert found.files[NAME] != right_notebook(small_exercise)
        assert all(note.isprintable() for note in found.notes)
    assert sorted(tmp_path.rglob("*")) == before, (
        "nothing is started, and nothing is written into a clone"
    )


@pytest.mark.parametrize("name", GAINED_BY_GIT)
def test_what_a_clone_would_gain_where_git_believes_it(small_exercise, tmp_path, name):
    clone = hostile_clone(name, small_exercise, tmp_path)
    assert git(clone, "cat-file", "blob", f"HEAD:{NAME}") == right_notebook(small_exercise)


def test_a_small_object_made_from_a_large_one_takes_the_memory_of_the_large_one(tmp_path):
    small = Repository(tmp_path / "small.git")
    own = small.add_bomb(megabytes=2)
    small.commit(small.tree((FILE, NAME, own)))
    assert git(small.place, "cat-file", "blob", own) == bytes(64)
    assert take(small.place, "ch9_small").files[NAME] == bytes(64)
    large = Repository(tmp_path / "large.git")
    large.commit(large.tree((FILE, NAME, large.add_bomb(megabytes=3_000))))
    with pytest.raises(CloneError, match="too much memory"):
        take(large.place, "ch9_small")


def test_the_users_own_settings_of_git_dont_matter(tmp_path, monkeypatch):
    (tmp_path / ".gitconfig").write_text("[core\nbroken")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_ALTERNATE_OBJECT_DIRECTORIES", str(tmp_path / "elsewhere"))
    repository = Repository(tmp_path / "a.git")
    repository.hand_in(NAME, b"{}")
    assert take(repository.place, "ch9_small").files == {NAME: b"{}"}


# Clones as git makes them --------------------------------------------------------------------------


@pytest.fixture
def pushed(tmp_path):
    """A function that commits files to a repository, and gives a mirror of it and the commit."""
    origin, work = tmp_path / "origin.git", tmp_path / "work"
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", str(origin))
    git(tmp_path, "clone", "--quiet", str(origin), str(work))
    who = ("-c", "user.name=Student", "-c", "user.email=student@example.org")

    def push(**files):
        for name, content in files.items():
            path = work / name.replace("__", "/").replace("_ipynb", ".ipynb")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        git(work, "add", ".")
        git(work, *who, "commit", "--quiet", "--message", "Exercise")
        git(work, "push", "--quiet", "origin", "HEAD:main")
        mirror = tmp_path / "hw-ada.git"
        if mirror.exists():
            git(mirror, "remote", "update")
        else:
            git(tmp_path, "clone", "--quiet", "--mirror", str(origin), str(mirror))
        return mirror, git(work, "rev-parse", "HEAD").decode().strip()

    push.work, push.origin = work, origin
    return push


def test_a_mirror_is_read_fresh_fetched_again_and_packed(pushed):
    mirror, commit = pushed(ch9_small_ipynb="one")
    assert clones.head_of(mirror).commit == commit
    mirror, commit = pushed(ch9_small_ipynb="two", helper="beside", sub__other_ipynb="other")
    expected = {NAME: b"two", "other.ipynb": b"other", "helper": b"beside"}
    for packing in ((), ("gc", "--quiet"), ("pack-refs", "--all")):
        if packing:
            git(mirror, *packing)
        found = take(mirror, "ch9_small")
        assert (found.head.commit, dict(found.files)) == (commit, expected)


def test_a_clone_with_a_working_tree_gives_what_is_committed(pushed):
    pushed(ch9_small_ipynb="committed")
    (pushed.work / NAME).write_text("changed afterwards")
    assert take(pushed.work, "ch9_small").files == {NAME: b"committed"}


def test_the_notebook_near_the_root_counts_and_litter_doesnt(tmp_path):
    repository = Repository(tmp_path / "a.git")
    blobs = {name: repository.add("blob", name.encode()) for name in ("root", "deep", "copy")}
    inside = repository.tree((FILE, NAME, blobs["deep"]))
    root = repository.tree(
        (FOLDER, ".ipynb_checkpoints", inside),
        (FOLDER, "a", inside),
        (FILE, "a copy.ipynb", blobs["copy"]),
        (FILE, NAME, blobs["root"]),
        (FILE, "README.md", blobs["copy"]),
        (FILE, "timestamp.txt", blobs["copy"]),
    )
    repository.commit(root)
    files = take(repository.place, "ch9_small").files
    assert files == {NAME: b"root", "ch9_small (1).ipynb": b"deep", "a copy.ipynb": b"copy"}


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ("ref: refs/heads/other\n", "no commit on other"),
        ("ab" * 20, "names no branch"),
        ("ref: refs/tags/v1\n", "names no branch"),
        ("", "names no branch"),
    ],
)
def test_a_head_that_names_no_branch_is_told(tmp_path, head, said):
    repository = Repository(tmp_path / "a.git")
    repository.hand_in(NAME, b"{}")
    (repository.place / "HEAD").write_text(head)
    with pytest.raises(CloneError, match=said):
        take(repository.place, "ch9_small")
