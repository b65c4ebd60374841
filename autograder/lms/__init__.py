"""The way from and to learning management systems: a class's zip in, grades and feedback out.

In: zip files and rosters of these systems, nbgrader's gradebook, feedback pages. Out: folders of
submissions, CSV files, a zip of feedback, requests to Canvas.

- `system` says what each system has in a way of its own: how its zip names files, which table of grades it
  imports, how feedback finds its way back. `canvas_files` and `moodle_files` are two, `systems` lists them.
- `import_zip` lays out a class's zip; `names` makes ids of names and remembers what the system called each
  student; `moodle_worksheet` reads who is which participant, and when they handed in.
- `export` writes the grades as files, with `grade_table`; `return_zip` packs feedback pages.
- `push` decides what Canvas lacks and sends it, through `canvas_api`.
- `gradescope` makes the zip of an exercise for Gradescope; `gradescope_run` grades with it in a container
  there.

Must not import report, audit or publish.
"""
