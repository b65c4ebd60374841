"""The report: numbers with an oracle of their own, text that can't act, pages that load nothing."""

import csv
import dataclasses
import datetime
import html
import html.parser
import math
import random
import re
import urllib.parse

import numpy as np
import pytest
from nbgrader.api import Gradebook

from autograder.book_index import book_sections
from autograder.catalogue import ideas, mistakes, sections
from autograder.course import Course, Exercise
from autograder.diffs import Hunk
from autograder.errors import CatalogueError
from autograder.exercises import grade_cells, reference_answers, released
from autograder.grade.class_grades import recorded_grades
from autograder.grade.result import LineResult, Remark
from autograder.report import analysis, pages, plots, standing
from autograder.report.analysis import MIN_CLASS
from autograder.rules import Rule
from autograder.runtime.compare import Difference
from autograder.runtime.grade_cell import parse_cell
from tests.support.course import COURSE
from tests.support.grading import add_exercise
from tests.support.random_class import (
    BASIS,
    EXERCISE,
    WRONG,
    autograded,
    line,
    random_class,
    result,
)

NASTY = '"><script>alert(1)</script>&<img src=x onerror=alert(2)>'
NAMES = ("student-01", 'O\'Neil, "Q"', "=1+1", "@x", "über-名前", "a&b<c>", "x'y")
STOPPED = Difference("timeout", {"seconds": 10})


