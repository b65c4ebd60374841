"""Every command that a page or a README prints runs as printed, in the order printed.

Shell blocks run in a scratch copy of the project, with the substitutions of `commands.py`. What can't
run there, and every command in the text of a page, is checked against the help of its program.
"""

import contextlib
import functools
import io
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.__main__ import parser
from autograder.text import plain_text
from tests.support.commands import (
    NOT_RUN,
    PAGES,
    SHELL,
    SUBSTITUTIONS,
    canvas,
    fenced_blocks,
    github,
    run_block,
    scratch_copy,
    shell_blocks,
    substituted,
)
from tests.support.course import COURSE
from tests.support.environments import INSTALL, INSTALLER, sharing_environment
from tests.support.github_class import check_class

# a module that was imported before is run again, as it is meant to be
pytestmark = pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
RUN = [block for block in shell_blocks() if not block.why_not_run]
# the page whose commands install the grader, into an environment of its own
INSTALLING = "book/own_course.md"
# the page on which a class works
ON_GITHUB = "book/on_github.md"
# pages on running a class, which share its folder and what is graded in it
OF_A_CLASS = ("book/teaching.md", "book/teaching_lms.md", "book/jupyterhub.md", ON_GITHUB)
# packages of this project that can be run
OURS = ("autograder", "translation", "benchmarks")
# programs that every system has, and git, are taken as known
OF_THE_SYSTEM = ("mkdir", "cp", "grep", "rm", "git")
# in the text of a page: make and this project's own programs
IN_TEXT = re.compile(
    r"(?<!`)`((?:[A-Z_]+=\S+ )*(?:make|python -m (?:autograder|translation|benchmarks)\S*|torchrun)\b[^`]*)`(?!`)"
)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """The scratch copy; a page finds what its own commands have made before."""
    return scratch_copy(tmp_path_factory.mktemp("scratch"))


@pytest.fixture(scope="module")
def canvas_address():
    """Where the stand-in for Canvas is."""
    with canvas() as state:
        yield state.address


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.xdist_group(f"commands of {group}"))
        for page in dict.fromkeys(block.page for block in RUN)
        for group in ["a class" if page in OF_A_CLASS else page]
    ],
)
def test_the_commands_of_a_page_run_in_its_order(root, canvas_address, page, tmp_path):
    folder, prefix, class_there = root, Path(sys.prefix), None
    if page == INSTALLING:
        prefix = sharing_environment(tmp_path / "venv").prefix
    if page == ON_GITHUB:
        class_there = github(tmp_path, root)
    for block in RUN:
        if block.page == page:
            done, folder = run_block(folder, block, canvas_address, prefix, class_there)
            assert done.returncode == 0, f"{page}, line {block.line}:\n{plain_text(done.stdout)}"
    if class_there:
        check_class(class_there)


def test_every_fence_says_what_it_holds():
    """So that no command can stand where the tests above don't look."""
    for page in PAGES:
        for block in fenced_blocks(page):
            kind = block.language.partition(" ")[0]
            assert kind in (
                SHELL,
                "python",
                "diff",
                "text",
                "json",
                "html",
                "yaml",
            ) or kind.startswith("{"), (
                f"{block.page}, line {block.line}: say what this block holds, {SHELL} for commands"
            )
            if kind == "text":
                names = rf"\$|make|python|{INSTALLER}|nbgrader|torchrun"
                typed = re.search(rf"(?m)^({names}) ", block.text)
                assert not typed, f"{block.page}, line {block.line}: commands belong into {SHELL}"


def test_what_is_not_run_is_little():
    left = [block.commands[0] for block in shell_blocks() if block.why_not_run]
    assert len(left) <= 10
    for start in NOT_RUN:
        assert any(command.startswith(start) for command in left), f"{start}: delete it"


def test_every_substitution_is_needed():
    text = "\n".join(block.text for block in RUN)
    for pattern, _ in SUBSTITUTIONS:
        assert re.search(pattern, text), f"{pattern} occurs in no block: delete it"


def test_substitutions_change_only_sizes_and_places():
    """Every option that is printed is still there."""
    for block in RUN:
        kept = substituted(block.text).split()
        printed = {word for word in block.text.split() if word.startswith("--")}
        assert printed <= set(kept), f"{block.page}, line {block.line}"


# Against --help -----------------------------------------------------------------------------------


@functools.cache
def targets():
    """The targets of the Makefile."""
    text = (COURSE.root / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"(?m)^([a-z][\w-]*):", text))


