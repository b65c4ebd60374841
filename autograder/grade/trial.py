"""After a fix to a check: who gains and who loses what, before anything is written."""

from __future__ import annotations

from collections.abc import Sequence

from autograder.course import Course, Exercise
from autograder.grade import resubmissions
from autograder.grade.changes import Change, show, show_renamed
from autograder.grade.examine import Graded
from autograder.grade.grade_class import Grader, WorkerOptions, handed_in
from autograder.grade.gradebook import Recorder, register, stored_result
from autograder.grade.lock import only_grader
from autograder.progress import agreed


def accept(course: Course, found: Sequence[Graded]) -> None:
    """Write the new grades; what was graded by hand stays."""
    for name in sorted({graded.result.exercise for graded in found}):
        register(course, course.exercise(name), rerelease=True)
    with Recorder(course) as recorder:
        for graded in found:
            recorder.record(graded)
    resubmissions.tell(recorder.fallen)


def regrade(
    course: Course, exercises: Sequence[Exercise], options: WorkerOptions, confirmed: bool
) -> bool:
    """Show what a new grading would change, and write it if that is confirmed; returns whether it was.

    confirmed: do not ask.
    """
    with only_grader(course.home):
        grader = Grader(course)
        work = grader.stale(handed_in(course, exercises))
        found = list(grader.examine(work, options, "Grading on trial"))
        before = [stored_result(course, one.result.student, one.result.exercise) for one in found]
        changes = [Change(old, one.result) for old, one in zip(before, found, strict=True)]
        show_renamed(changes)
        show(changes, "What would change")
        if not found:
            return False
        if not (confirmed or agreed("Write these grades?")):
            print("Nothing was written.")
            return False
        accept(course, found)
    return True
