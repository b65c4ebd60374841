"""The report: a self-contained page and a CSV per exercise, an index of them, a table for the terminal."""

from __future__ import annotations

import collections
import difflib
import html
import json
import os
import statistics
import urllib.parse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from autograder.book_index import BUILT_BOOK, book_sections, book_url
from autograder.lms.export import write_csv
from autograder.report import analysis, plots, similarity
from autograder.report.analysis import MIN_CLASS, lines_of, share

MAX_GROUPS = 20

# nothing is loaded and nothing runs, even if a student's text slipped through unescaped
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = """
:root{color-scheme:light dark;--ink:#1b1b1b;--paper:#fff;--soft:#555;--line:#ddd;--fill:#0072b2;--track:#e6e6e6;--mark:#ffe08a;--link:#0b57d0}
@media (prefers-color-scheme:dark){:root{--ink:#e6e6e6;--paper:#121212;--soft:#aaa;--line:#444;--fill:#56b4e9;--track:#333;--mark:#5c4a00;--link:#8ab4f8}}
body{font:16px/1.5 system-ui,sans-serif;max-width:68rem;margin:2rem auto;padding:0 1rem;color:var(--ink);background:var(--paper)}
h1,h2,h3{line-height:1.2;overflow-wrap:anywhere}h1{font-size:clamp(1.4rem,6vw,2rem)}h2{margin-top:2.5rem}a{color:var(--link)}small,.note{color:var(--soft)}
table{border-collapse:collapse;width:100%;margin:.5rem 0 1rem}
th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid var(--line);vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
code{font-size:.9em;overflow-wrap:anywhere}td{overflow-wrap:anywhere}td:not(.n){min-width:11rem}
.wide{overflow-x:auto}
.bar{display:block;width:5rem;height:.6rem;margin:.2rem 0 .2rem auto}.track{fill:var(--track)}.fill{fill:var(--fill)}
.plot{display:block;width:100%;max-width:32rem;font:11px system-ui,sans-serif}.plot text{fill:var(--ink)}.ink{fill:var(--ink)}
.pair{display:grid;grid-template-columns:repeat(2,minmax(18rem,1fr));gap:1rem}.pair pre{font-size:.8rem;border:1px solid var(--line);padding:.5rem;margin:.3rem 0;white-space:pre-wrap;overflow-wrap:anywhere}
mark{background:var(--mark);color:inherit;text-decoration:underline}
@media print{:root{color-scheme:light;--ink:#000;--paper:#fff;--soft:#333;--line:#999;--fill:#333;--track:#ddd;--mark:#ddd;--link:#000}body{font-size:9pt;max-width:none;margin:0}nav{display:none}h2{break-after:avoid}tr,.plot,.pair{break-inside:avoid}.wide{overflow:visible}}
"""

escape = html.escape


