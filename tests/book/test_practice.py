"""Tasks in pages: the same verdicts as in the notebook, and what a reader can do with a block."""

import contextlib
import functools
import io
import json
import re

import nbformat
import numpy as np
import pytest
import torch
from axe_playwright_python import sync_playwright as axe

from autograder.__main__ import main
from autograder.build import generate
from autograder.catalogue import alternatives, mistakes
from autograder.course import Exercise
from autograder.exercises import reference_answers, released
from autograder.publish.practice import BLOCK, practice_notebook, practice_tasks
from book._practice.training import cutting, numbers
from book.costs import costs
from book.models import transformer
from book.vendored import VENDOR, hashes, make
from solutions.first_hour import full_attention
from tests.support.browser import BARS, served
from tests.support.built_pages import parsed
from tests.support.course import COURSE
from tests.support.needs import needs_npm
from tests.support.practice import OFFERED, TASKS, answers_to, checked

MOST_BYTES_BEFORE = 40_000  # that a page with blocks loads more, compressed by no server
MOST_BYTES_OF_A_CHECK = 7_000_000
# of an answer that no page can run
OTHER_PACKAGE = "scipy"
# mistakes that fail in pages as well, but may be told otherwise: their numbers depend on last digits, of sines in
# numbers up to 1e38, of float32, and of what is left of a number after adding and subtracting another
LAST_DIGITS = {
    ("leaks", "x moved in place and back"),
    ("shift_matrix", "entries raised to a power"),
    ("attention", "always float32, in torch"),
}
HOUR = Exercise(COURSE.root, "first_hour")
NAMED = "    This looks like a known mistake: "
WRONG = """def softmax(x, axis=-1):
    e = np.exp(x)
    return e / e.sum(axis=axis, keepdims=True)
"""
WEIGHTS = COURSE.book / "_practice" / "training" / "heads.f16"
# what a reader's code can do, each with what has to be said
ODD = {
    "def softmax(x, axis=-1)\n    return x\n": "Line 1: def softmax(x, axis=-1)\nSyntaxError: expected ':'",
    "import numpy as np\nhalf = np.zeros(3)\nhalf[7]\n": "Line 3: half[7]\nIndexError",
    "def soft_max(x, axis=-1):\n    return x\n": "NameError: nothing here defines softmax",
    "if True:\n    half = 1\n     softmax = 2\n": "Line 3:      softmax = 2\nIndentationError",
    "x = input()\n": "Line 1: x = input()\nEOFError",
    "def softmax(x, axis=-1):\n    raise KeyboardInterrupt\n": "Line 2: raise KeyboardInterrupt\nKeyboard",
    # its words need names that this NumPy has and the course's has not
    "half = np.arange(3)\nhalf -= 0.5\n": "Line 2: half -= 0.5\nUFuncTypeError: Cannot cast",
}
# what fails without a name, with what has to be said
UNNAMED = {
    "def softmax(x, axis=-1):\n    np.exp(x, out=x)\n    return x\n": "UFuncTypeError: Cannot cast",
    "async def softmax(x, axis=-1):\n    return x\n": "got something of type coroutine",
}
# all signs of a usual keyboard
KEYS = "#" + "".join(map(chr, range(32, 127)))
LACKING = {
    "import torch\nsoftmax = torch.kron\n": "torch.kron",
    "from torch import optim\n": "torch.optim",
    "def softmax(x, axis=-1):\n    return np.concat([x])\n": "np.concat",
    "def softmax(x, axis=-1):\n    return torch.softmax(x, axis)\n": "torch.softmax with these arguments",
}
# which integers have which size, where a product would overflow in fewer bits
INTEGERS = """import numpy as np
mask = np.array([[True, False], [True, True]])
for found in (
    *(np.array([2, 3]), np.arange(3), np.zeros(2, dtype=int), np.asarray([1.5], int), np.full(2, 7)),
    *(mask.sum(), np.sum(mask, axis=0), mask.cumsum(), mask.astype(int), mask.nonzero()[0]),
    *(np.argmax(mask), mask.argsort(), np.where(mask)[0], np.unique([3, 3], return_counts=True)[1]),
    *(np.prod((50_000, 50_000)), np.sum([2**30] * 4), np.array([50_000]) * 50_000),
    *(np.array([70_000] * 2).prod(), np.arange(3, dtype=np.int32).max(), np.zeros(2, "int32")),
    *(np.array([1, 2], dtype=np.int32) + 1, np.array([True]), np.array([1, 2.5]), np.int_(3)),
):
    print(found.dtype, found.tolist())
"""


