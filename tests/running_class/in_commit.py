"""The steps of making the class that need the modules of its commit: `python in_commit.py STEP`.

Runs in a checkout of that commit, with its modules and not with those that stand here now; see
`python -m tests.running_class`.
"""

import datetime
import json
import shutil
import sys
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.audit.sample_class import _right_and_wrong, sample_submissions
from autograder.catalogue import mistake_answers, mistakes
from autograder.course import Course, Exercise
from autograder.exercises import is_grade_cell, metadata_of, reference_answers, released, solved
from autograder.grade.exercise_words import words_of
from autograder.grade.grade_class import Grader
from autograder.runtime.grade_cell import parse_cell

# exercises to which something special happens
DATED, AGAIN, TRAINED = "ch2_scaled_dot_product", "ch1_additive_attention", "ch7_training"
DUE = datetime.datetime(2027, 3, 1, 18)
COURSE = Course.find()


def without_checks(notebook: NotebookNode) -> NotebookNode:
    """A notebook without its own checks: most of its size, and no grader runs them."""
    for cell in notebook.cells:
        if cell.id in ("checker", "check_data"):
            cell.source = "\n".join(cell.source.split("\n")[:2])
    return notebook


def put(folder: Path, student: str, exercise: Exercise, notebook: NotebookNode) -> Path:
    """Write a submission, in place of an earlier one; returns its folder."""
    place = folder / student / exercise.name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    nbformat.write(without_checks(notebook), place / f"{exercise.name}.ipynb")
    return place


def wrong(exercise: Exercise, number: int, without: frozenset[str] = frozenset()) -> NotebookNode:
    """The solved exercise with the number-th mistake of the catalogue, and some answers left open."""
    right = reference_answers(exercise)
    made = right | mistake_answers(exercise.program(), mistakes(exercise)[number])
    return solved(exercise, {name: text for name, text in made.items() if name not in without})


def trained(exercise: Exercise) -> frozenset[str]:
    """The answers that lines on a training ask for."""
    cells = [cell for cell in released(exercise).cells if is_grade_cell(cell)]
    return frozenset(
        name
        for cell in cells
        if any(check.agreement for check in parse_cell(cell.source).checks)
        for name in cell.metadata["autotest"]["grades"]
    )


def hand_in() -> None:
    """The sample class's submissions, a damaged one, and two that train nothing; one exercise has times."""
    for exercise in COURSE.exercises():
        submissions = sample_submissions(exercise)
        if exercise.name == TRAINED:
            left = trained(exercise)
            right = reference_answers(exercise)
            answers = {name: text for name, text in right.items() if name not in left}
            submissions["mia"] = solved(exercise, answers)
            submissions["noa"] = wrong(exercise, 0, left)
        for student, notebook in submissions.items():
            place = put(COURSE.submitted, student, exercise, notebook)
            if exercise.name == DATED:
                late = datetime.timedelta(days=1 if student in ("ben", "chi") else -1)
                (place / "timestamp.txt").write_text(f"{DUE + late}.000000 UTC\n")
        path = put(COURSE.submitted, "uma", exercise, submissions["ada"]) / exercise.notebook.name
        path.write_text(path.read_text(encoding="utf-8")[:5000], encoding="utf-8")


def hand_in_again() -> None:
    """After feedback: another submission of a student, and the first one of another student."""
    exercise = COURSE.exercise(AGAIN)
    put(COURSE.submitted, "dia", exercise, solved(exercise, reference_answers(exercise)))
    put(COURSE.submitted, "pia", exercise, _right_and_wrong(exercise)["gus"])


def hand_in_late(folder: Path, student: str, exercise: Exercise, notebook: NotebookNode) -> None:
    """Keep a notebook and what it gets, in a folder; the class goes on without it."""
    submitted, kept = COURSE.submitted / student / exercise.name, folder / student / exercise.name
    put(COURSE.submitted, student, exercise, notebook)
    result = Grader(COURSE).grade(student, exercise).result
    shutil.copytree(submitted, kept)
    shutil.rmtree(submitted)
    result.write(kept / f"{exercise.name}.result.json")


