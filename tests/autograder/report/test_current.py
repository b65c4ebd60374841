"""Reports are made anew when something that they are made from has changed, and only then."""

import dataclasses
import os

from autograder.course import Course
from autograder.files import write_whole
from autograder.grade.class_grades import Grade, Student
from autograder.grade.gradebook import autograded_notebook
from autograder.report import current, pages
from autograder.report.current import STAMPS, Stamps
from tests.support.course import COURSE
from tests.support.random_class import EXERCISE, WRONG, autograded, line, random_class, result

SECOND = COURSE.exercise("ch3_multi_head")
ANSWER = "def softmax(x):\n    return x"


def class_of(folder):
    """A class with two exercises: the course and the results."""
    course = Course(COURSE.root, class_folder=folder)
    results = random_class(3)
    autograded(folder, results[0].student, {"softmax": ANSWER})
    results.append(result("ann", {"split_heads_values": [line("f()")]}, exercise=SECOND))
    return course, results


def changed(one):
    """A student's result with another line."""
    cell = one.cells[0].grade_id
    return result(one.student, {cell: [line("f0_0(x)", difference=WRONG)]})


def files(folder):
    """The files of a report by their paths, without what is kept about them."""
    paths = [*(folder / "reports").iterdir(), *(folder / "lecture").iterdir()]
    return {p.relative_to(folder).as_posix(): p for p in paths if p.name != STAMPS}


def texts(folder):
    return {name: path.read_bytes() for name, path in files(folder).items()}


def written_long_ago(folder):
    for path in files(folder).values():
        os.utime(path, (1, 1))


def made_anew(folder):
    """Which files have been written since `written_long_ago`."""
    return {name for name, path in files(folder).items() if path.stat().st_mtime != 1}


def test_only_a_change_makes_pages_anew_and_only_those_of_its_exercise(tmp_path):
    course, results = class_of(tmp_path)
    kept, for_lecture = tmp_path / "reports" / STAMPS, tmp_path / "lecture" / f"{EXERCISE}.html"

    def another_result():
        results[0] = changed(results[0])

    def page_changed_by_hand():
        text = for_lecture.read_text("utf-8")
        for_lecture.write_text(text.replace("softmax", "SOFTMAX", 1), "utf-8")

    pages.write(course, results)
    everything = files(tmp_path).keys()
    own = {f"reports/{EXERCISE}.html", f"reports/{EXERCISE}.csv", f"lecture/{EXERCISE}.html"}
    assert everything > own
    for change, expected in {
        lambda: None: set(),
        another_result: own,
        page_changed_by_hand: own,
    }.items():
        written_long_ago(tmp_path)
        change()
        pages.write(course, results)
        assert made_anew(tmp_path) == expected
    # as a class whose first report this is
    before = texts(tmp_path)
    written_long_ago(tmp_path)
    kept.write_text("[1]")
    pages.write(course, results)
    assert made_anew(tmp_path) == everything and texts(tmp_path) == before


def test_results_answers_grades_settings_and_code_count(tmp_path, monkeypatch):
    course, (first, *_) = class_of(tmp_path)
    graded = autograded_notebook(course, first.student, EXERCISE.name)
    ann = Grade(EXERCISE.name, Student("ann", "Ann", "Roe"), 5.0, 0.0, 10.0)
    seen = []

    def is_new(one=first, grade=ann):
        seen.append(Stamps(course).made_from(EXERCISE, [one], [grade]))
        return seen[-1] not in seen[:-1]

    assert is_new() and not is_new()
    assert is_new(one=changed(first))
    assert is_new(grade=dataclasses.replace(ann, student=Student("ann", "Anne", "Roe")))
    assert is_new(grade=dataclasses.replace(ann, late=True))
    graded.write_text(graded.read_text("utf-8").replace("return x", "return y"), "utf-8")
    assert is_new()
    monkeypatch.setenv("BOOK_URL", "https://book.example/")
    assert is_new()
    package = tmp_path / "package" / "report"
    package.mkdir(parents=True)
    (package / "pages.py").write_text("MAX_GROUPS = 20")
    monkeypatch.setattr(current, "PACKAGE", package.parent)
    assert is_new()
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "pages.cpython-311.pyc").write_text("compiled")
    assert not is_new()
    (package / "pages.py").write_text("MAX_GROUPS = 21")
    assert is_new()


def test_what_is_kept_may_not_be_json(tmp_path):
    course, _ = class_of(tmp_path)
    for text in ("", "[1]", '{"ch2_scaled_dot_product": 3}'):
        write_whole(tmp_path / "reports" / STAMPS, text)
        assert not Stamps(course).are_current(EXERCISE, "", [])