def exercises():
    return {name: Exercise(COURSE.root, name) for name in TASKS}


def test_every_task_has_one_block_in_the_chapters_where_the_list_leads():
    in_chapters = [
        found for page in COURSE.book.glob("ch*.md") for found in BLOCK.findall(page.read_text())
    ]
    wanted = [(home, task) for task, home in OFFERED.items() if home != HOUR.name]
    assert sorted(in_chapters) == sorted(wanted)


def lacks(done):
    return done["lacking"] + done["check_lacks"]


def right_labels(name):
    return {"", *(one.name for one in alternatives(Exercise(COURSE.root, name)))}


@pytest.mark.parametrize("name", TASKS)
def test_every_right_answer_passes_with_what_the_page_has(name):
    exercise = Exercise(COURSE.root, name)
    right = right_labels(name)
    jobs = [
        (task, answers, label)
        for task in TASKS[name]
        for label, answers in answers_to(exercise, task).items()
        if label in right
    ]
    assert {task for task, _, label in jobs if not label} == {*TASKS[name]}
    done = checked(exercise, [job[:2] for job in jobs], in_page=True)
    for (task, answers, label), (printed, found) in zip(jobs, done, strict=True):
        if OTHER_PACKAGE in "".join(answers.values()):
            assert lacks(found) in ([], [OTHER_PACKAGE]), (task, label)
        else:
            assert not lacks(found), f"{task}, {label}: a page lacks {lacks(found)}"
            assert found["passed"] and "✓" in printed and "✗" not in printed, (task, label, printed)


@pytest.mark.parametrize("name", TASKS)
def test_every_wrong_answer_is_told_in_pages_as_in_the_notebook(name):
    exercise = Exercise(COURSE.root, name)
    right = right_labels(name)
    for task in TASKS[name]:
        wrong = {k: v for k, v in answers_to(exercise, task).items() if k not in right}
        jobs = [(task, answers) for answers in wrong.values()]
        pairs = zip(
            wrong, checked(exercise, jobs), checked(exercise, jobs, in_page=True), strict=True
        )
        refused = []
        for label, (printed, here), (told, there) in pairs:
            if lacks(there):
                refused.append(label)
                continue
            if (task, label) not in LAST_DIGITS:
                assert verdicts_in(told) == verdicts_in(printed), (task, label)
            assert there["passed"] is here["passed"], (task, label)
        # torch's errors for shapes that don't fit
        assert len(refused) <= max(2, len(wrong) / 10), (task, refused)


def test_what_a_page_lacks_is_noted_outside_a_browser_too():
    answers = answers_to(HOUR, "dot_scores")[""]
    answers["dot_scores"] = "import torch, scipy\n" + answers["dot_scores"]
    ((_, here),) = checked(HOUR, [("dot_scores", answers)])
    ((_, there),) = checked(HOUR, [("dot_scores", answers)], in_page=True)
    assert here["passed"]
    assert not there["passed"] and there["lacking"] == ["torch"]


def test_what_a_check_lacks_is_not_said_of_the_readers_code():
    exercise = Exercise(COURSE.root, "ch9_flash_attention")
    job = ("linear_attention_chunked", reference_answers(exercise))
    ((_, found),) = checked(exercise, [job], in_page=True)
    assert not found["lacking"] and found["check_lacks"] == ["torch.multiprocessing"]


def test_the_vendored_files_are_those_that_were_made():
    assert hashes(VENDOR) == json.loads((VENDOR / "python/versions.json").read_text())
    licences = (VENDOR / "python/LICENSE").read_text(encoding="utf-8")
    assert "PYTHON SOFTWARE FOUNDATION LICENSE" in licences and "NumPy Developers" in licences


@needs_npm
def test_npm_makes_the_same_files(tmp_path):
    make(tmp_path)
    assert hashes(tmp_path) == hashes(VENDOR)


def some_answers(name, count):
    """What is handed out for each task of an exercise, and of what is known so many: (task, answers)."""
    exercise = Exercise(COURSE.root, name)
    return [
        (task, answers)
        for task in TASKS[name]
        for label, answers in list(answers_to(exercise, task).items())[1 : count + 2]
        if (task, label) not in LAST_DIGITS
    ]


browser_only = [
    pytest.mark.xdist_group("book"),
]


