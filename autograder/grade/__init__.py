"""Submissions into grades, feedback and the gradebook.

In: a submission (its folder) and the exercise's answer key. Out: a typed `Result`, stored as JSON beside
the graded notebook, from which gradebook, feedback and reports are made.

- `submission` reads what was handed in; `sanitize` rebuilds it from the released notebook.
- `answer_key` holds what is expected of it, under the class's secret seed.
- `examine.grade_submission` is the one way to a grade; `result` is what it returns.
- `kernel_run` runs cells and asks checks in one kernel; `follow_through` does so once more, with right
  versions in place of wrong answers on which later ones depend.
- `worker_pool` and `dask_pool` run it on many processes and machines, and `preload` is what the former's
  are forked from; `grade_class` and `trial` decide which submissions to grade, and `changes` says whose
  points other rules move; `by_clock` grades once more, alone, what the clock has stopped.
- `gradebook` records results, and `reconcile` sees that it holds them when grades are told; `words`,
  `verdicts` and `feedback` say them, and `page_workers` writes pages in processes with limits.
- `roster` reads who the students are.
- `lateness` keeps due dates and extensions, and brings penalties up to date without grading.
- `groups` decides whose submission counts for a student.
- `comments` puts the texts of kept comments in place of their keys.

Must not import lms, report, audit or publish.
"""
