"""Whether a changed answer passes, as benchmarks/mutants.py asks."""

from benchmarks.mutants import passes


def test_a_program_that_cannot_run_does_not_pass():
    assert passes("x = 1", [])
    assert not passes("x = undefined", [])
