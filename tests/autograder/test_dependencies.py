"""What code depends on: no change of it is missed, and nothing else makes a difference."""

import ast
import itertools
import json
import os
import subprocess
import sys
import textwrap

import pytest

from autograder.dependencies import Dependencies, depends_on
from autograder.files import digest_of
from autograder.programs import code_only, reached, without_docstrings
from tests.support.course import COURSE

PROGRAM = "from solutions.a import f\n\n\ndef answer(x):\n    return f(x)\n"


def key(root, program=PROGRAM):
    """The digest of what a program depends on that stands in solutions/."""
    found = Dependencies(root)
    found.add_program(root / "solutions" / "ch1_a.py", program, "solutions")
    return digest_of(found.key())


def write(root, **modules):
    (root / "solutions").mkdir(exist_ok=True)
    for name, text in {"__init__": "", **modules}.items():
        (root / "solutions" / f"{name}.py").write_text(textwrap.dedent(text).strip() + "\n")


def changes(root, module, old, new, program=PROGRAM):
    """Whether a change of a module's text changes the key."""
    path, before = root / "solutions" / f"{module}.py", key(root, program)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    after = key(root, program)
    path.write_text(text)
    assert key(root, program) == before
    return after != before


# One module -------------------------------------------------------------------------------------

USED = """
    import functools
    import math as maths
    from collections.abc import Callable

    FACTOR = 2
    SIZES = (3, FACTOR)

    def twice(function):
        @functools.wraps(function)
        def inner(x):
            return function(function(x))
        return inner

    def surplus():
        return 5

    class Base:
        size = 7

    class Model(Base):
        extra: int = 11

        def total(self, more=surplus):
            '''Words.'''
            return self.size + more()  # a remark

    def by_name(x):
        global STATE
        STATE = 13
        return x

    @twice
    def f(x: Callable) -> Callable:
        by_name(x)
        local = lambda: maths.floor(SIZES[0]) + STATE
        return Model().total() + local()

    def unused(x, SIZES=1):
        return 17 + surplus()

    class Unused:
        value = 19
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("FACTOR = 2", "FACTOR = 3"),
        ("return function(function(x))", "return function(x)"),
        ("@functools.wraps(function)", "@functools.cache"),
        ("return 5", "return 6"),
        ("size = 7", "size = 8"),
        ("more=surplus", "more=lambda: 1"),
        ("self.size + more()", "self.size - more()"),
        ("STATE = 13", "STATE = 14"),
        ("@twice\n", ""),
        ("x: Callable", "x: int"),
        ("import math as maths", "import cmath as maths"),
        ("class Model(Base)", "class Model"),
        ("    return Model().total()", "    yield Model().total()"),
        ("def unused(x", "def surplus():\n    return 6\n\ndef unused(x"),
    ],
)
def test_a_change_of_what_is_used_is_seen(tmp_path, old, new):
    write(tmp_path, a=USED)
    assert changes(tmp_path, "a", old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return 17", "return 18"),
        ("'''Words.'''", "'''Other\n        words.'''"),
        ("  # a remark", ""),
        ("FACTOR = 2", "\n\nFACTOR = (\n    2\n)"),
        ("import functools", '"""A module."""\nimport functools'),
        ("class Unused", "def new():\n    return FACTOR\n\nclass Unused"),
        ("class Unused:\n    value = 19", ""),
    ],
)
def test_other_changes_are_none(tmp_path, old, new):
    write(tmp_path, a=USED)
    assert not changes(tmp_path, "a", old, new)


# Statements that do more than bind names ----------------------------------------------------------

ACTS = {
    "call": "import random\nrandom.seed(OLD)",
    "attribute": "import solutions.b\nsolutions.b.value = OLD",
    "item": "STORE = {}\nSTORE['f'] = OLD",
    "loop": "for name in range(3):\n    f.__dict__[name] = OLD",
    "condition": "import sys\nif sys.maxsize > OLD:\n    from solutions.b import g as f",
    "attempt": "try:\n    import nothing\nexcept ImportError:\n    nothing = OLD",
    "default": "def other(x=print(OLD)):\n    pass",
    "annotation": "def other(x: print(OLD)):\n    pass",
    "decorator": "STORE = []\n\ndef register(g):\n    STORE.append(g)\n    return g\n\n@register\ndef other():\n    return OLD",
    "class body": "class Other:\n    print(OLD)",
    "subclass": "class Base:\n    def __init_subclass__(cls): Base.value = cls.size\n\nclass Other(Base):\n    size = OLD",
    "metaclass": "class Meta(type): pass\n\nclass Other(metaclass=Meta):\n    size = OLD",
    "what a call uses": "def other():\n    return OLD\n\nprint(other())",
    "deletion": "number = 1\ndel number\nnumber = len([OLD])",
}


@pytest.mark.parametrize("text", ACTS.values(), ids=ACTS)
@pytest.mark.parametrize("place", ["the same module", "an imported module", "the package"])
def test_what_a_module_does_when_it_is_loaded_counts(tmp_path, text, place):
    """Also where nothing of it is used by name."""
    write(tmp_path, a="def f(x): return x", b="value = 1\ndef g(x): return x", c="")
    acting = text.replace("OLD", "1")
    match place:
        case "the same module":
            write(tmp_path, a=f"{acting}\n\ndef f(x): return x", b="value = 1\ndef g(x): return x")
            assert changes(tmp_path, "a", acting, text.replace("OLD", "2"))
        case "an imported module":
            acting = f"def f(x): return x\n{acting}"
            write(tmp_path, a="from solutions.c import f as _\ndef f(x): return x", c=acting)
            assert changes(tmp_path, "c", acting, acting.replace("1", "2"))
        case "the package":
            acting = f"def f(x): return x\n{acting}"
            (tmp_path / "solutions" / "__init__.py").write_text(acting)
            assert changes(tmp_path, "__init__", acting, acting.replace("1", "2"))


def test_the_order_of_what_modules_do_counts(tmp_path):
    both = "import solutions.b\nimport solutions.c\ndef f(x): return x"
    write(tmp_path, a=both, b="print(1)", c="print(2)")
    assert changes(tmp_path, "a", "b\nimport solutions.c", "c\nimport solutions.b")
    write(tmp_path, a=f"{both}\nprint(3)", b="print(1)", c="print(2)")
    later = "def f(x): return x\nprint(3)\nimport solutions.c"
    assert changes(tmp_path, "a", "import solutions.c\ndef f(x): return x\nprint(3)", later)


# Several modules ----------------------------------------------------------------------------------

# how `g` of module b gets into f of module a
WAYS = {
    "by name": "from solutions.b import g\ndef f(x): return g(x)",
    "relative": "from .b import g\ndef f(x): return g(x)",
    "module": "from solutions import b\ndef f(x): return b.g(x)",
    "dotted": "import solutions.b\ndef f(x): return solutions.b.g(x)",
    "module under another name": "import solutions.b as other\ndef f(x): return other.g(x)",
    "star": "from solutions.b import *\ndef f(x): return g(x)",
    "inside": "def f(x):\n    from solutions.b import g\n    return g(x)",
    "re-export": "from solutions.b import g as f",
    "constant": "from solutions.b import g\nTABLE = {'g': g}\ndef f(x): return TABLE['g'](x)",
    "default": "from solutions.b import g\ndef f(x, h=g): return h(x)",
    "base": "from solutions.b import K\nclass f(K):\n    def __init__(self, x): type(self).g(x)",
    "condition": "import sys\nif sys.argv:\n    from solutions.b import g\ndef f(x): return g(x)",
    "getattr": "from solutions import b\ndef f(x): return getattr(b, 'g')(x)",
    "globals": "from solutions.b import g\ndef f(x): return globals()['g'](x)",
    "eval": "from solutions.b import g\ndef f(x): return eval('g(x)')",
    "import_module": "import importlib\ndef f(x): return importlib.import_module('solutions.b').g(x)",
    "sys.modules": "import sys\nimport solutions.b\ndef f(x): return sys.modules['solutions.b'].g(x)",
    "through a third": "import solutions.c\nimport solutions\ndef f(x): return solutions.b.g(x)",
    "module's getattr": "from solutions.c import g\ndef f(x): return g(x)",
    "package": "from solutions import g\ndef f(x): return g(x)",
}
SECOND = "def h(): return 3\nclass K:\n    value = 3\n    def g(x): return x + h()\ndef g(x): return x + h()\n"
THIRD = "import solutions.b\ndef __getattr__(name): return solutions.b.g\n"


def write_way(root, name):
    write(root, a=WAYS[name], b=SECOND, c=THIRD)
    if name == "package":
        (root / "solutions" / "__init__.py").write_text("from .b import g\n")


@pytest.mark.parametrize("name", WAYS)
def test_a_change_behind_an_import_is_seen(tmp_path, name):
    write_way(tmp_path, name)
    assert changes(tmp_path, "b", "def h(): return 3", "def h(): return 4")


def test_what_one_exercise_imports_of_another_counts_and_the_rest_of_it_does_not(tmp_path):
    write(tmp_path, a="def f(x): return x\ndef other(x): return 1", b="def g(x): return 1")
    assert changes(tmp_path, "a", "def f(x): return x", "def f(x): return 2 * x")
    assert not changes(tmp_path, "a", "return 1", "return 2")
    assert not changes(tmp_path, "b", "return 1", "return 2")


def test_another_module_of_the_same_text_is_another_dependency(tmp_path):
    way = "from solutions.b import g as f"
    write(tmp_path, a=way, b="def g(x): return h(x)\nh = abs", c="def g(x): return h(x)\nh = abs")
    assert changes(tmp_path, "a", "solutions.b", "solutions.c")


def test_modules_that_import_one_another_end(tmp_path):
    write(
        tmp_path,
        a="from solutions import b\ndef f(x): return b.g(x)\ndef h(x): return 1",
        b="from solutions import a\ndef g(x): return a.h(x)",
    )
    assert changes(tmp_path, "a", "return 1", "return 2")


@pytest.mark.parametrize(
    "text",
    [
        'from pathlib import Path\nPLACE = Path(__file__).with_name("data.txt")\n'
        "def f(x): return PLACE.read_text()",
        "from pathlib import Path\nHERE = Path(__file__).parent\n"
        'def f(x): return (HERE / "more" / "data.txt").read_text()',
        'def f(x): return open("solutions/data.txt").read()',
    ],
)
def test_the_content_of_a_file_that_is_named_counts(tmp_path, text):
    write(tmp_path, a=text)
    (tmp_path / "solutions" / "more").mkdir()
    places = [tmp_path / "solutions" / "data.txt", tmp_path / "solutions" / "more" / "data.txt"]
    found = []
    for content in ("1", "2"):
        for place in places:
            place.write_text(content)
        found.append(key(tmp_path))
    assert found[0] != found[1]
    write(tmp_path, a="def f(x): return x")
    assert key(tmp_path) not in found


# The course ---------------------------------------------------------------------------------------

WATCH = """
import inspect, json, sys
sys.path.insert(0, {root!r})
seen = set()
def watch(frame, event, argument):
    name = frame.f_code.co_filename
    # of functions: to execute a class's body is to define it
    function = frame.f_code.co_flags & inspect.CO_OPTIMIZED
    if event == "call" and function and {root!r} in name:
        seen.add((name, frame.f_code.co_qualname.partition(".")[0]))
