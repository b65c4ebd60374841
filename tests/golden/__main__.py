"""python -m tests.golden: write the golden results of a new version of the grader."""

import sys
import tempfile
from pathlib import Path

from tests.golden import golden_file, golden_results, write
from tests.support.copies import repository, with_short_limits
from tests.support.course import COURSE

if __name__ == "__main__":
    path = golden_file()
    if path.exists():
        sys.exit(
            f"{path.relative_to(COURSE.root)} is there already. Raise "
            "GRADER_VERSION in autograder/grade/result.py first."
        )
    with tempfile.TemporaryDirectory() as folder:
        from autograder.course import Course

        root = repository(Path(folder))
        write(golden_results(Course(with_short_limits(root))), path)
    print(f"Written: {path.relative_to(COURSE.root)}")
