"""Formulas on feedback pages: all of ours are converted, code and prices are left alone, nothing acts."""

import re

import pytest
from nbconvert.filters import markdown2html

from autograder.display.mathml import with_mathml
from autograder.exercises import released


def test_every_formula_of_an_exercise_becomes_mathml(exercise):
    texts = [cell.source for cell in released(exercise).cells if cell.cell_type == "markdown"]
    converted = with_mathml("\n\n".join(texts))
    assert converted.count("<math") > 0
    left = re.sub(r"<math.*?</math>|`[^`]*`", "", converted)
    assert "$" not in left and "\\" not in left


@pytest.mark.parametrize(
    "text", ["`$a$` and `$b`", "it costs $5 and $6", r"\$x\$", "```\n$a$ + $b$\n```", r"$\frac{$"]
)
def test_code_prices_and_broken_tex_stay(text):
    assert with_mathml(text) == text


def test_mathml_survives_markdown_and_has_the_right_parts():
    page = markdown2html(with_mathml(r"so $x_i^2 < \frac{a}{b}$ holds"))
    inside = re.search(r"<math.*</math>", page)[0]
    assert "<msubsup>" in inside and "<mfrac>" in inside and "&lt;" in inside
    assert page.startswith("<p>so ") and " holds" in page


@pytest.mark.parametrize(
    "text",
    [r"$\text{<script>alert(1)</script>}$", r"$\href{javascript:alert(1)}{x}$", "$<img src=x>$"],
)
def test_a_formula_carries_no_tag_and_no_link(text):
    page = with_mathml(text)
    assert not re.search(r"<(script|img|a)\b|href", page.replace(text, ""))
