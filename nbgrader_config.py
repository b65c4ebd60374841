"""nbgrader's settings: its commands, run in this folder, work on this course."""

import sys
from pathlib import Path

# the grader lies here and need not be installed
sys.path.insert(0, str(Path(__file__).resolve().parent))

from autograder.nbgrader_settings import configure

c = get_config()  # noqa: F821
configure(c, __file__)
c.CourseDirectory.course_id = "attention-from-scratch"

# what students' code may import beside NumPy and the exercise's own packages
c.Grader.packages = ["matplotlib", "scipy"]

# The grader's other settings; `python -m autograder grade --help` and autograder/instructor_settings.py explain them.
# c.Grader.memory_mb = 2000
# c.Grader.grade_cell_seconds = 10
# c.Grader.python = "/path/to/another/environment/bin/python"
# c.Grader.keep_best = True
# c.Grader.weights = {"ch2_scaled_dot_product": 2}
# c.Grader.allowed = {"ch2_scaled_dot_product": ["scaled_dot_product_attention"]}
# c.Grader.follow_through = False
