"""Names of students: the ids made of them, and what Canvas or Moodle called each one's file in a zip.

The latter lets feedback find its way back. It is kept by exercise in the folder of the class, as
lms_names/EXERCISE.json.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from autograder.course import Course, Exercise
from autograder.files import PRIVATE, shortened, write_whole

# bytes of an id's part that a name gives
MAX_ID = 120


def _kept(name: str, instead: str, also: str) -> str:
    """A name's letters, marks and digits, and some further characters; others are replaced."""
    name = unicodedata.normalize("NFC", name)
    return "".join(
        c if unicodedata.category(c)[0] in "LM" or c.isdecimal() or c in also else instead
        for c in name
    )


def student_id(name: str) -> str:
    """A full name as an id that nbgrader and every file system take: `Full_Name`."""
    kept = re.sub("_+", "_", _kept(name, "_", "-."))
    return shortened(kept.strip("._-")[:60], MAX_ID) or "unnamed"


def canvas_id(sortable_name: str, number: str) -> str:
    """The id of a user of Canvas, from the name as Canvas sorts it: `lastnamefirst_12345`."""
    return f"{shortened(_kept(sortable_name.lower(), '', '_')[:60], MAX_ID)}_{number}"


def numbered_id(name: str, number: str) -> str:
    """The id of one of two who have the same name: with the number that their files have in the zip."""
    return f"{student_id(name)}_{number}"


@dataclass(frozen=True)
class LmsName:
    """How a learning management system tells whose a file is. prefix: what stands before a file's name.

    In Canvas it ends with the number of the attachment that was handed in, in Moodle it is a folder.
    """

    lms: str
    prefix: str


def remembered_names(course: Course, exercise: Exercise) -> dict[str, LmsName]:
    """The names of an exercise's last imports, by student."""
    path = course.home / "lms_names" / f"{exercise}.json"
    stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {student: LmsName(**name) for student, name in stored.items()}


def remember_names(course: Course, exercise: Exercise, names: Mapping[str, LmsName]) -> None:
    """Add the names of an import; those of other students stay."""
    known = remembered_names(course, exercise) | dict(names)
    text = json.dumps({s: asdict(name) for s, name in known.items()}, indent=1, ensure_ascii=False)
    write_whole(course.home / "lms_names" / f"{exercise}.json", text, PRIVATE)