@pytest.fixture(scope="module")
def address(built_book):
    """The built book on a plain server, which compresses nothing and sends no special headers."""
    with served(built_book) as found:
        yield found


@pytest.fixture
def opened(browser, address):
    """A function that opens a page; what it loads is in its `loads`, and nothing may go wrong."""
    contexts, troubles = [], []

    def open_page(name, **options):
        context = browser.new_context(reduced_motion="reduce", **options)
        contexts.append(context)
        page = context.new_page()
        page.loads = []
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("response", lambda response: page.loads.append(response))
        page.on("requestfailed", lambda request: troubles.append(request.url))
        page.goto(f"{address}book/{name}.html")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not troubles


RUN = """async ({jobs, version}) => {
    const worker = new Worker(`../_static/practice/worker.js?v=${version}`);
    const ask = program => new Promise((resolve, reject) => {
        let text = "";
        worker.onmessage = ({data}) => {
            text += data.out ?? "";
            if (data.done) resolve([text, data.done]);
            if (data.broken) reject(new Error(data.broken));
        };
        worker.postMessage({program});
    });
    const call = (name, given) =>
        ask(`${name}(*json.loads(${JSON.stringify(JSON.stringify(given))}))`);
    const found = [], files = {};
    let before = "";
    for (const [exercise, task, answers] of jobs) {
        files[exercise] ??= await (await fetch(`../_static/practice/tasks/${exercise}.json`)).json();
        const {names, notebook, standIn} = files[exercise];
        if (!before) await call("start", [names]);
        // anew, since a notebook remembers which of its other answers were wrong
        if (before !== task) await call("load", [exercise, notebook, standIn]);
        before = task;
        found.push(await call("check", [exercise, task, answers]));
    }
    worker.terminate();
    return found;
}"""


def verdicts_in(printed):
    return [line for line in printed.splitlines() if line.startswith(("✓", "✗", NAMED))]


