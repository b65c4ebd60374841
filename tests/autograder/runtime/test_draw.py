"""Drawing the inputs of a grade cell."""

from autograder.runtime.draw import Draw


def test_the_stream_of_draws_is_frozen():
    draw = Draw(1, 2)
    assert draw.sizes(4) == [4, 7, 3, 6]
    assert draw.array(2, 2).tolist() == [[0.7296, 1.9988], [1.6788, -0.7005]]


def test_sizes_are_distinct_and_masks_leave_something_and_hide_something():
    for seed in range(50):
        draw = Draw(seed)
        sizes = draw.sizes(5)
        assert len(set(sizes)) == 5 and min(sizes) >= 2 and max(sizes) <= 9
        mask = draw.mask(3, 4, 5)
        assert mask.any(-1).all() and not mask.all(-1).any()
        assert (draw.mask(3, 4, 5, empty=2).any(-1) == 0).sum() == 2
