"""Points in time as people and nbgrader write them: read strictly, never guessed."""

from __future__ import annotations

import datetime
import re
import zoneinfo

from autograder.errors import DateError

EXAMPLE = "2027-03-01 18:00 UTC"
ZONES = "with UTC, a difference like +01:00, or a zone like Europe/Berlin at the end"


def read_time(text: str) -> datetime.datetime:
    """A point in time, like "2027-03-01 18:00 UTC", in UTC without a zone, as nbgrader stores times.

    The zone is UTC, a difference like +01:00, or a name like Europe/Berlin; without one it is UTC. A date
    alone ends with its last minute. Raises DateError, also for a date whose day could be its month and for a
    zone that isn't known, such as CEST.
    """
    words = text.split()
    zone: datetime.tzinfo = datetime.UTC
    try:
        if len(words) > 1 and words[-1][0].isalpha():
            name = words.pop()
            zone = datetime.UTC if name in ("UTC", "GMT", "Z") else zoneinfo.ZoneInfo(name)
        joined = re.sub(r" (?=[+-]\d\d:?\d\d$)", "", " ".join(words))
        found = datetime.datetime.fromisoformat(joined)
        if ":" not in joined and "T" not in joined:
            found = found.replace(hour=23, minute=59)
        found = found if found.tzinfo else found.replace(tzinfo=zone)
        return found.astimezone(datetime.UTC).replace(tzinfo=None)
    except (ValueError, OverflowError, OSError, zoneinfo.ZoneInfoNotFoundError) as error:
        raise DateError(f'{text!r} is not a time. Write it like "{EXAMPLE}", {ZONES}.') from error
