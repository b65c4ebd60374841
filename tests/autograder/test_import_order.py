"""Imports run one way, inside autograder/ and between the top folders: from higher layers to lower ones."""

import ast
import re

from tests.support.course import COURSE
from tests.support.imports import MODULES, imported

# from low to high; modules of one layer may import one another, as long as no circle comes of it
LAYERS = [
    {
        *("dependencies", "diffs", "edits", "errors", "files", "installing", "loader"),
        *("mutations", "package", "points"),
        *("programs", "rules", "splices", "syntax_trees", "tables", "times"),
    },
    {"runtime"},
    {"course", "instructor_settings", "text"},
    {
        "catalogue",
        "catalogue_file",
        "book_index",
        "checks",
        "embedding",
        "exercises",
        "expected",
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


# from low to high, as CONTRIBUTING.md says
FOLDERS = [
    {"autograder"},
    {"audit_cases"},
    {"solutions"},
    {"translation", "book"},
    {"benchmarks"},
    {"tests"},
]


def layer(module):
    return module.split(".")[1]


def test_no_module_imports_from_a_higher_layer():
    modules = [name for name in MODULES if name != "autograder"]
    assert len(modules) > 100 and {layer(name) for name in modules} == LEVEL.keys()
    upwards = {
        f"{name}, line {line}: {other}"
        for name in modules
        for other, line in imported(name).items()
        if LEVEL[layer(other)] > LEVEL[layer(name)]
    }
    assert not upwards


def test_no_modules_import_one_another_in_a_circle():
    arrows = {name: set(imported(name)) for name in MODULES}
    done = set()
    while ready := {name for name, others in arrows.items() if others <= done} - done:
        done |= ready
    assert not arrows.keys() - done


def test_the_runtime_imports_none_of_the_other_packages():
    for name in MODULES:
        if layer(f"{name}.") == "runtime":
            assert {layer(other) for other in imported(name)} <= {"runtime"}
            text = MODULES[name].read_text(encoding="utf-8")
            # in a notebook there is no package of that name
            assert "import autograder" not in text and "from autograder" not in text


def test_the_readme_lists_the_layers_in_their_order():
    text = (COURSE.root / "autograder" / "README.md").read_text(encoding="utf-8")
    listed = re.search(r"from the bottom of this list to its top: (.+?)\. ", text)[1]
    assert [set(re.findall(r"\w+", names)) for names in listed.split(";")] == LAYERS


def test_no_test_module_imports_another():
    """What several need is in tests/support."""
    for path in (COURSE.root / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
                modules = [part for name in names for part in name.split(".")]
                assert not any(module.startswith("test_") for module in modules), path


def test_no_folder_imports_from_a_higher_one():
    level = {name: number for number, names in enumerate(FOLDERS) for name in names}
    upwards = []
    for folder in level:
        for path in (COURSE.root / folder).rglob("*.py"):
            # what stands in a template belongs to another course
            if "template" in path.relative_to(COURSE.root).parts:
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and not node.level:
                    names = [node.module]
                roots = {name.partition(".")[0] for name in names} & level.keys()
                upwards += [(path, root) for root in roots if level[root] > level[folder]]
                if folder == "solutions" and any(n.startswith("autograder.publish") for n in names):
                    upwards.append((path, "autograder.publish"))
    assert not upwards
