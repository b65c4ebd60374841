"""Grades and comments into a stand-in for Canvas: what differs, once, whatever the server does."""

import collections
import contextlib
import re
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from autograder.errors import ExportError, LmsError
from autograder.exercises import metadata_of, released
from autograder.lms import push
from autograder.lms.canvas_api import Canvas, CanvasCourse, Token, UnansweredError, read_token
from autograder.lms.export import Grade, Student
from autograder.points import rounded, with_decimals
from tests.support.canvas_server import ASSIGNMENT, TOKEN, class_of, serving
from tests.support.copies import command
from tests.support.course import COURSE
from tests.support.submissions import EXERCISE as GRADED
from tests.support.submissions import SUBMISSIONS

EXERCISE = COURSE.exercise("ch1_additive_attention")
POINTS = 32
SCORES = {1001: 30.5, 1002: 7.0, 1003: 0.0, 1004: 32.0, 1005: 16.799999999999997}
TEXTS = {f"s{number}": f"{score} points\n\nTask: lost ☃" for number, score in SCORES.items()}
# a server has answered by then, unless it is slow
TIMEOUT = 1.0


@pytest.fixture(autouse=True)
def direct(monkeypatch):
    """No proxy between this process and itself."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("CANVAS_TOKEN", raising=False)


@pytest.fixture
def server():
    """A course with five students and nobody graded."""
    with serving(class_of(EXERCISE.name, POINTS, *SCORES)) as state:
        yield state


def connected(state, token=TOKEN):
    course = CanvasCourse.read(state.url)
    return Canvas(course, Token(token), pauses=(0.0, 0.0, 0.3), timeout=TIMEOUT)


def grades(scores=SCORES):
    """Grades of students who have handed in; their ids are their numbers in Canvas after an s."""
    return [
        Grade(
            EXERCISE.name,
            Student(f"s{number}", lms_user_id=str(number)),
            score,
            0.0,
            POINTS,
            submitter=f"s{number}",
        )
        for number, score in scores.items()
    ]


def planned(state, their_grades=None, comments=(), **options):
    with connected(state) as canvas:
        return push.plan(canvas, EXERCISE, their_grades or grades(), dict(comments), **options)


def pushed(state, their_grades=None, comments=()):
    """Plan and send, as the command does."""
    with connected(state) as canvas:
        plan = push.plan(canvas, EXERCISE, their_grades or grades(), dict(comments))
        return push.send(canvas, plan)


def in_canvas(state):
    return {user: submission["score"] for user, submission in state.submissions.items()}


def comments_in_canvas(state):
    return {
        user: [own["comment"] for own in submission["submission_comments"]]
        for user, submission in state.submissions.items()
    }


WANTED = {number: rounded(score) for number, score in SCORES.items()}


# What is sent -------------------------------------------------------------------------------------


def test_what_differs_is_planned_and_nothing_is_sent(server):
    server.submissions[1002].update(score=7.0, entered_score=7.0)
    server.submissions[1004].update(score=20.0, entered_score=20.0)
    found = planned(server)
    assert (found.assignment, found.title, found.same) == (ASSIGNMENT, EXERCISE.name, 1)
    changes = {change.student: (change.before, change.points) for change in found.changes}
    assert changes == {
        "s1001": (None, 30.5),
        "s1003": (None, 0.0),
        "s1004": (20.0, 32.0),
        "s1005": (None, WANTED[1005]),
    }
    assert server.changes == [] and {method for method, _ in server.requests} == {"GET"}


def test_grades_and_comments_arrive_once_and_are_not_sent_again(server):
    sent = pushed(server, comments=TEXTS)
    assert len(sent.done) == 5 and sent.unconfirmed == sent.notes == ()
    assert in_canvas(server) == WANTED
    for number, (text,) in comments_in_canvas(server).items():
        assert text.startswith(TEXTS[f"s{number}"]) and re.search(r"\n\n\[feedback \w{12}\]$", text)
    assert planned(server, comments=TEXTS).changes == ()
    assert pushed(server, comments=TEXTS).done == () and len(server.changes) == 5


def test_a_new_text_is_a_new_comment_and_leaves_the_grade_alone(server):
    pushed(server, comments=TEXTS)
    server.changes.clear()
    pushed(server, comments=TEXTS | {"s1002": "better"})
    ((user, form),) = server.changes
    assert user == 1002 and form.keys() == {"comment[text_comment]"}
    # the command without --comments
    pushed(server, their_grades=grades(SCORES | {1002: 8.0}))
    assert server.changes[1:] == [(1002, {"submission[posted_grade]": with_decimals(8.0)})]


def test_a_comment_of_the_instructors_is_no_comment_of_ours(server):
    server.submissions[1001]["submission_comments"].append({"id": 1, "comment": "30.5 points"})
    server.submissions[1002]["submission_comments"].append({"id": 1, "comment": None})
    pushed(server, comments=TEXTS)
    assert [len(texts) for texts in comments_in_canvas(server).values()] == [2, 2, 1, 1, 1]


def test_students_are_found_by_number_login_and_sis_number(server):
    server.users[2]["sis_user_id"] = "sis1003"
    their_grades = grades({1001: 1.0, 1002: 2.0, 1003: 3.0, 1004: 4.0})
    ids = [
        Student("x1", lms_user_id="1001"),
        Student("login1002"),
        Student("sis1003"),
        Student("stranger"),
    ]
    own = [
        Grade(g.exercise, who, g.raw_score, 0, POINTS, submitter=who.id)
        for g, who in zip(their_grades, ids, strict=True)
    ]
    found = planned(server, own)
    users = {change.student: (change.user, change.points) for change in found.changes}
    assert users == {"x1": (1001, 1), "login1002": (1002, 2), "sis1003": (1003, 3)}
    told = "Not in the course in Canvas, and left out: stranger."
    assert told in found.notes and not any("roster" in words for words in found.notes)


def test_nobody_known_is_an_error(server):
    their_grades = [Grade(EXERCISE.name, Student("x"), 1, 0, POINTS, submitter="x")]
    with pytest.raises(ExportError, match="is in the course in Canvas: is it that of this class"):
        planned(server, their_grades)


def test_who_is_excused_or_has_handed_in_nothing_is_left_alone_and_told(server):
    server.submissions[1001]["excused"] = True
    server.submissions[1002]["points_deducted"] = 2.0
    their_grades = [
        *grades({1001: 5.0, 1002: 7.0}),
        Grade(EXERCISE.name, Student("s9"), 0, 0, POINTS),
    ]
    found = planned(server, their_grades, TEXTS)
    assert [change.student for change in found.changes] == ["s1002"]
    told = "\n".join(found.notes)
    assert "Nothing handed in, and nothing sent: s9" in told
    assert "s1001 is excused" in told and "s1002: Canvas takes off 2 points" in told


def test_what_canvas_takes_off_is_no_difference(server):
    """entered_score is before Canvas's own late policy, score after it."""
    server.submissions[1004].update(entered_score=32.0, score=28.0, points_deducted=4.0)
    assert "s1004" not in {change.student for change in planned(server).changes}


