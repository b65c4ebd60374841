"""Questions with choices, and what a browser remembers of guesses and answers."""

import json
import re

import bs4
import pytest

from autograder.publish.page_source import read_page
from tests.support.browser import served
from tests.support.course import COURSE
from tests.support.small_book import FRONT, build_book

QUIZ = """\
:::{quiz} How much is one and one?
:right: 2

One.
: That's [too little](here).

Two.
: As [counted](here).

Three.
: That's too much.
:::
"""
SEVERAL = """\
:::{quiz} Which are even?
:right: 1 3

Two.
: It's [twice one](here).

Three.
: It's [one more than two](here).

Four.
: It's twice two.
:::
"""
PAGE = f"""
(here)=
# Counting

:::{{predict}} Which is larger, one or two?
:shows: the larger one
- one
- *two*
:::

```{{code-cell}} ipython3
print(max(1, 2))
```

Two is larger, because it comes later.

:::{{predict-end}}
:::

:::{{predict}} How large is it in your view?
:shows: the number
:::

```{{code-cell}} ipython3
print(41 + 1)
```

It is larger than most people think.

:::{{predict-end}}
:::

:::{{predict}} Do two and two make *five*?
:shows: the sum
:right: 2

Yes.
: That's one more than [counted](here).

No, *four*.
: Count them.
:::

```{{code-cell}} ipython3
print(2 + 2)
```

Two more than two are four.

:::{{predict-end}}
:::

## Check yourself

{QUIZ}

{SEVERAL}
"""
NAME = "book/ch2_counting"
EXTENSIONS = ["folds", "questions", "predictions", "page_files"]
SETTINGS = """
html_theme = "sphinx_book_theme"
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
"""


@pytest.fixture(scope="module")
def pages():
    """The pages of chapters, by name."""
    return {path.stem: read_page(path) for path in sorted(COURSE.book.glob("ch*.md"))}


def built(folder, text):
    done = build_book(folder, {NAME: FRONT + text}, EXTENSIONS, SETTINGS)
    return done.stderr if done.returncode else ""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("book")
    assert built(folder, PAGE) == ""
    return folder


def test_each_choice_says_whether_it_is_right(folder):
    page = bs4.BeautifulSoup((folder / f"html/{NAME}.html").read_text("utf-8"), "html.parser")
    quiz, several = page.select(".quiz")
    choices = quiz.select(":scope > details.choice")
    assert [one.summary.text for one in choices] == ["One.", "Two.", "Three."]
    assert ["right" in one["class"] for one in choices] == [False, True, False]
    reasons = [one.p.text for one in choices]
    assert reasons == ["No. That’s too little.", "Right. As counted.", "No. That’s too much."]
    assert several.select_one(".question").text == "Which are even? Check all that apply."
    assert ["right" in one["class"] for one in several.select("details")] == [True, False, True]
    assert not page.select("details[open]")
    names = [box["id"] for box in page.select(".quiz, .predict")]
    assert [name.partition("-")[0] for name in names] == 3 * ["predict"] + 2 * ["quiz"]
    assert len(set(names)) == 5


def test_a_prediction_is_built_like_a_quiz_and_its_answer_says_which_choice_is_right(folder):
    page = bs4.BeautifulSoup((folder / f"html/{NAME}.html").read_text("utf-8"), "html.parser")
    box = page.select(".predict")[2]
    quiz = page.select_one(".quiz")
    shape = lambda node: [
        (child.name, child["class"][0]) for child in node.find_all(recursive=False)
    ]
    assert shape(box)[:3] == shape(quiz)[:3]
    assert [one.p.text for one in box.select("details")] == [
        "No. That’s one more than counted.",
        "Right. Count them.",
    ]
    answer = box.find_next_sibling()
    assert answer.select_one(".right-choice").text == "B is right: No, four."
    assert answer.em and answer.select_one(".output").text.strip() == "4"


WRONG = {
    "no_such_choice": (":right: 2", ":right: 4"),
    "one_of_two_is_none": (":right: 2", ":right: 2 4"),
    "no_right_choice": (":right: 2\n", ""),
    "too_few_choices": ("Three.\n: That's too much.\n", ""),
}


