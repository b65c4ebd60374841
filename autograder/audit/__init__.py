"""The grader's own examination: known mistakes and attacks must lose, correct work must win.

In: the catalogues and, from a package `audit_cases` in the course's folder, attacks and styles of correct
work. Out: a table of findings. The sample class of `make course` is made here as well, and graded for the book.

Nothing but the command line and `audit_cases` may import this package.
"""
