"""The commands of `python -m autograder`, by subject.

- `arguments` has what several commands share: their options, and the course that they work on.
- `building`: exercises from solutions, the sample class, the audit.
- `grading`: submissions into grades, feedback and reports.
- `arrangements`: due dates, extensions, groups, comments that are kept.
- `lms`: files and grades for learning management systems and Gradescope.
- `publishing`: the book and the release, JupyterLab for students, everything at once.

Each module adds its commands with `add_commands`. What a command needs is imported when it runs: torch and
nbgrader take seconds.
"""
