"""The course's command line: python -m autograder."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.catalogue import ROOT, exercise_names
from autograder.errors import BookError, CatalogueError, CourseError, GradebookError, writing

if TYPE_CHECKING:
    from autograder.grade.grade_class import Course


def _exercises(arguments: argparse.Namespace) -> list[str]:
    names = exercise_names()
    chosen = getattr(arguments, "exercise", None)
    if chosen and chosen not in names:
        raise CatalogueError(f"There is no exercise {chosen!r}. Known: {', '.join(names)}.")
    return [chosen] if chosen else names


def _build(arguments: argparse.Namespace) -> None:
    from autograder.build import generate

    built = generate.build(_exercises(arguments), force=arguments.force)
    for name in built:
        print(f"Built exercises/{name}/{name}.ipynb")
    if not built:
        print("The exercises are up to date.")


def _sample(arguments: argparse.Namespace) -> None:
    from autograder.audit import sample_class

    course = _course(arguments)
    if sample_class.make(_exercises(arguments), course.submitted):
        print(f"The sample class lies in {course.submitted}.")
    else:
        print(f"No sample class: submissions of a real class lie in {course.submitted}.")


def _course(arguments: argparse.Namespace) -> Course:
    from autograder.grade.grade_class import Course

    return Course(getattr(arguments, "submitted", None), db=getattr(arguments, "db", None))


def _grade(arguments: argparse.Namespace) -> None:
    from autograder.grade.lock import only_grader

    course = _course(arguments)
    with only_grader(course.home):
        _grade_alone(arguments, course)


def _grade_alone(arguments: argparse.Namespace, course: Course) -> None:
    """Grade, as the only process that writes this course's grades."""
    from autograder.build import generate
    from autograder.grade import grade_class, trial
    from autograder.report import pages

    generate.write_missing_sources(_exercises(arguments))
    if arguments.json:
        # before hours of grading, not after them
        with writing(arguments.json), arguments.json.open("a"):
            pass
    means = grade_class.Means(arguments.workers, arguments.scheduler, arguments.require_sandbox)
    if arguments.changed:
        trial.regrade(course, _exercises(arguments), means, arguments.yes)
        _, results = _results(arguments)
    else:
        results = grade_class.grade_class(
            course, _exercises(arguments), arguments.rerelease, arguments.new_seed, means
        )
    if arguments.json:
        with writing(arguments.json):
            arguments.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    if not results:
        print(
            f"No submissions: they belong into {course.submitted}/STUDENT/EXERCISE/EXERCISE.ipynb."
        )
        return
    pages.write(results, course.home)
    pages.print_scores(results)


def _results(arguments: argparse.Namespace) -> tuple:
    course = _course(arguments)
    return course, [
        course.result(student, exercise)
        for exercise in _exercises(arguments)
        for student in course.students(exercise)
        if course.graded_notebook(student, exercise).exists()
    ]


def _feedback(arguments: argparse.Namespace) -> None:
    from autograder.grade import grade_class

    course, results = _results(arguments)
    grade_class.write_feedback(course, results)
    page = course.folder("feedback", "STUDENT", "EXERCISE") / "EXERCISE.html"
    print(f"Feedback for students: {page}")


def _report(arguments: argparse.Namespace) -> None:
    from autograder.report import pages

    course, results = _results(arguments)
    if not results:
        raise GradebookError("Nothing has been graded yet: run `python -m autograder grade` first.")
    print(f"Class summary: {pages.write(results, course.home)}")


def _export(arguments: argparse.Namespace) -> None:
    from autograder.lms import export

    course = _course(arguments)
    told = export.write(
        course.home,
        course.db_url,
        _exercises(arguments),
        arguments.format,
        arguments.output,
        arguments.roster,
        arguments.without_names,
    )
    print("\n".join(told), file=sys.stderr, end="\n" if told else "")
    print(f"Grades: {arguments.output}")


def _import_zip(arguments: argparse.Namespace) -> None:
    from autograder.lms import import_zip

    (exercise,) = _exercises(arguments)
    course = _course(arguments)
    where = (course.home, course.submitted, course.db_url)
    done = import_zip.import_zip(arguments.zip, exercise, *where)
    print("\n".join(done.told), file=sys.stderr, end="\n" if done.told else "")
    for words, students in (("unchanged", done.unchanged), ("replaced", done.replaced)):
        if students:
            print(f"{len(students)} {words}: {', '.join(students)}")
    print(f"{len(done.new)} new submissions of {exercise} in {course.submitted}")


def _audit(arguments: argparse.Namespace) -> None:
    from autograder.audit import run

    found = run.run(_exercises(arguments), arguments.extra)
    if arguments.json:
        print(json.dumps(found, indent=1))
    else:
        run.print_table(found)
    if not run.is_clean(found):
        sys.exit(1)


