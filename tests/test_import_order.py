"""Imports inside autograder/ run one way: from higher layers to lower ones."""

import ast
import importlib.util

import pytest

from tests.conftest import COURSE

# from low to high; modules of one layer may import one another, as long as no circle comes of it
LAYERS = [
    {"dependencies", "errors", "files", "package", "programs", "tables", "text"},
    {"runtime"},
    {"course", "instructor_settings"},
    {
        "catalogue",
        "book_index",
        "embedding",
        "exercises",
        "reference",
        "right_versions",
        "nbgrader_adapter",
        "progress",
    },
    {"lab", "new_course"},
    {"display", "build"},
    {"kernels"},
    {"grade"},
    {"lms", "nbgrader_settings"},
    {"report"},
    {"audit", "publish"},
    {"commands"},
    {"__main__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
# each of these is imported inside a function, when it is needed
EXCEPTIONS = {
    # `Course.config` reads nbgrader_config.py; nbgrader takes seconds to import
    ("autograder.course", "autograder.nbgrader_adapter"),
    # the documented hook: nbgrader's `autograde` command and formgrader grade as ours does
    ("autograder.nbgrader_adapter", "autograder.grade.grade_class"),
}
FILES = sorted(
    path
    for path in (COURSE.root / "autograder").rglob("*.py")
    # a course to copy, no part of the package
    if "template" not in path.parts
)


def module_name(path):
    parts = path.relative_to(COURSE.root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in FILES}


def imported(name):
    """The modules of this package that a module imports, also inside functions: name -> line."""
    path, found = MODULES[name], {}
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            source = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            names = [f"{source}.{alias.name}" for alias in node.names]
        else:
            continue
        for one in names:
            while one and one not in MODULES:
                one = one.rpartition(".")[0]
            if one and one not in ("autograder", name):
                found[one] = node.lineno
    return found


def layer(module):
    return module.split(".")[1]


@pytest.mark.parametrize("name", [name for name in MODULES if name != "autograder"])
def test_no_module_imports_from_a_higher_layer(name):
    assert layer(name) in LEVEL, f"{name}: give it a layer"
    upwards = {
        f"{name}, line {line}: {other}"
        for other, line in imported(name).items()
        if LEVEL[layer(other)] > LEVEL[layer(name)] and (name, other) not in EXCEPTIONS
    }
    assert not upwards


def test_no_modules_import_one_another_in_a_circle():
    arrows = {
        name: {other for other in imported(name) if (name, other) not in EXCEPTIONS}
        for name in MODULES
    }
    done = set()
    while ready := {name for name, others in arrows.items() if others <= done} - done:
        done |= ready
    assert not arrows.keys() - done


def test_exceptions_are_needed_and_stand_inside_functions():
    for name, other in EXCEPTIONS:
        assert other in imported(name)
        for node in ast.parse(MODULES[name].read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                assert other not in ast.unparse(node)


def test_the_runtime_imports_none_of_the_other_packages():
    for name in MODULES:
        if layer(f"{name}.") == "runtime":
            assert {layer(other) for other in imported(name)} <= {"runtime"}
            text = MODULES[name].read_text(encoding="utf-8")
            # in a notebook there is no package of that name
            assert "import autograder" not in text and "from autograder" not in text
