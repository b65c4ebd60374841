"""The course on disk: where its exercises, its submissions and its gradebook lie."""

from __future__ import annotations

import dataclasses
import functools
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.errors import CourseError
from autograder.instructor_settings import CONFIG, Settings
from autograder.programs import imported_packages

if TYPE_CHECKING:
    from traitlets.config import Config

# students of the sample class, and the file among the submissions that marks it; no import makes such a file
SAMPLE_PREFIX, SAMPLE_MARK = "sample-", ".sample_class"
# what all students of sample classes were called before there was a mark
OLDER_SAMPLES = {
    "ada",
    "ben",
    "chi",
    "dia",
    "eli",
    "fay",
    "gus",
    "hao",
    "ida",
    "jon",
    "kim",
    "lea",
    "max",
}
CHAPTER = re.compile(r"ch(\d+)_\w+")


@dataclass(frozen=True)
class Exercise:
    """One exercise of a course.

    root: the course's folder; name: like ch2_scaled_dot_product.
    """

    root: Path
    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def chapter(self) -> int:
        """The number of its chapter."""
        numbered = CHAPTER.fullmatch(self.name)
        if numbered is None:
            raise CourseError(f"{self.name} is no name of an exercise: one is like ch2_attention.")
        return int(numbered[1])

    @property
    def order(self) -> tuple[int, str]:
        """What exercises are sorted by: a chapter may have several."""
        return self.chapter, self.name

    @property
    def solution(self) -> Path:
        """The reference solution, a notebook in py:percent form."""
        return self.root / "solutions" / f"{self.name}.py"

    @property
    def catalogue(self) -> Path:
        """The catalogue of known mistakes and accepted alternatives."""
        return self.root / "solutions" / "catalogue" / f"{self.name}.md"

    @property
    def checks(self) -> Path:
        """The functions that its grade cells call; a course whose lines are expressions has no such file."""
        return self.root / "solutions" / "checks" / f"{self.name}.py"

    @property
    def notebook(self) -> Path:
        """The notebook that students get."""
        return self.root / "exercises" / self.name / f"{self.name}.ipynb"

    def program(self) -> str:
        """The text of the reference solution."""
        return self.solution.read_text(encoding="utf-8")

    @property
    def packages(self) -> tuple[str, ...]:
        """What its notebook counts on beside Python: NumPy, and the packages that the solution imports."""
        known = sys.stdlib_module_names | {"numpy", "solutions"}
        return ("numpy", *sorted(imported_packages(self.program()) - known))

    @property
    def uses_torch(self) -> bool:
        """Whether the solution imports torch."""
        return "torch" in self.packages


def _config_in(root: Path) -> Config:
    """The settings in a course's nbgrader_config.py; CourseError when it can't be run."""
    # the file imports nbgrader, which takes seconds
    from traitlets.config import PyFileConfigLoader

    try:
        # by its whole path: what is given to search in, `$HOME` say, would be looked up
        return PyFileConfigLoader(str((root / CONFIG).absolute())).load_config()
    except Exception as error:
        raise CourseError(
            f"{root / CONFIG} can't be read: {type(error).__name__}: {error}. Correct it, or restore it "
            "from the repository."
        ) from error


