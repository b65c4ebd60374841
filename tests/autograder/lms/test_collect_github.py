"""A folder of clones becomes a class's submissions, with the times at which GitHub received them."""

import json
import os

import pytest

from audit_cases.repositories import FILE, Repository
from autograder.course import Course
from autograder.errors import SubmissionFolderError, TableError
from autograder.lms import collect_github
from autograder.lms.collect_github import match
from autograder.lms.github_pushes import read_pushes
from autograder.lms.names import LmsName, remembered_names
from tests.support.course import COURSE

EXERCISE = COURSE.exercise("ch1_additive_attention")
NAME = f"{EXERCISE}.ipynb"
# 1 December 2026, noon, in UTC
FETCHED = 1_796_126_400
MAIN = "refs/heads/main"


class Clones:
    """Clones of a class in a folder, the roster, and what collecting them gives."""

    def __init__(self, folder):
        self.folder, self.roster = folder / "clones", folder / "roster.csv"
        self.course = Course(COURSE.root, class_folder=folder / "course")
        self.names = {}
        self.folder.mkdir()

    def add(self, student, name, content=None, repository=None):
        """Add a student whose name on GitHub is given; content: of the notebook, None without a clone."""
        self.names[student] = name
        if content is None:
            return None
        made = Repository(self.folder / f"{repository or f'hw-{name.lower()}'}.git")
        made.hand_in(NAME, content)
        return made

    def collect(self):
        rows = [f"{student},{name}" for student, name in self.names.items()]
        self.roster.write_text("\n".join(["id,github", *rows, ""]))
        for ref in self.folder.glob("*/refs/heads/main"):
            os.utime(ref, (FETCHED, FETCHED))
        return collect_github.collect(self.course, EXERCISE, self.roster, self.folder)

    def laid_out(self, student):
        folder = self.course.submitted / student / EXERCISE.name
        return {path.name: path.read_text() for path in folder.iterdir()} if folder.exists() else {}

    def activity(self, name, *pushes, later=""):
        """Write what gh gives of a repository: time and commit of pushes, on main if no branch is given."""
        entries = [
            {
                "id": 1,
                "ref": branch[0] if branch else MAIN,
                "after": commit,
                "before": "0" * 40,
                "timestamp": time,
                "activity_type": "push",
                "actor": {"login": "somebody"},
            }
            for time, commit, *branch in pushes
        ]
        (self.folder / f"hw-{name}.json").write_text(json.dumps(entries) + later)


@pytest.fixture
def clones(tmp_path):
    return Clones(tmp_path)


def commit_of(repository):
    return (repository.place / "refs" / "heads" / "main").read_text().strip()


# Whose is which -----------------------------------------------------------------------------------


def test_clones_are_found_by_the_names_on_github(clones):
    clones.add("s1", "Ada", b"ada")
    clones.add("s2", "ben-2", b"ben")
    clones.add("s3", "cleo")
    clones.add("s4", "")
    Repository(clones.folder / "hw-stranger.git").hand_in(NAME, b"x")
    (clones.folder / "no clone").mkdir()
    done = clones.collect()
    assert done.new == ["s1", "s2"]
    assert clones.laid_out("s1")[NAME] == "ada" and clones.laid_out("s2")[NAME] == "ben"
    assert remembered_names(clones.course, EXERCISE)["s1"] == LmsName("github", "hw-ada")
    assert "No clone: s3." in done.notes
    assert "Of nobody in the roster, and left out: hw-stranger.git." in done.notes


def test_of_names_that_end_alike_the_beginning_of_most_clones_decides(tmp_path):
    places = [tmp_path / f"{name}.git" for name in ("hw-1-bob", "hw-1-jim-bob", "hw-1-eve")]
    found = match(places, {"bob": "s1", "jim-bob": "s2", "eve": "s3"})
    assert found == {"s1": places[0], "s2": places[1], "s3": places[2]}
    assert match([tmp_path / "hwbob.git"], {"bob": "s1"}) == {}
    assert match([tmp_path / "bob"], {"bob": "s1"}) == {"s1": tmp_path / "bob"}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("s1,a\ns2,A\n", "line 3: A is s1's name"),
        ("s1,https://github.com/a\n", "no name on GitHub"),
        ("s1,-a\n", "no name on GitHub"),
        ("../s1,a\n", "can't be the name of a folder"),
        ("s1,\n", "nobody's name"),
    ],
)
def test_a_roster_that_is_wrong_is_told_with_its_line(tmp_path, rows, said):
    path = tmp_path / "roster.csv"
    path.write_text("id,github\n" + rows)
    with pytest.raises(TableError, match=said):
        collect_github.read_names(path)


def test_a_folder_without_anybodys_clone_changes_nothing(clones):
    clones.add("s1", "ada", b"x", repository="hw-somebody-else")
    with pytest.raises(SubmissionFolderError, match="No clone in"):
        clones.collect()
    assert not clones.course.submitted.exists()


# What is laid out ---------------------------------------------------------------------------------


def test_what_is_handed_in_again_takes_the_place_of_what_was_there(clones):
    repository = clones.add("s1", "ada", b"first")
    clones.add("s2", "ben", b"same")
    clones.collect()
    repository.hand_in(NAME, b"second")
    done = clones.collect()
    assert (done.new, done.replaced, done.unchanged) == ([], ["s1"], ["s2"])
    assert clones.laid_out("s1")[NAME] == "second"
    assert (
        clones.course.home / "replaced" / "s1" / EXERCISE.name / "1" / NAME
    ).read_bytes() == b"first"


