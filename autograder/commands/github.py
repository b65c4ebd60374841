"""Commands for classes on GitHub: the template of repositories, what students have pushed, feedback for them."""

from __future__ import annotations

import argparse
from pathlib import Path

from autograder.commands.arguments import Commands, add_gradebook, course_of, exercises_of
from autograder.commands.grading import follow_gradebook, recorded
from autograder.progress import say


def _github(arguments: argparse.Namespace) -> None:
    from autograder.publish import github

    course = course_of(arguments)
    (exercise,) = exercises_of(course, arguments)
    say(f"Template repository: {github.write(course, exercise, arguments.output)}")


def _collect(arguments: argparse.Namespace) -> None:
    from autograder.lms import collect_github

    course = course_of(arguments)
    (exercise,) = exercises_of(course, arguments)
    done = collect_github.collect(course, exercise, arguments.roster, arguments.clones)
    say(*done.notes, error=True)
    for words, students in (("unchanged", done.unchanged), ("replaced", done.replaced)):
        if students:
            say(f"{len(students)} {words}: {', '.join(students)}")
    say(f"{len(done.new)} new submissions of {exercise} in {course.submitted}")


def _return(arguments: argparse.Namespace) -> None:
    from autograder.grade.feedback import FeedbackWriter
    from autograder.lms import return_github

    course = course_of(arguments)
    recorded(course, arguments)
    (exercise,) = exercises = exercises_of(course, arguments)
    follow_gradebook(course, exercises)
    text_of = FeedbackWriter(course).markdown
    done = return_github.write(course, exercise, arguments.output, text_of, arguments.all)
    if done.without:
        say(f"{len(done.without)} without feedback: {', '.join(done.without)}")
    say(f"{len(done.unchanged)} unchanged since they were returned")
    say(f"{len(done.written)} written: {arguments.output}/REPOSITORY.md")


def add_commands(commands: Commands) -> None:
    """Add github, collect-github and return-github."""
    text = (
        "Write a template repository for GitHub: the notebook, a workflow that runs its checks after each push "
        "and says in a summary what they found, a dev container, and a README for students. Nothing in it is "
        "secret."
    )
    github = commands.add("github", _github, text, example="--exercise ch2_scaled_dot_product")
    github.add_argument("--exercise", metavar="E", required=True)
    text = "default: course/github/EXERCISE; what else lies there stays"
    github.add_argument("--output", metavar="DIR", type=Path, help=text)
    text = (
        "Lay out what students have pushed, from a folder of clones of their repositories, which are only read. A "
        "clone's name ends with the student's name on GitHub. A submission's time is when GitHub received it, if "
        "the file that `gh api` writes of a repository's activity lies beside the clone, as REPOSITORY.json; "
        "else it is when the clone was fetched, and the command says so. A submission that is there already and "
        "differs is moved to course/replaced/STUDENT/EXERCISE/1, 2, ..., and said to be."
    )
    collect = commands.add(
        "collect-github",
        _collect,
        text,
        example="roster.csv --exercise ch2_scaled_dot_product --clones clones",
    )
    text = "a CSV file with the columns id and github, the students' names there"
    collect.add_argument("roster", metavar="ROSTER", type=Path, help=text)
    collect.add_argument("--exercise", metavar="E", required=True)
    text = "folder of clones of the repositories of this exercise"
    collect.add_argument("--clones", metavar="DIR", type=Path, required=True, help=text)
    text = "folder to lay out in (default: course/submitted)"
    collect.add_argument("--submitted", metavar="DIR", type=Path, help=text)
    text = (
        "Write the feedback of one exercise as Markdown, REPOSITORY.md for each repository that was collected: "
        "what is new since the last time. It can be posted as an issue."
    )
    back = commands.add(
        "return-github",
        _return,
        text,
        example="--exercise ch2_scaled_dot_product --output feedback",
    )
    back.add_argument("--exercise", metavar="E", required=True)
    back.add_argument("--output", metavar="DIR", type=Path, required=True, help="a new folder")
    back.add_argument("--all", action="store_true", help="also what was returned before")
    add_gradebook(back)
