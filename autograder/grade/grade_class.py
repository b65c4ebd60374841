"""Grading a class: every submission ends with a recorded result and a reason, whatever it holds."""

from __future__ import annotations

import contextlib
import dataclasses
import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from autograder.course import Course, Exercise
from autograder.errors import ResultError, SubmissionFolderError, WorkerPoolError
from autograder.grade import changes, gradebook, resubmissions
from autograder.grade.answer_key import AnswerKey
from autograder.grade.by_clock import counted, examine_fairly
from autograder.grade.examine import Graded, basis, grade_submission, refused
from autograder.grade.gradebook import Recorder, register, stored_result
from autograder.grade.lock import only_grader
from autograder.grade.make_keys import AnswerKeys
from autograder.grade.reconcile import reconcile
from autograder.grade.result import Remark, Result
from autograder.grade.seeds import class_seed, has_feedback
from autograder.grade.submission import Submission, read_submission, students
from autograder.grade.worker_pool import GradingJob, LocalPool, WorkerPool
from autograder.installing import needing
from autograder.instructor_settings import Settings
from autograder.kernels import sandbox
from autograder.kernels.student_kernel import KernelStartError
from autograder.kernels.versions import refuse_missing_packages
from autograder.progress import progress, say

StudentExercise = tuple[str, Exercise]
# those that have failed something are held back, so that mistakes are evaluated once for all of them
EXPLAINED_TOGETHER = 100


@dataclass(frozen=True)
class WorkerOptions:
    """Who examines: so many processes here (by default one a core), or a Dask cluster's workers.

    require_sandbox: refuse to run submissions that have no sandbox, also if the settings do not.
    """

    workers: int | None = None
    scheduler: str | None = None
    require_sandbox: bool = False

    def pool(
        self,
        keys: Mapping[str, AnswerKey],
        settings: Settings,
        submissions: int | None = None,
    ) -> WorkerPool:
        """The workers, ready to begin; submissions: how many there are to examine."""
        required = self.require_sandbox or settings.require_sandbox
        if self.scheduler:
            # takes a second to import, and only this needs it
            with needing("distributed", "dask", "--scheduler"):
                from autograder.grade.dask_pool import DaskPool

            return DaskPool(self.scheduler, keys, settings, required)
        if settings.limits.sandbox:
            say(sandbox.protections(settings.limits), error=True)
        else:
            sandbox.warn(sandbox.why_not(), required)
        return LocalPool(keys, settings, self.workers, submissions)


def grading_settings(course: Course) -> Settings:
    """The course's settings, with a sandbox where this machine offers one."""
    limits = dataclasses.replace(course.settings.limits, sandbox=not sandbox.why_not())
    return dataclasses.replace(course.settings, limits=limits)


def handed_in(course: Course, exercises: Sequence[Exercise]) -> list[StudentExercise]:
    """Every student with every exercise that they have handed in."""
    return [(student, exercise) for exercise in exercises for student in students(course, exercise)]


@contextlib.contextmanager
def _kernels_explained() -> Iterator[None]:
    """Turn a kernel that does not start into an error that says what to do."""
    try:
        yield
    except KernelStartError as error:
        raise WorkerPoolError(
            f"A kernel for students' code can't be started: {error}. What was recorded before is kept; "
            "correct this and run the command again to go on."
        ) from error


class Grader:
    """Grades the submissions of one class with its answer keys; complete: as for `AnswerKeys`."""

    def __init__(self, course: Course, complete: bool = False) -> None:
        self.course = course
        self.settings = grading_settings(course)
        refuse_missing_packages(self.settings)
        self._keys = AnswerKeys(course, complete)

    def key(self, exercise: Exercise) -> AnswerKey:
        """An exercise's answer key for the class, made on first use."""
        return self._keys.of_class(exercise)

    def prepare(self, exercises: Sequence[Exercise]) -> None:
        """Make the answer keys of several exercises side by side."""
        self._keys.prepare(exercises)

    def _prepare_fresh(self, work: Sequence[StudentExercise]) -> None:
        """Evaluate, a few in each process, what is expected of submissions with seeds of their own."""
        self._keys.evaluate(
            (exercise, read_submission(self.course, student, exercise))
            for student, exercise in work
            if has_feedback(self.course, exercise.name)
        )

    def read(self, student: str, exercise: Exercise) -> Submission:
        """A submission to grade; the instructor is told when this account may not read it."""
        submission = read_submission(self.course, student, exercise)
        for remark in submission.remarks:
            if remark.kind == "unreadable":
                say(
                    f"{self.course.submitted / student / exercise.name}: the notebook can't be read from "
                    f"this account ({remark.parameters['reason']}) and gets 0. Make it readable and grade "
                    "again.",
                    error=True,
                )
        return submission

    def grade(self, student: str, exercise: Exercise) -> Graded:
        """Grade one submission in this process."""
        submission = self.read(student, exercise)
        key = self._keys.of(exercise, submission)
        graded = grade_submission(submission, key, self.settings)
        return self._keys.explained([graded])[0] if graded.failed() else graded

    def _is_current(self, student: str, exercise: Exercise) -> bool:
        """Whether a submission's recorded result is what grading it now would be based on."""
        try:
            result = stored_result(self.course, student, exercise.name)
        except ResultError:
            return False
        if (
            result is None
            or not result.is_final
            or not gradebook.autograded_notebook(self.course, student, exercise.name).is_file()
        ):
            return False
        submission = read_submission(self.course, student, exercise)
        now = basis(submission, self.key(exercise), self.settings)
        digest = self._keys.digest(exercise, submission)
        return result.basis == dataclasses.replace(now, answer_key=digest)

    def stale(self, work: Sequence[StudentExercise]) -> list[StudentExercise]:
        """Those of some submissions whose recorded results are not current."""
        return [named for named in work if not self._is_current(*named)]

    def _task(self, student: str, exercise: Exercise) -> GradingJob:
        submission = self.read(student, exercise)
        key = self._keys.of(exercise, submission)
        return GradingJob(exercise.name, submission, None if key is self.key(exercise) else key)

    def examine(
        self, work: Sequence[StudentExercise], options: WorkerOptions, title: str
    ) -> Iterator[Graded]:
        """Grade submissions by a worker pool, with a progress bar; yields them as they come.

        Those that were stopped by the clock come last: each is graded once more, alone.
        """
        if not work:
            return
        needed = sorted({exercise for _, exercise in work}, key=lambda e: e.order)
        self.prepare(needed)
        keys = {exercise.name: self.key(exercise) for exercise in needed}
        self._prepare_fresh(work)
        with options.pool(keys, self.settings, len(work)) as pool, progress(title) as bar:
            shown = bar.add_task("", total=len(work))

            def given_up(task: GradingJob) -> Graded:
                key = task.own_key or keys[task.exercise]
                return refused(task.submission, key, self.settings, Remark("ended_grader"))

            def done(task: GradingJob) -> None:
                bar.update(shown, advance=1, description=str(task))

            tasks = (self._task(student, exercise) for student, exercise in work)
            failed: list[Graded] = []
            with _kernels_explained():
                for graded in examine_fairly(tasks, pool, given_up, done):
                    if not graded.failed():
                        yield graded
                        continue
                    failed.append(graded)
                    if len(failed) == EXPLAINED_TOGETHER:
                        yield from self._keys.explained(failed)
                        failed = []
            bar.update(shown, description="comparing with known mistakes" if failed else "")
            yield from self._keys.explained(failed)


