"""What every page of the book is held to; 0 stands for the first hour and the pages of reference."""

import json
import re

import pytest

from autograder.book_index import book_sections
from autograder.catalogue import mistakes
from book import page_counts
from tests.support.built_pages import parsed
from tests.support.course import COURSE, chapter_exercises, chapter_pages

MOST_MINUTES = 12
MINUTES_OF_PARTS = {(1, 2, 3, 4): 145, (5, 6, 7): 145, (8, 9, 10): 160}
SHORT_WAY = [
    "ch1_additive_attention",
    "ch2_scaled_dot_product",
    "ch2_scaling",
    "ch3_multi_head",
    "ch3_splitting",
    "ch4_masking",
    "ch5_positional_encoding",
    "ch6_transformer",
    "ch6_whole_model",
    "ch6_one_file",
]
# terms of the glossary that are everyday words, too
EVERYDAY = {"memory"}
# a score that no other rate could raise
CEILING = 0.99
FEWEST_WORDS = 20


def pages_of(chapter):
    if chapter:
        return chapter_pages()[chapter]
    contents = (COURSE.root / "_toc.yml").read_text(encoding="utf-8")
    (reference,) = re.findall(r"caption: Reference\n(.*?)- caption", contents, re.DOTALL)
    return ["first_hour", *re.findall(r"file: book/(\w+)", reference)]


PAGES = [name for chapter in (0, *chapter_pages()) for name in pages_of(chapter)]


def counted(name):
    return page_counts.read(COURSE.book / f"{name}.md")


def written(folder, text):
    """A page with some text, as it is counted."""
    path = folder / "page.md"
    path.write_text(f"---\nfile_format: mystnb\n---\n\n# Title\n\n{text}", encoding="utf-8")
    return page_counts.read(path)


# Sentences ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PAGES)
def test_a_sentence_has_at_most_two_computed_numbers(name):
    assert counted(name).crowded == []


@pytest.mark.parametrize("name", PAGES)
def test_no_page_is_named_by_its_position(name):
    assert counted(name).positions == []


def test_what_is_refused_is_found(tmp_path):
    number = "{glue:text}`a:.2f`"
    page = written(
        tmp_path,
        f"It is {number}, {number} and {number}. It is {number}, not {number}.\n\n"
        f"| {number} | {number} | {number} |\n\nAs the next page says, *Masking* follows.\n",
    )
    assert page.crowded == [f"It is {number}, {number} and {number}."]
    assert page.positions == ["As the next page says, *Masking* follows."]


# Minutes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in PAGES if name.startswith("ch")])
def test_a_page_is_short(name):
    assert counted(name).minutes <= MOST_MINUTES


def test_a_part_is_short():
    for part in MINUTES_OF_PARTS:
        minutes = [counted(name).minutes for chapter in part for name in pages_of(chapter)]
        assert sum(minutes) <= MINUTES_OF_PARTS[part]


def test_printed_programs_count(tmp_path):
    (tmp_path / "program.py").write_text("def f():\n    return " + "x + " * 2000 + "x\n\n\ny = 1\n")
    block = "```{{literalinclude}} program.py\n:language: python\n{}```\n"
    assert written(tmp_path, block.format("")).minutes > 10
    assert written(tmp_path, block.format(":pyobject: f\n")).minutes > 10
    assert written(tmp_path, "y = 1\n").minutes == 1


# Predictions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PAGES)
def test_each_prediction_has_a_right_choice(name):
    assert [one.question for one in counted(name).predictions if not one.right] == []


def uneven(places):
    """Whether a place of right choices is taken more often than all together would allow."""
    return len(places) >= 8 and max(map(places.count, places)) > len(places) / 2


def test_the_right_choices_of_predictions_do_not_stand_in_one_place():
    assert not uneven([one.right for name in PAGES for one in counted(name).predictions])
    assert uneven([2, 2, 2, 2, 2, 1, 3, 1]) and not uneven([2, 1, 2, 1, 3, 3, 2, 1])


def test_a_sentence_that_gives_an_answer_away_is_found(tmp_path):
    question = ":::{predict} What happens?\n:shows: it\n:right: 2\n\nIt grows.\n: No.\n\n"
    page = written(
        tmp_path,
        f"The weights stay the same. A mask hides.\n\n{question}The weights stay.\n: Yes.\n:::\n",
    )
    (prediction,) = page.predictions
    assert (prediction.choices, prediction.right) == (["It grows.", "The weights stay."], 2)
    assert [*page_counts.given_away(prediction)][-1] == "The weights stay the same."


# The short way ------------------------------------------------------------------------------------


def before(name):
    """The texts of the first hour and of the short way up to a page."""
    place = SHORT_WAY.index(name)
    return [counted(page).text for page in ("first_hour", *SHORT_WAY[: place + 1])]


@pytest.mark.parametrize("name", SHORT_WAY)
def test_the_short_way_marks_each_term_where_it_is_used_first(name):
    assert {*page_counts.unexplained(before(name), page_counts.glossary())} <= EVERYDAY