def test_a_grade_that_canvas_records_otherwise_is_told(server):
    with connected(server) as canvas:
        plan = push.plan(canvas, EXERCISE, grades({1001: 5.0}), {})
        put = canvas.put
        canvas.put = lambda *request: {**put(*request), "entered_score": 4.0}
        (told,) = push.send(canvas, plan).notes
    assert told == "s1001: Canvas recorded 4 points, not 5."


def test_long_comments_are_cut_and_found_again(server):
    long = {"s1001": "x" * 50_000}
    pushed(server, comments=long)
    ((text,), *_) = comments_in_canvas(server).values()
    assert len(text) < 11_000 and planned(server, comments=long).changes == ()


# The assignment -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "Essay"}, r"0 assignments called ch1.*--assignment"),
        ({"points_possible": 100}, "gives 100 points .* has 32"),
        ({"grading_type": "pass_fail"}, "graded as pass_fail"),
        ({"anonymize_students": True}, "graded anonymously"),
    ],
)
def test_an_assignment_that_does_not_fit_is_refused(server, change, words):
    server.assignments[1].update(change)
    with pytest.raises(LmsError, match=words):
        planned(server)
    assert server.changes == []


def test_two_assignments_of_one_name_are_told_apart_by_number(server):
    server.assignments[0]["name"] = EXERCISE.name
    with pytest.raises(LmsError, match=r"2 assignments called .* \(78, 77\)"):
        planned(server)
    assert planned(server, number=78).assignment == 78
    with pytest.raises(LmsError, match="has no /api/v1/courses/1234/assignments/5"):
        planned(server, number=5)


