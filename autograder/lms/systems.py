"""The learning management systems that are known, by name."""

from __future__ import annotations

from autograder.lms.canvas_files import Canvas
from autograder.lms.moodle_files import Moodle
from autograder.lms.system import System

# in this order a file's name is read: Canvas's pattern fits many names
SYSTEMS: dict[str, System] = {system.name: system for system in (Moodle(), Canvas())}
TITLES = " or ".join(sorted(system.title for system in SYSTEMS.values()))
