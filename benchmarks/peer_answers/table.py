"""All tasks, in the order of the results, each with its published and its generated answers."""

from benchmarks.peer_answers.generated import with_generated
from benchmarks.peer_answers.tasks import PUBLISHED

TASKS = tuple(map(with_generated, PUBLISHED))