def test_grades_that_canvas_hides_or_gives_to_groups_are_told(server):
    assert planned(server).notes == ()
    server.assignments[1].update(post_manually=True, group_category_id=5)
    hidden, by_group = planned(server).notes
    assert "when you post them" in hidden and "graded by group in Canvas" in by_group
    server.assignments[1]["grade_group_students_individually"] = True
    assert len(planned(server).notes) == 1


# A server that fails ------------------------------------------------------------------------------


def carried_out(state):
    return collections.Counter(user for user, _ in state.changes)


@pytest.mark.parametrize("fault", ["limit", "500 after", "cut after", "slow", "late"])
def test_a_change_that_was_carried_out_or_refused_is_sent_once(server, fault):
    server.faults = ["", fault, "", fault, ""]
    sent = pushed(server, comments=TEXTS)
    assert len(sent.done) == 5 and sent.unconfirmed == ()
    assert carried_out(server) == dict.fromkeys(SCORES, 1)
    assert in_canvas(server) == WANTED
    assert {len(texts) for texts in comments_in_canvas(server).values()} == {1}


@pytest.mark.parametrize("fault", ["500 before", "cut before"])
def test_a_change_that_was_not_carried_out_is_told_and_sent_by_the_next_run(server, fault):
    server.faults = ["", fault, "", fault, ""]
    sent = pushed(server, comments=TEXTS)
    assert set(sent.unconfirmed) == {"s1002", "s1004"} and len(sent.done) == 3
    again = pushed(server, comments=TEXTS)
    assert set(again.done) == {"s1002", "s1004"}
    assert carried_out(server) == dict.fromkeys(SCORES, 1) and in_canvas(server) == WANTED


def test_a_server_that_answers_nobody_any_more_ends_the_run(server):
    server.faults = [""] + ["cut before"] * 9
    sent = pushed(server)
    assert sent.done == ("s1001",) and len(sent.unconfirmed) == push.MAX_UNANSWERED
    assert len([method for method, _ in server.requests if method == "PUT"]) == 4
    server.faults.clear()
    pushed(server)
    assert carried_out(server) == dict.fromkeys(SCORES, 1)


def test_a_run_that_is_interrupted_goes_on_where_it_ended(server):
    with connected(server) as canvas:
        plan = push.plan(canvas, EXERCISE, grades(), TEXTS)
        put, asked = canvas.put, []

        def interrupted(*request):
            asked.append(request)
            if len(asked) == 3:
                # the change has gone out, and nobody waits for the answer
                put(*request)
                raise KeyboardInterrupt
            return put(*request)

        canvas.put = interrupted
        with pytest.raises(KeyboardInterrupt):
            push.send(canvas, plan)
    assert len(pushed(server, comments=TEXTS).done) == 2
    assert carried_out(server) == dict.fromkeys(SCORES, 1)


def test_a_token_that_is_taken_away_in_the_middle_is_told_with_what_was_sent(server):
    with connected(server) as canvas:
        plan = push.plan(canvas, EXERCISE, grades(), {})
        put, asked = canvas.put, []

        def expired(*request):
            asked.append(request)
            if len(asked) == 3:
                canvas._session.auth = Token("expired")
            return put(*request)

        canvas.put = expired
        with pytest.raises(
            LmsError, match=r"refuses the token.*2 of 5 were sent before s1003; run"
        ) as told:
            push.send(canvas, plan)
    assert "expired" not in str(told.value).replace("it has expired", "")
    assert sorted(carried_out(server)) == [1001, 1002]


