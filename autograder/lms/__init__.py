"""The way from and to learning management systems: a class's zip in, grades out.

In: zip files and rosters of Canvas and Moodle, nbgrader's gradebook. Out: folders of submissions, CSV files.

Must not import report, audit or publish.
"""