def grade_class(
    course: Course,
    exercises: Sequence[Exercise] | None = None,
    rerelease: bool = False,
    new_seed: bool = False,
    options: WorkerOptions = WorkerOptions(),
) -> list[Result]:
    """Grade every submission whose result is not current; returns all results.

    Args:
        course: where submissions, gradebook and results lie.
        exercises: by default all.
        rerelease: exercises have changed; grade all submissions to these by the new ones.
        new_seed: draw other inputs and grade everybody again.
        options: who examines.

    Raises:
        CourseError: an instructor's error, found before any student is graded.
    """
    with only_grader(course.home):
        everybody = handed_in(course, exercises or course.exercises())
        used = sorted({exercise for _, exercise in everybody}, key=lambda e: e.order)
        replaced = set()
        for exercise in used:
            if register(course, exercise, rerelease):
                replaced.add(exercise)
            class_seed(course, exercise.name, new_seed)
        grader = Grader(course)
        grader.prepare(used)
        stale = set(grader.stale(everybody))
        work = [
            (student, exercise)
            for student, exercise in everybody
            if new_seed or exercise in replaced or (student, exercise) in stale
        ]
        with Recorder(course) as recorder:
            for graded in grader.examine(work, options, "Grading"):
                recorder.record(_counted(course, graded))
        _tell(recorder)
    return recorded_results(course, exercises)


def _counted(course: Course, graded: Graded) -> Graded:
    """As `counted`, with the recorded result, if there is one that can be read."""
    found = graded.result
    try:
        return counted(graded, stored_result(course, found.student, found.exercise))
    except ResultError:
        return graded


def _tell(recorder: Recorder) -> None:
    """Print whose points have changed because of other rules, and who handed in again for fewer."""
    if recorder.regraded:
        changes.show(recorder.regraded, "Graded again by other rules")
    resubmissions.tell(recorder.fallen)


def grade_named(
    course: Course, exercise: str, student: str, force: bool, create_student: bool
) -> list[Result]:
    """Grade the submissions that nbgrader's autograde names; returns the results of those graded.

    exercise, student: names, or patterns as nbgrader has them; force: also those that are current.
    Raises SubmissionFolderError when nothing is named.
    """
    exercises = [e for e in course.exercises() if fnmatch.fnmatchcase(e.name, exercise)]
    named = [
        (who, what)
        for who, what in handed_in(course, exercises)
        if fnmatch.fnmatchcase(who, student)
    ]
    if not named:
        raise SubmissionFolderError(
            f"Nothing is handed in as {course.submitted}/{student}/{exercise}."
        )
    done = []
    with only_grader(course.home):
        for used in {exercise for _, exercise in named}:
            register(course, used)
        grader = Grader(course)
        if not grader.settings.limits.sandbox:
            sandbox.warn(sandbox.why_not(), grader.settings.require_sandbox)
        work = named if force else grader.stale(named)
        with Recorder(course) as recorder, _kernels_explained():
            for who, what in work:
                graded = grader.grade(who, what)
                if not graded.result.is_final:
                    # the machine may have had too much else to do
                    graded = grader.grade(who, what)
                graded = _counted(course, graded)
                recorder.record(graded, create_student)
                done.append(graded.result)
        _tell(recorder)
    results = [stored_result(course, who, what.name) for who, what in named]
    reconcile(course, exercises, [result for result in results if result is not None])
    return done


def recorded_results(course: Course, exercises: Sequence[Exercise] | None = None) -> list[Result]:
    """The recorded results of a class; raises ResultError when one can't be read."""
    found = [
        stored_result(course, student, exercise.name)
        for student, exercise in handed_in(course, exercises or course.exercises())
    ]
    return [result for result in found if result is not None]
