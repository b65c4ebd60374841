"""From solutions/ to exercises/: reproducible, complete, and never at the cost of anybody's work."""

import ast
import json
import re

import nbformat
import numpy as np
import pytest

from autograder import reference
from autograder.build import generate, source_notebook
from autograder.catalogue import (
    ROOT,
    CatalogueError,
    Mistake,
    definition_source,
    definitions,
    exercise_names,
    mistake_source,
    mistakes,
    solution_path,
    without_markers,
)
from autograder.errors import ExerciseError
from autograder.grade import sanitize
from autograder.runtime import autotest


def committed(exercise):
    return nbformat.read(ROOT / "exercises" / exercise / f"{exercise}.ipynb", as_version=4)


def same_numbers(one, other):
    """Equal, with numbers compared to 1e-9."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_numbers(one[k], other[k]) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_numbers, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return np.isclose(one, other, rtol=1e-7, atol=1e-9, equal_nan=True)
    return one == other


def without_baked_text(cell):
    return re.sub(r"answer='[^']*'|install_checks\(\".*", "", cell.source)


def test_committed_exercises_are_what_solutions_generate(exercise, tmp_path):
    generate.write_sources([exercise])
    generate.generate([exercise], tmp_path)
    new = nbformat.read(tmp_path / exercise / f"{exercise}.ipynb", as_version=4)
    old = committed(exercise)
    assert [cell.id for cell in old.cells] == [cell.id for cell in new.cells]
    for before, after in zip(old.cells, new.cells, strict=True):
        assert before.cell_type == after.cell_type
        assert without_baked_text(before) == without_baked_text(after), before.id
        if before.source.startswith("%%autotest"):
            _, old_steps = autotest.parse_cell(before.source)
            _, new_steps = autotest.parse_cell(after.source)
            for one, other in zip(old_steps, new_steps, strict=True):
                if isinstance(one, dict):
                    answers = [autotest.unpack(step["answer"]) for step in (one, other)]
                    assert same_numbers(*answers), one["expression"]


def test_an_exercise_has_no_outputs_no_markers_and_the_current_checks(exercise):
    notebook = committed(exercise)
    text = json.dumps(notebook)
    for marker in ("BEGIN SOLUTION", "END SOLUTION", "BEGIN HIDDEN", "AUTOTEST"):
        assert marker not in text
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == [] and cell.execution_count is None
    packed = re.search(r'install_checks\("([^"]*)"', text.replace('\\"', '"'))[1]
    program = (ROOT / "autograder" / "runtime" / "autotest.py").read_text(encoding="utf-8")
    assert autotest.unpack(packed) == program
    packed = re.findall(r'install_checks\("[^"]*", "([^"]*)"', text.replace('\\"', '"'))[-1]
    assert autotest.unpack(packed) == source_notebook.told_to_students(exercise)


def test_baked_numbers_have_ten_significant_digits(exercise):
    def check(value):
        if isinstance(value, dict):
            return all(check(item) for item in value.values())
        if isinstance(value, list):
            return all(check(item) for item in value)
        return not isinstance(value, float) or value == float(f"{value:.10g}") or value != value

    seen = 0
    for cell in committed(exercise).cells:
        if cell.source.startswith("%%autotest"):
            for step in autotest.parse_cell(cell.source)[1]:
                if isinstance(step, dict):
                    assert check(autotest.unpack(step["answer"])["value"])
                    seen += 1
    assert seen >= 8


def normalised(program):
    """Every function of a program as a syntax tree without docstrings, annotations and names of its own."""
    trees = {}
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            for inner in ast.walk(node):
                if isinstance(inner, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(inner):
                    inner.body = inner.body[1:]
                if isinstance(inner, ast.FunctionDef):
                    inner.returns = None
                    for argument in inner.args.args:
                        argument.annotation = None
            trees[ast.dump(ast.Module(node.body, []))] = node.name
    return trees


def whole_answers(exercise):
    program = solution_path(exercise).read_text(encoding="utf-8")
    found = {}
    for name in definitions(program):
        for tree, part in normalised(without_markers(definition_source(program, name))).items():
            if "raise" not in part:
                found[tree] = f"{name}: {part}"
    return found


def programs_of_later_exercises(exercise):
    """The code of exercises up to and including this one: they may not hold its answers."""
    for other in exercise_names():
        if other <= exercise:
            for cell in committed(other).cells:
                if cell.cell_type == "code" and not cell.source.startswith("%%"):
                    yield f"{other}, cell {cell.id}", cell.source


def test_no_exercise_holds_a_solution_of_its_own_or_of_a_later_chapter(exercise):
    answers = whole_answers(exercise)
    assert answers
    for place, program in programs_of_later_exercises(exercise):
        for tree, name in normalised(program).items():
            assert tree not in answers, f"{place} holds {answers[tree]} ({name})"


def test_the_untouched_answers_say_what_to_do(exercise):
    stubs = [
        cell.source
        for cell in committed(exercise).cells
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("solution")
    ]
    assert stubs
    for stub in stubs:
        assert 'raise NotImplementedError("To do: ' in stub


def test_a_catalogue_is_rich_and_its_edits_fit(exercise):
    program = solution_path(exercise).read_text(encoding="utf-8")
    found = mistakes(exercise)
    assert len(found) >= 12
    assert len({mistake.name for mistake in found}) == len(found)
    for mistake in found:
        assert mistake_source(program, mistake) != definition_source(program, mistake.function)
        ast.parse(mistake_source(program, mistake))


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("### AUTOTEST f(1)", "2p AUTOTEST"),
        ("### 1p AUTOTEST f(1);", "`;`"),
        ("### 1p AUTOTEST f('a;b')", "`;`"),
        ("### 1p AUTOTEST x = 1", "not an expression"),
    ],
)
def test_a_bad_autotest_line_is_found_with_its_text(line, complaint):
    with pytest.raises(CatalogueError, match=re.escape(complaint)):
        source_notebook.autotest_lines(f"x = 1\n{line}")


def solution_with(monkeypatch, tmp_path, cell, grade='"points": 2'):
    """Put a small solution in place of the real ones; returns its name."""
    path = tmp_path / "ch9_small.py"
    path.write_text(
        '# %% nbgrader={"grade_id": "imports", "locked": true}\nimport numpy as np\n\n'
        '# %% nbgrader={"grade_id": "double", "solution": true}\n'
        "def double(x):\n    ### BEGIN SOLUTION\n    return 2 * x\n    ### END SOLUTION\n\n"
        f'# %% active="ipynb" nbgrader={{"grade_id": "values", "grade": true, {grade}}}\n{cell}\n'
    )
    for module in (source_notebook, reference, generate):
        monkeypatch.setattr(module, "solution_path", lambda name: path, raising=False)
        monkeypatch.setattr(module, "mistakes", lambda name: [], raising=False)
        monkeypatch.setattr(module, "sections", lambda name: {}, raising=False)
    return "ch9_small"


def test_points_that_do_not_add_up_are_found(monkeypatch, tmp_path):
    name = solution_with(monkeypatch, tmp_path, "# ### 1p AUTOTEST double(1)")
    with pytest.raises(CatalogueError, match="add up to 1, the cell has 2"):
        source_notebook.source_notebook(name)


def test_an_autotest_that_a_constant_would_pass_is_refused(monkeypatch, tmp_path):
    cell = "# x = draw.integer(0, 3)\n# ### 2p AUTOTEST double(x) >= 0"
    name = solution_with(monkeypatch, tmp_path, cell)
    ((grade_id, text),) = generate.grade_cells(name).items()
    with pytest.raises(CatalogueError, match="100% of 200 seeds"):
        reference.check_variety(name, grade_id, text)


def test_a_line_that_shows_a_mistake_only_now_and_then_is_refused(monkeypatch, tmp_path):
    name = solution_with(
        monkeypatch, tmp_path, "# n = draw.integer(0, 3)\n# ### 2p AUTOTEST double(n)"
    )
    wrong = Mistake(
        "zero", "double", "values", "0 is doubled to 1.", "Zero?", "x", [("2 * x", "2 * x or 1")]
    )
    monkeypatch.setattr(reference, "mistakes", lambda name: [wrong])
    cells = generate.grade_cells(name)
    seeds = [[number] for number in range(8)]
    values = {cell: reference.cell_values(name, cell, text, seeds) for cell, text in cells.items()}
    with pytest.raises(CatalogueError, match=r"'zero' under . of 8 seeds"):
        reference.check_certainty(name, values)
    for line in values["values"]["lines"]:
        line["draws"] = [draw for draw in line["draws"] if draw["mistakes"]]
    reference.check_certainty(name, values)


def test_what_a_line_must_agree_with_stays_with_the_grader(monkeypatch, tmp_path):
    cell = (
        "# agreement('twice', share=0.9, seconds=30)\n# x = draw.integers(5, low=0, high=99).tolist()\n"
        "# twice = [2 * number for number in x]\n# ### 2p AUTOTEST [double(number) for number in x]"
    )
    name = solution_with(monkeypatch, tmp_path, cell)
    ((grade_id, text),) = generate.grade_cells(name).items()
    (line,) = reference.cell_values(name, grade_id, text, [[0], [1], [2]])["lines"]
    (drawn,) = line["draws"]  # once, as training takes its time
    assert list(drawn["inputs"]) == ["x"] and line["seconds"] == 30
    assert drawn["expected"]["share"] == 0.9 and not drawn["mistakes"]
    x, twice = (
        autotest.restore(autotest.decode(tree))
        for tree in (drawn["inputs"]["x"], drawn["expected"]["value"])
    )
    assert twice == [2 * number for number in x]
    reference.check_variety(name, grade_id, text)
    other = text.replace("0.9", "0.8")
    assert sanitize.what_it_asks(text) != sanitize.what_it_asks(other)
    with pytest.raises(CatalogueError, match="needs a drawn list 'thrice'"):
        reference.cell_values(
            name, grade_id, text.replace("agreement('twice'", "agreement('thrice'"), [[0]]
        )


@pytest.mark.parametrize("expression", ["double(None)", "double", "{double: 1}.keys()"])
def test_a_reference_that_raises_or_gives_no_plain_data_is_named(monkeypatch, tmp_path, expression):
    name = solution_with(monkeypatch, tmp_path, f"# ### 2p AUTOTEST {expression}")
    ((grade_id, text),) = generate.grade_cells(name).items()
    with pytest.raises(CatalogueError, match=f"cell values.*{re.escape(expression)}"):
        reference.cell_values(name, grade_id, text, [[0]])


def test_a_build_refuses_to_lose_edits(monkeypatch, tmp_path):
    name = exercise_names()[0]
    notebook = committed(name)
    path = tmp_path / name / f"{name}.ipynb"
    path.parent.mkdir()
    monkeypatch.setattr(generate, "EXERCISES", tmp_path)
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    nbformat.write(notebook, path)
    generate.refuse_to_lose_edits()
    notebook.cells[-1].source += "\nmy own words"
    nbformat.write(notebook, path)
    with pytest.raises(ExerciseError, match=f"{name}.ipynb holds work"):
        generate.refuse_to_lose_edits()
    nbformat.write(committed(name), path)
    (path.parent / "notes.txt").write_text("mine")
    with pytest.raises(ExerciseError, match=r"notes\.txt holds work"):
        generate.refuse_to_lose_edits()


def test_a_way_back_to_a_section_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(source_notebook, "sections", lambda name: {"values": "ch2-nowhere"})
    with pytest.raises(CatalogueError, match="'ch2-nowhere': no section"):
        source_notebook.told_to_students("ch2_scaled_dot_product")


def test_an_exercise_is_built_anew_for_another_address_of_the_book(monkeypatch):
    before = generate.build_stamp("ch2_scaled_dot_product")
    monkeypatch.setenv("BOOK_URL", "https://example.org/course")
    assert generate.build_stamp("ch2_scaled_dot_product") != before
    told = source_notebook.told_to_students("ch2_scaled_dot_product")["sections"]["softmax_values"]
    assert told.endswith("https://example.org/course/book/ch2_scaled_dot_product.html#ch2-softmax")
