"""Canvas' REST API, one request after the other.

After developerdocs.instructure.com/services/canvas: a token in the header Authorization; lists come in
pages, whose Link headers are followed; a request that is refused because of the rate limit (status 403 or
429) was not carried out and is sent again. One client that sends one request at a time is hardly ever
slowed down. The token leaves this process for nothing but the host that was given, and is in no message.
"""

from __future__ import annotations

import os
import re
import stat
import time
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests
from requests.auth import AuthBase

from autograder.errors import LmsError
from autograder.text import plain_text

TOKEN_VARIABLE = "CANVAS_TOKEN"
COURSE = re.compile(r"(?P<path>/courses/(?P<number>\d+))(?:/.*)?")
HERE = ("127.0.0.1", "localhost", "::1")
# seconds to wait before a request is sent again
PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0)
TIMEOUT = 30.0
LONGEST_PAUSE = 120.0
PER_PAGE, MAX_PAGES = 100, 1_000
# below this rest of the quota, each request waits: it refills faster than time goes by
LITTLE_QUOTA = 100.0


class UnansweredError(Exception):
    """A request that may have been carried out: there was no answer, or that of a failing server."""


@dataclass(frozen=True)
class Token(AuthBase):
    """An access token; it is not in the text of this object."""

    value: str = field(repr=False)

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Put the token into a request, whatever a .netrc says."""
        request.headers["Authorization"] = f"Bearer {self.value}"
        return request


def read_token(file: Path | None) -> Token:
    """The token in a file that only its owner can read, or in the environment. Raises LmsError."""
    if file is None:
        value = os.environ.get(TOKEN_VARIABLE, "").strip()
        place = f"The environment variable {TOKEN_VARIABLE}"
        if not value:
            raise LmsError(
                f"There is no token: put it into {TOKEN_VARIABLE}, or into a file of mode 600 and give that "
                "with --token-file. In Canvas: Account, Settings, New Access Token."
            )
    else:
        place = str(file)
        try:
            mode = stat.S_IMODE(file.stat().st_mode)
            if mode & 0o077:
                raise LmsError(
                    f"{file} can be read by others (mode {mode:o}), and who has the token can act in your "
                    f"name. Run `chmod 600 {file}`, and if others use this machine, make a new token."
                )
            value = file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise LmsError(f"{file} can't be read: {error}.") from error
    if not re.fullmatch(r"[!-~]+", value):
        raise LmsError(f"{place} holds no token: it must be one line of letters, digits and ~.")
    return Token(value)


@dataclass(frozen=True)
class CanvasCourse:
    """A course in Canvas: `https://school.example/courses/1234`."""

    origin: str
    number: str

    @staticmethod
    def read(address: str) -> CanvasCourse:
        """The course of an address as the browser shows it. Raises LmsError."""
        try:
            found = urllib.parse.urlsplit(address)
            host, port = found.hostname or "", found.port
        except ValueError:
            found, host, port = urllib.parse.urlsplit(""), "", None
        course = COURSE.fullmatch(found.path)
        if not host or not course or found.username or found.scheme not in ("https", "http"):
            raise LmsError(
                f"{address!r} is not the address of a course. Copy it from the browser, like "
                "https://canvas.example.org/courses/1234."
            )
        if found.scheme == "http" and host not in HERE:
            raise LmsError(f"{address} would send the token in the clear: write https.")
        shown = f"[{host}]" if ":" in host else host
        return CanvasCourse(
            f"{found.scheme}://{shown}{f':{port}' if port else ''}", course["number"]
        )

    @property
    def api(self) -> str:
        """The address of the course in the API."""
        return f"{self.origin}/api/v1/courses/{self.number}"


class Canvas:
    """A connection to one course. A context manager."""

    def __init__(
        self,
        course: CanvasCourse,
        token: Token,
        pauses: Sequence[float] = PAUSES,
        timeout: float = TIMEOUT,
    ) -> None:
        self._course = course
        self._pauses = pauses
        self._timeout = timeout
        self._session = requests.Session()
        self._session.auth = token
        self._quota = float("inf")

    def __enter__(self) -> Canvas:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()

    def get(self, path: str, **parameters: Any) -> Any:
        """What the API has at a path below the course. Raises LmsError."""
        return self._get(f"{self._course.api}/{path}", parameters).json()

    def get_all(self, path: str, **parameters: Any) -> list[Any]:
        """All items of a list, page by page. Raises LmsError."""
        address, found = f"{self._course.api}/{path}", []
        parameters = {**parameters, "per_page": PER_PAGE}
        for _ in range(MAX_PAGES):
            answer = self._get(address, parameters)
            items = answer.json()
            if not isinstance(items, list):
                raise LmsError(f"{self._course.origin} gave no list of {path}: is it Canvas?")
            found += items
            address, parameters = answer.links.get("next", {}).get("url", ""), {}
            if not address:
                return found
            if not address.startswith(f"{self._course.origin}/"):
                raise LmsError(
                    f"{self._course.origin} leads to another host for the rest of {path}."
                )
        raise LmsError(f"{self._course.origin} has more than {MAX_PAGES} pages of {path}.")

    def put(self, path: str, data: Mapping[str, str]) -> Any:
        """Send a change, again only if it has certainly not been carried out.

        Raises UnansweredError when nobody can know, LmsError when it was refused.
        """
        answer = self._send("PUT", f"{self._course.api}/{path}", data=data)
        try:
            return answer.json()
        except ValueError as error:
            raise UnansweredError("the answer can't be read") from error

    def pause(self, number: int) -> bool:
        """Wait before the attempt after a number of failed ones; returns whether there is to be one."""
        if number >= len(self._pauses):
            return False
        time.sleep(self._pauses[number])
        return True

    def _get(self, address: str, parameters: Mapping[str, Any]) -> requests.Response:
        failed = 0
        while True:
            try:
                answer = self._send("GET", address, params=parameters)
                answer.json()
                return answer
            except UnansweredError as error:
                if not self.pause(failed):
                    raise LmsError(
                        f"{self._course.origin} does not answer ({error}). Try again later."
                    ) from error
                failed += 1
            except ValueError as error:
                raise LmsError(
                    f"{self._course.origin} answers, but not as Canvas does. Is the address right?"
                ) from error

    def _send(self, method: str, address: str, **what: Any) -> requests.Response:
        """Send a request, again while it is certain that it was not carried out."""
        failed = 0
        while True:
            if self._quota < LITTLE_QUOTA and self._pauses:
                time.sleep(self._pauses[0])
            try:
                answer = self._session.request(
                    method, address, timeout=self._timeout, allow_redirects=False, **what
                )
            except requests.RequestException as error:
                if not _never_arrived(error):
                    raise UnansweredError(_reason(error)) from error
                if not self.pause(failed):
                    raise LmsError(
                        f"{self._course.origin} can't be reached ({_reason(error)}). Look at the address "
                        "and the network, then run the command again."
                    ) from error
                failed += 1
                continue
            remaining = answer.headers.get("X-Rate-Limit-Remaining", "")
            self._quota = float(remaining) if re.fullmatch(r"[\d.]+", remaining) else float("inf")
            if not _is_rate_limit(answer):
                self._refuse(answer)
                return answer
            if not self.pause(failed):
                raise LmsError(
                    f"{self._course.origin} takes no more requests for now. Run the command again in some "
                    "minutes; it goes on where it ended."
                )
            wanted = answer.headers.get("Retry-After", "")
            time.sleep(min(float(wanted), LONGEST_PAUSE) if wanted.isdecimal() else 0.0)
            failed += 1

    def _refuse(self, answer: requests.Response) -> None:
        """Raise what an answer's status means; nothing for success."""
        origin, status = self._course.origin, answer.status_code
        if status < 300:
            return
        if status >= 500 or status == 408:
            raise UnansweredError(f"status {status}")
        if status < 400:
            raise LmsError(
                f"{origin} leads elsewhere, to {plain_text(answer.headers.get('Location', '?'))[:200]}. Use "
                "that address if it is right; the token was not sent there."
            )
        is_about_token = "WWW-Authenticate" in answer.headers or b"access token" in answer.content
        if status == 401 and is_about_token:
            raise LmsError(
                f"{origin} refuses the token: it has expired, was deleted, or is not complete. Make a new "
                "one in Canvas (Account, Settings, New Access Token). Nothing more was sent."
            )
        if status in (401, 403):
            raise LmsError(
                f"{origin}: the owner of the token may not do this in course {self._course.number} "
                f"({_message_of(answer)})."
            )
        if status == 404:
            raise LmsError(
                f"{origin} has no {urllib.parse.urlsplit(answer.url).path}: are the numbers of the course and "
                "the assignment right, and does the token's owner teach the course?"
            )
        raise LmsError(f"{origin} refuses this with status {status} ({_message_of(answer)}).")


def _is_rate_limit(answer: requests.Response) -> bool:
    return answer.status_code == 429 or (
        answer.status_code == 403 and b"Rate Limit Exceeded" in answer.content[:1000]
    )


def _never_arrived(error: requests.RequestException) -> bool:
    """Whether no connection was made, so that the server can't have read the request."""
    if isinstance(error, requests.ConnectTimeout):
        return True
    reason = getattr(error.args[0] if error.args else None, "reason", None)
    return type(reason).__name__ in ("NewConnectionError", "NameResolutionError")


def _reason(error: requests.RequestException) -> str:
    """An error's kind in words: its own text may hold an address with parameters."""
    if isinstance(error, requests.Timeout):
        return "no answer in time"
    return (
        "its certificate is not valid"
        if isinstance(error, requests.exceptions.SSLError)
        else ("the connection failed")
    )


def _message_of(answer: requests.Response) -> str:
    text = answer.content[:1000].decode("utf-8", "replace")
    return plain_text(" ".join(text.split()))[:200] or "without a reason"
