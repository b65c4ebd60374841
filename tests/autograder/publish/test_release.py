"""The release archive: the pages and students' notebooks and nothing else, the same bytes every time."""

import re
import shutil
import zipfile
from pathlib import Path

import pytest

from autograder import new_course
from autograder.course import Course
from autograder.errors import BookError, OutputError
from autograder.publish import release
from tests.support.course import COURSE, SHOWS_MARKERS

pytestmark = pytest.mark.xdist_group("book")


@pytest.fixture(scope="module")
def archive(built_book, tmp_path_factory):
    return release.make(COURSE, tmp_path_factory.mktemp("release"))


def test_it_holds_the_book_and_the_exercises_and_nothing_else(archive):
    with zipfile.ZipFile(archive) as packed:
        (root,) = {name.split("/")[0] for name in packed.namelist()}
        found = {name.removeprefix(f"{root}/"): packed.read(name) for name in packed.namelist()}
    assert archive.name == f"{root}.zip" and root.startswith("attention-from-scratch-")
    assert root in found.pop("README.txt").decode()
    for licence in ("LICENSE", "LICENSE-TEXT"):
        assert found.pop(licence) == (COURSE.root / licence).read_bytes()
    for exercise in COURSE.exercises():
        notebook = f"exercises/{exercise}/{exercise}.ipynb"
        assert found.pop(notebook) == exercise.notebook.read_bytes()
    assert "index.html" in found and "_static/formulas-OFL.txt" in found
    for name, content in found.items():
        assert (COURSE.built_book / name).read_bytes() == content
        assert not re.match(r"(solutions|course|autograder|work)/", name)
        # what the search finds is the pages' own text, that page's too
        if Path(name).stem not in (SHOWS_MARKERS, "sections"):
            assert b"### BEGIN SOLUTION" not in content and b"### BEGIN HIDDEN" not in content, name


def test_the_same_files_make_the_same_bytes(archive, tmp_path):
    assert release.make(COURSE, tmp_path).read_bytes() == archive.read_bytes()


def test_without_git_it_is_named_after_the_version(tmp_path):
    assert re.fullmatch(r"[\w.-]+", release.version(COURSE))
    # a folder above may be a repository, but git does not look above this one
    (tmp_path / ".git").write_text("gitdir: nowhere\n")
    shutil.copy(COURSE.root / "pyproject.toml", tmp_path)
    assert re.fullmatch(r"\d+\.\d+", release.version(Course(tmp_path)))


def test_a_book_that_is_not_built_is_not_packed(tmp_path):
    with pytest.raises(BookError, match="make book"):
        release.contents(Course(tmp_path), "name")


def test_another_course_has_no_release():
    release.refuse_another_course(COURSE)
    with pytest.raises(BookError, match=r"has no LICENSE, .*`python -m autograder book`"):
        release.refuse_another_course(Course(new_course.TEMPLATE))


@pytest.fixture
def built_course(tmp_path):
    """A course without exercises, whose book has one empty page."""
    shutil.copy(COURSE.root / "pyproject.toml", tmp_path)
    for name in ("_build/html/index.html", "solutions/none", *release.LICENCES):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return Course(tmp_path)


def test_the_archive_for_a_class_says_so_and_holds_no_answers(built_course, archive, tmp_path):
    assert release.make(built_course, for_class=True).stem.endswith("-class")
    with zipfile.ZipFile(archive) as packed:
        pages = [name for name in packed.namelist() if name.endswith(".html")]
        (shown,) = [
            packed.read(name) for name in pages if name.endswith("/ch10_interventions.html")
        ]
    (built_course.built_book / "index.html").write_bytes(shown)
    release.make(built_course)
    with pytest.raises(BookError, match="book --for-class"):
        release.make(built_course, tmp_path, for_class=True)


def test_a_folder_that_cannot_be_written_is_an_error_with_a_way_out(built_course, tmp_path):
    """The pages and exercises of a course of none are enough for this."""
    assert release.make(built_course).parent == tmp_path / "_build"
    with pytest.raises(OutputError, match=r"can't be written: .*write elsewhere"):
        release.make(built_course, tmp_path / "nowhere")


def test_unpacked_it_opens_from_disk(archive, tmp_path, browser):
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(tmp_path)
    context = browser.new_context()
    context.set_offline(True)
    page = context.new_page()
    elsewhere, broken = [], []
    page.on(
        "request",
        lambda asked: asked.url.startswith(("file:", "data:")) or elsewhere.append(asked.url),
    )
    page.on("requestfailed", lambda asked: broken.append(asked.url))
    page.goto((tmp_path / archive.stem / "index.html").as_uri())
    page.wait_for_url("**/book/intro.html")
    page.get_by_role("link", name="2. Scaled dot-product attention").first.click()
    page.wait_for_url("**/ch2_scaled_dot_product.html")
    assert page.locator(".math math").count() == page.locator(".math").count() > 50
    assert page.evaluate("document.fonts.load('16px Formulas').then(found => found.length)") == 1
    assert not elsewhere and not broken
    context.close()
