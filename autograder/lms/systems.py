"""The learning management systems that are known, by name, and how help texts and errors name all of them.

Every command imports this, so no module of a system imports nbgrader when it is itself imported.
"""

from __future__ import annotations

from autograder.lms.canvas_files import Canvas
from autograder.lms.moodle_files import Moodle
from autograder.lms.system import System

# in this order a file's name is read: Canvas's pattern fits many names, and stays the last
SYSTEMS: dict[str, System] = {system.name: system for system in (Moodle(), Canvas())}
NAMES = sorted(SYSTEMS)
TITLES = " or ".join(SYSTEMS[name].title for name in NAMES)
WORKSHEETS = " or ".join(
    f"{SYSTEMS[name].title}'s grading worksheet" for name in NAMES if SYSTEMS[name].has_worksheet
)