@pytest.mark.usefixtures("browser")
class TestInTheBrowser:
    pytestmark = browser_only

    @pytest.mark.parametrize("count", [2, 500])
    def test_verdicts_and_names_are_those_of_the_notebook(self, opened, count):
        right = [
            (name, task, answers_to(exercise, task)[""])
            for name, exercise in exercises().items()
            for task in TASKS[name]
        ]
        others = {name: some_answers(name, count) for name in list(TASKS)[:count]}
        others_told: list[set[str]] = []
        odd = [
            ("ch2_scaled_dot_product", "softmax", {"softmax": code})
            for code in [*UNNAMED, *ODD, *LACKING, INTEGERS]
        ]
        jobs = right + [(name, *job) for name, found in others.items() for job in found] + odd
        page = opened("practice")
        found = page.evaluate(RUN, {"jobs": jobs, "version": "test"})
        for (_, task, _), (printed, done) in zip(right, found, strict=False):
            assert done["passed"] and not lacks(done), (task, printed, done)
            assert "✗" not in printed
        found = found[len(right) :]
        for name, asked in others.items():
            here = checked(Exercise(COURSE.root, name), asked)
            for (printed, done), (told, there) in zip(here, found, strict=False):
                if not lacks(there):
                    assert there["passed"] is done["passed"]
                    if verdicts_in(told) != verdicts_in(printed):
                        others_told.append({*verdicts_in(told)} ^ {*verdicts_in(printed)})
            # most are named; a few can't be told from others by their values, and some are right
            assert sum(NAMED in printed for printed, _ in here) > len(here) / 2
            assert sum(bool(lacks(there)) for _, there in found[: len(asked)]) <= len(asked) / 10
            found = found[len(asked) :]
        assert not others_told
        for (told, done), words in zip(found, UNNAMED.values(), strict=False):
            assert words in told and not done["lacking"] and not done["passed"]
        found = found[len(UNNAMED) :]
        for (_, done), words in zip(found, ODD.values(), strict=False):
            assert done["error"].startswith(words)
        for (_, done), name in zip(found[len(ODD) :], LACKING.values(), strict=False):
            assert done["lacking"] == [name]
        with contextlib.redirect_stdout(io.StringIO()) as here:
            exec(INTEGERS, {})
        assert found[-1][0].startswith(here.getvalue())

    def test_a_reader_writes_a_wrong_softmax_and_mends_it(self, opened, address):
        page = opened("ch2_scaling", accept_downloads=True)
        page.wait_for_load_state("networkidle")
        before = [response.url for response in page.loads]
        assert not [url for url in before if re.search(r"worker|shell|editor|python\.|tasks/", url)]
        assert size_before(page) <= MOST_BYTES_BEFORE
        assert 10 < len(before) <= BARS["requests"]
        block = page.locator("#task-softmax")
        status, output = block.get_by_role("status"), block.locator(".task-output")
        settled = functools.partial(
            page.wait_for_function, "!document.querySelector('#task-softmax .task-check').disabled"
        )
        # the keyboard alone: into the field, out of it, and a check from inside
        block.get_by_label("Your code for softmax").focus()
        field = block.locator(".cm-content")
        field.wait_for()
        assert "your code here" in field.inner_text()
        page.keyboard.press("Control+a")
        page.keyboard.type(KEYS)
        assert field.inner_text() == KEYS
        page.keyboard.press("Control+a")
        page.keyboard.insert_text(WRONG)
        page.keyboard.press("Escape")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Check"
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")  # a second press does nothing
        status.get_by_text("Not yet correct.").wait_for(timeout=60_000)
        told = output.inner_text()
        # the mistake and its hint first, in the words of a page
        assert told.startswith("This looks like a known mistake: no maximum subtracted.")
        assert told.index("Hint: ") < told.index("✓ each row of a matrix")
        assert told.count("each row of a matrix") == 1
        assert not re.search(r"points|cell|hint\(\)|failing_case", told)
        assert not block.locator("details .task-output, .task-output details").count()
        again = output.get_by_role("link", name='chapter 2, "A softmax that does not overflow"')
        section = COURSE.built_book / "book" / again.get_attribute("href").partition("#")[0]
        assert parsed(section).find(id=again.get_attribute("href").partition("#")[2])
        loads = [r for r in page.loads[len(before) :] if r.url.startswith(address)]
        sizes = [int(response.headers["content-length"]) for response in loads]
        assert 1_000_000 < sum(sizes) <= MOST_BYTES_OF_A_CHECK
        assert page.evaluate("document.activeElement.textContent") == "Check"
        assert not block.get_by_role("button", name="Hint").is_visible()
        block.get_by_role("button", name="Show a failing case").click()
        settled()
        case, steps = block.locator(".task-case").all()
        rows = case.locator("th").all_text_contents()
        assert rows[0] == "x" and {"correct", "yours"} < {*rows}
        # ours of the same names, whose numbers are others, and then the name that only ours has
        cells = steps.locator("td").all_text_contents()
        assert cells[:3] == ["e = np.exp(x)", "e", "(3, 4)"] and cells[5] == "return"
        assert cells[7].endswith(", other numbers") and cells[8:] == [
            "",
            "exponentials",
            "",
            "(3, 4)",
        ]
        assert page.evaluate("document.activeElement.textContent") == "Check"
        assert not block.locator("details.reference-code").is_visible()
        assert [url for url in (r.url for r in page.loads) if not url.startswith(address)] == [
            url for url in (r.url for r in page.loads) if url.startswith(("data:", "blob:"))
        ]
        # what nobody has a name for has hints, in steps
        field.focus()
        page.keyboard.press("Control+a")
        page.keyboard.insert_text(WRONG.replace("return e", "return 0.01 + 0.9 * e"))
        page.keyboard.press("Control+Enter")
        status.get_by_text("Not yet correct.").wait_for()
        assert "3 more lines are incorrect as well" in output.inner_text()
        assert output.get_by_text("leaves its argument as it was").is_visible()
        block.get_by_role("button", name="Hint").click()
        assert "Hint 1 of" in output.inner_text()
        # mended, with the editor's own undo on the way
        field.focus()
        page.keyboard.press("Control+a")
        page.keyboard.insert_text("nothing")
        page.keyboard.press("Control+z")
        assert "np.exp(x)" in field.inner_text()
        page.keyboard.press("Control+a")
        page.keyboard.insert_text(WRONG.replace("exp(x)", "exp(x - x.max(axis, keepdims=True))"))
        page.keyboard.press("Control+Enter")
        status.get_by_text("All checks pass.").wait_for()
        assert block.locator(".task-state").inner_text() == "✓ passed"
        assert block.locator("details.reference-code").is_visible()
        # a verdict is of the code that was checked
        page.keyboard.type(" ")
        status.get_by_text("Your code has changed since this check.").wait_for()
        assert block.locator(".task-state").inner_text() == "changed since it passed"
        page.keyboard.press("Backspace")
        assert block.locator(".task-state").inner_text() == "✓ passed"
        with page.expect_download() as download:
            block.get_by_role("button", name="Download the notebook").click()
        mine = nbformat.read(download.value.path(), as_version=4)
        exercise = COURSE.exercise("ch2_scaled_dot_product")
        theirs = nbformat.read(exercise.notebook, as_version=4)
        changed = [
            cell.id
            for cell, other in zip(mine.cells, theirs.cells, strict=True)
            if cell.source != other.source
        ]
        assert changed == ["softmax"] and "x.max" in mine.cells[5].source
        # another visit
        page.reload()
        assert block.locator(".task-state").inner_text() == "✓ passed"
        assert "x.max" in block.locator("textarea").input_value()
        block.get_by_role("button", name="Reset").click()
        assert "your code here" in block.locator("textarea").input_value()
        block.get_by_role("button", name="Bring my code back").click()
        assert "x.max" in block.locator("textarea").input_value()

    def test_the_first_hour_ends_with_a_map_of_ones_own(self, opened):
        narrow = {"width": 390, "height": 800}
        page = opened("first_hour", viewport=narrow, color_scheme="dark")
        answers = {}
        for task in TASKS[HOUR.name]:
            answers |= answers_to(HOUR, task)[""]
        sentence, broken = page.locator("#cell-sentence-map"), page.locator("#cell-broken-mask")
        broken.get_by_role("button", name="Run").click()
        broken.get_by_text(
            "This uses softmax, masked_attention: pass these tasks first."
        ).wait_for()
        for task, answer in answers.items():
            block = page.locator(f"#task-{task.replace('_', '-')}")
            field = block.locator("textarea")
            assert field.evaluate("node => node.scrollWidth <= node.clientWidth")
            assert block.locator(".tok-keyword").count()
            if task == "full_attention":
                write(block, answers_to(HOUR, task)["softmax over the queries"][task])
                block.get_by_role("button", name="Check").click()
                block.get_by_text("This looks like a known mistake: softmax over the qu").wait_for()
                again = block.get_by_role("link", name='page "Your first hour", "')
                assert again.get_attribute("href") == "first_hour.html#hour-matrix"
            write(block, answer)
            block.get_by_role("button", name="Check").click()
            block.get_by_text("All checks pass.").wait_for(timeout=60_000)
        sentence.get_by_role("button", name="Run").click()
        sentence.locator(".task-map").wait_for()
        axes = ["query (the word that looks)", "key (the word looked at)"]
        assert sentence.locator(".task-map .axis").all_text_contents() == axes
        x = np.array([[0, 1, 0], [1, 1, 1], [0, 0, 1], [0, 0, 2]], dtype=float)
        assert drawn(sentence) == [f"{w:.2f}" for w in full_attention(x, x, x)[1].ravel()]
        # as it stands there, and broken
        moves = {}
        for code in ("np.tri(4, dtype=bool)", "np.tri(4, dtype=bool).T"):
            held = broken.locator("textarea").input_value()
            write(broken, held.replace("np.tri(4, dtype=bool)", code))
            broken.get_by_role("button", name="Run").click()
            broken.locator(".task-map").wait_for()
            printed = broken.locator(".task-output").inner_text()
            moves[code] = len(re.findall(r"moves by 0\.0$", printed, re.MULTILINE))
            assert drawn(broken).count("0.00") == 6
        assert [*moves.values()] == [3, 0]
        own = page.locator("#cell-own-sentence")
        own.get_by_role("button", name="Run").click()
        own.locator(".task-output").get_by_text("5 of 5: you have written").wait_for()
        assert len(drawn(own)) == 7**2
        assert page.evaluate("document.documentElement.scrollWidth") <= narrow["width"]
        found = axe.Axe().run(page, options={"resultTypes": ["violations"]}).response
        assert found["passes"] and not found["violations"]

    def test_attention_learns_beside_the_correct_curve(self, opened):
        page = opened("ch2_scaled_dot_product", viewport={"width": 390, "height": 800})
        block = page.locator("#task-attention")
        train, cost = block.get_by_role("button", name="Train"), block.locator(".task-cost")
        answers = answers_to(Exercise(COURSE.root, "ch2_scaled_dot_product"), "attention")
        never = "values detached, in torch"
        ends = {}
        for label in ("", never):
            write(block, answers[label]["attention"])
            # no code learns that hasn't been checked as it is
            assert not train.is_visible()
            block.get_by_role("button", name="Check").click()
            train.wait_for(timeout=60_000)
            assert bool(label) is any("/training/" in one.url for one in page.loads)
            train.click()
            cost.get_by_text("of the cards are correct after 100 steps").wait_for(timeout=60_000)
            yours, ours = (
                block.locator(f"svg path.{kind}").first.get_attribute("d").split("L")
                for kind in ("yours", "correct")
            )
            assert len(yours) == len(ours) == 20
            ends[label] = [float(points[-1].split()[1]) for points in (yours, ours)]
            words = cost.inner_text()
            assert words.startswith("Your code learned: 100% of the cards") is (not label)
            assert (costs("cards", "attention")[never] in words) is bool(label)
        # y goes down the page: the correct code's curve ends at the top, and the other far below
        top, bottom = ends[""][0], ends[never][0]
        assert top == ends[""][1] == ends[never][1] and bottom > top + 50
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        found = axe.Axe().run(page, context="#task-attention").response
        assert found["passes"] and not found["violations"]
        train.click()
        block.get_by_role("button", name="Stop").click()
        block.get_by_text("Stopped.", exact=True).wait_for()
        assert train.is_enabled() and block.get_by_role("button", name="Check").is_enabled()

    def test_what_was_typed_on_the_way_is_in_the_transformer_of_its_last_page(self, opened):
        page = opened("ch3_splitting", viewport={"width": 390, "height": 800})
        page.wait_for_load_state("networkidle")
        carried = []
        for block in page.locator(".task[data-task]").all():
            exercise = COURSE.exercise(block.get_attribute("data-exercise"))
            task = block.get_attribute("data-task")
            write(block, answers_to(exercise, task)[""][task])
            block.get_by_role("button", name="Check").click()
            block.get_by_text("All checks pass.").wait_for(timeout=60_000)
            carried += [task] if task in numbers.ANSWERS else []
        page.goto(page.url.replace("ch3_splitting", "ch6_one_file"))
        block = page.locator("#own-transformer")
        block.get_by_role("button", name="Take the stored weights").click()
        block.locator("table").wait_for(timeout=60_000)
        assert len(carried) == 3
        told = block.locator(".task-note").first.inner_text()
        own, ours = re.match(r"Yours: (.*)\. Ours: (.*)\. Untick", told).groups()
        assert own.split(", ") == sorted(carried)
        assert {*ours.split(", ")} == {*numbers.ANSWERS} - {*carried}
        # by the keyboard: one head off, and another number
        model = stored_translator()
        heads = block.get_by_role("checkbox")
        assert heads.count() == 12
        heads.nth(7).focus()
        page.keyboard.press("Space")
        for n, typed in ((9430, ""), (403_109, "403,109")):
            if typed:
                block.get_by_label("Number").fill(typed)
                page.keyboard.press("Enter")
            block.locator("caption").get_by_text(str(n)).wait_for()
            block.get_by_text("1 head cut").wait_for()
            with cutting.cut(model, [7]):
                (without,) = transformer.translate(model, [n])
            (whole,), right = transformer.translate(model, [n]), " ".join(transformer.german(n))
            assert block.locator("td").all_inner_texts() == [whole, without, right]
            assert bool(block.locator("mark").count()) is (without != right)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        found = axe.Axe().run(page, options={"resultTypes": ["violations"]}).response
        assert found["passes"] and not found["violations"]

    def test_an_endless_loop_ends(self, opened):
        page = opened("first_hour")
        # what is still being loaded would fail with the reload
        page.wait_for_load_state("networkidle")
        page.clock.install()
        page.reload()
        block, other = page.locator("#task-dot-scores"), page.locator("#task-softmax")
        field = block.get_by_label("Your code for dot_scores")
        field.evaluate("node => { node.value = 'print(\"begun\")\\nwhile True:\\n    pass\\n'; }")
        block.get_by_role("button", name="Check").click()
        block.locator(".task-output").get_by_text("begun").wait_for(timeout=60_000)
        # one thing at a time on a page
        other.get_by_role("button", name="Check").click()
        other.get_by_text("Python is at work elsewhere on this page.").wait_for()
        page.clock.fast_forward(20_000)
        block.get_by_text("Stopped after 20 seconds.").wait_for()
        assert block.get_by_role("button", name="Check").is_enabled()
        assert "while True" in field.input_value()


