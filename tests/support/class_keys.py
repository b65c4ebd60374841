"""Classes that know already what is expected: evaluated once for all tests, and kept as in any class."""

import contextlib
import json
import os
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path

from autograder.course import Course
from autograder.files import digest_of
from autograder.grade.make_keys import answer_key
from autograder.grade.seeds import new_seed
from tests.support.kept_expected import FOLDER, evaluating_code


def _kept_class(root: Path, seed: Sequence[int] | None) -> Course:
    """A class with secret seeds, which others share until the code that evaluates changes.

    root: of a copy of this course; seed: of all exercises, None to draw one for each.
    """
    catalogues = [one.catalogue.read_text(encoding="utf-8") for one in Course(root).exercises()]
    depends_on = [*catalogues, seed] if seed else catalogues
    home = FOLDER / f"class-{digest_of(evaluating_code())[:16]}" / digest_of(depends_on)[:16]
    home.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.glob("class-*"):
        if old != home.parent:
            shutil.rmtree(old, ignore_errors=True)
    if not (home / "seeds.json").exists():
        aside = home / secrets.token_hex(4)
        drawn = {exercise.name: seed or new_seed() for exercise in Course(root).exercises()}
        aside.write_text(json.dumps(drawn))
        # whoever comes first: several processes may begin at once
        with contextlib.suppress(FileExistsError):
            os.link(aside, home / "seeds.json")
        aside.unlink()
    return Course(root, class_folder=home)


def give_keys(course: Course, *names: str, seed: Sequence[int] | None = None) -> None:
    """Give a new class of a copy of this course seeds, and what is expected in exercises under them.

    The grader evaluates again what doesn't fit the class's own settings, solutions and catalogues.
    seed: of these exercises, by default one that is drawn for each and kept.
    """
    kept = _kept_class(course.root, seed)
    for name in names:
        answer_key(kept, kept.exercise(name))
        place = course.home / "expected" / f"{name}.json"
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(kept.home / "expected" / place.name, place)
    seeds = json.loads((kept.home / "seeds.json").read_text())
    own = {name: seeds[name] for name in names}
    (course.home / "seeds.json").write_text(json.dumps(own))
