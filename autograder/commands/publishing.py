"""Commands that build and show the book, pack releases, open JupyterLab, and make a whole course at once."""

from __future__ import annotations

import argparse
import subprocess
import sys

from autograder.commands.arguments import Commands, course_of, exercises_of
from autograder.commands.grading import agree
from autograder.course import Course
from autograder.errors import BookError


def _build_book(course: Course, clean: bool = False, for_class: bool = False) -> bool:
    """Build the book and the graded class in it; returns False when both were up to date."""
    from autograder.audit import sample_pages
    from autograder.publish import book

    built = book.build(course, clean, for_class, lambda: sample_pages.grade(course, for_class))
    return sample_pages.add(course, for_class) or built


def _book(arguments: argparse.Namespace) -> None:
    print("Building the book: every cell is executed, which takes some minutes the first time.")
    course = course_of(arguments)
    _print_stale(course)
    built = _build_book(course, arguments.clean, arguments.for_class)
    print("Built _build/html." if built else "The book is up to date.")


def _paste_test(arguments: argparse.Namespace) -> None:
    from autograder.publish.page_source import read_page
    from autograder.publish.visible_code import run_pasted

    course = course_of(arguments)
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


def _experiments(arguments: argparse.Namespace) -> None:
    from autograder.publish import experiments

    course = course_of(arguments)
    pages = experiments.stored_pages(course.root)
    if unknown := set(arguments.page) - {page.path.stem for page in pages}:
        raise BookError(f"No page with stored results is called {', '.join(sorted(unknown))}.")
    differ = False
    for page in pages:
        name = page.path.stem
        if arguments.page and name not in arguments.page:
            continue
        if not arguments.compare:
            n_results = len(experiments.write(page))
            print(f"{name}: {n_results} in {page.file.relative_to(course.root)}", flush=True)
            continue
        try:
            found = experiments.compare(page)
        except BookError as error:
            found = [str(error)]
        print(f"{name}: {' '.join(found) or 'the same'}", flush=True)
        differ = differ or bool(found)
    if differ:
        sys.exit(1)


def _print_stale(course: Course) -> None:
    from autograder.publish.experiments import stale

    for line in stale(course.root):
        print(f"{line} Run `python -m autograder experiments`, or the book computes it each time.")


def _release(arguments: argparse.Namespace) -> None:
    from autograder.publish import release

    course = course_of(arguments)
    release.refuse_another_course(course)
    _build_book(course, for_class=arguments.for_class)
    made = release.make(course, for_class=arguments.for_class)
    print(f"Release: {made.relative_to(course.root)}")
    print(f"For instructors: {release.make_for_instructors(course).relative_to(course.root)}")


def _serve(arguments: argparse.Namespace) -> None:
    pages = course_of(arguments).built_book
    if not (pages / "index.html").exists():
        raise BookError("The book has not been built yet: run `make book` first.")
    print(f"The book: http://127.0.0.1:{arguments.port}/  (stop with Ctrl-C)")
    command = [sys.executable, "-m", "http.server", str(arguments.port), "--bind", "127.0.0.1"]
    subprocess.run([*command, "--directory", str(pages)], check=False)


def _lab(arguments: argparse.Namespace) -> None:
    from autograder import lab

    course = course_of(arguments)
    new = lab.copy_missing(course)
    page = lab.overview_page(course)
    print(f"Notebooks   {page.parent} ({len(new)} new, nothing of yours overwritten)")
    if lab.write_overview(course):
        print(f"Your points {page.name}")
    else:
        print(
            f"{page} holds something of your own: rename it to get the page with your points again."
        )
    sys.exit(lab.open_jupyterlab(page))


def _everything(arguments: argparse.Namespace) -> None:
    from autograder.audit import sample_class
    from autograder.build.generate import build, write_missing_sources
    from autograder.grade.feedback import write_feedback
    from autograder.grade.grade_class import grade_class
    from autograder.report import pages

    course = course_of(arguments)
    exercises = exercises_of(course, arguments)
    print(f"1/4  Exercises from the reference solutions ({len(exercises)})")
    built = build(course, [*exercises, *course.ungraded()])
    write_missing_sources(course, exercises)
    print("     built: " + (", ".join(map(str, built)) or "nothing new"))
    print("2/4  A sample class, graded")
    sample_class.make(course, exercises)
    results = grade_class(course, exercises)
    agree(course, exercises, results)
    print("3/4  Feedback and summary")
    write_feedback(course, results)
    summary = pages.write(course, results)
    print("4/4  The book, every cell executed (some minutes the first time)")
    _print_stale(course)
    _build_book(course)
    pages.print_scores(results)
    print("Book        _build/html/index.html   (make serve)")
    print("Exercises   exercises/               (make lab)")
    print(f"Feedback    {course.feedback}/STUDENT/EXERCISE/EXERCISE.html")
    print(f"Summary     {summary}")


def add_commands(commands: Commands) -> None:
    """Add book, experiments, paste-test, release, serve, lab and course."""
    book = commands.add("book", _book, "Build the book into _build/html.")
    book.add_argument("--clean", action="store_true", help="forget executed cells first")
    for_class = "leave out the folds that show one way to write what the exercises ask for"
    book.add_argument("--for-class", action="store_true", help=for_class)
    text = (
        "Execute pages and store the results of their experiments in book/results/, so that the book is built "
        "without computing them."
    )
    experiments = commands.add("experiments", _experiments, text)
    experiments.add_argument("page", nargs="*", help="such as ch1_name (default: all)")
    text = "write nothing: compute the results anew, and fail where the stored ones are others"
    experiments.add_argument("--compare", action="store_true", help=text)
    text = (
        "Run the visible code of pages without their hidden cells, as a reader would who pastes it into a "
        "fresh notebook."
    )
    paste_test = commands.add("paste-test", _paste_test, text)
    paste_test.add_argument("page", nargs="*", help="such as ch1_name (default: all)")
    text = (
        "Pack the built book and the exercises into one zip, to read without a network, and whole solutions "
        "and answers to the concept tests into another one, for instructors."
    )
    release = commands.add("release", _release, text)
    release.add_argument("--for-class", action="store_true", help=for_class)
    serve = commands.add("serve", _serve, "Serve the built book on 127.0.0.1.")
    serve.add_argument("--port", type=int, default=8000, help="default: 8000")
    text = "Copy missing exercises into work/ and open JupyterLab on a page over all of them."
    commands.add("lab", _lab, text)
    commands.add("course", _everything, "All of it: exercises, a graded sample class, the book.")