def late_before_feedback(folder: Path) -> None:
    """Late work on the class's own seed: nobody has read anything about its inputs."""
    for exercise in COURSE.exercises():
        if exercise.name != AGAIN:
            hand_in_late(folder, "zoe", exercise, wrong(exercise, -1, trained(exercise)))


def late_after_feedback(folder: Path) -> None:
    """Late work on other inputs: of a student who hands in for the first time, and once more."""
    exercise = COURSE.exercise(AGAIN)
    hand_in_late(folder, "zoe", exercise, wrong(exercise, -1))
    hand_in_late(folder, "eli", exercise, wrong(exercise, 1))


def other_files(folder: Path) -> None:
    """The released notebooks; by exercise the names of mistakes, and the sections that are told."""
    (folder / "released").mkdir()
    named = {}
    for exercise in COURSE.exercises():
        path = folder / "released" / exercise.notebook.name
        nbformat.write(without_checks(released(exercise)), path)
        words = words_of(exercise)
        labels = {*words.section_of.values(), *(m.section for m in words.mistakes.values())}
        told = (words.sections[label] for label in labels if label)
        links = sorted((section.page, section.label) for section in told)
        named[exercise.name] = {"mistakes": sorted(words.mistakes), "links": links}
    (folder / "named.json").write_text(json.dumps(named, indent=1), encoding="utf-8")


def rosters(folder: Path) -> None:
    """What Canvas and Moodle export of the class, and who works together."""
    students = sorted(path.name for path in COURSE.submitted.iterdir())
    points = {
        exercise.name: sum(metadata_of(cell).get("points", 0) for cell in released(exercise).cells)
        for exercise in COURSE.exercises()
    }
    titles = [f"{name} ({number})" for number, name in enumerate(points, 101)]
    rows = [["Student", "ID", "SIS Login ID", "Section", *titles]]
    rows += [["    Points Possible", "", "", "", *points.values()]]
    rows += [[s, 1000 + number, s, "A", *[""] * len(titles)] for number, s in enumerate(students)]
    write(folder / "canvas.csv", rows)
    write(folder / "moodle.csv", [["Username"], *([student] for student in students)])
    groups = [[student, "red" if student in ("ada", "jon") else ""] for student in students]
    write(folder / "groups.csv", [["id", "group"], *groups])


def marks(folder: Path) -> None:
    """Points and comments for written answers of the exercise with times."""
    (question,) = [
        metadata_of(cell).grade_id
        for cell in released(COURSE.exercise(DATED)).cells
        if cell.cell_type == "markdown" and metadata_of(cell).get("grade")
    ]
    rows = [["ada", question, 3, "Complete."], ["ben", question, 1.5, "Why does it matter?"]]
    write(folder / "marks.csv", [["student", "question", "points", "comment"], *rows])


def write(path: Path, rows: list[list]) -> None:
    """A small CSV file, whose cells hold no commas."""
    text = "".join(",".join(map(str, row)) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")


def seeds() -> None:
    """Seeds that are the same whenever the class is made: nobody is graded by them in earnest."""
    drawn = {exercise.name: [exercise.chapter, *range(2, 9)] for exercise in COURSE.exercises()}
    COURSE.home.mkdir(exist_ok=True)
    (COURSE.home / "seeds.json").write_text(json.dumps(drawn), encoding="utf-8")


STEPS = {
    "seeds": seeds,
    "hand-in": hand_in,
    "hand-in-again": hand_in_again,
    "rosters": rosters,
    "marks": marks,
    "late-before-feedback": late_before_feedback,
    "late-after-feedback": late_after_feedback,
    "other-files": other_files,
}

if __name__ == "__main__":
    step, *folders = sys.argv[1:]
    STEPS[step](*map(Path, folders))
