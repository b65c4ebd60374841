"""The grading worksheet of an assignment in Moodle: who is which participant, and when they handed in.

Read from moodle, mod/assign/gradingtable.php (columns), lib/moodlelib.php `userdate` and
lang/en/langconfig.php (times).
"""

from __future__ import annotations

import datetime
import zoneinfo
from dataclasses import dataclass
from pathlib import Path

from autograder.errors import ExportError, TableError
from autograder.tables import read_table

IDENTIFIER = "Participant "
MODIFIED = "Last modified (submission)"
# Moodle's own format, and that of sites which count hours to 24
TIMES = ("%A, %d %B %Y, %I:%M %p", "%A, %d %B %Y, %H:%M")


@dataclass(frozen=True)
class Participant:
    """A row of the worksheet. number: in this assignment only; what the worksheet lacks is empty.

    identifiers: ID number, user name and e-mail address, as far as they are there; modified: when the
    submission was changed last, as Moodle writes it, in the time zone of whoever has downloaded it.
    """

    number: str
    full_name: str
    identifiers: tuple[str, ...]
    modified: str


def read_worksheet(path: Path) -> list[Participant]:
    """The participants of an assignment.

    Raises ExportError for what is no grading worksheet in English, TableError for a file that can't be
    read.
    """
    head, rows = read_table(path)
    if "Identifier" not in head:
        raise ExportError(
            f"{path} is no grading worksheet: it has no column Identifier. In the assignment in Moodle, "
            "choose Download grading worksheet (under Feedback types, Offline grading worksheet has to be "
            "enabled)."
        )
    found = []
    for row in rows:
        cells = dict(zip(head, map(str.strip, row), strict=False))
        number = cells["Identifier"].removeprefix(IDENTIFIER).strip()
        if not number.isdecimal():
            raise ExportError(
                f"{path}: {cells['Identifier']!r} is no identifier like {IDENTIFIER}1234. Download the "
                "worksheet in English."
            )
        own = (cells.get(name, "") for name in ("ID number", "Username", "Email address"))
        identifiers = tuple(filter(None, own))
        modified = cells.get(MODIFIED, "").strip("-")
        found.append(Participant(number, cells.get("Full name", ""), identifiers, modified))
    return found


def handed_in(participant: Participant, zone: str, path: Path) -> datetime.datetime | None:
    """When a participant's submission was changed last, in UTC without a zone; None if it isn't known.

    zone: Moodle's, like Europe/Berlin; empty for this machine's. Raises TableError, naming the file.
    """
    if not participant.modified:
        return None
    try:
        area = zoneinfo.ZoneInfo(zone) if zone else None
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError) as error:
        raise TableError(
            f"{zone!r} is no time zone. Write it like Europe/Berlin or America/New_York, or UTC."
        ) from error
    for form in TIMES:
        try:
            local = datetime.datetime.strptime(participant.modified, form)
        except ValueError:
            continue
        # without a zone, a time is this machine's
        moment = local.replace(tzinfo=area) if area else local
        return moment.astimezone(datetime.UTC).replace(tzinfo=None)
    raise TableError(
        f"{path}, {IDENTIFIER}{participant.number}: {participant.modified!r} is no time as Moodle writes it "
        "in English. Download the worksheet in English."
    )