from autograder.course import Course
from autograder.reference import NOTHING, expected_cell
from autograder.build.source_notebook import source_notebook, unanswered_cells
course = Course.find()
exercise = course.exercise({exercise!r})
cells = unanswered_cells(source_notebook(exercise, course.settings))
set_profile = sys.setprofile
set_profile(watch)
# checks take away such a hook, as a notebook's that must not reach them
sys.setprofile = lambda hook: None
for name, source in cells.items():
    if "memory(" not in source and "agreement(" not in source:
        expected_cell(exercise, name, source, [[7]], NOTHING)
set_profile(None)
print(json.dumps(sorted(seen)))
"""


@pytest.mark.parametrize("name", ["ch3_multi_head", "ch10_circuits"])
def test_what_the_evaluation_of_a_reference_executes_counts(name, tmp_path):
    """Every definition of another module that is executed changes the stamp when it changes."""
    import shutil

    exercise = COURSE.exercise(name)
    done = subprocess.run(
        [sys.executable, "-c", WATCH.format(root=str(COURSE.root), exercise=name)],
        cwd=COURSE.root,
        capture_output=True,
        text=True,
        check=True,
    )
    solutions = str(COURSE.root / "solutions")
    executed = {
        (path, definition)
        for path, definition in map(tuple, json.loads(done.stdout.splitlines()[-1]))
        if path.startswith(solutions) and "catalogue" not in path and definition[0] != "<"
    }
    assert executed
    ignored = shutil.ignore_patterns("__pycache__", "released", "catalogue")
    shutil.copytree(solutions, tmp_path / "solutions", ignore=ignored)
    before = key(tmp_path, exercise.program())
    definitions = [
        (str(path), node.name)
        for path in sorted((COURSE.root / "solutions").glob("ch*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and path.stem != name
    ]
    everything = {*definitions[::9]}
    seen = set()
    for path, definition in executed | everything:
        copy = tmp_path / path.removeprefix(f"{COURSE.root}/")
        text = copy.read_text(encoding="utf-8")
        tree = ast.parse(text)
        for node in tree.body:
            if getattr(node, "name", None) == definition:
                node.body.append(ast.parse("changed = 1").body[0])
        copy.write_text(ast.unparse(tree), encoding="utf-8")
        if key(tmp_path, exercise.program()) != before:
            seen.add((path, definition))
        copy.write_text(text, encoding="utf-8")
    assert executed <= seen
    # of the other chapters hardly anything is used
    assert len(everything - seen) > len(everything) / 2


# One program --------------------------------------------------------------------------------------


def test_the_key_is_the_same_in_every_process(tmp_path):
    """Sets of names are in another order in each, and with them what is loaded first."""
    names = [f"m{number}" for number in range(8)]
    for name in names:
        (tmp_path / f"{name}.py").write_text(f"def f_{name}():\n    return 1\n")
    imports = "".join(f"from {name} import f_{name}\n" for name in names)
    calls = " + ".join(f"f_{name}()" for name in names)
    (tmp_path / "page.py").write_text(f"{imports}\n\ndef total():\n    return {calls}\n")
    program = (
        "from pathlib import Path\n"
        "from autograder.dependencies import Dependencies\n"
        "root = Path()\n"
        "used = Dependencies(root)\n"
        "used.add_definition(root / 'page.py', (root / 'page.py').read_text(), 'total', ())\n"
        "print(used.key())\n"
    )
    keys = {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(COURSE.root), "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(4)
    }
    assert len(keys) == 1


def test_who_uses_whom():
    uses = {"a": ["b"], "b": ["c"], "c": ["b"], "d": ["a"]}
    assert reached(["a"], uses) == {"a", "b", "c"}
    assert reached(["d", "nothing"], uses) == {"a", "b", "c", "d", "nothing"}
    program = "def a(): pass\ndef b(): a()\nclass C:\n    def go(self): return b()\n"
    found = {name: depends_on(program, name) for name in ("a", "b", "C")}
    assert found == {"a": {"a", "b", "C"}, "b": {"b", "C"}, "C": {"C"}}


def test_code_is_the_same_text_in_every_version_of_python():
    """Nodes have got fields that older versions lack, and one of them prints no empty lists."""
    program = 'def f(a, *, b=None) -> "x":\n    """Words."""\n    return {**a, None: -1j, b"": ...}'
    text = (
        "Module(body=[FunctionDef(name='f', args=arguments(args=[arg(arg='a')], "
        "kwonlyargs=[arg(arg='b')], kw_defaults=[Constant()]), body=[Return(value=Dict(keys="
        "[None, Constant(), Constant(value=b'')], values=[Name(id='a'), UnaryOp(op=USub(), "
        "operand=Constant(value=1j)), Constant(value=Ellipsis)]))], returns=Constant(value='x'))])"
    )
    assert code_only(program) == text


def test_docstrings_are_stripped_everywhere():
    words = '"""Words."""'
    inner = f"class C:\n    {words}\n    async def f():\n        {words}\n    x = {words}\n"
    tree = without_docstrings(ast.parse(f"{words}\n{inner}"))
    assert ast.unparse(tree) == "class C:\n\n    async def f():\n        pass\n    x = 'Words.'"


def test_code_tells_programs_apart():
    programs = ["x = 1", "x = 1.0", "x = True", "x = '1'", "x = None", "x = b'1'", "x: int = 1"]
    programs += [
        "del x",
        "x",
        "x = [1]",
        "x = (1,)",
        "x = {1}",
        "x += 1",
        "def x(): pass",
        "x = f'1'",
    ]
    assert all(code_only(a) != code_only(b) for a, b in itertools.combinations(programs, 2))