class Page(html.parser.HTMLParser):
    """Tags, attributes and links of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.ids, self.text = [], [], set(), ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.links += [value for name, value in attributes if name == "href"]
        self.ids |= {value for name, value in attributes if name == "id"}

    def handle_data(self, data):
        self.text += data


def write(results, folder):
    return pages.write(Course(COURSE.root, class_folder=folder), results)


def written(results, folder):
    write(results, folder)
    text = (folder / "reports" / f"{EXERCISE}.html").read_text(encoding="utf-8")
    return text, Page(text)


def rows(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# Numbers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_discrimination_is_numpys_correlation_with_the_rest(seed):
    results = random_class(40, seed)
    asked = analysis.questions(results)
    assert len(asked) == 8
    for question in asked:
        own = [
            next(ln for ln in r.cell(question.cell).lines if ln.expression == question.expression)
            for r in results
        ]
        right = [ln.passed for ln in own]
        rest = [r.score - ln.earned for r, ln in zip(results, own, strict=True)]
        assert question.right == sum(right)
        assert question.share_right == np.mean(right)
        assert question.discrimination == pytest.approx(np.corrcoef(right, rest)[0, 1])


@pytest.mark.parametrize(
    ("right", "rest"),
    [([True] * 5, range(5)), ([False] * 5, range(5)), ([True, False, True], [2, 2, 2])],
)
def test_there_is_no_discrimination_without_variation(right, rest):
    assert analysis.item_rest_correlation(right, list(rest)) is None


def odd_class(size):
    """One question that all get right, one that none does, one for the weak, one as it should be."""
    found = []
    for number in range(size):
        strong = number % 2 == 0
        if_not = lambda right: None if right else WRONG
        cells = {
            "softmax_values": [line("everybody()"), line("nobody()", difference=WRONG)],
            "softmax_edges": [line("weak()", difference=if_not(not strong))],
            "attention_values": [line(f"good{i}()", 3, if_not(strong)) for i in range(3)],
        }
        found.append(result(f"student-{number:02d}", cells))
    return found


def test_odd_questions_are_named_and_good_ones_are_not():
    odd = {q.expression: words for q, words in analysis.oddities(analysis.questions(odd_class(24)))}
    assert odd.keys() == {"everybody()", "nobody()", "weak()"}
    assert odd["everybody()"].startswith("All are right")
    assert odd["nobody()"].startswith("All are wrong")
    assert "few points elsewhere" in odd["weak()"]


def test_a_question_that_means_nothing_is_seldom_called_odd():
    """Under no relation at all, about one in forty is below two standard errors."""
    draw, called, size, tries = random.Random(1), 0, 30, 400
    for _ in range(tries):
        r = analysis.item_rest_correlation(
            [draw.random() < 0.5 for _ in range(size)], [draw.gauss(0, 1) for _ in range(size)]
        )
        called += r is not None and r < -2 / math.sqrt(size - 1)
    assert called / tries < 0.06


def test_a_small_class_is_told_that_it_is_small(tmp_path):
    assert analysis.oddities(analysis.questions(odd_class(MIN_CLASS - 1))) == []
    text, _ = written(odd_class(MIN_CLASS - 1), tmp_path)
    assert f"needs at least {MIN_CLASS} submissions; there are {MIN_CLASS - 1}" in text
    text, _ = written(odd_class(MIN_CLASS), tmp_path)
    assert "All are wrong" in text and "needs at least" not in text


def test_mistakes_and_sections_are_counted_by_student():
    first, second = mistakes(EXERCISE)[:2]
    made = lambda name: [line("a()", 1, WRONG, name), line("b()", 1, WRONG)]
    results = [
        result("c", {"softmax_values": made(first.name), "softmax_edges": made(first.name)}),
        result("a", {"softmax_values": made(first.name)}),
        result("b", {"softmax_values": made(second.name), "attention_values": made(None)}),
        result("d", {"softmax_values": [line("a()")]}),
        result("e", {"softmax_values": made("one that the catalogue has dropped")}),
    ]
    found = analysis.misunderstood(EXERCISE, results)
    assert [(m.name, m.students) for m in found[:2]] == [
        (first.name, ("a", "c")),
        (second.name, ("b",)),
    ]
    assert found[0].section == first.section and found[0].means == first.means
    assert found[2].name.startswith("one that") and found[2].students == ("e",)
    lost = dict(analysis.to_teach_again(EXERCISE, results))
    assert set(lost[first.section]) >= {"a", "c"}
    assert not any("d" in students for students in lost.values())
    assert lost[sections(EXERCISE)["attention_values"]] == ["b"]
    # a question that was dropped costs nobody points
    dropped = [result("f", {"attention_values": [line("a()", 0, WRONG)]})]
    assert analysis.to_teach_again(EXERCISE, dropped) == []


def test_mistakes_of_one_idea_are_counted_together_and_each_student_once():
    known = {mistake.name: mistake for mistake in mistakes(EXERCISE)}
    names = ("nothing to attend to: equal weights", "nothing to attend to: equal weights, in torch")
    assert known[names[0]].means == known[names[1]].means
    made = lambda *own: {f"cell{i}": [line("a()", 1, WRONG, name)] for i, name in enumerate(own)}
    results = [
        result("a", made(*names)),
        result("b", made(names[1])),
        result("c", made("no scaling", "no scaling, in torch")),
    ]
    first, second = analysis.misunderstood(EXERCISE, results)
    assert (first.name, first.students) == (names[0], ("a", "b"))
    assert first.variants == ((names[0], ("a",)), (names[1], ("a", "b")))
    assert (second.name, second.students) == ("no scaling", ("c",))
    # one place of the reference is changed
    (rule,) = known[names[0]].edits
    assert first.looks_like == (rule.after, rule.before)


def test_names_in_sentences_are_code_in_the_report(tmp_path):
    named = next(mistake for mistake in mistakes(EXERCISE) if "`" in mistake.means)
    gone = Difference("ended", {"reason": "exit", "expression": "f<b>"})
    lines = {"attention_values": [line("a()", 1, WRONG, named.name), line("b()", 1, gone)]}
    page, _ = written([result("a", lines)], tmp_path)
    assert html.escape(named.means.split("`")[1]) in "".join(re.findall("<code>.*?</code>", page))
    assert "ended the Python process during <code>f&lt;b&gt;</code>" in page
    assert "`" not in page


def test_a_wrong_line_is_the_catalogues_and_not_shown_in_the_lecture(tmp_path):
    (known,) = [m for m in mistakes(EXERCISE) if m.name == "nothing to attend to: equal weights"]
    changed = lambda *edits: dataclasses.replace(known, edits=edits)
    assert analysis._looks_like(changed(Rule("a", "a < b & c"))) == ("a < b & c", "a")
    one, diff = Rule("a", "b"), Hunk(("-a", "+b"))
    for edits in ([Rule("f(a)", "")], [diff], [one, Rule("c", "d")], [Rule("a", "b" * 200)], []):
        assert analysis._looks_like(changed(*edits)) is None
    # what it changes is no piece of the reference
    begun = dataclasses.replace(changed(Rule("a", "a < b & c")), start=known)
    assert analysis._looks_like(begun) is None
    write([result("ann", {known.cell: [line("a()", 1, WRONG, known.name)]})], tmp_path)
    report, lecture = (
        (tmp_path / folder / f"{EXERCISE}.html").read_text(encoding="utf-8")
        for folder in ("reports", "lecture")
    )
    (rule,) = known.edits
    shown = f"<code>{rule.after}</code> <small>in place of</small> <code>{rule.before}</code>"
    assert shown in report and f"<code>{rule.after}</code>" not in lecture


def test_a_catalogue_may_say_which_mistakes_are_one_idea(course_folder):
    """Two that mean the same are one idea already, and a third may be like one of them."""
    change = "*Hint:* Hint.\n`a -> b`\n"
    text = (
        f"# f: c, label\n## one\nSame.\n{change}## two\nSame.\n{change}"
        f"## three\nLike *{{}}*.\nOther.\n{change}## four\nAlone.\n{change}"
    )
    path = course_folder / "solutions" / "catalogue" / "ch1_x.md"
    path.write_text(text.format("two"))
    own = Exercise(course_folder, "ch1_x")
    assert ideas(own) == {"one": "one", "two": "one", "three": "one", "four": "four"}
    path.write_text(text.format("five") + "\n")
    with pytest.raises(CatalogueError, match="line 10: no mistake above is called 'five'"):
        ideas(own)


def test_lost_points_are_untried_explained_or_neither():
    name = mistakes(EXERCISE)[0].name
    to_do = Difference("to_do")
    by_line = LineResult("b()", 8, WRONG, name, by_line=True)
    results = [
        result("a", {"x": [line("a()", 1, WRONG, name), line("b()", 2, WRONG), line("c()", 4)]}),
        result("b", {"x": [line("a()", 1, to_do), line("b()", 2, to_do)], "y": [line("d()", 16)]}),
        # explained is that line alone
        result("c", {"x": [line("a()", 1, WRONG), by_line]}),
    ]
    found = analysis.losses(results)
    assert (found.points, found.untried, found.explained) == (15, 3, 11)
    assert found.unexplained == 1


def test_the_histogram_counts_everybody_once():
    shares = [0, 0.05, 0.1, 0.3, 0.7, 0.99, 1, 1, 0.3]
    title = re.search(r"<title>(.*)</title>", plots.histogram(shares))[1]
    counts = [int(count) for count in re.findall(r"%: (\d+)", title)]
    assert counts == np.histogram(shares, bins=np.arange(11) / 10)[0].tolist()
    assert plots.histogram([]).count('class="fill"') == 0


# Who stands where ---------------------------------------------------------------------------------

SECOND = COURSE.exercise("ch3_multi_head")


def gradebook(folder):
    """Three students: ann has handed in both, late and unread; bob the second; cyd nothing."""
    course = Course(COURSE.root, class_folder=folder)
    with Gradebook(course.db_url) as book:
        names = {"ann": ("Ann", "Ö'<b>Neil"), "bob": ("Bob", "Roe"), "cyd": (None, None)}
        for student, (first, last) in names.items():
            book.add_student(student, first_name=first, last_name=last)
        for exercise in (EXERCISE.name, SECOND.name):
            add_exercise(book, exercise, duedate=datetime.datetime(2026, 3, 1, 18), code=8, why=2)
        for student, exercise, score, read, day in (
            ("ann", EXERCISE.name, 8, None, 2),
            ("ann", SECOND.name, 3, 2, 1),
            ("bob", SECOND.name, 6, 1, 1),
        ):
            moment = datetime.datetime(2026, 3, day, 12)
            book.add_submission(exercise, student, timestamp=moment)
            book.find_grade("code", exercise, exercise, student).auto_score = score
            grade = book.find_grade("why", exercise, exercise, student)
            grade.manual_score, grade.needs_manual_grade = read, student == "bob"
        book.db.commit()
    return recorded_grades(course, [EXERCISE, SECOND])


def test_who_is_missing_late_or_unread_is_read_from_the_gradebook(tmp_path):
    grades = gradebook(tmp_path)
    found = standing.handed_in([grade for grade in grades if grade.exercise == EXERCISE.name])
    assert found == standing.HandedIn(("bob", "cyd"), ("ann",), ("ann",), (), ())
    found = standing.handed_in([grade for grade in grades if grade.exercise == SECOND.name])
    assert found == standing.HandedIn(("cyd",), (), (), ("bob",), ())


def test_the_table_of_students_begins_with_those_who_fall_behind(tmp_path):
    rows = standing.by_student(gradebook(tmp_path))
    assert [(row.student, row.missing) for row in rows] == [("cyd", 2), ("bob", 1), ("ann", 0)]
    cyd, bob, ann = rows
    assert (cyd.mean, cyd.trend) == (0, None) and (bob.mean, bob.trend) == (0.7, None)
    # 8 of the 8 points that were read, then 5 of 10
    assert (ann.mean, ann.trend) == (0.75, -0.5)


def test_what_is_not_due_yet_is_not_missing(tmp_path):
    later = str(datetime.datetime.now() + datetime.timedelta(days=30))
    grades = [
        dataclasses.replace(grade, due=later) if grade.exercise == SECOND.name else grade
        for grade in gradebook(tmp_path)
    ]
    missing = {row.student: row.missing for row in standing.by_student(grades)}
    assert missing == {"ann": 0, "bob": 1, "cyd": 1}


def test_the_pages_have_names_and_the_one_for_the_lecture_has_none(tmp_path):
    gradebook(tmp_path)
    known = mistakes(EXERCISE)[0]
    secret = "what a student wrote"
    failed = line("a()", 1, Difference("not_plain", {"reason": secret}), known.name)
    own = [
        result("ann", {known.cell: [failed]}, [Remark("renamed", {"name": secret, "wanted": "x"})]),
        result("bob", {known.cell: [line("a()")]}, exercise=SECOND),
    ]
    text, page = written(own, tmp_path)
    assert "ann (Ann Ö'<b>Neil)" in page.text and "<b>Neil" not in text
    assert secret in page.text
    standing_table = page.text[page.text.index("Nothing handed in") :]
    assert "bob (Bob Roe), cyd" in standing_table
    summary = Page((tmp_path / "summary.html").read_text(encoding="utf-8")).text
    assert "ann (Ann Ö'<b>Neil)" in summary and "bob (Bob Roe)" in summary
    assert "late" in summary and "unread" in summary and "-50" in summary
    lecture = Page((tmp_path / "lecture" / f"{EXERCISE}.html").read_text(encoding="utf-8"))
    assert known.name in lecture.text and known.means in html.unescape(lecture.text)
    for word in ("ann", "bob", "cyd", "Neil", "Roe", secret):
        assert not re.search(rf"\b{re.escape(word)}\b", lecture.text)
    assert not any("feedback" in link or "summary" in link for link in lecture.links)
    assert all(link[1:] in lecture.ids for link in lecture.links if link.startswith("#"))


def test_many_names_are_folded(tmp_path):
    first = mistakes(EXERCISE)[0]
    own = [
        result(f"s{n:03d}", {first.cell: [line("a()", 1, WRONG, first.name)]}) for n in range(300)
    ]
    text, _ = written(own, tmp_path)
    row = text[text.index(f"<strong>{html.escape(first.name)}") :]
    assert "<details><summary>300 students</summary>s000, s001, " in row


# Pages and data -----------------------------------------------------------------------------------


def nasty_class():
    return [
        result(
            name,
            {NASTY: [line(NASTY, 1, Difference("not_plain", {"reason": NASTY}), NASTY)]},
            [Remark("renamed", {"name": NASTY, "wanted": NASTY})],
        )
        for name in NAMES
    ]


def test_text_of_students_can_do_nothing(tmp_path):
    text, page = written(nasty_class(), tmp_path)
    summary = (tmp_path / "summary.html").read_text(encoding="utf-8")
    for found in (page, Page(summary)):
        assert not {"script", "img", "iframe", "link", "object"} & {tag for tag, _ in found.tags}
        for _, attributes in found.tags:
            assert not any(name.startswith("on") or name == "src" for name in attributes)
    assert "default-src 'none'" in text
    assert all(name in page.text for name in NAMES)


def test_links_lead_to_feedback_and_to_the_book(tmp_path, monkeypatch):
    first = mistakes(EXERCISE)[0]
    cells = {first.cell: [line("a()", 1, WRONG, first.name)]}
    results = [result(name, cells) for name in NAMES]
    address = book_sections(COURSE.root)[first.section].address
    monkeypatch.delenv("BOOK_URL", raising=False)
    _, page = written(results, tmp_path)
    feedback = {urllib.parse.unquote(link) for link in page.links}
    for name in NAMES:
        assert f"../feedback/{name}/{EXERCISE}/{EXERCISE}.html" in feedback
    (local,) = {link for link in page.links if f"#{first.section}" in link}
    page_name = book_sections(COURSE.root)[first.section].page
    assert local.endswith(f"_build/html/book/{page_name}.html#{first.section}")
    assert all(link[1:] in page.ids for link in page.links if link.startswith("#"))
    monkeypatch.setenv("BOOK_URL", "https://example.org/book")
    _, page = written(results, tmp_path)
    assert address("https://example.org/book") in page.links


def test_a_check_is_shown_by_what_it_tests_and_its_expression_folded(tmp_path):
    cell, source = next(iter(grade_cells(released(EXERCISE)).items()))
    known = [check for check in parse_cell(source).checks if check.says]
    lines = [line(check.expression, 1, WRONG) for check in known]
    results = [
        result(f"student-{n:02d}", {cell: [*lines, line("gone(x)")]}) for n in range(MIN_CLASS)
    ]
    text, page = written(results, tmp_path)
    text = html.unescape(text)
    for check in known:
        folded = f"<details><summary>Expression</summary><code>{check.expression}</code></details>"
        # among the questions and among those that behave oddly
        assert text.count(f"{check.says.text}{folded}") == 2
        assert text.count(f"<code>{check.expression}</code>") == 2
    assert f"{cell}, {known[0].says.text}: " in page.text
    # what the exercise no longer asks has no words
    assert "<code>gone(x)</code>" in text


def test_the_data_come_back_as_they_were(tmp_path):
    results = [*random_class(3), *nasty_class()]
    write(results, tmp_path)
    found = rows(tmp_path / "reports" / f"{EXERCISE}.csv")
    wanted = [(r, cell, ln) for r in results for cell, ln in r.lines()]
    assert len(found) == len(wanted)
    for row, (r, cell, ln) in zip(found, wanted, strict=True):
        assert row["student"].removeprefix("'") == r.student
        assert (row["cell"], row["expression"]) == (cell, ln.expression)
        assert (float(row["points"]), float(row["earned"])) == (ln.points, ln.earned)
        assert (row["verdict"], row["mistake"]) == (ln.verdict, ln.mistake or "")
        assert row["student"][0] not in "=+-@"
    summary = rows(tmp_path / "summary.csv")
    assert [float(row["score"]) for row in summary] == [r.score for r in results]


def test_near_identical_answers_stand_side_by_side_as_a_hint(tmp_path):
    lines = "\n".join(f"    x = np.exp(x - {i}) @ x.T + {i} * x  # {{0}}" for i in range(8))
    odd = "def softmax(x, axis=-1):\n" + lines + "\n    return x</pre><script>"
    program = odd.replace("</pre><script>", "")
    changed = program.replace("return x", "return x.T")
    for student, text in (("a", program.format("mine")), ("b", changed.format("also mine"))):
        autograded(tmp_path, student, {"softmax": text})
    reference = reference_answers(EXERCISE)
    for student in ("c", "d"):
        autograded(tmp_path, student, {"attention_numpy": reference["attention_numpy"]})
    for student in ("e", "f"):
        autograded(tmp_path, student, {"softmax": odd})
    seconds = dict(zip("abcdef", (12.0, 12.0, 30.5, 20.0, 1.0, 1.0), strict=True))
    results = [result(s, {"softmax_values": [line("a()")]}, seconds=seconds[s]) for s in seconds]
    text, page = written(results, tmp_path)
    assert "A reason to look, not a verdict" in page.text
    assert "<h3>a, b</h3>" in text and "<h3>e, f</h3>" in text
    assert re.findall("<mark>.*</mark>", text) == [
        "<mark>    return v0</mark>",
        "<mark>    return v0.T</mark>",
    ]
    found = '<td>the reference</td><td>attention_numpy</td><td class="n">2</td><td>c, d</td>'
    assert found in " ".join(text.split()).replace("<td> ", "<td>").replace(" </td>", "</td>")
    assert "<h3>c, d</h3>" not in text
    assert "<script" not in text
    assert "12 s at the median" in page.text and "30 s at most (c)" in page.text


@pytest.mark.parametrize(
    "text",
    ["a\nb\n" * 60_000, "x" * 200_000, "\n".join(map(str, range(90_000)))],
    ids=["two lines again and again", "one line", "all lines different"],
)
def test_long_answers_are_compared_and_shown_in_part(text):
    """Lines chosen to be hard to align, in the largest answers that are read, end at once."""
    one, other = pages.side_by_side(text, f"b\n{text[::-1]}")
    for side in (one, other):
        assert len(side) <= pages.MAX_LINES + 1
        assert sum(len(ln.text) for ln in side) <= pages.MAX_CHARACTERS + 100
        assert re.fullmatch(r"... and \d+ more characters", side[-1].text)


def test_lines_that_both_have_are_those_of_the_longest_common_subsequence():
    draw = random.Random(3)
    for _ in range(50):
        one, other = ([draw.choice("abc") for _ in range(draw.randint(1, 12))] for _ in range(2))
        common = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
        for i, x in enumerate(one):
            for j, y in enumerate(other):
                longest = max(common[i][j + 1], common[i + 1][j])
                common[i + 1][j + 1] = common[i][j] + 1 if x == y else longest
        sides = pages.side_by_side("\n".join(one), "\n".join(other))
        alike = [[ln.text for ln in side if not ln.differs] for side in sides]
        assert alike[0] == alike[1] and len(alike[0]) == common[-1][-1]


def test_failures_are_told_once_for_all_whom_they_hit(tmp_path):
    where = {"line": "", "inside": "", "by_check": False}
    raised = Difference("error", {"name": "ValueError", "message": "no", **where})
    renamed = {name: Remark("renamed", {"name": f"{name}.ipynb", "wanted": "w"}) for name in "ab"}
    cells = {"softmax_values": [line("a()", 1, STOPPED), line("b()", 1, raised)]}
    results = [result(name, cells, [renamed[name]]) for name in "ab"]
    found = analysis.failures(results)
    assert [(f.cell, f.kind, f.students) for f in found] == [
        ("", "renamed", ["a", "b"]),
        ("softmax_values", "timeout", ["a", "b"]),
    ]
    _, page = written(results, tmp_path)
    # of one kind, whatever its parameters
    assert "named a.ipynb; " in page.text and "named b.ipynb; " in page.text
    assert "softmax_values: no answer within 10 seconds" in page.text
    text, _ = written([result("c", {"softmax_values": [line("a()")]})], tmp_path)
    assert "Nothing had to be stopped" in text


def test_a_file_without_code_is_one_failure():
    nothing = Difference("no_code")
    cells = {name: [line("a()", 1, nothing)] for name in ("softmax_values", "softmax_edges")}
    (found,) = analysis.failures([result("a", cells, [Remark("empty", {})])])
    assert (found.cell, found.kind, found.students) == ("", "empty", ["a"])
    assert len(analysis.failures([result("a", cells)])) == 2


def test_students_stand_in_the_order_of_their_points(tmp_path):
    points = {"b": 1, "a": 3, "d": 2, "c": 2}
    results = [result(s, {"softmax_values": [line("x()", p)]}) for s, p in points.items()]
    text, _ = written(results, tmp_path)
    students = text[text.index('<h2 id="students">') :]
    assert re.findall(r'<a href="[^"]*">(\w)</a>', students) == ["a", "c", "d", "b"]


def test_a_name_like_markup_is_printed_as_it_is(capsys):
    pages.print_scores([result("x[/]", {"softmax_values": [line("x()", 1)]})])
    assert "x[/]" in capsys.readouterr().out


def test_scores_of_the_whole_course_fit_a_terminal(capsys):
    line_of = {"x": [line("x()", 29)]}
    students = "sample-ada", "x" * 200
    pages.print_scores(
        [result(s, line_of, exercise=e) for s in students for e in COURSE.exercises()]
    )
    printed = capsys.readouterr().out.splitlines()
    (row,) = [words.split() for words in printed if "sample-ada" in words]
    assert row.count("29") == 10 and any(words.count("of 29") == 10 for words in printed)


def test_the_summarys_first_screen_says_how_many_got_what_and_what_most_fail(tmp_path, open_tab):
    cell, source = next(iter(grade_cells(released(EXERCISE)).items()))
    first, second = parse_cell(source).checks[:2]
    to_do = Difference("to_do", {"message": "To do"})
    given = [(None, None)] * 4 + [(WRONG, None)] * 2 + [(WRONG, WRONG), (to_do, to_do)]
    found = [
        result(f"s{n}", {cell: [line(first.expression, 1, a), line(second.expression, 1, b)]})
        for n, (a, b) in enumerate(given)
    ]
    safe = dataclasses.replace(BASIS, limits=dataclasses.replace(BASIS.limits, sandbox=True))
    found[1:] = [dataclasses.replace(one, basis=safe) for one in found[1:]]
    write(found, tmp_path)
    page = open_tab(path := (tmp_path / "summary.html").as_uri())
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(path)
    row = page.locator("tr", has_text="lecture")
    assert row.locator("td.n").all_inner_texts()[:4] == ["4", "2", "", "2"]
    assert row.locator("td.n").nth(3).is_visible() and row.bounding_box()["y"] < 800
    # of a cell the check that most fail, who hasn't tried left out
    (told,) = page.locator("ol li").all_inner_texts()
    assert told.startswith(f"3 of 8: {first.says.text}")
    assert "without a sandbox: 1 of 8 submissions" in page.locator("p.warn").inner_text()
    write(found[1:], tmp_path)
    assert "sandbox" not in (tmp_path / "summary.html").read_text(encoding="utf-8")


def test_the_summary_leads_to_every_report(tmp_path):
    first = COURSE.exercises()[0]
    write([*random_class(4), result("a", {"x": [line("a()")]}, exercise=first)], tmp_path)
    page = Page((tmp_path / "summary.html").read_text(encoding="utf-8"))
    for exercise in (EXERCISE, first):
        for ending in ("html", "csv"):
            assert f"reports/{exercise}.{ending}" in page.links
            assert (tmp_path / "reports" / f"{exercise}.{ending}").exists()
