"""Imports all that workers need: their fork server does this once, after the packages of exercises."""

import gc

import autograder.grade.worker_pool  # noqa: F401

# the garbage collector of forked workers would write to, and so copy, the memory of these modules
gc.freeze()
