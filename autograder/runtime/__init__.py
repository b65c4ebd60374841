"""The course's checks: drawing inputs, evaluating an expression, comparing, recognising mistakes.

In: an expression of a grade cell, the names that a notebook defines, and an expected answer.
Out: plain data (JSON), the first difference, and the known mistake that explains it.

This package runs in three places: in the student's notebook (its source is embedded in a locked cell,
see `notebook`), in the student's kernel when a submission is graded, and in the process that evaluates
the reference. It must import nothing but numpy and the standard library, torch only through `tensors`,
and its modules import one another relatively, because in a notebook there is no package called
`autograder`.
"""

# modules in the order in which a notebook loads them: each imports earlier ones only
MODULES = (
    "tensors",
    "draw",
    "torch_internals",
    "plain_data",
    "functions",
    "helpers",
    "memory",
    "settings",
    "evaluate",
    "grade_cell",
    "offsets",
    "compare",
    "relations",
    "packages",
    "mistakes",
    "violations",
    "plan",
    "messages",
    "hints",
    "parts",
    "telling",
    "guide",
    "progress",
    "fold",
    "notebook",
)
