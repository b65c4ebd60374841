"""The course's command line: python -m autograder.

Every command works on the course that the working directory lies in. What a command needs is imported
when it runs: torch and nbgrader take seconds.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.course import Course, Exercise
from autograder.errors import BookError, CourseError, GradebookError, writing
from autograder.instructor_settings import Limits
from autograder.text import plain_text

if TYPE_CHECKING:
    from autograder.grade.result import Result

EXPORT_FORMATS = ("nbgrader", "csv", "canvas", "moodle")


def _course(arguments: argparse.Namespace) -> Course:
    """The course of the working directory, with the folders and the database that were given."""
    given = vars(arguments)
    return dataclasses.replace(
        Course.find(), submissions=given.get("submitted"), database=given.get("db")
    )


def _exercises(course: Course, arguments: argparse.Namespace) -> list[Exercise]:
    chosen = getattr(arguments, "exercise", None)
    found = [course.exercise(chosen)] if chosen else course.exercises()
    if not found:
        raise CourseError(
            f"{course.root / 'solutions'} has no exercises: a reference solution is a file like "
            "ch1_name.py there (see CONTRIBUTING.md)."
        )
    return found


def _build(arguments: argparse.Namespace) -> None:
    from autograder.build.generate import build, held_back_file

    course = _course(arguments)
    exercises = _exercises(course, arguments)
    built = build(course, exercises, force=arguments.force, hold_back=arguments.hold_back)
    for exercise in built:
        print(f"Built {exercise.notebook.relative_to(course.root)}")
    files = [held_back_file(course, exercise) for exercise in exercises]
    for path in filter(Path.exists, files if arguments.hold_back else []):
        print(f"Held back, to give out after the deadline: {path}")
    if not built:
        print("The exercises are up to date.")


def _sample(arguments: argparse.Namespace) -> None:
    from autograder.audit import sample_class

    course = _course(arguments)
    if sample_class.make(course, _exercises(course, arguments)):
        print(f"The sample class lies in {course.submitted}.")
    else:
        print(f"No sample class: submissions of a real class lie in {course.submitted}.")


def _grade(arguments: argparse.Namespace) -> None:
    from autograder.build.generate import write_missing_sources
    from autograder.grade.grade_class import WorkerOptions, grade_class, recorded_results
    from autograder.grade.trial import regrade

    course = _course(arguments)
    exercises = _exercises(course, arguments)
    if arguments.json:
        # refuse a file that can't be written before hours of grading, not after them
        with writing(arguments.json), arguments.json.open("a"):
            pass
    write_missing_sources(course, exercises)
    options = WorkerOptions(arguments.workers, arguments.scheduler, arguments.require_sandbox)
    if arguments.changed:
        regrade(course, exercises, options, arguments.yes)
        results = recorded_results(course, exercises)
    else:
        results = grade_class(course, exercises, arguments.rerelease, arguments.new_seed, options)
    if arguments.json:
        data = [json.loads(result.to_json()) for result in results]
        with writing(arguments.json):
            arguments.json.write_text(json.dumps(data, indent=1), encoding="utf-8")
    if not results:
        print(
            f"No submissions: they belong into {course.submitted}/STUDENT/EXERCISE/EXERCISE.ipynb."
        )
        return
    if arguments.feedback:
        _write_feedback(course, results)
    _write_report(course, results)


def _write_feedback(course: Course, results: Sequence[Result]) -> None:
    from autograder.grade.feedback import write_feedback

    written = write_feedback(course, results)
    pages = f"{course.feedback}/STUDENT/EXERCISE/EXERCISE.html"
    print(f"Feedback for students: {pages} ({written} of {len(results)} written, others unchanged)")


def _write_report(course: Course, results: Sequence[Result]) -> None:
    from autograder.report import pages

    summary = pages.write(course, results)
    pages.print_scores(results)
    print(f"Class summary: {summary}")


def _recorded(course: Course, arguments: argparse.Namespace) -> list[Result]:
    from autograder.grade.grade_class import recorded_results

    results = recorded_results(course, _exercises(course, arguments))
    if not results:
        raise GradebookError("Nothing has been graded yet: run `python -m autograder grade` first.")
    return results


def _feedback(arguments: argparse.Namespace) -> None:
    course = _course(arguments)
    _write_feedback(course, _recorded(course, arguments))


def _report(arguments: argparse.Namespace) -> None:
    course = _course(arguments)
    _write_report(course, _recorded(course, arguments))


def _export(arguments: argparse.Namespace) -> None:
    from autograder.lms import export

    course = _course(arguments)
    told = export.write(
        course,
        _exercises(course, arguments),
        arguments.format,
        arguments.output,
        arguments.roster,
        arguments.without_names,
    )
    print("\n".join(told), file=sys.stderr, end="\n" if told else "")
    print(f"Grades: {arguments.output}")


def _import_zip(arguments: argparse.Namespace) -> None:
    from autograder.lms import import_zip

    course = _course(arguments)
    (exercise,) = _exercises(course, arguments)
    done = import_zip.import_zip(course, arguments.zip, exercise)
    print("\n".join(done.told), file=sys.stderr, end="\n" if done.told else "")
    for words, students in (("unchanged", done.unchanged), ("replaced", done.replaced)):
        if students:
            print(f"{len(students)} {words}: {', '.join(students)}")
    print(f"{len(done.new)} new submissions of {exercise} in {course.submitted}")


def _audit(arguments: argparse.Namespace) -> None:
    from autograder.audit import audit

    course = _course(arguments)
    findings = audit.run(course, _exercises(course, arguments), arguments.extra)
    if arguments.json:
        print(audit.to_json(findings))
    else:
        audit.print_table(findings)
    if not audit.is_clean(findings):
        sys.exit(1)


def _book(arguments: argparse.Namespace) -> None:
    from autograder.publish import book

    print("Building the book: every cell is executed, which takes some minutes the first time.")
    built = book.build(_course(arguments), clean=arguments.clean)
    print("Built _build/html." if built else "The book is up to date.")


def _paste_test(arguments: argparse.Namespace) -> None:
    from autograder.publish.page_source import read_page
    from autograder.publish.visible_code import run_pasted

    course = _course(arguments)
    pages = [page for page in sorted(course.book.glob("*.md")) if read_page(page).cells]
    if unknown := set(arguments.page) - {page.stem for page in pages}:
        raise BookError(f"There is no page with code called {', '.join(sorted(unknown))}.")
    failed = False
    for page in pages:
        if not arguments.page or page.stem in arguments.page:
            stopped = run_pasted(course.root, page)
            print(f"{page.stem}: {stopped or 'runs'}", flush=True)
            failed = failed or stopped is not None
    if failed:
        sys.exit(1)


def _release(arguments: argparse.Namespace) -> None:
    from autograder.publish import book, release

    course = _course(arguments)
    book.build(course)
    print(f"Release: {release.make(course).relative_to(course.root)}")
    print(f"For instructors: {release.make_for_instructors(course).relative_to(course.root)}")


def _serve(arguments: argparse.Namespace) -> None:
    pages = _course(arguments).built_book
    if not (pages / "index.html").exists():
        raise BookError("The book has not been built yet: run `make book` first.")
    print(f"The book: http://127.0.0.1:{arguments.port}/  (stop with Ctrl-C)")
    command = [sys.executable, "-m", "http.server", str(arguments.port), "--bind", "127.0.0.1"]
    subprocess.run([*command, "--directory", str(pages)], check=False)


def _lab(arguments: argparse.Namespace) -> None:
    from autograder import lab

    course = _course(arguments)
    for exercise in lab.copy_missing(course):
        print(f"New in work/: {exercise}")
    page = lab.overview_page(course)
    if not lab.write_overview(course):
        print(
            f"{page} holds something of your own and is left as it is. Rename it to get the page with your "
            "points again."
        )
    if not arguments.copy_only:
        opened = f"--LabApp.default_url=/lab/tree/{page.name}"
        command = [sys.executable, "-m", "jupyterlab", str(page.parent), opened]
        subprocess.run(command, cwd=page.parent, check=False)


def _everything(arguments: argparse.Namespace) -> None:
    from autograder.audit import sample_class
    from autograder.build.generate import build, write_missing_sources
    from autograder.grade.feedback import write_feedback
    from autograder.grade.grade_class import grade_class
    from autograder.publish import book
    from autograder.report import pages

    course = _course(arguments)
    exercises = _exercises(course, arguments)
    print(f"1/4  Exercises from the reference solutions ({len(exercises)})")
    built = build(course, exercises)
    write_missing_sources(course, exercises)
    print("     built: " + (", ".join(map(str, built)) or "nothing new"))
    print("2/4  A sample class, graded")
    sample_class.make(course, exercises)
    results = grade_class(course, exercises)
    print("3/4  Feedback and summary")
    write_feedback(course, results)
    summary = pages.write(course, results)
    print("4/4  The book, every cell executed (some minutes the first time)")
    book.build(course)
    pages.print_scores(results)
    print("Book        _build/html/index.html   (make serve)")
    print("Exercises   exercises/               (make lab)")
    print(f"Feedback    {course.feedback}/STUDENT/EXERCISE/EXERCISE.html")
    print(f"Summary     {summary}")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


def _limits() -> str:
    """The limits of a submission and their defaults, for the help text."""
    shown = [
        f"{field.name} {field.default:g}"
        for field in dataclasses.fields(Limits)
        if field.name != "sandbox"
    ]
    return (
        "What a submission may use is set in nbgrader_config.py as c.Grader.NAME; the defaults are "
        f"{', '.join(shown)}. c.Grader.python, weights, allowed and packages stand there, too."
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m autograder",
        description="Turns the course's reference solutions into exercises, and submissions into grades.",
        epilog="Submissions lie in course/submitted/STUDENT/EXERCISE/EXERCISE.ipynb; all that a run "
        "writes lies in course/.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(
        name: str, run: Callable[[argparse.Namespace], None], text: str, epilog: str = ""
    ) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text, epilog=epilog)
        added.set_defaults(run=run)
        return added

    def one_exercise(added: argparse.ArgumentParser) -> None:
        added.add_argument("--exercise", metavar="E", help="only this exercise")

    def folder_of_submissions(added: argparse.ArgumentParser) -> None:
        one_exercise(added)
        text = "folder of submissions (default: course/submitted)"
        added.add_argument("--submitted", metavar="DIR", type=Path, help=text)

    def graded_class(added: argparse.ArgumentParser) -> None:
        folder_of_submissions(added)
        gradebook(added)

    def gradebook(added: argparse.ArgumentParser) -> None:
        text = (
            "the gradebook's database, like postgresql://user@host/name (default: c.CourseDirectory.db_url "
            "of nbgrader_config.py, which is course/gradebook.db unless you change it)"
        )
        added.add_argument("--db", metavar="URL", help=text)

    build = command("build", _build, "Generate exercises/ from solutions/, after checking both.")
    one_exercise(build)
    build.add_argument("--force", action="store_true", help="even if nothing has changed")
    text = (
        "leave what earlier exercises built out of the notebooks; course/built_so_far/EXERCISE/ has it as a "
        "file, to give out after their deadline (default: as they were built last)"
    )
    build.add_argument("--hold-back", action=argparse.BooleanOptionalAction, help=text)
    folder_of_submissions(command("sample", _sample, "Make the sample class of submissions."))
    text = "Grade every submission whose grade is not current; write reports and print the scores."
    grade = command("grade", _grade, text, _limits())
    graded_class(grade)
    text = "also write the feedback pages that are out of date"
    grade.add_argument("--feedback", action="store_true", help=text)
    grade.add_argument("--json", metavar="FILE", type=Path, help="also write every line's verdict")
    text = "draw a new secret seed and grade everybody again"
    grade.add_argument("--new-seed", action="store_true", help=text)
    text = "the exercise has changed since it was handed out: grade everybody by the new one"
    grade.add_argument("--rerelease", action="store_true", help=text)
    text = "show who would gain or lose what, then ask before anything is written"
    grade.add_argument("--changed", action="store_true", help=text)
    grade.add_argument("--yes", action="store_true", help="with --changed: do not ask, write")
    text = "submissions to examine at a time (default: one a core)"
    grade.add_argument("--workers", metavar="N", type=_positive, help=text)
    text = "examine on a Dask cluster, like tcp://host:8786, instead of here"
    grade.add_argument("--scheduler", metavar="ADDRESS", help=text)
    text = "refuse to run submissions where the system offers no sandbox"
    grade.add_argument("--require-sandbox", action="store_true", help=text)
    text = "Write the feedback pages that are out of date."
    graded_class(command("feedback", _feedback, text))
    text = "Write the class summary and each exercise's report (HTML and CSV)."
    graded_class(command("report", _report, text))
    text = (
        "Write the grades as a file. canvas and moodle import theirs as it is; nbgrader is what `nbgrader "
        "export` writes, csv has one row per student. Scores are the gradebook's: with points given by "
        "hand, late penalties taken off, and 0 for who is in it and has handed in nothing."
    )
    export = command("export", _export, text)
    one_exercise(export)
    gradebook(export)
    export.add_argument("--format", choices=EXPORT_FORMATS, default="csv", help="default: csv")
    export.add_argument("--output", metavar="FILE", type=Path, required=True)
    text = (
        "the gradebook as exported by Canvas, or grades as exported by Moodle, for ids and columns"
    )
    export.add_argument("--roster", metavar="FILE", type=Path, help=text)
    text = "under pseudonyms, which only the key in course/pseudonyms.key can trace back"
    export.add_argument("--without-names", action="store_true", help=text)
    text = (
        "Lay out a class's zip as downloaded from Canvas or Moodle: one notebook per student, the one of "
        "the exercise's name or else the newest. A student is found in the gradebook's roster by "
        "lms_user_id or name; else the id is made of the name. A submission that is there already and "
        "differs is moved to course/replaced/STUDENT/EXERCISE/1, 2, ..., and said to be."
    )
    import_zip = command("import-zip", _import_zip, text)
    import_zip.add_argument("zip", metavar="FILE", type=Path)
    import_zip.add_argument("--exercise", metavar="E", required=True)
    text = "folder to lay out in (default: course/submitted)"
    import_zip.add_argument("--submitted", metavar="DIR", type=Path, help=text)
    gradebook(import_zip)
    text = "Grade every known mistake, alternative and attack; fail on a surprise."
    audit = command("audit", _audit, text)
    one_exercise(audit)
    text = "folder of further submissions to grade, EXERCISE/NAME.ipynb"
    audit.add_argument("--extra", metavar="DIR", type=Path, help=text)
    audit.add_argument("--json", action="store_true", help="print the result as JSON")
    book = command("book", _book, "Build the book into _build/html.")
    book.add_argument("--clean", action="store_true", help="forget executed cells first")
    text = (
        "Run the visible code of pages without their hidden cells, as a reader would who pastes it into a "
        "fresh notebook."
    )
    paste_test = command("paste-test", _paste_test, text)
    paste_test.add_argument("page", nargs="*", help="such as ch1_name (default: all)")
    text = (
        "Pack the built book and the exercises into one zip, to read without a network, and whole solutions "
        "and answers to the concept tests into another one, for instructors."
    )
    command("release", _release, text)
    serve = command("serve", _serve, "Serve the built book on 127.0.0.1.")
    serve.add_argument("--port", type=int, default=8000, help="default: 8000")
    lab = command(
        "lab",
        _lab,
        "Copy missing exercises into work/ and open JupyterLab on a page over all of them.",
    )
    lab.add_argument("--copy-only", action="store_true", help="do not open JupyterLab")
    command("course", _everything, "All of it: exercises, a graded sample class, the book.")
    return parser


def main(words: Sequence[str] | None = None) -> None:
    """Run one command, by default the process's; an error ends with its message and exit status 2."""
    arguments = _parser().parse_args(words)
    try:
        arguments.run(arguments)
    except CourseError as error:
        print(f"Error: {plain_text(str(error))}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print(
            "Stopped. What was recorded is kept; run the command again to go on.", file=sys.stderr
        )
        sys.exit(130)


if __name__ == "__main__":
    main()
