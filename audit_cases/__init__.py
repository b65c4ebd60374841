"""Attacks on the grader, and right work in many styles; `python -m autograder audit` hands them all in.

Importing a module registers what it has in `autograder.audit.registry`.
"""

# imported for what they register
from audit_cases import (  # noqa: F401
    attacks,
    follow_through_attacks,
    honest,
    honest_code,
    memory_attacks,
    repository_attacks,
    security_attacks,
)