def write(block, code):
    """Put code into a block's field as if it had been typed, without the editor."""
    put = "(node, code) => { node.value = code; node.dispatchEvent(new Event('input')); }"
    block.locator("textarea").evaluate(put, code)


def drawn(block):
    """The numbers of a block's map."""
    return block.locator(".task-map .weight").all_text_contents()


def size_before(page):
    """Bytes that a page loads for its blocks before anybody does anything."""
    names = [r for r in page.loads if "/practice/practice." in r.url]
    return sum(int(response.headers["content-length"]) for response in names)


def stored_translator():
    """The Transformer in one file with the weights that pages have."""
    model = transformer.Transformer(len(transformer.SOURCE), len(transformer.TARGET), 48, 4, 1, 96)
    cutting.load(model, WEIGHTS.read_bytes())
    return model


def test_stored_weights_are_small_and_translate_unseen_numbers():
    assert WEIGHTS.stat().st_size <= 300_000
    model = stored_translator()
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    assert transformer.accuracy(model) >= 0.99
    with cutting.cut(model, [6]):
        assert transformer.translate(model, [403_109]) != [" ".join(transformer.german(403_109))]
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())


@pytest.mark.parametrize("how", ["from disk", "without a script"])
class TestWithoutPython:
    pytestmark = browser_only

    def test_the_block_is_statement_code_and_link(self, browser, address, how):
        disk = how == "from disk"
        context = browser.new_context(java_script_enabled=disk)
        page = context.new_page()
        start = COURSE.built_book.as_uri() + "/" if disk else address
        page.goto(f"{start}book/ch2_scaling.html")
        block = page.locator("#task-softmax")
        assert block.locator("textarea, button:has-text('Check')").count() == 0
        assert "def softmax" in block.locator("pre").first.inner_text()
        link = block.locator(".task-links a").get_attribute("href")
        assert (COURSE.built_book / "book" / link).resolve().is_file()
        page.goto(f"{start}book/ch6_one_file.html")
        block = page.locator("#own-transformer")
        assert "with your functions" in block.inner_text()
        assert not block.locator("button, input").count()
        # the way of the first hour: every block as text, with its notebook and the map that the course draws
        page.goto(f"{start}book/first_hour.html")
        for block in page.locator(".task").all():
            assert block.locator("textarea").count() == 0
            assert block.locator("pre").first.inner_text().strip()
            assert block.locator(".task-links a").get_attribute("href").endswith(".ipynb")
        page.get_by_text("Show the map that the").click()
        assert page.locator("figure.plot").first.is_visible()
        context.close()