def test_a_question_without_its_right_choice_fails_the_build(tmp_path):
    pages = {}
    for name, (old, new) in WRONG.items():
        assert old in QUIZ
        pages[f"book/ch2_{name}"] = f"# Counting\n\n(here)=\n## Here\n\n{QUIZ.replace(old, new)}"
    done = build_book(tmp_path, pages, EXTENSIONS, SETTINGS)
    assert done.returncode
    for name in WRONG:
        page, said = f"/ch2_{name}.md:", "{quiz} needs at least 3 choices"
        assert any(page in line and said in line for line in done.stderr.splitlines())


def test_every_page_has_a_question_whose_wrong_choices_say_where_to_read(pages):
    for name, page in pages.items():
        text = "\n".join(page.texts)
        (section,) = re.findall(r"^## Check yourself\n(.*?)^## ", text, re.DOTALL | re.MULTILINE)
        quizzes = re.findall(r"^:::\{quiz\} .*?^:::$", section, re.DOTALL | re.MULTILINE)
        assert quizzes, name
        for quiz in quizzes:
            reasons = re.findall(r"^: .*", quiz, re.MULTILINE)
            assert all(re.search(r"\]\([\w-]+\)", reason) for reason in reasons), quiz


def test_the_right_choice_of_a_quiz_does_not_stand_in_one_place(pages):
    places = [
        int(place)
        for page in pages.values()
        for place in re.findall(r"\{quiz\} .*\n:right: (\d)$", "\n".join(page.texts), re.MULTILINE)
    ]
    assert {*places} == {1, 2, 3, 4}
    assert all(places.count(place) <= len(places) / 2 for place in places)


# In a browser -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def address(folder):
    with served(folder / "html") as address:
        yield f"{address}{NAME}.html"


def kept(page):
    return json.loads(page.evaluate("localStorage.getItem('attention-from-scratch')"))


def test_guesses_and_answers_are_kept_and_shown(open_tab, address):
    page = open_tab(re.match(r"http://[^/]*/", address)[0])
    page.goto(address)
    group = page.get_by_role("radiogroup", name="Which is larger, one or two?")
    group.get_by_label("one").focus()
    page.keyboard.press("ArrowDown")
    page.get_by_label("Your guess:").fill("40")
    page.get_by_label("Your guess:").blur()
    choices = page.locator(".quiz summary")
    choices.nth(2).focus()
    page.keyboard.press("Enter")
    # the first answer counts, and opens the fold of a prediction
    choices.nth(1).click()
    predicted = page.locator(".predict summary")
    predicted.nth(0).click()
    assert page.get_by_text("That’s one more than").is_visible()
    assert page.get_by_text("B is right:").is_visible()
    predicted.nth(1).click()
    # of several right choices all count
    choices.nth(3).click()
    choices.nth(5).click()
    choices.nth(4).click()
    (found,) = kept(page).values()
    predictions = page.locator(".predict")
    names = [predictions.nth(n).get_attribute("id") for n in range(3)]
    assert found["guesses"] == {names[0]: 1, names[1]: "40", names[2]: 0}
    assert [*found["answers"].values()] == [
        {"choice": 2, "right": False},
        {"choice": [0, 2], "right": True},
    ]
    page.reload()
    assert group.get_by_label("two").is_checked()
    marked = ["your first answer" in words for words in choices.all_inner_texts()]
    assert marked == [False, False, True, True, False, True]
    assert ["first answer" in words for words in predicted.all_inner_texts()] == [True, False]
    for fold, guess in zip(page.locator(".predict-answer").all()[:2], ("two", "40"), strict=True):
        fold.locator("summary").click()
        assert fold.locator(".guess").inner_text() == f"You guessed: {guess}"
    link = page.locator(".bd-links a.reference", has_text="Counting")
    assert link.get_by_role("img", name="questions answered").inner_text() == "●"


def test_a_browser_that_keeps_nothing_still_shows_everything(open_tab, address):
    page = open_tab(re.match(r"http://[^/]*/", address)[0])
    page.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw new Error('none'); }})"
    )
    page.goto(address)
    page.get_by_role("radio", name="two").check()
    page.locator(".predict-answer summary").first.click()
    assert page.get_by_text("You guessed: two").is_visible()
