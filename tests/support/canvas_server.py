"""A stand-in for Canvas on 127.0.0.1, written from the documentation of its REST API.

developerdocs.instructure.com/services/canvas, Resources: Assignments, Users, Submissions; Basics:
Pagination, Throttling. It has one course with one assignment, and faults that a test asks for.
"""

import contextlib
import json
import threading
import time
import urllib.parse
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = "1234~abcDEF"
COURSE, ASSIGNMENT = 1234, 77
# smaller than what a client asks for, as Canvas may do
PAGE = 2


@dataclass
class State:
    """What the course holds, what was asked of it, and what goes wrong.

    submissions: by user; requests: method and path of each; changes: user and form of each change that was
    carried out; faults: what happens to the next changes, or with method GET to the next questions:
    "limit", "500 before", "500 after", "cut before", "cut after"; "slow" and "late" answer after the client
    has given up, late carries out the change after that, too.
    """

    users: list
    assignments: list
    submissions: dict
    requests: list = field(default_factory=list)
    changes: list = field(default_factory=list)
    faults: list = field(default_factory=list)
    get_faults: list = field(default_factory=list)
    headers: dict = field(default_factory=dict)
    address: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self):
        """The course's address in the browser."""
        return f"{self.address}/courses/{COURSE}"


def class_of(exercise, points, *numbers):
    """A course with an assignment and users; nobody has points yet."""
    users = [
        {
            "id": number,
            "name": f"Student {number}",
            "sortable_name": f"{number}, Student",
            "login_id": f"login{number}",
            "sis_user_id": None,
            "email": f"{number}@example.org",
        }
        for number in numbers
    ]
    assignment = {
        "id": ASSIGNMENT,
        "name": exercise,
        "points_possible": points,
        "grading_type": "points",
        "post_manually": False,
        "anonymize_students": False,
    }
    other = {**assignment, "id": 78, "name": f"{exercise}, second try"}
    submissions = {number: _submission(number) for number in numbers}
    return State(users, [other, assignment], submissions)


def _submission(number):
    return {
        "user_id": number,
        "score": None,
        "entered_score": None,
        "excused": False,
        "points_deducted": None,
        "submission_comments": [],
    }


class Handler(BaseHTTPRequestHandler):
    """Answers as Canvas does; `state` is set on a subclass for each server."""

    state: State

    def log_message(self, *_):
        """Print nothing."""

    def _answer(self, status, data, **headers):
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in {**self.state.headers, **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def _cut(self):
        """End the connection without an answer."""
        self.close_connection = True
        self.connection.close()

    def _is_let_in(self):
        if self.headers.get("Authorization") == f"Bearer {TOKEN}":
            return True
        errors = {"errors": [{"message": "Invalid access token."}]}
        self._answer(401, errors, WWW_Authenticate='Bearer realm="canvas-lms"')
        return False

    def _path(self):
        found = urllib.parse.urlsplit(self.path)
        with self.state.lock:
            self.state.requests.append((self.command, found.path))
        parts = found.path.removeprefix(f"/api/v1/courses/{COURSE}").strip("/").split("/")
        is_course = found.path.startswith(f"/api/v1/courses/{COURSE}/")
        return (parts if is_course else None), urllib.parse.parse_qs(found.query)

    def do_GET(self):
        """Lists, page by page, and single items."""
        state = self.state
        parts, query = self._path()
        if not self._is_let_in():
            return
        with state.lock:
            fault = state.get_faults.pop(0) if state.get_faults else ""
        if fault == "limit":
            self._limit()
            return
        if fault == "cut before":
            self._cut()
            return
        with_comments = "submission_comments" in query.get("include[]", [])
        match parts:
            case ["assignments"]:
                term = query.get("search_term", [""])[0]
                self._list([a for a in state.assignments if term in a["name"]], query)
            case ["assignments", number]:
                self._one([a for a in state.assignments if str(a["id"]) == number])
            case ["users"] if query.get("enrollment_type[]") == ["student"]:
                self._list(state.users, query)
            case ["assignments", _, "submissions"]:
                found = [self._shown(s, with_comments) for s in state.submissions.values()]
                self._list(found, query)
            case ["assignments", _, "submissions", user]:
                found = [s for s in state.submissions.values() if str(s["user_id"]) == user]
                self._one([self._shown(s, with_comments) for s in found])
            case _:
                self._one([])

    def _shown(self, submission, with_comments):
        left_out = () if with_comments else ("submission_comments",)
        return {key: value for key, value in submission.items() if key not in left_out}

    def _one(self, found):
        if found:
            self._answer(200, found[0])
        else:
            self._answer(404, {"errors": [{"message": "The specified resource does not exist."}]})

    def _list(self, items, query):
        # the address of a page is opaque to the client
        start = int(query.get("bookmark", ["0"])[0])
        size = min(PAGE, int(query.get("per_page", ["10"])[0]))
        links = {}
        if start + size < len(items):
            rest = [(k, v) for k, values in query.items() for v in values if k != "bookmark"]
            rest.append(("bookmark", start + size))
            path = urllib.parse.urlsplit(self.path).path
            address = f"{self.state.address}{path}?{urllib.parse.urlencode(rest)}"
            links = {"Link": f'<{address}>; rel="next", <{address}>; rel="last"'}
        self._answer(200, items[start : start + size], **links)

    def _limit(self):
        body = b"403 Forbidden (Rate Limit Exceeded)\n"
        self.send_response(403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _wait_until_looked_up(self):
        """Wait until the client asks for what it has just tried to change, for at most ten seconds."""
        path = urllib.parse.urlsplit(self.path).path
        begun = len(self.state.requests)
        for _ in range(1000):
            if ("GET", path) in self.state.requests[begun:]:
                return
            time.sleep(0.01)

    def do_PUT(self):
        """Grade or comment on a submission."""
        state = self.state
        form = urllib.parse.parse_qs(
            self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        )
        parts, _ = self._path()
        if not self._is_let_in():
            return
        with state.lock:
            fault = state.faults.pop(0) if state.faults else ""
        match parts:
            case ["assignments", _, "submissions", user] if int(user) in state.submissions:
                submission = state.submissions[int(user)]
            case _:
                self._one([])
                return
        if fault == "limit":
            self._limit()
            return
        if fault.endswith("before"):
            self._cut() if fault.startswith("cut") else self._answer(500, {"errors": []})
            return
        if fault == "late":
            # carried out only when the client has given up waiting
            self._wait_until_looked_up()
        with state.lock:
            state.changes.append((int(user), {key: value[0] for key, value in form.items()}))
            if grade := form.get("submission[posted_grade]"):
                submission["score"] = submission["entered_score"] = float(grade[0])
            if text := form.get("comment[text_comment]"):
                comments = submission["submission_comments"]
                comments.append({"id": len(comments) + 1, "comment": text[0]})
        if fault == "slow":
            self._wait_until_looked_up()
        if fault == "cut after":
            self._cut()
        elif fault == "500 after":
            self._answer(500, {"errors": []})
        else:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self._answer(200, self._shown(submission, with_comments=False))


@contextlib.contextmanager
def serving(state):
    """Serve a course on 127.0.0.1; state.address says where."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("OfOne", (Handler,), {"state": state}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    state.address = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