def test_a_notebook_as_it_was_handed_out_is_not_handed_in(clones):
    clones.add("s1", "ada", EXERCISE.notebook.read_bytes())
    template = collect_github.template_folder(clones.course, EXERCISE)
    template.mkdir(parents=True)
    (template / NAME).write_bytes(b"with another due date")
    clones.add("s2", "ben", b"with another due date")
    clones.add("s3", "cleo", b"work")
    done = clones.collect()
    assert done.new == ["s3"]
    assert "As it was handed out, and not collected: s1, s2." in done.notes


def test_one_repository_that_cant_be_read_keeps_no_other_from_being_collected(clones):
    clones.add("s1", "ada", b"work")
    hostile = clones.add("s2", "ben", b"x")
    (hostile.place / "objects" / "info" / "alternates").write_text("/elsewhere\n")
    done = clones.collect()
    assert done.new == ["s1"]
    assert any("s2: hw-ben.git borrows objects from elsewhere" in note for note in done.notes)


# Times --------------------------------------------------------------------------------------------


def test_without_a_list_of_pushes_the_time_is_that_of_the_fetch_and_this_is_said(clones):
    repository = clones.add("s1", "ada", b"work")
    # a commit's own date says nothing
    repository.commit(repository.tree((FILE, NAME, repository.add("blob", b"work"))), seconds=1)
    done = clones.collect()
    assert clones.laid_out("s1")["timestamp.txt"] == "2026-12-01 12:00:00 UTC\n"
    (note,) = done.notes
    assert "It is not known when GitHub received the submissions of s1" in note


def test_the_time_is_when_github_received_the_notebook_as_it_is(clones):
    repository = clones.add("s1", "ada", b"first")
    first = commit_of(repository)
    repository.hand_in(NAME, b"second")
    second = commit_of(repository)
    blob = repository.add("blob", b"second")
    readme = repository.add("blob", b"from the instructor")
    repository.commit(repository.tree((FILE, "README.md", readme), (FILE, NAME, blob)))
    clones.activity(
        "ada",
        ("2026-11-20T10:00:00Z", first),
        ("2026-11-20T13:00:00+02:00", second),
        ("2026-11-29T10:00:00Z", commit_of(repository)),
        ("2026-11-19T10:00:00Z", second, "refs/heads/other"),
    )
    done = clones.collect()
    assert clones.laid_out("s1")["timestamp.txt"] == "2026-11-20 11:00:00 UTC\n"
    assert done.notes == []


def test_a_notebook_that_was_away_counts_from_when_it_was_back(clones):
    repository = clones.add("s1", "ada", b"good")
    good = commit_of(repository)
    repository.hand_in(NAME, b"bad")
    bad = commit_of(repository)
    (repository.place / "refs" / "heads" / "main").write_text(good)
    times = [f"2026-11-2{day}T10:00:00Z" for day in range(3)]
    clones.activity("ada", *zip(times, (good, bad, good), strict=True))
    clones.collect()
    assert clones.laid_out("s1")["timestamp.txt"] == "2026-11-22 10:00:00 UTC\n"


def test_a_list_of_pushes_that_comes_later_mends_the_time_and_an_earlier_time_stays(clones):
    repository = clones.add("s1", "ada", b"work")
    clones.add("s2", "ben", b"work")
    clones.collect()
    stamp = clones.course.submitted / "s2" / EXERCISE.name / "timestamp.txt"
    stamp.write_text("2026-11-01 10:00:00 UTC\n")
    for name in ("ada", "ben"):
        clones.activity(name, ("2026-11-20T10:00:00Z", commit_of(repository)))
    done = clones.collect()
    assert done.unchanged == ["s1", "s2"] and done.notes == []
    assert clones.laid_out("s1")["timestamp.txt"] == "2026-11-20 10:00:00 UTC\n"
    assert stamp.read_text() == "2026-11-01 10:00:00 UTC\n"


def test_a_list_without_the_commit_that_was_fetched_says_nothing(clones):
    repository = clones.add("s1", "ada", b"work")
    clones.activity("ada", ("2026-11-20T10:00:00Z", commit_of(repository)))
    repository.hand_in(NAME, b"pushed after the list was fetched")
    done = clones.collect()
    assert clones.laid_out("s1")["timestamp.txt"] == "2026-12-01 12:00:00 UTC\n"
    assert "not known when GitHub received" in done.notes[0]


def test_pages_of_a_list_are_read_however_gh_joins_them(tmp_path):
    pages = [
        [{"timestamp": f"2026-11-2{day}T10:00:00Z", "ref": MAIN, "after": f"{day}" * 40}]
        for day in range(2)
    ]
    path = tmp_path / "activity.json"
    found = []
    for text in (
        "".join(map(json.dumps, pages)),
        "\n".join(map(json.dumps, pages)) + "\n",
        json.dumps(pages),
        json.dumps([entry for page in pages for entry in page]),
    ):
        path.write_text(text)
        found.append([(push.commit[0], push.time.day) for push in read_pushes(path)])
    assert found == [[("1", 21), ("0", 20)]] * 4


@pytest.mark.parametrize(
    "text",
    [
        '{"message": "Not Found"}',
        "[1]",
        "<html>",
        pytest.param(
            '[{"timestamp": "2026-11-20", "ref": "a", "after": "' + "0" * 40 + '"}]', id="a day"
        ),
        '[{"timestamp": "2026-11-20T10:00:00Z", "ref": "a", "after": "HEAD"}]',
        pytest.param("[" * 100_000, id="nested"),
    ],
)
def test_another_file_is_no_list_of_pushes(tmp_path, text):
    path = tmp_path / "activity.json"
    path.write_text(text)
    with pytest.raises(TableError, match="Fetch it again"):
        read_pushes(path)
