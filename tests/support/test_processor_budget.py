"""The budget of the tests' processor time: which groups are over it."""

from tests.support.processor_budget import budget, over_budget, workload


def test_a_group_is_over_its_budget_when_it_took_clearly_longer():
    allowed = {"long": 20.0, "short": 1.0}
    assert over_budget({"long": 29, "short": 4.9}, allowed) == []
    assert over_budget({"long": 31, "short": 5.1}, allowed) == ["long", "short"]


def test_a_new_group_has_no_budget_yet():
    assert over_budget({"new": 6.0, "small": 4.0}, {"long": 20.0}) == ["new"]
    assert over_budget({"new": 6.0}, {}) == []


def test_the_budget_does_not_rise():
    """Ten minutes on two cores are the aim."""
    assert 0 < sum(budget().values()) <= 1740


def test_the_workload_takes_processor_time():
    assert 0 < workload() < 60