@functools.cache
def help_of(*command):
    """What a command prints when it is asked for help; a module of this project does so in this process."""
    python, m, module, *words = (*command, "", "")
    if (python, m) == (sys.executable, "-m") and module.partition(".")[0] in OURS:
        return help_of_module(module, *filter(None, words))
    done = subprocess.run(
        [*command, "--help"], cwd=COURSE.root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{shlex.join(command)} --help: {done.stderr}"
    return done.stdout


def help_of_module(module, *words):
    """What `python -m module words --help` prints: several have to import torch, once is enough."""
    out, before = io.StringIO(), sys.argv
    sys.argv = [module, *words, "--help"]
    try:
        with contextlib.redirect_stdout(out), pytest.raises(SystemExit) as end:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        sys.argv = before
    assert not end.value.code, f"python -m {module} {shlex.join(words)} --help: {end.value.code}"
    return out.getvalue()


def programs(words):
    """The programs that a command line starts, each with its own words."""
    here = Path(sys.executable).parent
    while words and "=" in words[0]:
        words = words[1:]
    name, *rest = words
    if name == "torchrun":
        cut = rest.index("-m") if "-m" in rest else len(rest)
        yield (str(here / "torchrun"),), rest[:cut]
        yield from programs(["python", *rest[cut:]])
    elif name == "python":
        assert rest[0] == "-m", f"{shlex.join(words)}: only modules are run here"
        module, *rest = rest[1:]
        subcommand = rest[:1] if module in ("autograder", "translation") else []
        subcommand = [word for word in subcommand if not word.startswith("-")]
        yield (sys.executable, "-m", module, *subcommand), rest[len(subcommand) :]
    elif name in OF_THE_SYSTEM:
        return
    elif name == "nbgrader":
        cut = 3 if rest[0] == "db" else 1
        yield (str(here / name), *rest[:cut]), rest[cut:]
    elif name == INSTALLER:
        yield (*INSTALL, rest[0]), rest[1:]
    else:
        yield (str(here / name), rest[0]), rest[1:]


def check_against_help(command):
    """Assert that a command's programs, targets and options exist."""
    words = shlex.split(command, comments=True)
    if "make" in words:
        unknown = set(words[words.index("make") + 1 :]) - targets()
        assert not unknown, f"`{command}`: the Makefile has no {', '.join(sorted(unknown))}"
        return
    for program, rest in programs(words):
        text = help_of(*program)
        known = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", text))
        for option in (word.partition("=")[0] for word in rest if word.startswith("--")):
            assert option in known, f"`{command}`: {option} is no option of {shlex.join(program)}"


@pytest.mark.parametrize(
    "block",
    [block for block in shell_blocks() if block.why_not_run],
    ids=lambda block: f"{block.page}:{block.line}",
)
def test_what_is_not_run_has_options_that_exist(block):
    for command in block.commands:
        check_against_help(command)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_command_in_the_text_of_a_page_exists(page):
    text = page.read_text(encoding="utf-8")
    for block in fenced_blocks(page):
        text = text.replace(block.text, "")
    for command in IN_TEXT.findall(text):
        # `benchmarks.NAME` and `make ...` stand for many
        if not re.search(r"\bNAME\b|\.\.\.|^make$", command):
            check_against_help(command)


def test_a_command_that_does_not_exist_is_found():
    check_against_help("BOOK_URL=https://example.org make book")
    check_against_help("python -m autograder grade --changed --workers=2  # comment")
    for wrong in ("make nothing", "python -m autograder grade --chnaged", "torchrun --nodes 2"):
        with pytest.raises(AssertionError, match=r"no option|has no"):
            check_against_help(wrong)


def test_the_examples_of_help_texts_can_be_run(capsys):
    """The grader's own parser takes each of them."""
    with_example = set()
    names = re.findall(r"(?m)^ {4}([a-z][a-z-]+)\b", help_of(sys.executable, "-m", "autograder"))
    for name in names:
        with pytest.raises(SystemExit):
            parser().parse_args([name, "--help"])
        _, _, example = plain_text(capsys.readouterr().out).partition("Example:\n")
        if example:
            python, m, module, *words = shlex.split(example)
            assert (python, m, module, words[0]) == ("python", "-m", "autograder", name)
            parser().parse_args(words)
            with_example.add(name)
    assert {"due", "extend", "export", "push"} <= with_example