def test_questions_are_asked_again(server):
    server.get_faults = ["limit", "", "cut before", "limit"]
    assert len(planned(server).changes) == 5


def test_a_limit_that_stays_ends_with_a_way_out(server):
    server.get_faults = ["limit"] * 9
    with pytest.raises(LmsError, match="takes no more requests for now"):
        planned(server)


def test_the_client_slows_down_when_its_quota_is_short(server, monkeypatch):
    waited = []
    monkeypatch.setattr("autograder.lms.canvas_api.time.sleep", waited.append)
    planned(server)
    assert waited == []
    server.headers = {"X_Rate_Limit_Remaining": "12.5"}
    planned(server)
    assert len(waited) > 3


# The way there ------------------------------------------------------------------------------------


@contextlib.contextmanager
def answering(status, headers, body=b"{}"):
    """A server that gives one answer to everything."""
    seen = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(self.headers.get("Authorization"))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def asked(address):
    with Canvas(CanvasCourse.read(f"{address}/courses/1"), Token(TOKEN), (0.0,), 1.0) as canvas:
        return canvas.get_all("users")


def test_a_token_that_is_refused_is_an_error_without_it(server):
    with (
        pytest.raises(LmsError, match=r"refuses the token.*New Access Token") as told,
        connected(server, token="wrong-token") as canvas,
    ):
        push.plan(canvas, EXERCISE, grades(), {})
    assert "wrong-token" not in str(told.value) and len(server.requests) == 1
    assert "wrong-token" not in repr(Token("wrong-token")) + str(Token("wrong-token"))


def test_the_token_goes_to_no_other_host():
    with answering(200, {}, b"[]") as (other, stolen):
        with (
            answering(302, {"Location": f"{other}/api/v1/courses/1/users"}) as (address, _),
            pytest.raises(LmsError, match="leads elsewhere"),
        ):
            asked(address)
        links = {"Link": f'<{other}/more>; rel="next"'}
        with (
            answering(200, links, b"[]") as (address, _),
            pytest.raises(LmsError, match="leads to another host"),
        ):
            asked(address)
        assert stolen == []


def test_a_netrc_does_not_take_the_tokens_place(tmp_path, monkeypatch):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login x password y\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    with answering(200, {}, b"[]") as (address, seen):
        assert asked(address) == []
    assert seen == [f"Bearer {TOKEN}"]


@pytest.mark.parametrize(
    ("status", "headers", "body", "words"),
    [
        (200, {}, b"<html>", "not as Canvas does"),
        (200, {}, b"{}", "gave no list of users"),
        (404, {}, b"{}", "has no /api/v1/courses/1/users"),
        (403, {}, b'{"status":"unauthorized"}', "may not do this in course 1"),
        (401, {}, b'{"status":"unauthorized"}', "may not do this in course 1"),
        (422, {}, b"\x1b[31mno\n", r"status 422 \(no\)\."),
        (503, {}, b"", r"does not answer \(status 503\)"),
    ],
)
def test_an_answer_that_is_none_is_an_error_in_words(status, headers, body, words):
    with answering(status, headers, body) as (address, _), pytest.raises(LmsError, match=words):
        asked(address)


def test_nobody_there_is_an_error_with_a_way_out():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(LmsError, match="can't be reached"):
            asked(address)
        # nothing was sent: no reason for doubt
        with (
            Canvas(CanvasCourse.read(f"{address}/courses/1"), Token(TOKEN), (), 1.0) as canvas,
            pytest.raises(LmsError, match="can't be reached"),
        ):
            canvas.put("x", {})


def test_an_answer_to_a_change_that_cannot_be_read_leaves_doubt(server):
    with connected(server) as canvas:
        server.faults = ["500 after"]
        with pytest.raises(UnansweredError):
            canvas.put(f"assignments/{ASSIGNMENT}/submissions/1001", {})


