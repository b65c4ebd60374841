"""A graded class in the built book: its summary, a report and feedback pages, for teachers to look at.

It is the sample class in the first exercise, graded in a folder of its own in `_build`; only its pages are taken.
"""

from __future__ import annotations

import json
import shutil

from autograder.audit import sample_class
from autograder.book_index import book_sections, book_url, is_for_class
from autograder.course import Course
from autograder.files import digest_of, digest_of_files, write_whole
from autograder.instructor_settings import CONFIG
from autograder.package import PACKAGE

FOLDER = "sample_class"
# what leads to it; a course of one's own has no such page
LINKING = "teachers.md"
PAGES = ("summary.*", "reports/ch*", "lecture/*", "feedback/*/*/*.html")


def add(course: Course, for_class: bool = False) -> bool:
    """Put the class's pages into the built book; returns False when they are there as they would be made now.

    Raises OutputError when a page can't be written.
    """
    graded, shown = course.built_book.parent / FOLDER, course.built_book / FOLDER
    if not grade(course, for_class) and (shown.is_dir() or not graded.is_dir()):
        return False
    shutil.rmtree(shown, ignore_errors=True)
    for path in (path for pattern in PAGES for path in graded.glob(pattern)):
        # links into the book lead from where the class was graded
        text = path.read_text(encoding="utf-8").replace("../../html/", "../../")
        write_whole(shown / path.relative_to(graded), text)
    return True


def grade(course: Course, for_class: bool = False) -> bool:
    """Grade the class unless what that depends on is as before; returns whether it did. Raises what grading raises.

    for_class: leave out the code of the answers, which some students have from the reference.
    """
    if not (course.book / LINKING).is_file():
        return False
    exercise = course.exercises()[0]
    files = [*PACKAGE.rglob("*.*"), course.root / CONFIG]
    files += [exercise.solution, exercise.catalogue, exercise.checks, exercise.notebook]
    sections, for_class = book_sections(course.root), for_class or is_for_class()
    digest = digest_of([digest_of_files(files, course.root), sections, for_class, book_url()])
    folder = course.built_book.parent / FOLDER
    stamp = folder / "stamp"
    if stamp.is_file() and stamp.read_text() == digest:
        return False
    from autograder.grade.feedback import write_feedback
    from autograder.grade.grade_class import grade_class
    from autograder.report import pages

    shutil.rmtree(folder, ignore_errors=True)
    own = Course(course.root, class_folder=folder, submissions=folder / "submitted")
    sample_class.make(own, [exercise])
    results = grade_class(own, [exercise])
    for path in own.autograded.glob("*/*/*.ipynb") if for_class else ():
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for cell in (cell for cell in notebook["cells"] if cell["cell_type"] == "code"):
            cell |= {"source": "", "outputs": []}
        write_whole(path, json.dumps(notebook))
    write_feedback(own, results)
    pages.write(own, results)
    write_whole(stamp, digest)
    return True
