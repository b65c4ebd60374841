"""Solutions into exercises.

In: solutions/EXERCISE.py, its catalogue of mistakes, the book's headings, the settings.
Out: exercises/EXERCISE/EXERCISE.ipynb, with the answers to its checks put in place.

- `source_notebook` reads a solution into an nbgrader source notebook, and refuses what is malformed.
- `checks` evaluates the reference and its mistakes, and refuses checks that prove nothing.
- `instantiate` puts the evaluated answers into the grade cells.
- `generate` puts everything together, and knows what is out of date.
- `due_date` shows the due date in a notebook's first cell.
- `released_versions` remembers every version of a locked cell that students may have.
- `nbgrader_steps` are the steps that `nbgrader_settings` names.

Must not import kernels, grade, lms, report, audit or publish: no student's code is near here.
"""