def _page(title: str, parts: Sequence[str]) -> str:
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>\n"
        f"<h1>{escape(title)}</h1>\n" + "\n".join(parts) + "\n</body></html>\n"
    )


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[int] = ()) -> str:
    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(
            f'<{tag} class="n">{cell}</{tag}>' if i in numeric else f"<{tag}>{cell}</{tag}>"
            for i, cell in enumerate(row)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f'<div class="wide"><table><tr>{cells("th", heads)}</tr>{body}</table></div>'


def _several(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _chapter(exercise: str) -> str:
    titles = [section.title for section in book_sections().values() if section.page == exercise]
    return titles[0] if titles else ""


class _Report:
    """One exercise's page."""

    def __init__(self, exercise: str, results: Sequence[dict], course: Path) -> None:
        self.exercise, self.results = exercise, results
        self.folder = course / "reports"
        self.book = book_url() or Path(os.path.relpath(BUILT_BOOK, self.folder)).as_posix()
        self.questions = analysis.questions(results)
        self.answers: dict[str, dict[str, str]] = {}
        self.seconds: dict[str, float] = {}
        for result in results:
            self._read(course / "autograded", result["student"])

    def _read(self, autograded: Path, student: str) -> None:
        """Take a student's answers, and the time they took, from the graded notebook."""
        path = autograded / student / self.exercise / f"{self.exercise}.ipynb"
        if not path.is_file():
            return
        # the grader has written it, so there is nothing to validate
        notebook = json.loads(path.read_text(encoding="utf-8"))
        self.answers[student] = {
            cell["metadata"]["nbgrader"]["grade_id"]: "".join(cell["source"])
            for cell in notebook["cells"]
            if cell["cell_type"] == "code" and cell["metadata"].get("nbgrader", {}).get("solution")
        }
        seconds = notebook["metadata"].get("autotest", {}).get("seconds")
        if seconds is not None:
            self.seconds[student] = seconds

    def page(self) -> str:
        """The whole page."""
        parts = {
            "scores": ("Scores", self._scores()),
            "misunderstood": ("What the class misunderstood", self._misunderstood()),
            "questions": ("Questions", self._questions()),
            "odd": ("Questions that behave oddly", self._odd()),
            "similar": ("Near-identical submissions", self._similar()),
            "time": ("Time and failures", self._time()),
            "students": ("Students", self._students()),
        }
        links = " · ".join(f'<a href="#{name}">{title}</a>' for name, (title, _) in parts.items())
        start = f'<p>{escape(_chapter(self.exercise))}</p><nav><a href="../summary.html">All exercises</a> · {links}</nav>'
        return _page(
            self.exercise,
            [start, *(f'<h2 id="{n}">{title}</h2>\n{text}' for n, (title, text) in parts.items())],
        )

    def _scores(self) -> str:
        shares = [share(result) for result in self.results]
        full = sum(value == 1 for value in shares)
        return (
            f"<p>{_several(len(shares), 'submission')}, {self.results[0]['points']:g} automatic points. Mean "
            f"{statistics.mean(shares):.0%}, median {statistics.median(shares):.0%}, full marks: {full}.</p>"
            + plots.histogram(shares)
        )

    def _section(self, label: str) -> str:
        section = book_sections().get(label)
        return section.link(self.book) if section else escape(label)

    def _explained(self, mistake: analysis.Misunderstanding) -> str:
        words = f"<strong>{escape(mistake.name)}</strong><br>{escape(mistake.means)}"
        if not mistake.section:
            return words
        return f"{words}<br><small>Teach again: {self._section(mistake.section)}</small>"

    def _count(self, students: int) -> str:
        return f"{students}{plots.bar(students / len(self.results))}"

    def _misunderstood(self) -> str:
        found = analysis.misunderstood(self.exercise, self.results)
        rows = [
            [
                self._explained(mistake),
                self._count(len(mistake.students)),
                escape(", ".join(mistake.students)),
            ]
            for mistake in found
        ]
        heads = ["Mistake", "Students", "Who"]
        named = _table(heads, rows, [1]) if rows else "<p>No known mistake was recognised.</p>"
        lost = [
            [self._section(label), self._count(len(who))]
            for label, who in analysis.to_teach_again(self.exercise, self.results)
        ]
        if not lost:
            return named
        words = "<p>Sections by the students who lost points on them, whether or not a mistake was recognised:</p>"
        return named + words + _table(["Section", "Students"], lost, [1])

    def _questions(self) -> str:
        rows = [
            [
                str(number),
                f"{escape(q.cell)}<br><code>{escape(q.expression)}</code>",
                f"{q.points:g}",
                f"{q.right} of {q.asked}{plots.bar(q.share_right)}",
                str(q.untried),
                "–"
                if q.discrimination is None
                else f"{q.discrimination:.2f}{plots.signed_bar(q.discrimination)}",
            ]
            for number, q in enumerate(self.questions, 1)
        ]
        words = (
            '<p class="note">Difficulty is the share that is right. Discrimination is the correlation '
            "of being right with the points on all other questions: near 1, the question separates "
            "strong from weak submissions; near 0, it says nothing about them.</p>"
        )
        heads = ["", "Check", "Points", "Right", "Not tried", "Discrimination"]
        return words + _table(heads, rows, [0, 2, 3, 4, 5])

    def _odd(self) -> str:
        if len(self.results) < MIN_CLASS:
            return (
                f"<p>Such a statement needs at least {MIN_CLASS} submissions; there "
                f"{'is' if len(self.results) == 1 else 'are'} {len(self.results)}.</p>"
            )
        numbers = {id(question): number for number, question in enumerate(self.questions, 1)}
        rows = [
            [str(numbers[id(q)]), f"<code>{escape(q.expression)}</code>", escape(words)]
            for q, words in analysis.oddities(self.questions)
        ]
        if not rows:
            return f"<p>None, among {len(self.results)} submissions.</p>"
        return _table(["", "Check", "What is odd"], rows, [0])

    def _similar(self) -> str:
        public = similarity.public_answers(self.exercise)
        groups, known = similarity.compare(self.answers, public)
        words = (
            "<p>A hint to look, not a verdict: two people can write the same few lines, above all after "
            "the same lecture. Compared are answers of at least "
            f"{similarity.MIN_TOKENS} words and marks, without comments, docstrings and spacing, and "
            f"with local names numbered; {similarity.NEAR:.0%} of these in common counts as near.</p>"
        )
        if known:
            rows = [
                [
                    escape(who),
                    str(len(students)),
                    "; ".join(f"{escape(s)} ({escape(', '.join(a))})" for s, a in students.items()),
                ]
                for who, students in known.items()
            ]
            words += "<p>Near a solution that anybody can read, and therefore not compared with one another:</p>"
            words += _table(["Near", "Students", "Who, in which answers"], rows, [1])
        if not groups:
            return words + "<p>No other near-identical answers.</p>"
        shown = "".join(map(self._group, groups[:MAX_GROUPS]))
        more = groups[MAX_GROUPS:]
        return words + shown + (f"<p>And {_several(len(more), 'more group')}.</p>" if more else "")

    def _group(self, group: similarity.Group) -> str:
        raw = [self.answers[student][group.answers[0]] for student in group.pair]
        marked = _marked(*map(similarity.normalised, raw))
        columns = "".join(
            f"<div>{escape(student)}<pre>{text}</pre></div>"
            for student, text in zip(group.pair, marked, strict=True)
        )
        handed_in = "".join(f"<pre>{escape(text)}</pre>" for text in raw)
        return (
            f"<h3>{escape(', '.join(group.students))}</h3><p>In {escape(', '.join(group.answers))}. "
            f"As compared, {escape(group.answers[0])}, {group.similarity:.0%} in common:</p>"
            f'<div class="wide"><div class="pair">{columns}</div></div>'
            f'<details><summary>As handed in</summary><div class="wide"><div class="pair">{handed_in}'
            "</div></div></details>"
        )

    def _time(self) -> str:
        words = ""
        if self.seconds:
            slowest = max(self.seconds, key=lambda student: self.seconds[student])
            words = (
                f"<p>A submission took {statistics.median(self.seconds.values()):.0f} s at the median, "
                f"{self.seconds[slowest]:.0f} s at most ({escape(slowest)}).</p>"
            )
        rows = [
            [escape(": ".join(filter(None, found))), self._count(len(who)), escape(", ".join(who))]
            for *found, who in analysis.failures(self.results)
        ]
        if not rows:
            return words + "<p>Nothing had to be stopped, and every submission could be read.</p>"
        return words + _table(["What happened", "Students", "Who"], rows, [1])

    def _students(self) -> str:
        rows = []
        for result in sorted(self.results, key=lambda r: (-r["score"], r["student"])):
            student = result["student"]
            page = f"../feedback/{student}/{self.exercise}/{self.exercise}.html"
            seconds = self.seconds.get(student)
            rows.append(
                [
                    f'<a href="{escape(urllib.parse.quote(page))}">{escape(student)}</a>',
                    f"{result['score']:g} / {result['points']:g}{plots.bar(share(result))}",
                    "" if seconds is None else f"{seconds:.0f}",
                    "<br>".join(map(escape, [*result["remarks"], *_first_troubles(result)])),
                ]
            )
        return _table(["Student", "Points", "Seconds", "What went wrong"], rows, [1, 2])


def _first_troubles(result: dict) -> list[str]:
    troubles = list(
        dict.fromkeys(line["mistake"] for _, line in lines_of(result) if line["mistake"])
    )
    for cell, lines in result["cells"].items():
        failed = [line for line in lines if line["verdict"] != "passed"]
        if failed and not any(line["mistake"] for line in lines):
            troubles.append(f"{cell}: {failed[0]['message'].splitlines()[0][:160]}")
    return troubles[:6]


def _marked(one: str, other: str) -> list[str]:
    """Two texts as HTML, with the lines marked that the other doesn't have."""
    lines = one.split("\n"), other.split("\n")
    texts = [[escape(line) for line in side] for side in lines]
    for kind, *spans in difflib.SequenceMatcher(None, *lines, autojunk=False).get_opcodes():
        for side, (start, end) in zip(texts, (spans[:2], spans[2:]), strict=True):
            if kind != "equal":
                side[start:end] = [f"<mark>{line}</mark>" for line in side[start:end]]
    return ["\n".join(side) for side in texts]


def _index(by_exercise: dict[str, list[dict]]) -> str:
    rows = []
    for exercise, results in by_exercise.items():
        shares = [share(result) for result in results]
        made = analysis.misunderstood(exercise, results)
        rows.append(
            [
                f'<a href="reports/{exercise}.html">{escape(exercise)}</a><br>{escape(_chapter(exercise))}',
                str(len(results)),
                f"{statistics.mean(shares):.0%}{plots.bar(statistics.mean(shares))}",
                str(sum(value == 1 for value in shares)),
                f"{escape(made[0].name)} ({len(made[0].students)})" if made else "",
                f'<a href="reports/{exercise}.csv">CSV</a>',
            ]
        )
    heads = ["Exercise", "Submissions", "Mean", "Full marks", "Most frequent mistake", "Data"]
    words = (
        '<p class="note">Automatic points, before penalties and without written answers. One row per '
        'student and exercise: <a href="summary.csv">summary.csv</a>.</p>'
    )
    return _page("Class summary", [words, _table(heads, rows, [1, 2, 3])])


def write(results: Sequence[dict], course: Path) -> Path:
    """Write a report per exercise into reports/ of a course's folder, and summary.html and summary.csv.

    Returns the path of the summary, which leads to the reports.
    """
    by_exercise = collections.defaultdict(list)
    for result in results:
        by_exercise[result["exercise"]].append(result)
    reports = course / "reports"
    reports.mkdir(parents=True, exist_ok=True)
    for exercise, found in by_exercise.items():
        page = _Report(exercise, found, course).page()
        (reports / f"{exercise}.html").write_text(page, encoding="utf-8")
        names = ["expression", "points", "earned", "verdict", "mistake"]
        rows = [
            [result["student"], cell, *(line[name] for name in names)]
            for result in found
            for cell, line in lines_of(result)
        ]
        write_csv(reports / f"{exercise}.csv", ["student", "cell", *names], rows)
    summary = course / "summary.html"
    summary.write_text(_index(by_exercise), encoding="utf-8")
    rows = []
    for result in results:
        named = sorted({line["mistake"] for _, line in lines_of(result) if line["mistake"]})
        own = [result[name] for name in ("exercise", "student", "score", "points")]
        rows.append([*own, "; ".join(named)])
    write_csv(course / "summary.csv", ["exercise", "student", "score", "points", "mistakes"], rows)
    return summary


def print_scores(results: Sequence[dict]) -> None:
    """Print one row per student and one column per exercise."""
    exercises = sorted({result["exercise"] for result in results})
    scores = {(result["student"], result["exercise"]): result for result in results}
    table = Table(title="Automatic points")
    table.add_column("student", no_wrap=True)
    for exercise in exercises:
        table.add_column(exercise.split("_")[0], justify="right")
    for student in sorted({result["student"] for result in results}):
        found = [scores.get((student, exercise)) for exercise in exercises]
        table.add_row(student, *(f"{r['score']:g} / {r['points']:g}" if r else "-" for r in found))
    Console(width=100).print(table)