def _book(arguments: argparse.Namespace) -> None:
    from autograder.publish import book

    print("Building the book: every cell is executed, which takes some minutes the first time.")
    built = book.build(clean=arguments.clean)
    print("Built _build/html." if built else "The book is up to date.")


def _release(arguments: argparse.Namespace) -> None:
    from autograder.publish import book, release

    book.build()
    print(f"Release: {release.make().relative_to(ROOT)}")


def _serve(arguments: argparse.Namespace) -> None:
    from autograder.publish.book import HTML

    if not (HTML / "index.html").exists():
        raise BookError("The book has not been built yet: run `make book` first.")
    print(f"The book: http://127.0.0.1:{arguments.port}/  (stop with Ctrl-C)")
    command = [sys.executable, "-m", "http.server", str(arguments.port), "--bind", "127.0.0.1"]
    subprocess.run([*command, "--directory", str(HTML)], check=False)


def _lab(arguments: argparse.Namespace) -> None:
    work = ROOT / "work"
    for name in exercise_names():
        target = work / name / f"{name}.ipynb"
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / "exercises" / name / f"{name}.ipynb", target)
            print(f"New in work/: {name}")
    if not arguments.copy_only:
        subprocess.run([sys.executable, "-m", "jupyterlab", str(work)], cwd=work, check=False)


def _everything(arguments: argparse.Namespace) -> None:
    from autograder.audit import sample_class
    from autograder.build import generate
    from autograder.grade import grade_class
    from autograder.grade.lock import only_grader
    from autograder.publish import book
    from autograder.report import pages

    names = exercise_names()
    print("1/4  Exercises from the reference solutions")
    print("     built: " + (", ".join(generate.build(names)) or "nothing new"))
    print("2/4  A sample class, graded")
    course = grade_class.Course()
    sample_class.make(names, course.submitted)
    with only_grader(course.home):
        results = grade_class.grade_class(course, names)
    print("3/4  Feedback and summary")
    grade_class.write_feedback(course, results)
    summary = pages.write(results, course.home)
    print("4/4  The book, every cell executed (some minutes the first time)")
    book.build()
    pages.print_scores(results)
    print("Book        _build/html/index.html   (make serve)")
    print("Exercises   exercises/               (make lab)")
    print("Feedback    course/feedback/STUDENT/EXERCISE/EXERCISE.html")
    print(f"Summary     {summary.relative_to(ROOT)}")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m autograder",
        description="Turns the course's reference solutions into exercises, and submissions into grades.",
        epilog="Submissions lie in course/submitted/STUDENT/EXERCISE/EXERCISE.ipynb; all that a run "
        "writes lies in course/.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, run, text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text)
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
    folder_of_submissions(command("sample", _sample, "Make the sample class of submissions."))
    grade = command("grade", _grade, "Grade what has not been graded yet, and print the scores.")
    graded_class(grade)
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
    text = "refuse to run submissions where the system cannot shut them in"
    grade.add_argument("--require-sandbox", action="store_true", help=text)
    graded_class(command("feedback", _feedback, "Write each student's feedback page."))
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
    formats = ("nbgrader", "csv", "canvas", "moodle")
    export.add_argument("--format", choices=formats, default="csv", help="default: csv")
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
    intake = command("import-zip", _import_zip, text)
    intake.add_argument("zip", metavar="FILE", type=Path)
    intake.add_argument("--exercise", metavar="E", required=True)
    text = "folder to lay out in (default: course/submitted)"
    intake.add_argument("--submitted", metavar="DIR", type=Path, help=text)
    gradebook(intake)
    audit = command(
        "audit", _audit, "Grade every known mistake and alternative; fail on a surprise."
    )
    one_exercise(audit)
    text = "folder of further submissions to grade, EXERCISE/NAME.ipynb"
    audit.add_argument("--extra", metavar="DIR", type=Path, help=text)
    audit.add_argument("--json", action="store_true", help="print the result as JSON")
    book = command("book", _book, "Build the book into _build/html.")
    book.add_argument("--clean", action="store_true", help="forget executed cells first")
    text = "Pack the built book and the exercises into one zip, to read without a network."
    command("release", _release, text)
    serve = command("serve", _serve, "Serve the built book on 127.0.0.1.")
    serve.add_argument("--port", type=int, default=8000, help="default: 8000")
    lab = command("lab", _lab, "Copy missing exercises into work/ and open JupyterLab there.")
    lab.add_argument("--copy-only", action="store_true", help="do not open JupyterLab")
    command("course", _everything, "All of it: exercises, a graded sample class, the book.")
    return parser


def main(words: Sequence[str] | None = None) -> None:
    """Run one command, by default the process's; an error ends with its message and exit status 2."""
    arguments = _parser().parse_args(words)
    try:
        arguments.run(arguments)
    except CourseError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print(
            "Stopped. What was recorded is kept; run the command again to go on.", file=sys.stderr
        )
        sys.exit(130)


if __name__ == "__main__":
    main()