def test_a_term_that_is_used_before_it_is_marked_is_found():
    entries = [(["score"], ""), (["query", "question"], ""), (["padding"], "")]
    hour = "The {term}`query` asks."
    texts = [hour, "A score, which is the {term}`score <score>`, of two queries. `padding`"]
    assert page_counts.unexplained(texts, entries) == ["score"]


# Labels -------------------------------------------------------------------------------------------


def words_under(label):
    """How many words stand between the heading under a label and the next heading of its level or above."""
    page = (COURSE.book / f"{book_sections(COURSE.root)[label].page}.md").read_text("utf-8")
    found = re.search(rf"^\({label}\)=\n+(#+) .*\n", page, re.MULTILINE)
    rest = re.split(rf"^#{{1,{len(found[1])}}} ", page[found.end() :], flags=re.MULTILINE)[0]
    return len(rest.split())


@pytest.mark.parametrize("chapter", chapter_pages())
def test_labels_that_the_catalogue_uses_stand_above_text(chapter):
    labels = {m.section for e in chapter_exercises()[chapter] for m in mistakes(e)}
    assert {label for label in labels if words_under(label) < FEWEST_WORDS} == set()


# Stored results -----------------------------------------------------------------------------------


def best_at_the_edge(results):
    """The results of `best_of` whose best rate has no other on one side, though the score isn't at its ceiling."""
    if isinstance(results, list):
        return [found for one in results for found in best_at_the_edge(one)]
    if not isinstance(results, dict):
        return []
    if results.keys() != {"rate", "scores", "mean", "tried"}:
        return best_at_the_edge([*results.values()])
    rates = [rate for rate, _ in results["tried"]]
    at_edge = results["rate"] in (min(rates), max(rates))
    return [results] if at_edge and not CEILING <= results["mean"] <= 1 else []


@pytest.mark.parametrize("name", PAGES)
def test_a_best_rate_has_a_worse_one_on_each_side(name):
    path = COURSE.book / "results" / f"{name}.json"
    stored = json.loads(path.read_text(encoding="utf-8"))["results"] if path.exists() else []
    assert best_at_the_edge(stored) == []


def test_a_best_rate_at_the_edge_is_found():
    best = {"rate": 1, "scores": [0.5], "mean": 0.5, "tried": [[0.1, 0.2], [1, 0.5], [0.5, 0.4]]}
    inside = {**best, "tried": [*best["tried"], [2, 0.3]]}
    assert best_at_the_edge([{"a": best, "b": inside, "c": {**best, "mean": 0.999}}]) == [best]
    # a loss has no ceiling
    assert best_at_the_edge({**best, "mean": 1.7})


# What the course was asked to teach ---------------------------------------------------------------

# what had a gap, the chapter that has it now (0: the first hour and the pages of reference), and what a reader
# finds there, as words of the built pages
ROWS = [
    ("recurrence is sequential, so nothing runs in parallel on a GPU", 2, ["parallel", "GPU"]),
    ("the scores are called a correlation matrix, and what they lack for one", 2, ["correlation"]),
    (
        "the example with NumPy and SciPy, and what it prints",
        2,
        ["scipy", "seed(42)", "0.98522025", "1.74174051", "0.99851226", "0.90846923"],
    ),
    ("matrices have as many rows as an embedding has entries", 2, ["embedding", "rows"]),
    ("books to read on", 0, ["book"]),
    ("cognitive attention", 2, ["cognitive attention"]),
    ("intra-attention, the other name", 2, ["intra-attention"]),
    ("superscripts of well-known courses", 0, ["superscript"]),
    ("a search for videos: query, titles, videos", 1, ["video", "title"]),
    ("the names in PyTorch's tutorial", 4, ["generate_square_subsequent_mask", "create_mask"]),
    ("padding masks where the sequence comes first", 4, ["src_padding_mask", "batch_first"]),
    ("nn.Transformer with all its masks", 6, ["memory_key_padding_mask", "tgt_key_padding_mask"]),
    ("two quizzes on positions, check all that apply", 5, ["Check all that apply"]),
    ("the papers' scores", 7, ["28.4", "41.8", "BLEU"]),
    ("the whole on one sheet", 0, ["The course on one sheet"]),
    (
        "seven places to read on",
        0,
        [
            "distill.pub",
            "illustrated-transformer",
            "illustrated-gpt2",
            "how-gpt3-works",
            "annotated-transformer",
            "learn.microsoft.com",
            "the-transformer-family",
        ],
    ),
    ("images and sounds as tokens", 6, ["patch", "spectrogram"]),
    ("king and queen, man and woman", 0, ["king", "queen", "woman"]),
    ("inductive bias", 2, ["inductive bias"]),
]


@pytest.mark.xdist_group("book")
@pytest.mark.parametrize(
    ("chapter", "words"),
    [pytest.param(n, words, id=row) for row, n, words in ROWS],
)
def test_what_the_course_was_asked_to_teach_is_there(built_book, chapter, words):
    articles = [parsed(built_book / "book" / f"{name}.html").article for name in pages_of(chapter)]
    text = "\n".join(
        " ".join([article.get_text(), *(link["href"] for link in article.select("a[href]"))])
        for article in articles
    )
    assert [word for word in words if word.lower() not in text.lower()] == []
