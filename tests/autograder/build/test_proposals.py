"""What a generic mutator finds that a catalogue lacks, as sections without words."""

from autograder.build.proposals import by_task, propose
from autograder.catalogue_file import read_catalogue
from tests.support.small_course import CHECK, DOUBLE, IMPORTS, check_cell, mistake, write_exercise


def test_what_a_check_catches_and_no_mistake_explains_is_proposed_once(course_folder):
    known = [mistake(rule="2 * x -> x / 2"), mistake(name="thrice", rule="2 * x -> 3 * x")]
    cells = [IMPORTS, DOUBLE, check_cell(CHECK)]
    exercise = write_exercise(course_folder, "ch9_small", cells, known)
    first, second = propose(exercise)
    # `2 -> 3` is known, `2 * x -> 2` says little, and `2 * x -> x` gives what `2 -> 1` gives
    assert "`2 * x -> 2 / x`" in first.splitlines()
    assert second.splitlines()[-2:] == ["`2 * x -> x`", "<!-- or 2 -> 1 -->"]
    # with words it is a section of the catalogue
    words = second.replace("*Hint:*", "Once. *Hint:* Which factor?").replace(
        "values\n", "values, a\n"
    )
    (found,) = read_catalogue(words, "x.md").mistakes.values()
    assert (found.function, found.cell, found.means) == ("double", "values", "Once.")


def test_what_no_check_sees_is_listed(course_folder):
    answer = DOUBLE.replace("2 * x", "2 * x if x.ndim < 9 else 3 * x")
    known = [mistake(rule="2 * x -> x / 2"), mistake(name="thrice", rule="2 * x -> 3 * x")]
    exercise = write_exercise(
        course_folder, "ch9_small", [IMPORTS, answer, check_cell(CHECK)], known
    )
    head, *unseen, end = propose(exercise)[-1].splitlines()
    assert head.startswith("<!-- No check of double sees") and end == "-->"
    assert {"x.ndim < 9 -> x.ndim <= 9", "3 * x -> 3 / x"} <= set(unseen)
    assert not [rule for rule in unseen if rule.startswith("2 * x -> ")]


def test_a_mistake_of_one_task_is_listed_where_its_rules_make_what_nobody_knows(course_folder):
    cells = [IMPORTS, DOUBLE, check_cell(CHECK)]
    halved, thrice = mistake(rule="2 * x -> x / 2"), mistake(name="thrice", rule="2 * x -> 3 * x")
    exercises = [
        write_exercise(course_folder, "ch8_small", cells, [halved, thrice]),
        write_exercise(course_folder, "ch9_small", cells, [halved]),
    ]
    both = "ch8_small.double, ch9_small.double"
    assert list(by_task(exercises)) == [
        f"halved: {both}",
        "thrice: ch8_small.double; not yet: ch9_small.double",
    ]