@pytest.mark.parametrize(
    "address",
    [
        "https://canvas.example.org/courses/1234",
        "https://canvas.example.org/courses/1234/assignments/77?x=1",
        "http://127.0.0.1:99/courses/1234",
    ],
)
def test_an_address_of_a_course(address):
    found = CanvasCourse.read(address)
    assert found.number == "1234" and address.startswith(f"{found.origin}/courses")


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("http://canvas.example.org/courses/1", "write https"),
        ("https://canvas.example.org", "not the address of a course"),
        ("https://user:word@canvas.example.org/courses/1", "not the address of a course"),
        ("https://[/courses/1", "not the address of a course"),
        ("https://x:port/courses/1", "not the address of a course"),
    ],
)
def test_what_is_no_address_of_a_course(address, words):
    with pytest.raises(LmsError, match=words):
        CanvasCourse.read(address)


# The token ----------------------------------------------------------------------------------------


def test_a_token_comes_from_the_environment_or_a_file_of_its_owners(tmp_path, monkeypatch):
    with pytest.raises(LmsError, match=r"There is no token.*CANVAS_TOKEN.*--token-file"):
        read_token(None)
    monkeypatch.setenv("CANVAS_TOKEN", f" {TOKEN}\n")
    assert read_token(None) == Token(TOKEN)
    file = tmp_path / "canvas.token"
    with pytest.raises(LmsError, match=r"canvas\.token can't be read"):
        read_token(file)
    file.write_text(f"{TOKEN}\n")
    for mode in (0o644, 0o640, 0o604):
        file.chmod(mode)
        with pytest.raises(LmsError, match=r"can be read by others.*chmod 600") as told:
            read_token(file)
        assert TOKEN not in str(told.value)
    file.chmod(0o600)
    assert read_token(file) == Token(TOKEN)
    for text in ("", "two words", "two\nlines", "ünicode"):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(LmsError, match="holds no token"):
            read_token(file)


# The command --------------------------------------------------------------------------------------


@pytest.mark.xdist_group("submissions")
def test_the_command_shows_asks_and_sends(graded_class, tmp_path, monkeypatch):
    course, results = graded_class
    scores = {name: result.score for name, result in results.items()}
    points = sum(
        metadata_of(cell).get("points", 0) for cell in released(course.exercise(GRADED.name)).cells
    )
    with serving(class_of(GRADED.name, points, *range(1, len(scores) + 1))) as state:
        user_of = {}
        for user, name in zip(state.users, scores, strict=True):
            user["login_id"], user_of[name] = name, user["id"]
        words = ["push", "--lms", "canvas", "--exercise", GRADED.name, "--course", state.url]
        done = command(course.root, *words)
        assert done.status == 2 and "There is no token" in done.stderr
        monkeypatch.setenv("CANVAS_TOKEN", TOKEN)
        monkeypatch.setattr("builtins.input", lambda question: "n")
        done = command(course.root, *words)
        assert done.status == 0 and "Nothing was sent." in done.stdout, done.stderr
        assert "What would change in Canvas" in done.stdout and state.changes == []
        done = command(course.root, *words, "--comments", "--yes")
        assert done.status == 0 and f"{len(scores)} of {len(scores)} sent" in done.stdout, (
            done.stderr
        )
        assert TOKEN not in done.stdout + done.stderr
        found = in_canvas(state)
        assert {name: found[user_of[name]] for name in scores} == pytest.approx(scores, abs=0.01)
        comments = comments_in_canvas(state)
        for name, result in results.items():
            (text,) = comments[user_of[name]]
            # a comment says what was lost and what the grader remarks; it quotes no output
            says = result.remarks or result.score < result.points
            own = SUBMISSIONS[name].words if says else ()
            assert [word for word in own if word not in text] == []
        done = command(course.root, *words, "--comments", "--yes")
        assert f"0 to send; {len(scores)} are in Canvas" in done.stdout
        monkeypatch.setenv("CANVAS_TOKEN", "wrong-token")
        done = command(course.root, *words, "--yes")
        assert done.status == 2 and "refuses the token" in done.stderr
        assert "wrong-token" not in done.stdout + done.stderr