@dataclass(frozen=True)
class Course:
    """A course's folder, and the class that is graded in it.

    Args:
        root: the folder with nbgrader_config.py and solutions/.
        class_folder: where everything that grading writes goes, if not as nbgrader_config.py says.
        submissions: where submissions lie, if not as nbgrader_config.py says.
        database: address of the gradebook's database; by default db_url of nbgrader_config.py or, with
            a class_folder, the file gradebook.db there.
    """

    root: Path
    class_folder: Path | None = None
    submissions: Path | None = None
    database: str | None = None

    @staticmethod
    def find(start: Path | None = None) -> Course:
        """The course that a folder lies in, by default the working directory.

        Raises CourseError when it lies in none.
        """
        start = (start or Path.cwd()).resolve()
        for folder in (start, *start.parents):
            if (folder / CONFIG).is_file() and (folder / "solutions").is_dir():
                return Course(folder)
        raise CourseError(
            f"{start} is in no course: neither it nor a folder above has {CONFIG} and solutions/. Change "
            "into the course's folder and run the command again."
        )

    # Exercises --------------------------------------------------------------------------------

    def exercises(self) -> list[Exercise]:
        """All exercises, by the number of their chapter and by their name."""
        found = [
            Exercise(self.root, path.stem)
            for path in (self.root / "solutions").glob("ch*.py")
            if CHAPTER.fullmatch(path.stem)
        ]
        return sorted(found, key=lambda exercise: exercise.order)

    def ungraded(self) -> list[Exercise]:
        """Exercises that belong to no chapter: pages and notebooks check them, and no class is graded on them.

        They have a solution and a catalogue, as the others do.
        """
        paths = sorted((self.root / "solutions" / "catalogue").glob("*.md"))
        found = [Exercise(self.root, path.stem) for path in paths]
        return [e for e in found if e.solution.is_file() and not CHAPTER.fullmatch(e.name)]

    def exercise(self, name: str) -> Exercise:
        """A chapter's exercise by its name, or by `chN` if the chapter has one; CourseError when there is none."""
        known = {exercise.name: exercise for exercise in self.exercises()}
        of_chapter = [e for e in known.values() if name == f"ch{e.chapter}"]
        if len(of_chapter) == 1:
            return of_chapter[0]
        if of_chapter:
            names = ", ".join(map(str, of_chapter))
            raise CourseError(f"{name} has several exercises, {names}: name one of them.")
        if name not in known:
            names = ", ".join(known) or f"none in {self.root / 'solutions'}"
            raise CourseError(f"There is no exercise {name!r}. Known: {names}.")
        return known[name]

    # Folders ----------------------------------------------------------------------------------

    @property
    def book(self) -> Path:
        """The chapters."""
        return self.root / "book"

    @property
    def built_book(self) -> Path:
        """The built book's pages."""
        return self.root / "_build" / "html"

    @property
    def cache(self) -> Path:
        """What is kept between builds; it can be deleted at any time."""
        return self.root / "_build" / "cache"

    @property
    def home(self) -> Path:
        """Where secret seeds, results, reports and feedback of the class go."""
        return self.class_folder or self.root / "course"

    @functools.cached_property
    def config(self) -> Config:
        """nbgrader's settings for this class, from nbgrader_config.py.

        Raises CourseError when that file can't be run.
        """
        config = _config_in(self.root)
        own = config.CourseDirectory
        if self.class_folder:
            own.submitted_directory = str(self.class_folder / "submitted")
            own.autograded_directory = str(self.class_folder / "autograded")
            own.feedback_directory = str(self.class_folder / "feedback")
            own.db_url = f"sqlite:///{self.class_folder}/gradebook.db"
        if self.submissions:
            own.submitted_directory = str(self.submissions.resolve())
        if self.database:
            own.db_url = self.database
        return config

    @functools.cached_property
    def settings(self) -> Settings:
        """The grader's own settings, from `c.Grader` in nbgrader_config.py."""
        read = Settings.read(self.config.get("Grader", {}))
        return dataclasses.replace(read, course=self.root)

    @property
    def db_url(self) -> str:
        """The address of the gradebook's database."""
        return self.config.CourseDirectory.db_url

    def _configured(self, name: str) -> Path:
        return self.root / self.config.CourseDirectory[name]

    @property
    def submitted(self) -> Path:
        """Where submissions lie, as STUDENT/EXERCISE/EXERCISE.ipynb."""
        return self._configured("submitted_directory")

    @property
    def is_sample_class(self) -> bool:
        """Whether the submissions are those of the sample class, and of nobody else."""
        if not self.submitted.is_dir():
            return False
        names = {path.name for path in self.submitted.iterdir() if not path.name.startswith(".")}
        if (self.submitted / SAMPLE_MARK).exists():
            return all(name.startswith(SAMPLE_PREFIX) for name in names)
        return bool(names) and names <= {f"{SAMPLE_PREFIX}{name}" for name in OLDER_SAMPLES}

    @property
    def autograded(self) -> Path:
        """Where graded copies of submissions and their results are written."""
        return self._configured("autograded_directory")

    @property
    def feedback(self) -> Path:
        """Where the students' feedback pages are written."""
        return self._configured("feedback_directory")
