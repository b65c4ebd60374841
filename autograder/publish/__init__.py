"""The book as pages, and the release archive.

In: book/, solutions/ and exercises/. Out: _build/html and a zip.

Must not import kernels, grade, lms, report or audit.
"""
