"""The grader's own examination: known mistakes and attacks must lose, correct work must win.

In: the catalogues, the attacks, the styles of correct work. Out: a table of findings. The sample class of
`make course` is made here as well.

Nothing but the command line may import this package.
"""
