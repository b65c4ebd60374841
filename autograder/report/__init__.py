"""What a class's results say: pages for the instructor, and a table for the terminal.

In: stored results, and the gradebook for names and times. Out: HTML and CSV files, made from the templates beside
this package.

Must not import lms' zip import, audit or publish.
"""