def test_mistakes_of_the_first_hour_are_named_and_other_ways_pass():
    wrong = {mistake.name for mistake in mistakes(HOUR)} | {"as handed out"}
    jobs = [
        (label, task, answers)
        for task in TASKS[HOUR.name]
        for label, answers in answers_to(HOUR, task).items()
    ]
    done = checked(HOUR, [job[1:] for job in jobs])
    for (label, task, _), (printed, result) in zip(jobs, done, strict=True):
        assert result["passed"] is (label not in wrong), (task, label, printed)
        if label in wrong - {"as handed out"}:
            assert f"{NAMED}{label}." in printed, printed


def test_the_first_hours_notebook_is_what_its_solution_generates(capsys):
    assert COURSE.ungraded() == [HOUR]
    record = released(HOUR).metadata.autotest
    assert (record.made_from, record.answers) == generate.stamps(HOUR, COURSE.settings)
    main(["build", "--exercise", HOUR.name])
    assert capsys.readouterr().out == "The exercises are up to date.\n"


def test_an_answer_that_needs_one_which_cannot_be_run_is_told_so():
    answers = answers_to(HOUR, "full_attention")[""] | {"softmax": "def softmax(x:\n"}
    ((printed, result),) = checked(HOUR, [("full_attention", answers)])
    assert not result["passed"]
    assert "This uses your softmax, which can't be run:\nLine 1: def softmax(x:" in printed


def test_what_a_page_loads_has_no_answer():
    for exercise in exercises().values():
        held = json.dumps(practice_notebook(exercise).as_json(), ensure_ascii=False)
        for name, answer in reference_answers(exercise).items():
            assert answer.split('"""')[-1].strip() not in held, name
        assert set(practice_tasks(exercise)) >= set(TASKS[exercise.name])
