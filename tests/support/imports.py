"""The modules of the package autograder, and what each imports."""

import ast
import importlib.util

from tests.support.course import COURSE

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
