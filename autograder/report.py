"""The class summary: one self-contained page, a CSV, and the short table at the end of a run."""

from __future__ import annotations

import collections
import csv
import html
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from autograder.catalogue import mistakes

STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b;background:#fff}
table{border-collapse:collapse;width:100%;margin:.5rem 0 2rem}
th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #ddd;vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
.bar{background:#e6e6e6;height:.7rem;min-width:6rem}.bar i{display:block;height:.7rem;background:#0072b2}
small{color:#555}code{font-size:.9em;overflow-wrap:anywhere}
.wide{overflow-x:auto}
@media (prefers-color-scheme:dark){body{color:#e6e6e6;background:#121212}th,td{border-color:#444}.bar{background:#333}small{color:#aaa}.bar i{background:#56b4e9}a{color:#8ab4f8}}
@media print{body{max-width:none;margin:0}}
"""


def _bar(share: float) -> str:
    return f'<div class="bar"><i style="width:{100 * share:.0f}%"></i></div>'


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[int]) -> str:
    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(
            f'<{tag} class="n">{cell}</{tag}>' if i in numeric else f"<{tag}>{cell}</{tag}>"
            for i, cell in enumerate(row)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f'<div class="wide"><table><tr>{cells("th", heads)}</tr>{body}</table></div>'


def _students(results: Sequence[dict]) -> str:
    rows = []
    for result in sorted(results, key=lambda r: (-r["score"], r["student"])):
        reasons = [*result["remarks"], *_first_troubles(result)]
        page = f"{result['student']}/{result['exercise']}/{result['exercise']}.html"
        rows.append(
            [
                f'<a href="feedback/{html.escape(page)}">{html.escape(result["student"])}</a>',
                f"{result['score']:g} / {result['points']:g}",
                _bar(result["score"] / result["points"]),
                "<br>".join(html.escape(reason) for reason in reasons),
            ]
        )
    return _table(["Student", "Points", "", "What went wrong"], rows, [1])


def _first_troubles(result: dict) -> list[str]:
    named = dict.fromkeys(
        line["mistake"] for lines in result["cells"].values() for line in lines if line["mistake"]
    )
    troubles = list(named)
    for cell, lines in result["cells"].items():
        failed = [line for line in lines if line["verdict"] != "passed"]
        if failed and not any(line["mistake"] for line in lines):
            troubles.append(f"{cell}: {failed[0]['message'].splitlines()[0][:160]}")
    return troubles[:6]


def _misunderstood(exercise: str, results: Sequence[dict]) -> str:
    who: dict[str, set[str]] = collections.defaultdict(set)
    for result in results:
        for lines in result["cells"].values():
            for line in lines:
                if line["mistake"]:
                    who[line["mistake"]].add(result["student"])
    if not who:
        return "<p>No known mistake was recognised.</p>"
    catalogue = {mistake.name: mistake for mistake in mistakes(exercise)}
    rows = [
        [
            html.escape(name),
            str(len(students)),
            html.escape(catalogue[name].means) if name in catalogue else "",
            html.escape(", ".join(sorted(students))),
        ]
        for name, students in sorted(who.items(), key=lambda item: -len(item[1]))
    ]
    return _table(["Mistake", "Students", "What it means", "Who"], rows, [1])


def _questions(results: Sequence[dict]) -> str:
    passed: dict[tuple[str, str], list[bool]] = collections.defaultdict(list)
    for result in results:
        for cell, lines in result["cells"].items():
            for line in lines:
                passed[cell, line["expression"]].append(line["verdict"] == "passed")
    rows = [
        [
            html.escape(cell),
            f"<code>{html.escape(expression)}</code>",
            f"{sum(verdicts)} of {len(verdicts)}",
            _bar(sum(verdicts) / len(verdicts)),
        ]
        for (cell, expression), verdicts in passed.items()
    ]
    return _table(["Question", "Check", "Right", ""], rows, [2])


def write(results: Sequence[dict], folder: Path) -> Path:
    """Write summary.html and summary.csv into a folder; returns the page's path."""
    parts = [
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>Class summary</title><meta name='viewport' content='width=device-width'><style>{STYLE}</style><h1>Class summary</h1>"
    ]
    by_exercise = collections.defaultdict(list)
    for result in results:
        by_exercise[result["exercise"]].append(result)
    for exercise, found in by_exercise.items():
        mean = sum(r["score"] for r in found) / sum(r["points"] for r in found)
        parts.append(f"<h2>{html.escape(exercise)}</h2>")
        parts.append(
            f"<p>{len(found)} submissions, {mean:.0%} of the automatic points on average.</p>"
        )
        parts.append("<h3>What the class misunderstood</h3>" + _misunderstood(exercise, found))
        parts.append("<h3>Questions</h3>" + _questions(found))
        parts.append("<h3>Students</h3>" + _students(found))
    page = folder / "summary.html"
    page.write_text("\n".join(parts) + "</html>", encoding="utf-8")
    with (folder / "summary.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["exercise", "student", "score", "points", "mistakes"])
        for result in results:
            named = sorted(
                {
                    ln["mistake"]
                    for lines in result["cells"].values()
                    for ln in lines
                    if ln["mistake"]
                }
            )
            row = [result["exercise"], result["student"], result["score"], result["points"]]
            writer.writerow([*row, "; ".join(named)])
    return page


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
