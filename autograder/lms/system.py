"""What each learning management system does in a way of its own; `systems` lists those that are known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Protocol

from autograder.lms.grade_table import Table
from autograder.lms.names import LmsName

if TYPE_CHECKING:
    import zipfile

    from autograder.grade.class_grades import Grade
    from autograder.grade.groups import Groups
    from autograder.lms.moodle_worksheet import Participant


@dataclass(frozen=True)
class FileName:
    """What the name of a file in a class's zip says.

    person, number: who handed it in; file: what they called it; late: whether it is marked so; order: of
    several files of one person, a later one has a higher number.
    """

    person: str
    number: str
    file: str
    late: bool = False
    order: int = 0


@dataclass
class Person:
    """Who handed in: the name and number that the zip gives, and the files, (name, order, entry)."""

    name: str
    number: str
    system: System
    late: bool = False
    files: list[tuple[str, tuple, zipfile.ZipInfo]] = field(default_factory=list)


class System(Protocol):
    """A learning management system.

    name: on the command line; title: in sentences; download, upload: what one chooses there to get the
    class's zip, and to give the zip of feedback back; has_worksheet: whether its grading worksheet tells who
    is which number in the zip, and when they handed in; group_page: whether it shows a page of feedback to
    everybody in the student's group; way_to_id: how the files of a student get to the id in the roster;
    way_back: how else feedback finds a student whose file wasn't in the zip.
    """

    name: str
    title: str
    download: str
    upload: str
    has_worksheet: bool
    group_page: bool
    way_to_id: str
    way_back: str

    def read_name(self, path: PurePosixPath) -> FileName | None:
        """What the path of a file in a zip says; None for one that this system doesn't make."""

    def is_typed(self, path: PurePosixPath) -> bool:
        """Whether a student has typed in a text or a link in place of a file."""

    def own_id(self, name: str, number: str) -> str:
        """The id that is made of a name as the zip gives it, and of the number."""

    def ids_of_names(self, first: str, last: str) -> Iterable[str]:
        """The ids that the zip may give for a student of the roster."""

    def names_of(
        self, person: Person, participants: Mapping[str, Participant], groups: Sequence[str]
    ) -> list[str]:
        """What the roster may call a person of the zip, the most certain first.

        participants: of the grading worksheet, by number; groups: the names of the groups.
        """

    def name_for_feedback(
        self, person: Person, entry: zipfile.ZipInfo, groups: Groups
    ) -> LmsName | None:
        """How a page of feedback finds its way back to who handed in this entry; None if it can't."""

    def table_of(
        self,
        grades: Sequence[Grade],
        roster: Path | None,
        known: Mapping[str, LmsName],
        notes: list[str],
    ) -> Table:
        """The grades as the system imports them.

        known: what the zips of these exercises have called the students; sentences for the instructor are added
        to notes.
        """
