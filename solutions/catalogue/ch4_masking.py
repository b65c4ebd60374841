"""Known mistakes and accepted alternatives of exercise 4."""

from autograder.catalogue import Alternative, Discussion, Mistake
from autograder.runtime.guide import Way

# the section of the book to read again, by grade cell
SECTIONS = {
    "padding_mask_values": "ch4-padding",
    "causal_mask_values": "ch4-causal",
    "combine_values": "ch4-combined",
    "masked_softmax_values": "ch4-before-softmax",
    "masked_softmax_edges": "ch4-empty",
    "additive_values": "ch4-conventions",
    "from_key_padding_values": "ch4-conventions",
    "leaks_values": "ch4-leaks",
    "leaks_edges": "ch4-leaks",
    "masked_cross_entropy_values": "ch4-loss",
}

MISTAKES = [
    # padding_mask -------------------------------------------------------------------------------
    Mistake(
        name="lengths off by one",
        function="padding_mask",
        cell="padding_mask_values",
        means="One position too many is allowed in each example: the first one with padding.",
        hint="The positions count from 0. Which is the last real one in an example of length 2?",
        section="ch4-padding",
        edits=[("< lengths", "<= lengths")],
    ),
    Mistake(
        name="last token of each example hidden",
        function="padding_mask",
        cell="padding_mask_values",
        means="One position too few is allowed in each example: the last real token is hidden.",
        hint="The positions count from 0. Which are allowed in an example of length 2?",
        section="ch4-padding",
        edits=[("< lengths", "< lengths.sub(1)")],
    ),
    Mistake(
        name="padding allowed, tokens forbidden",
        function="padding_mask",
        cell="padding_mask_values",
        means="True stands where the padding is. In this course True means may attend.",
        hint="Which keys should a query see, and what does True mean here?",
        section="ch4-conventions",
        edits=[("< lengths", ">= lengths")],
    ),
    Mistake(
        name="padding hidden as queries, not as keys",
        function="padding_mask",
        cell="padding_mask_values",
        means="The lengths lie along the axis of the queries. Real tokens then still attend to padding, "
        "and the rows of the padding are empty.",
        hint="The scores are (B, H, T, S). On which of these axes are the positions that must not be "
        "looked at?",
        section="ch4-padding",
        edits=[("[:, None, None, :]", "[:, None, :, None]")],
    ),
    Mistake(
        name="no axes for heads and queries",
        function="padding_mask",
        cell="padding_mask_values",
        means="A mask of shape (B, S) would be lined up with the last two axes of the scores. These are queries and keys, not examples and keys. Where B equals T that even runs.",
        hint="Broadcasting lines shapes up from the right. Which axes must have length 1?",
        section="ch4-shapes",
        edits=[("[:, None, None, :]", "")],
    ),
    Mistake(
        name="padding taken to be on the left",
        function="padding_mask",
        cell="padding_mask_values",
        means="The last positions of each example are allowed, as if the padding came first.",
        hint="Where do the real tokens of a short sentence stand?",
        section="ch4-padding",
        edits=[("(torch.arange(max_len) <", "(torch.arange(max_len - 1, -1, -1) <")],
    ),
    Mistake(
        name="longest example in place of max_len",
        function="padding_mask",
        cell="padding_mask_values",
        means="The mask has as many keys as the longest example of this batch, not max_len.",
        hint="Could a batch be filled up to more than its longest sentence?",
        section="ch4-padding",
        edits=[("torch.arange(max_len)", "torch.arange(int(lengths.max()))")],
    ),
    Mistake(
        name="numbers in place of booleans",
        function="padding_mask",
        cell="padding_mask_values",
        means="The mask holds the numbers 1 and 0. Functions that take it for an additive mask would add "
        "them to the scores, which hides nothing.",
        hint="Which data type does a comparison give?",
        section="ch4-conventions",
        edits=[("[:, None, None, :]", "[:, None, None, :].float()")],
    ),
    Mistake(
        name="integers in place of booleans",
        function="padding_mask",
        cell="padding_mask_values",
        means="The mask holds the integers 0 and 1. A mask is boolean here.",
        hint="Which function or comparison gives True and False at once?",
        section="ch4-conventions",
        edits=[("[:, None, None, :]", "[:, None, None, :].long()")],
    ),
    Mistake(
        name="one axis too few",
        function="padding_mask",
        cell="padding_mask_values",
        means="The mask has the shape (B, 1, S). Against scores of shape (B, H, T, S) its first axis meets the heads.",
        hint="How many axes do the scores have?",
        section="ch4-shapes",
        edits=[("[:, None, None, :]", "[:, None, :]")],
    ),
    Mistake(
        name="axes in front of the batch",
        function="padding_mask",
        cell="padding_mask_values",
        means="The two axes of length 1 stand in front of the batch. The examples then line up with the queries.",
        hint="With which axis of the scores should the axis of the examples line up?",
        section="ch4-shapes",
        edits=[("[:, None, None, :]", "[None, None]")],
    ),
    Mistake(
        name="a row for every query",
        function="padding_mask",
        cell="padding_mask_values",
        means="The mask has a row for each query. The axis of the queries should have the length 1, so that the mask fits any number of them.",
        hint="Does it matter for padding which query is asking?",
        section="ch4-shapes",
        edits=[("[:, None, None, :]", "[:, None, None, :].repeat(1, 1, max_len, 1)")],
    ),
    Mistake(
        name="only the first padding hidden",
        function="padding_mask",
        cell="padding_mask_values",
        means="Only the position behind the last real token is False. All padding after it is allowed.",
        hint="How many positions are padding in an example of length 2 with 5 keys?",
        section="ch4-padding",
        edits=[("< lengths", "!= lengths")],
    ),
    Mistake(
        name="only the last token of each example",
        function="padding_mask",
        cell="padding_mask_values",
        means="One key of each example is allowed, its last real token. All keys before it are real as well.",
        hint="How many keys may a query see in an example of length 3?",
        section="ch4-padding",
        edits=[("< lengths", "== lengths.sub(1)")],
    ),
    Mistake(
        name="an example of length 0 opened",
        function="padding_mask",
        cell="padding_mask_values",
        means="In an example without real tokens, a key was allowed. It has none: its row is False throughout.",
        hint="Does the task make an exception for length 0?",
        section="ch4-empty",
        edits=[("< lengths", "< lengths.clamp(min=1)")],
    ),
    Mistake(
        name="one mask for the whole batch",
        function="padding_mask",
        cell="padding_mask_values",
        means="All examples have the mask of the longest one, or of the first. Each has its own length.",
        hint="Which of your comparisons knows the length of the second example?",
        section="ch4-padding",
        edits=[("lengths[:, None]", "lengths.amax().expand(len(lengths), 1)")],
    ),
    # causal_mask --------------------------------------------------------------------------------
    Mistake(
        name="upper triangle for the lower",
        function="causal_mask",
        cell="causal_mask_values",
        means="Each query sees itself and the future, and nothing of the past.",
        hint="Rows are queries. In the first row, which entries should be True?",
        section="ch4-causal",
        edits=[(".tril(S - T)", ".triu(S - T)")],
    ),
    Mistake(
        name="future allowed, past forbidden",
        function="causal_mask",
        cell="causal_mask_values",
        means="This is the mask turned around: True at the future only. It is right for functions in "
        "which True means ignore.",
        hint="What does True mean in this course?",
        section="ch4-conventions",
        edits=[(".tril(S - T)", ".triu(S - T + 1)")],
    ),
    Mistake(
        name="a query doesn't see itself",
        function="causal_mask",
        cell="causal_mask_values",
        means="The diagonal is missing, so the first query has nothing to attend to.",
        hint="The input at a position is known when its output is computed. So is the diagonal allowed?",
        section="ch4-shift",
        edits=[("(S - T)", "(S - T - 1)")],
    ),
    Mistake(
        name="one position of the future allowed",
        function="causal_mask",
        cell="causal_mask_values",
        means="Each query also sees the next position, and that is the token it is to predict.",
        hint="In the first of three queries, how many keys are allowed?",
        section="ch4-causal",
        edits=[("(S - T)", "(S - T + 1)")],
    ),
    Mistake(
        name="aligned to the top left",
        function="causal_mask",
        cell="causal_mask_values",
        means="With fewer queries than keys the first query is taken for the first position of the "
        "sequence. A model that writes with kept keys would see the oldest ones only.",
        hint="The queries are the last positions. Which key has the position of the last query?",
        section="ch4-alignment",
        edits=[("tril(S - T)", "tril()")],
    ),
    Mistake(
        name="aligned to the top left with fewer keys than queries",
        function="causal_mask",
        cell="causal_mask_values",
        means="With more queries than keys, the first query is taken for the first position. But the last query is "
        "always the last position, so that the first ones have nothing to see.",
        hint="By how much is the triangle moved in `causal_mask(3, 2)`, and in which direction?",
        section="ch4-alignment",
        edits=[("tril(S - T)", "tril(S - min(S, T))")],
    ),
    Mistake(
        name="as many keys as queries",
        function="causal_mask",
        cell="causal_mask_values",
        means="The number of keys was ignored: this is a square mask.",
        hint="Where in your code does S occur?",
        section="ch4-alignment",
        edits=[("S = T if S is None else S", "S = T")],
    ),
    Mistake(
        name="causal mask of numbers",
        function="causal_mask",
        cell="causal_mask_values",
        means="The mask holds the numbers 0 and 1. A mask is boolean here.",
        hint="Which argument of torch.ones makes the triangle boolean?",
        section="ch4-conventions",
        edits=[("dtype=torch.bool", "dtype=torch.float32")],
    ),
    Mistake(
        name="minus infinity in place of booleans",
        function="causal_mask",
        cell="causal_mask_values",
        means="This is a mask to be added to the scores, with 0 and minus infinity. A boolean one is asked for.",
        hint="Which of the three conventions does this course use?",
        section="ch4-conventions",
        edits=[
            (
                "return torch.ones(T, S, dtype=torch.bool).tril(S - T)",
                'return torch.full((T, S), float("-inf")).triu(S - T + 1)',
            )
        ],
    ),
    Mistake(
        name="queries and keys exchanged",
        function="causal_mask",
        cell="causal_mask_values",
        means="The mask has the shape (S, T): a row for each key. It should have a row for each query.",
        hint="Which axis of the scores belongs to the queries?",
        section="ch4-causal",
        edits=[
            (
                "torch.ones(T, S, dtype=torch.bool).tril(S - T)",
                "torch.ones(S, T, dtype=torch.bool).tril(T - S)",
            )
        ],
    ),
    Mistake(
        name="everything allowed",
        function="causal_mask",
        cell="causal_mask_values",
        means="Every entry is True: nothing is hidden.",
        hint="What should the first of three queries not see?",
        section="ch4-causal",
        edits=[(".tril(S - T)", "")],
    ),
    Mistake(
        name="two blocks side by side",
        function="causal_mask",
        cell="causal_mask_values",
        means="A block of ones stands before a triangle. With more queries than keys the block would have a negative width.",
        hint="What should `causal_mask(3, 2)` be?",
        section="ch4-causal",
        edits=[
            (
                "return torch.ones(T, S, dtype=torch.bool).tril(S - T)",
                "past = torch.ones(T, S - T, dtype=torch.bool)\n    return torch.cat([past, torch.ones(T, T, dtype=torch.bool).tril()], dim=1)",
            )
        ],
    ),
    Mistake(
        name="the last queries of a triangle as large as the keys",
        function="causal_mask",
        cell="causal_mask_values",
        means="The last T rows were cut from a triangle of S rows. With more queries than keys there are only S of them, so rows are missing.",
        hint="How many rows does your triangle have in `causal_mask(3, 2)`, and how many are asked for?",
        section="ch4-alignment",
        edits=[
            (
                "torch.ones(T, S, dtype=torch.bool).tril(S - T)",
                "torch.ones(S, S, dtype=torch.bool).tril()[-T:]",
            )
        ],
    ),
    Mistake(
        name="the first queries of a triangle as large as the keys",
        function="causal_mask",
        cell="causal_mask_values",
        means="A triangle of S rows was cut to its first T. The queries are the last positions, and there may be more of them than keys.",
        hint="To which end of the sequence do the queries belong?",
        section="ch4-alignment",
        edits=[
            (
                "torch.ones(T, S, dtype=torch.bool).tril(S - T)",
                "torch.ones(S, S, dtype=torch.bool).tril()[:T]",
            )
        ],
    ),
    Mistake(
        name="shifted by the queries in place of the difference",
        function="causal_mask",
        cell="causal_mask_values",
        means="The triangle is moved by the wrong number: by T - S in place of S - T.",
        hint="By how many positions are the queries behind the beginning, with 2 queries and 4 keys?",
        section="ch4-alignment",
        edits=[("tril(S - T)", "tril(T - S)")],
    ),
    Mistake(
        name="only the diagonal",
        function="causal_mask",
        cell="causal_mask_values",
        means="Each query sees its own position only, and nothing of the past.",
        hint="Which keys may the last query see?",
        section="ch4-causal",
        edits=[
            (
                "torch.ones(T, S, dtype=torch.bool).tril(S - T)",
                "torch.ones(T, S, dtype=torch.bool).tril(S - T).triu(S - T)",
            )
        ],
    ),
    # combine ------------------------------------------------------------------------------------
    Mistake(
        name="allowed by any mask",
        function="combine",
        cell="combine_values",
        means="A key is allowed as soon as one of the masks allows it. So the causal mask lets padding through, and the padding mask lets the future through.",
        hint="May a query attend to a real token of the future?",
        section="ch4-combined",
        edits=[("combined & mask", "combined | mask")],
    ),
    Mistake(
        name="None not left out",
        function="combine",
        cell="combine_values",
        means="A mask that is None stops the function with an error.",
        hint="None means that everything is allowed. What does such a mask change?",
        section="ch4-combined",
        source="""
def combine(*masks):
    combined = masks[0] if masks else None
    for mask in masks[1:]:
        combined = combined & mask
    return combined
""",
    ),
    Mistake(
        name="only the first two masks count",
        function="combine",
        cell="combine_values",
        means="This is the combination of the first two masks. The others have no effect.",
        hint="Try it with three masks.",
        section="ch4-combined",
        source="""
def combine(*masks):
    given = [mask for mask in masks if mask is not None]
    if not given:
        return None
    return given[0] & given[1] if len(given) > 1 else given[0]
""",
    ),
    Mistake(
        name="the last mask wins",
        function="combine",
        cell="combine_values",
        means="This is the last of the masks. What the earlier ones forbid is allowed again.",
        hint="Which operator needs both sides to be True?",
        section="ch4-combined",
        edits=[("combined & mask", "mask")],
    ),
    Mistake(
        name="masks added up",
        function="combine",
        cell="combine_values",
        means="The result counts how many masks allow a key. As a truth value, one of them would be enough.",
        hint="What is True + False, and what should it be here?",
        section="ch4-combined",
        edits=[("combined & mask", "combined.int() + mask")],
    ),
    Mistake(
        name="first mask changed in place",
        function="combine",
        cell="combine_values",
        means="`&=` writes into the first mask, which belongs to the caller. It also fails where the result "
        "is larger than that mask.",
        hint="What is the difference between `a &= b` and `a = a & b` for a tensor?",
        section="ch4-combined",
        source="""
def combine(*masks):
    combined = None
    for mask in masks:
        if mask is None:
            continue
        if combined is None:
            combined = mask
        else:
            combined &= mask
    return combined
""",
    ),
    Mistake(
        name="allowed by any mask, and None not left out",
        function="combine",
        cell="combine_values",
        means="There are two mistakes here. A key needs the permission of every mask, and None is no mask that one can combine.",
        hint="Which logical word joins the masks, and what becomes of a None?",
        section="ch4-combined",
        source="""
def combine(*masks):
    combined = masks[0]
    for mask in masks[1:]:
        combined = combined | mask
    return combined
""",
    ),
    Mistake(
        name="only the first mask counts",
        function="combine",
        cell="combine_values",
        means="This is the first mask; the others have no influence.",
        hint="Where in your loop do two masks meet?",
        section="ch4-combined",
        edits=[("combined & mask", "combined")],
    ),
    Mistake(
        name="no masks at all",
        function="combine",
        cell="combine_values",
        means="Called without arguments, or with None alone, the function stops with an error.",
        hint="What is `masks` when nobody gives a mask?",
        section="ch4-combined",
        source="""
def combine(*masks):
    given = [mask for mask in masks if mask is not None]
    combined = given[0]
    for mask in given[1:]:
        combined = combined & mask
    return combined
""",
    ),
    Mistake(
        name="a single True in place of None",
        function="combine",
        cell="combine_values",
        means="Without any mask the result is a tensor that says True. It should be None.",
        hint="What does the task say about the case in which all masks are None?",
        section="ch4-combined",
        edits=[
            ("combined = None", "combined = torch.tensor(True)"),
            ("mask if combined is None else combined & mask", "combined & mask"),
        ],
    ),
    Mistake(
        name="masks multiplied as numbers",
        function="combine",
        cell="combine_values",
        means="The masks were multiplied as numbers, so the result is no longer boolean.",
        hint="Which operator joins two boolean masks?",
        section="ch4-combined",
        edits=[("combined & mask", "combined.float() * mask")],
    ),
    Mistake(
        name="reduce without a first mask",
        function="combine",
        cell="combine_values",
        means="`reduce` over an empty list is a TypeError: without any mask there is nothing to begin with.",
        hint="What does reduce give where all masks are None, and what should it be?",
        section="ch4-combined",
        source="""
from functools import reduce


def combine(*masks):
    return reduce(torch.logical_and, [mask for mask in masks if mask is not None])
""",
    ),
    Mistake(
        name="None as soon as one mask is None",
        function="combine",
        cell="combine_values",
        means="One None among the masks made the whole result None, so that what the others forbid is allowed again.",
        hint="None means that everything is allowed. What do the other masks still say?",
        section="ch4-combined",
        source="""
def combine(*masks):
    if not masks or any(mask is None for mask in masks):
        return None
    combined = masks[0]
    for mask in masks[1:]:
        combined = combined & mask
    return combined
""",
    ),
    Mistake(
        name="allowed by exactly one mask",
        function="combine",
        cell="combine_values",
        means="`^` is True where the masks differ: what two of them allow is forbidden.",
        hint="Two masks allow a key. May it be attended to?",
        section="ch4-combined",
        edits=[("combined & mask", "combined ^ mask")],
    ),
    # masked_softmax -----------------------------------------------------------------------------
    Mistake(
        name="masked after the softmax",
        function="masked_softmax",
        cell="masked_softmax_values",
        means="The masked weights were set to 0 after the softmax. Those that are left don't sum to 1, because masked scores still take part in the sum.",
        hint="At which moment must a masked key be out of the game, so that the others share all of the "
        "weight?",
        section="ch4-before-softmax",
        edits=[("scores.masked_fill(~mask, lowest)", "scores")],
    ),
    Mistake(
        name="masked scores set to 0, or nearly 0",
        function="masked_softmax",
        cell="masked_softmax_values",
        means="Masked scores became 0, or a number as small as -1e-9 where -1e9 was meant. That is an "
        "ordinary score: where the others are negative, it even wins.",
        hint="Which number has an exponential of 0? And how large is 1e-9?",
        section="ch4-before-softmax",
        edits=[(" * mask", ""), ("scores.masked_fill(~mask, lowest)", "scores * mask")],
    ),
    Mistake(
        name="fill of -10",
        function="masked_softmax",
        cell="masked_softmax_values",
        means="Masked scores became -10. That is little only as long as the other scores are about 0.",
        hint="What if all the other scores in a row are below -10?",
        section="ch4-before-softmax",
        edits=[(" * mask", ""), ("torch.finfo(scores.dtype).min", "-10.0")],
    ),
    Mistake(
        name="10 subtracted from masked scores",
        function="masked_softmax",
        cell="masked_softmax_values",
        means="Masked scores were lowered by 10, so a masked key that fits well keeps some of its weight.",
        hint="How much must be subtracted so that the weight is 0, however large the score is?",
        section="ch4-before-softmax",
        edits=[
            (" * mask", ""),
            ("scores.masked_fill(~mask, lowest)", "scores - 10.0 * (~mask)"),
        ],
    ),
    Mistake(
        name="result of masked_fill thrown away",
        function="masked_softmax",
        cell="masked_softmax_values",
        means="This is the softmax without any mask. `masked_fill` returns a new tensor and leaves the old "
        "one as it was.",
        hint="What do you do with what masked_fill returns? And what does the underscore in masked_fill_ "
        "mean?",
        section="ch4-before-softmax",
        edits=[(".masked_fill(~mask, lowest), dim=-1) * mask", ", dim=-1)")],
    ),
    Mistake(
        name="mask turned around",
        function="masked_softmax",
        cell="masked_softmax_values",
        means="The weights lie on exactly the keys that are forbidden.",
        hint="masked_fill writes where its mask is True. Which keys should be overwritten?",
        section="ch4-conventions",
        edits=[("masked_fill(~mask,", "masked_fill(mask,"), ("* mask", "* ~mask")],
    ),
    Mistake(
        name="mask transposed",
        function="masked_softmax",
        cell="masked_softmax_values",
        means="Row and column of the mask changed places. With a mask that is symmetric nobody would notice.",
        hint="Entry [i, j] says whether query i may attend to key j. Which axis of the scores is which?",
        section="ch4-before-softmax",
        edits=[
            ("lowest = ", "mask = mask.transpose(-2, -1)\n    lowest = "),
        ],
    ),
    Mistake(
        name="softmax over the queries",
        function="masked_softmax",
        cell="masked_softmax_values",
        means="The softmax runs along axis -2, so for each key the weights of all queries compete.",
        hint="Each query shares out a weight of one. Along which axis do its weights lie?",
        section="ch4-before-softmax",
        edits=[
            ("torch.softmax(scores, dim=-1)", "torch.softmax(scores, dim=-2)"),
            ("lowest), dim=-1)", "lowest), dim=-2)"),
        ],
    ),
    Mistake(
        name="None is not a mask",
        function="masked_softmax",
        cell="masked_softmax_values",
        means="Without a mask the function stops with an error.",
        hint="mask=None means that every key may be attended to.",
        section="ch4-combined",
        edits=[
            ("if mask is None:\n        return torch.softmax(scores, dim=-1)\n    ", ""),
        ],
    ),
    Mistake(
        name="boolean mask added to the scores",
        function="masked_softmax",
        cell="masked_softmax_values",
        means="Adding True adds 1, and adding False adds 0. No key is shut out.",
        hint="Which number must be added to a score so that its weight is 0?",
        section="ch4-before-softmax",
        edits=[(" * mask", ""), ("scores.masked_fill(~mask, lowest)", "scores + mask")],
    ),
    Mistake(
        name="logarithm of the weights",
        function="masked_softmax",
        cell="masked_softmax_values",
        means="These are the logarithms of the weights.",
        hint="Do the numbers in a row sum to 1?",
        section="ch4-before-softmax",
        edits=[
            ("return torch.softmax(scores, dim=-1)", "return torch.log_softmax(scores, dim=-1)"),
            (
                "return torch.softmax(scores.masked_fill",
                "return torch.log_softmax(scores.masked_fill",
            ),
        ],
    ),
    Mistake(
        name="one softmax for all queries",
        function="masked_softmax",
        cell="masked_softmax_values",
        means="All weights of a head together sum to 1. Each query should have a row of weights that sum to 1.",
        hint="Along how many axes should the softmax run?",
        section="ch4-before-softmax",
        edits=[
            (
                "return torch.softmax(scores, dim=-1)",
                "return torch.softmax(scores.flatten(-2), dim=-1).reshape(scores.shape)",
            ),
            (
                "return torch.softmax(scores.masked_fill(~mask, lowest), dim=-1) * mask",
                "masked = scores.masked_fill(~mask, lowest).flatten(-2)\n    return torch.softmax(masked, dim=-1).reshape(scores.shape) * mask",
            ),
        ],
    ),
    Mistake(
        name="NaN in empty rows",
        function="masked_softmax",
        cell="masked_softmax_edges",
        means="A row of minus infinity only has no largest score that could be subtracted, and its softmax "
        "is 0 divided by 0.",
        hint="What should the weights be where nothing may be attended to?",
        section="ch4-empty",
        edits=[(" * mask", ""), ("torch.finfo(scores.dtype).min", 'float("-inf")')],
    ),
    Mistake(
        name="empty rows uniform",
        function="masked_softmax",
        cell="masked_softmax_edges",
        means="A row in which everything is masked has equal weights on all the keys it must not see. In a "
        "causal mask that is a look into the future.",
        hint="If all scores are the same very low number, what is their softmax?",
        section="ch4-empty",
        edits=[(" * mask", "")],
    ),
    Mistake(
        name="all rows set to 0 for one that is empty",
        function="masked_softmax",
        cell="masked_softmax_edges",
        means="Where one row has nothing to attend to, the weights of all rows are set to 0.",
        hint="To which rows does your test for NaN apply?",
        section="ch4-empty",
        source="""
def masked_softmax(scores, mask):
    mask = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
    return weights if weights.isfinite().all() else torch.zeros_like(scores)
""",
    ),
    Mistake(
        name="-1e9 in every data type",
        function="masked_softmax",
        cell="masked_softmax_edges",
        means="The number -1e9 doesn't fit into float16, and empty rows become uniform.",
        hint="What is the lowest number of a data type, and how do you ask torch for it? And what makes an empty row 0 afterwards?",
        section="ch4-half",
        edits=[(" * mask", ""), ("torch.finfo(scores.dtype).min", "-1e9")],
    ),
    Mistake(
        name="right values, NaN gradient",
        function="masked_softmax",
        cell="masked_softmax_edges",
        means="The NaN of the empty rows was replaced after a division by 0. Their values are right, but the "
        "gradient still runs through that division and is NaN.",
        hint="torch.where chooses a value and differentiates both sides. What must the denominator be "
        "before you divide?",
        section="ch4-empty",
        source="""
def masked_softmax(scores, mask):
    if mask is None:
        return torch.softmax(scores, dim=-1)
    exponentials = torch.exp(scores - scores.amax(dim=-1, keepdim=True)) * mask
    total = exponentials.sum(dim=-1, keepdim=True)
    return torch.where(total > 0, exponentials / total, torch.zeros_like(scores))
""",
    ),
    Mistake(
        name="zero divided by zero",
        function="masked_softmax",
        cell="masked_softmax_edges",
        means="Exponentials times mask, divided by their sum. In an empty row that is 0 divided by 0.",
        hint="What is the sum in a row in which everything is masked?",
        section="ch4-empty",
        source="""
def masked_softmax(scores, mask):
    if mask is None:
        return torch.softmax(scores, dim=-1)
    exponentials = torch.exp(scores - scores.amax(dim=-1, keepdim=True)) * mask
    return exponentials / exponentials.sum(dim=-1, keepdim=True)
""",
    ),
    Mistake(
        name="no maximum subtracted",
        function="masked_softmax",
        cell="masked_softmax_edges",
        means="The exponential of a very low score is 0, also where it is the best score of its row. That of a high one is infinite.",
        hint="Which number can be subtracted from every row without changing its softmax?",
        section="ch4-before-softmax",
        source="""
def masked_softmax(scores, mask):
    exponentials = torch.exp(scores)
    if mask is not None:
        exponentials = exponentials * mask
    total = exponentials.sum(dim=-1, keepdim=True)
    return exponentials / total.clamp(min=torch.finfo(scores.dtype).tiny)
""",
    ),
    Mistake(
        name="scores filled in place",
        function="masked_softmax",
        cell="masked_softmax_edges",
        means="`masked_fill_` with an underscore writes into the caller's scores. Where autograd watches them, "
        "it is an error.",
        hint="What is the difference between masked_fill and masked_fill_?",
        section="ch4-before-softmax",
        source="""
def masked_softmax(scores, mask):
    if mask is not None:
        scores.masked_fill_(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1).nan_to_num(0.0)
""",
    ),
    Mistake(
        name="shared out again after the softmax",
        function="masked_softmax",
        cell="masked_softmax_edges",
        means="The weights were set to 0 after the softmax and then divided by their sum. Where masked scores are far larger, nothing is left to divide.",
        hint="Which scores should take part in the maximum that the softmax subtracts?",
        section="ch4-before-softmax",
        edits=[
            (
                "torch.softmax(scores.masked_fill(~mask, lowest), dim=-1) * mask",
                "(torch.softmax(scores, dim=-1) * mask) / (\n        (torch.softmax(scores, dim=-1) * mask).sum(dim=-1, keepdim=True).clamp(min=1e-30)\n    )",
            )
        ],
    ),
    Mistake(
        name="fill that is not low enough",
        function="masked_softmax",
        cell="masked_softmax_edges",
        means="Masked scores got a number such as -100 or -10000. Where the real scores lie below it, masked keys get the weight.",
        hint="Which number is below every score of a data type?",
        section="ch4-half",
        edits=[("torch.finfo(scores.dtype).min", "-100.0")],
    ),
    Mistake(
        name="mask as float32",
        function="masked_softmax",
        cell="masked_softmax_edges",
        means="The mask was turned into float32, and the product took over its data type where the scores are narrower.",
        hint="Which data type does a float16 tensor times a boolean one have?",
        section="ch4-half",
        edits=[("* mask", "* mask.float()")],
    ),
    Mistake(
        name="no gradient",
        function="masked_softmax",
        cell="masked_softmax_edges",
        means="The values are right, but no gradient reaches the scores.",
        hint="Which call takes a tensor out of the graph: detach, numpy, item, no_grad?",
        section="ch4-empty",
        edits=[("torch.softmax(scores.masked_fill(", "torch.softmax(scores.detach().masked_fill(")],
    ),
    Mistake(
        name="weights changed in place",
        function="masked_softmax",
        cell="masked_softmax_edges",
        means="The result of the softmax was overwritten in place. The values are right, but the softmax needs its own result for its gradient, and autograd refuses.",
        hint="Which of your functions ends in an underscore, or assigns to entries of the weights?",
        section="ch4-empty",
        source="""
def masked_softmax(scores, mask):
    if mask is None:
        return torch.softmax(scores, dim=-1)
    weights = torch.softmax(scores.masked_fill(~mask, torch.finfo(scores.dtype).min), dim=-1)
    weights.masked_fill_(~mask, 0.0)
    return weights
""",
    ),
    Mistake(
        name="-1e9, and emptied afterwards",
        function="masked_softmax",
        cell="masked_softmax_edges",
        means="Empty rows are right, but -1e9 doesn't fit into float16.",
        hint="What is the lowest number of a data type, and how do you ask torch for it?",
        section="ch4-half",
        edits=[("torch.finfo(scores.dtype).min", "-1e9")],
    ),
    # additive -----------------------------------------------------------------------------------
    Mistake(
        name="zero times infinity",
        function="additive",
        cell="additive_values",
        means="Where attending is allowed, 0 was multiplied by infinity, and that is NaN.",
        hint="How can you write infinity in some places without multiplying it in the others?",
        section="ch4-conventions",
        source="""
def additive(mask, dtype):
    return (~mask).to(dtype) * float("-inf")
""",
    ),
    Mistake(
        name="additive mask turned around",
        function="additive",
        cell="additive_values",
        means="Minus infinity stands where attending is allowed.",
        hint="Which scores should stay as they are, and what do you add to leave a number as it is?",
        section="ch4-conventions",
        edits=[("~mask", "mask")],
    ),
    Mistake(
        name="a large number for infinity",
        function="additive",
        cell="additive_values",
        means="Forbidden entries are -1e9 and not minus infinity. A low enough score undoes that, and the "
        "number doesn't fit into float16.",
        hint="Which number has an exponential of exactly 0, whatever you add to it?",
        section="ch4-half",
        edits=[('float("-inf")', "-1e9")],
    ),
    Mistake(
        name="ones where allowed",
        function="additive",
        cell="additive_values",
        means="Allowed entries are 1. Adding the same to all allowed scores happens to change nothing, but it "
        "is no 0.",
        hint="What do you add to leave a score as it is?",
        section="ch4-conventions",
        edits=[("torch.zeros(", "torch.ones(")],
    ),
    Mistake(
        name="booleans as numbers",
        function="additive",
        cell="additive_values",
        means="True and False became 1 and 0. Added to the scores, that forbids nothing and only "
        "favours the allowed keys a little.",
        hint="What must be added to a score so that its weight is 0?",
        section="ch4-conventions",
        source="""
def additive(mask, dtype):
    return mask.to(dtype)
""",
    ),
    Mistake(
        name="data type ignored",
        function="additive",
        cell="additive_values",
        means="The mask has torch's default data type, not the one that was asked for. Functions such as "
        "scaled_dot_product_attention refuse a mask whose data type differs from the query's.",
        hint="Where in your code does dtype occur?",
        section="ch4-conventions",
        edits=[(", dtype=dtype", "")],
    ),
    Mistake(
        name="axes of length 1 lost",
        function="additive",
        cell="additive_values",
        means="The axes of length 1 have disappeared. The result should have the shape of the mask.",
        hint="Does your code call squeeze?",
        section="ch4-shapes",
        edits=[
            ('masked_fill(~mask, float("-inf"))', 'masked_fill(~mask, float("-inf")).squeeze()')
        ],
    ),
    Mistake(
        name="the lowest number for minus infinity",
        function="additive",
        cell="additive_values",
        means="Forbidden entries are the lowest finite number of the data type. The task asks for minus infinity.",
        hint="Is `torch.finfo(dtype).min` infinite?",
        section="ch4-half",
        edits=[('float("-inf")', "torch.finfo(dtype).min")],
    ),
    Mistake(
        name="plus infinity",
        function="additive",
        cell="additive_values",
        means="Forbidden entries are plus infinity, so that these keys would get all of the weight.",
        hint="Which sign must the number have that leaves a key out?",
        section="ch4-conventions",
        edits=[('float("-inf")', 'float("inf")')],
    ),
    Mistake(
        name="NaN where forbidden",
        function="additive",
        cell="additive_values",
        means="Forbidden entries are NaN. Added to the scores, that makes the whole row NaN.",
        hint="Which number has an exponential of 0?",
        section="ch4-conventions",
        edits=[('float("-inf")', 'float("nan")')],
    ),
    # from_key_padding ---------------------------------------------------------------------------
    Mistake(
        name="polarity kept",
        function="from_key_padding",
        cell="from_key_padding_values",
        means="The shape is right, but True still means ignore.",
        hint="What does True mean in the mask that comes in, and in the one that goes out?",
        section="ch4-conventions",
        edits=[("~mask", "mask")],
    ),
    Mistake(
        name="ignored keys on the axis of the queries",
        function="from_key_padding",
        cell="from_key_padding_values",
        means="The positions lie on axis -2, where the queries are.",
        hint="The result broadcasts to (B, H, T, S), and the mask is about keys.",
        section="ch4-shapes",
        edits=[("[:, None, None, :]", "[:, None, :, None]")],
    ),
    Mistake(
        name="axes for heads and queries missing",
        function="from_key_padding",
        cell="from_key_padding_values",
        means="The mask still has the shape (B, S). Against the scores, B would be lined up with the queries.",
        hint="Broadcasting lines shapes up from the right. Which axes must have length 1?",
        section="ch4-shapes",
        edits=[("[:, None, None, :]", "")],
    ),
    Mistake(
        name="one minus the mask",
        function="from_key_padding",
        cell="from_key_padding_values",
        means="The mask was subtracted from 1 as a number, so it is no longer boolean.",
        hint="Which operator turns True into False?",
        section="ch4-conventions",
        edits=[("~mask[:, None, None, :]", "1 - mask[:, None, None, :].long()")],
    ),
    Mistake(
        name="an example of padding only opened",
        function="from_key_padding",
        cell="from_key_padding_values",
        means="An example in which every key is to be ignored was opened. The translation should say what the mask says.",
        hint="Does the task make an exception for any example?",
        section="ch4-empty",
        edits=[
            (
                "return ~mask[:, None, None, :]",
                "mask = mask & ~mask.all(dim=1, keepdim=True)\n    return ~mask[:, None, None, :]",
            )
        ],
    ),
    Mistake(
        name="mask inverted in place",
        function="from_key_padding",
        cell="from_key_padding_values",
        means="The caller's mask was turned around, too.",
        hint="Which of your operations writes into the tensor that came in?",
        section="ch4-conventions",
        edits=[("~mask", "mask.logical_not_()")],
    ),
    Mistake(
        name="ignored keys with one axis too few",
        function="from_key_padding",
        cell="from_key_padding_values",
        means="The mask has the shape (B, 1, S). Against scores of shape (B, H, T, S) its first axis meets the heads.",
        hint="How many axes do the scores have?",
        section="ch4-shapes",
        edits=[("[:, None, None, :]", "[:, None, :]")],
    ),
    Mistake(
        name="ignored keys behind two new axes",
        function="from_key_padding",
        cell="from_key_padding_values",
        means="The two axes of length 1 stand in front of the batch. The examples then line up with the queries.",
        hint="With which axis of the scores should the axis of the examples line up?",
        section="ch4-shapes",
        edits=[("[:, None, None, :]", "[None, None]")],
    ),
    Mistake(
        name="additive in place of boolean",
        function="from_key_padding",
        cell="from_key_padding_values",
        means="This is a mask of 0 and minus infinity. A boolean one is asked for.",
        hint="Which of the three conventions does this course use?",
        section="ch4-conventions",
        edits=[
            (
                "return ~mask[:, None, None, :]",
                'return torch.zeros(mask.shape).masked_fill(mask, float("-inf"))[:, None, None, :]',
            )
        ],
    ),
    # leaks --------------------------------------------------------------------------------------
    Mistake(
        name="outputs and inputs swapped",
        function="leaks",
        cell="leaks_values",
        means="The matrix is transposed: entry [j, i] says whether output i depends on input j.",
        hint="You move one input at a time. Is what you then see a row or a column?",
        section="ch4-leaks",
        edits=[("torch.stack(columns, dim=1)", "torch.stack(columns, dim=0)")],
    ),
    Mistake(
        name="the expected answer in place of a test",
        function="leaks",
        cell="leaks_values",
        means="This is the lower triangle, whatever the function is. A test must be able to fail.",
        hint="Where in your code is fn called?",
        section="ch4-leaks",
        source="""
def leaks(fn, x):
    return torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
""",
    ),
    Mistake(
        name="moved inputs not put back",
        function="leaks",
        cell="leaks_values",
        means="When input j is moved, all inputs before it are still moved, so it is blamed for "
        "their effect.",
        hint="How many positions differ from x in your third call?",
        section="ch4-leaks",
        source="""
def leaks(fn, x):
    before, moved, columns = fn(x), x.clone(), []
    for j in range(x.shape[1]):
        moved[:, j] += torch.randn_like(moved[:, j])
        columns.append((fn(moved) - before).abs().amax(dim=(0, 2)) > 1e-9)
    return torch.stack(columns, dim=1)
""",
    ),
    Mistake(
        name="independence reported",
        function="leaks",
        cell="leaks_values",
        means="True stands where the output does not move.",
        hint="What should a True at [i, j] say?",
        section="ch4-leaks",
        edits=[("> 1e-9", "<= 1e-9")],
    ),
    Mistake(
        name="every pair reported",
        function="leaks",
        cell="leaks_values",
        means="You say that every output depends on every input. That comes from a comparison that is always true, or from an x that was moved once and never put back.",
        hint="Call your test on a function that returns x unchanged. What should come out, and what does?",
        section="ch4-leaks",
        source="""
def leaks(fn, x):
    return torch.ones(x.shape[1], x.shape[1], dtype=torch.bool)
""",
    ),
    Mistake(
        name="no pair reported",
        function="leaks",
        cell="leaks_values",
        means="You say that no output depends on any input. If `moved` is x itself, you compare a result with itself.",
        hint="Does `moved = x` make a copy, and when do you call `fn(x)`?",
        section="ch4-leaks",
        source="""
def leaks(fn, x):
    return torch.zeros(x.shape[1], x.shape[1], dtype=torch.bool)
""",
    ),
    Mistake(
        name="a NaN as a probe",
        function="leaks",
        cell="leaks_values",
        means="One input became NaN, and everything that NaN reached was reported. But 0 times NaN is NaN: it "
        "also passes where the weight is exactly 0.",
        hint="What is 0 times NaN?",
        section="ch4-empty",
        source="""
def leaks(fn, x):
    columns = []
    for j in range(x.shape[1]):
        moved = x.clone()
        moved[:, j] = float("nan")
        columns.append(fn(moved).isnan().any(dim=2).any(dim=0))
    return torch.stack(columns, dim=1)
""",
    ),
    Mistake(
        name="only the first example moved",
        function="leaks",
        cell="leaks_edges",
        means="Only the inputs of example 0 were moved, so what depends on another example was missed.",
        hint="Which entries of x differ in your second call?",
        section="ch4-leaks",
        edits=[
            (
                "moved[:, j] += torch.randn_like(moved[:, j])",
                "moved[0, j] += torch.linspace(0.5, 1.5, x.shape[2], dtype=x.dtype)",
            )
        ],
    ),
    Mistake(
        name="only the first example looked at",
        function="leaks",
        cell="leaks_edges",
        means="Only the outputs of example 0 were compared, so what shows in another example was missed.",
        hint="Over which axes do you look for the largest difference?",
        section="ch4-leaks",
        edits=[(".abs().amax(dim=(0, 2))", "[0].abs().amax(dim=-1)")],
    ),
    Mistake(
        name="a probe of 1e200",
        function="leaks",
        cell="leaks_edges",
        means="The input became a number such as 1e200. Next to it everything else is lost in rounding, or becomes infinite.",
        hint="By about how much does the task say that an input should move?",
        section="ch4-leaks",
        edits=[("moved[:, j] += torch.randn_like(moved[:, j])", "moved[:, j] = 1e200")],
    ),
    Mistake(
        name="only the first feature looked at",
        function="leaks",
        cell="leaks_edges",
        means="Only feature 0 of the outputs was compared, so what shows in another feature was missed.",
        hint="Over which axes do you look for the largest difference?",
        section="ch4-leaks",
        edits=[(".abs().amax(dim=(0, 2))", "[..., 0].abs().amax(dim=0)")],
    ),
    Mistake(
        name="only the first feature moved",
        function="leaks",
        cell="leaks_edges",
        means="Only feature 0 of the inputs was moved, so what depends on another feature was missed.",
        hint="Which entries of x differ in your second call?",
        section="ch4-leaks",
        edits=[("moved[:, j] += torch.randn_like(moved[:, j])", "moved[:, j, 0] += 1.5")],
    ),
    Mistake(
        name="all features moved alike",
        function="leaks",
        cell="leaks_edges",
        means="All features were moved by the same amount, or their derivatives added up. A function that subtracts their mean doesn't notice.",
        hint="Is there a change of x that a layer normalisation cannot see?",
        section="ch4-leaks",
        edits=[("moved[:, j] += torch.randn_like(moved[:, j])", "moved[:, j] += 1.0")],
    ),
    Mistake(
        name="inputs set to 0",
        function="leaks",
        cell="leaks_edges",
        means="An input was set to 0, or multiplied. Where it was 0 before, nothing has changed.",
        hint="What if x holds a 0 at the position that you change?",
        section="ch4-leaks",
        edits=[("moved[:, j] += torch.randn_like(moved[:, j])", "moved[:, j] = 0.0")],
    ),
    Mistake(
        name="exact comparison",
        function="leaks",
        cell="leaks_edges",
        means="Every difference counts, so rounding in the last digit is taken for a leak.",
        hint="How large is a difference that comes from rounding?",
        section="ch4-leaks",
        edits=[
            ("> 1e-9", "> 0"),
            (
                "torch.randn_like(moved[:, j])",
                "torch.randn(moved[:, j].shape, generator=torch.Generator().manual_seed(0), dtype=x.dtype)",
            ),
        ],
    ),
    Mistake(
        name="only upward changes counted",
        function="leaks",
        cell="leaks_edges",
        means="Only upward movements were counted: the difference was not made positive first.",
        hint="Must an output that depends on an input grow when the input grows?",
        section="ch4-leaks",
        edits=[
            (".abs()", ""),
            (
                "torch.randn_like(moved[:, j])",
                "1.0",
            ),
        ],
    ),
    Mistake(
        name="movements added up before they are compared",
        function="leaks",
        cell="leaks_edges",
        means="The movements of all features were added up, or the derivatives of their sum were taken. What "
        "one feature gains another may lose, and then the sum stands still.",
        hint="What is the sum of the features behind a layer normalisation or a softmax?",
        section="ch4-leaks",
        edits=[(".abs().amax(dim=(0, 2))", ".sum(dim=(0, 2)).abs()")],
    ),
    Mistake(
        name="small effects taken for none",
        function="leaks",
        cell="leaks_values",
        means="Effects of a millionth of the number count as none. This is what `allclose` does, unless it "
        "is told otherwise.",
        hint="Which relative tolerance do you allow, and which limit does the task name?",
        section="ch4-leaks",
        edits=[
            (
                "(fn(moved) - before).abs().amax(dim=(0, 2)) > 1e-9",
                "~torch.isclose(fn(moved), before).all(dim=2).all(dim=0)",
            )
        ],
    ),
    Mistake(
        name="x moved in place",
        function="leaks",
        cell="leaks_edges",
        means="The caller's x is not what it was: it was moved in place.",
        hint="Does `moved = x` make a copy?",
        section="ch4-leaks",
        source="""
def leaks(fn, x):
    before = fn(x)
    step = torch.arange(x[:, 0].numel(), dtype=x.dtype).sin().reshape(x[:, 0].shape) + 1.5
    columns = []
    for j in range(x.shape[1]):
        x[:, j] += step
        columns.append((fn(x) - before).abs().amax(dim=(0, 2)) > 1e-9)
        before = fn(x)
    return torch.stack(columns, dim=1)
""",
    ),
    Mistake(
        name="x moved in place and back",
        function="leaks",
        cell="leaks_edges",
        means="The caller's x was moved in place, and what had been added was subtracted again. "
        "Rounding leaves x a little different from what it was.",
        hint="Is `0.1 + 0.7 - 0.7` exactly 0.1 in Python?",
        section="ch4-leaks",
        source="""
def leaks(fn, x):
    before, columns = fn(x), []
    for j in range(x.shape[1]):
        step = torch.randn_like(x[:, j])
        x[:, j] += step
        columns.append((fn(x) - before).abs().amax(dim=(0, 2)) > 1e-9)
        x[:, j] -= step
    return torch.stack(columns, dim=1)
""",
    ),
    Mistake(
        name="effects within one example only",
        function="leaks",
        cell="leaks_edges",
        means="Each example was compared with itself: what an input of one example does to the output of another was missed.",
        hint="Which examples do you look at when you move an input of example 0?",
        section="ch4-leaks",
        source="""
def leaks(fn, x):
    before, columns = fn(x), []
    for j in range(x.shape[1]):
        seen = torch.zeros(x.shape[1], dtype=torch.bool)
        for b in range(len(x)):
            moved = x.clone()
            moved[b, j] += torch.randn_like(moved[b, j])
            seen = seen | ((fn(moved)[b] - before[b]).abs().amax(dim=-1) > 1e-9)
        columns.append(seen)
    return torch.stack(columns, dim=1)
""",
    ),
    Mistake(
        name="every example must show it",
        function="leaks",
        cell="leaks_edges",
        means="A pair was reported only where the output moves in every example. One example is enough.",
        hint="Does your test ask for any example that moves, or for all of them?",
        section="ch4-leaks",
        edits=[(".abs().amax(dim=(0, 2)) > 1e-9", ".abs().amax(dim=2).amin(dim=0) > 1e-9")],
    ),
    Mistake(
        name="only the last feature moved",
        function="leaks",
        cell="leaks_edges",
        means="Only the last feature of the inputs was moved, so what depends on another one was missed.",
        hint="Which entries of x differ in your second call?",
        section="ch4-leaks",
        edits=[("moved[:, j] += torch.randn_like(moved[:, j])", "moved[:, j, -1] += 1.5")],
    ),
    Mistake(
        name="x left asking for a gradient",
        function="leaks",
        cell="leaks_edges",
        means="The pairs are right, but x has become a tensor that asks for gradients. The caller's x should stay as it was.",
        hint="Whose tensor does `requires_grad_()` change: yours or the caller's?",
        section="ch4-leaks",
        edits=[
            ("before = fn(x)", "x.requires_grad_()\n    before = fn(x)"),
            ("moved = x.clone()", "moved = x.detach().clone()"),
        ],
    ),
    Mistake(
        name="only the future reported",
        function="leaks",
        cell="leaks_values",
        means="Only pairs above the diagonal were reported. The task asks for every pair, also where there is nothing forbidden about it.",
        hint="Which entries are True for a running sum, and does your answer have them?",
        section="ch4-leaks",
        edits=[("torch.stack(columns, dim=1)", "torch.stack(columns, dim=1).triu(1)")],
    ),
    # masked_cross_entropy -----------------------------------------------------------------------
    Mistake(
        name="padding counted as tokens",
        function="masked_cross_entropy",
        cell="masked_cross_entropy_values",
        means="This is the mean over all positions, padding included. A model can lower it by "
        "learning to predict padding.",
        hint="Which positions should not be in the mean at all?",
        section="ch4-loss",
        edits=[(", ignore_index=pad", "")],
    ),
    Mistake(
        name="divided by all positions",
        function="masked_cross_entropy",
        cell="masked_cross_entropy_values",
        means="The losses of the padding were left out of the sum, but their positions were counted. So the loss depends on how much padding there is.",
        hint="By what number do you divide?",
        section="ch4-loss",
        source="""
def masked_cross_entropy(logits, targets, pad):
    losses = F.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=pad, reduction="none"
    )
    return losses.mean()
""",
    ),
    Mistake(
        name="padding is always token 0",
        function="masked_cross_entropy",
        cell="masked_cross_entropy_values",
        means="Token 0 was taken for padding, whatever pad is.",
        hint="Where in your code does pad occur?",
        section="ch4-loss",
        edits=[("ignore_index=pad", "ignore_index=0")],
    ),
    Mistake(
        name="sum in place of the mean",
        function="masked_cross_entropy",
        cell="masked_cross_entropy_values",
        means="This is the sum over the real tokens. It grows with the batch.",
        hint="By what number must the sum be divided?",
        section="ch4-loss",
        edits=[("ignore_index=pad", 'ignore_index=pad, reduction="sum"')],
    ),
    Mistake(
        name="mean of sentence means",
        function="masked_cross_entropy",
        cell="masked_cross_entropy_values",
        means="Each sentence was averaged first, so a token in a short sentence counts for more than one "
        "in a long sentence.",
        hint="Should every token count the same, or every sentence?",
        section="ch4-loss",
        source="""
def masked_cross_entropy(logits, targets, pad):
    losses = [
        F.cross_entropy(one, target, ignore_index=pad)
        for one, target in zip(logits, targets)
    ]
    return torch.stack(losses).mean()
""",
    ),
    Mistake(
        name="axes joined with view in place of transpose",
        function="masked_cross_entropy",
        cell="masked_cross_entropy_values",
        means="The logits were reshaped to (B, V, T), which mixes positions and tokens. F.cross_entropy wants "
        "the vocabulary on axis 1, and that takes a transpose.",
        hint="Does reshape change which numbers belong together?",
        section="ch4-loss",
        source="""
def masked_cross_entropy(logits, targets, pad):
    B, T, V = logits.shape
    return F.cross_entropy(logits.reshape(B, V, T), targets, ignore_index=pad)
""",
    ),
    Mistake(
        name="softmax applied twice",
        function="masked_cross_entropy",
        cell="masked_cross_entropy_values",
        means="The logits went through a softmax before the cross-entropy, which has one of its own.",
        hint="What does F.cross_entropy expect: logits, probabilities or their logarithms?",
        section="ch4-loss",
        edits=[("logits.flatten(0, 1)", "logits.softmax(dim=-1).flatten(0, 1)")],
    ),
    Mistake(
        name="logarithm of a bare softmax",
        function="masked_cross_entropy",
        cell="masked_cross_entropy_values",
        means="Exponentials, their share, and then the logarithm: large logits overflow on the way, and the "
        "result is infinite or NaN.",
        hint="Which function computes the logarithm of a softmax without taking the softmax first?",
        section="ch4-loss",
        source="""
def masked_cross_entropy(logits, targets, pad):
    real = targets != pad
    index = targets.masked_fill(~real, 0)[..., None]
    exponentials = torch.exp(logits)
    share = exponentials.gather(2, index)[..., 0] / exponentials.sum(dim=2)
    return -(torch.log(share) * real).sum() / real.sum()
""",
    ),
    Mistake(
        name="padding looked up as a token",
        function="masked_cross_entropy",
        cell="masked_cross_entropy_values",
        means="The logit of the padding was looked up before it was left out. With -100 there is no such token, "
        "and the lookup is an error.",
        hint="Which index could you look up at padded positions, since its value is not used?",
        section="ch4-loss",
        source="""
def masked_cross_entropy(logits, targets, pad):
    real = targets != pad
    losses = -torch.log_softmax(logits, dim=-1).gather(2, targets[..., None])[..., 0]
    return (losses * real).sum() / real.sum()
""",
    ),
    Mistake(
        name="everything after the first padding left out",
        function="masked_cross_entropy",
        cell="masked_cross_entropy_values",
        means="Each sentence was cut at its first padding. Tokens behind it count, too.",
        hint="Which positions does the task leave out, and does it say anything about their place?",
        section="ch4-loss",
        source="""
def masked_cross_entropy(logits, targets, pad):
    real = (targets != pad).long().cumprod(dim=1).bool()
    return F.cross_entropy(logits[real], targets[real])
""",
    ),
    Mistake(
        name="sign of the logarithm forgotten",
        function="masked_cross_entropy",
        cell="masked_cross_entropy_values",
        means="This is the mean logarithm of the right tokens' probabilities. The loss is its negative.",
        hint="Is the logarithm of a probability positive?",
        section="ch4-loss",
        edits=[("return F.cross_entropy", "return -F.cross_entropy")],
    ),
    Mistake(
        name="one loss for each position",
        function="masked_cross_entropy",
        cell="masked_cross_entropy_values",
        means="This is a loss for each position. One number is asked for.",
        hint="Which shape does the docstring promise?",
        section="ch4-loss",
        edits=[("ignore_index=pad", 'ignore_index=pad, reduction="none"')],
    ),
    Mistake(
        name="probability in place of its logarithm",
        function="masked_cross_entropy",
        cell="masked_cross_entropy_values",
        means="The probabilities of the right tokens were averaged, not their logarithms.",
        hint="What stands between the minus sign and p(target) in the formula?",
        section="ch4-loss",
        source="""
def masked_cross_entropy(logits, targets, pad):
    real = targets != pad
    p = torch.softmax(logits, dim=-1).gather(2, targets.masked_fill(~real, 0)[..., None])[..., 0]
    return -(p * real).sum() / real.sum()
""",
    ),
    Mistake(
        name="divided by the number of sentences",
        function="masked_cross_entropy",
        cell="masked_cross_entropy_values",
        means="The sum over the real tokens was divided by the number of sentences. Long sentences then make the loss large.",
        hint="By what number do you divide?",
        section="ch4-loss",
        edits=[
            ("return F.cross_entropy", "return 1 / len(targets) * F.cross_entropy"),
            ("ignore_index=pad", 'ignore_index=pad, reduction="sum"'),
        ],
    ),
    Mistake(
        name="view of transposed logits",
        function="masked_cross_entropy",
        cell="masked_cross_entropy_values",
        means="`view` only works where the numbers lie in memory in the order of the axes. Transposed logits don't.",
        hint="What does `reshape` do where `view` gives up?",
        section="ch4-loss",
        source="""
def masked_cross_entropy(logits, targets, pad):
    return F.cross_entropy(
        logits.view(-1, logits.shape[-1]), targets.view(-1), ignore_index=pad
    )
""",
    ),
    Mistake(
        name="no gradient to the logits",
        function="masked_cross_entropy",
        cell="masked_cross_entropy_values",
        means="The value is right, but no gradient reaches the logits: nothing could learn.",
        hint="Which of `detach`, `no_grad`, `.item()` or `.numpy()` stands in your code?",
        section="ch4-loss",
        edits=[("logits.flatten(0, 1)", "logits.detach().flatten(0, 1)")],
    ),
    Mistake(
        name="losses at padding multiplied by 0",
        function="masked_cross_entropy",
        cell="masked_cross_entropy_values",
        means="The losses at padding were multiplied by 0. Where the logits are infinite or NaN there, so is their loss, and 0 times NaN is NaN.",
        hint="How can you choose the real losses without computing with the others?",
        section="ch4-loss",
        source="""
def masked_cross_entropy(logits, targets, pad):
    real = targets != pad
    index = targets.masked_fill(~real, 0)[..., None]
    losses = -torch.log_softmax(logits, dim=-1).gather(2, index)[..., 0]
    return (losses * real).sum() / real.sum()
""",
    ),
    Mistake(
        name="divided by the losses above 0",
        function="masked_cross_entropy",
        cell="masked_cross_entropy_values",
        means="Real tokens were counted by their losses, as those above 0. A token of which the model is sure has a loss of exactly 0 and counts as well.",
        hint="What is the loss of a token whose logit is 1000 above all others?",
        section="ch4-loss",
        source="""
def masked_cross_entropy(logits, targets, pad):
    losses = F.cross_entropy(
        logits.transpose(1, 2), targets, ignore_index=pad, reduction="none"
    )
    return losses.sum() / (losses > 0).sum()
""",
    ),
    Mistake(
        name="padding clamped to 0",
        function="masked_cross_entropy",
        cell="masked_cross_entropy_values",
        means="Padding was moved to token 0 by a clamp from below. That is enough for -100, but `pad` may also lie beyond the vocabulary.",
        hint="Which index do you look up where `pad` is larger than every token?",
        section="ch4-loss",
        source="""
def masked_cross_entropy(logits, targets, pad):
    real = targets != pad
    log_p = torch.log_softmax(logits, dim=-1).gather(2, targets.clamp(min=0)[..., None])[..., 0]
    return -log_p[real].sum() / real.sum()
""",
    ),
    Mistake(
        name="pad 0 taken for no pad",
        function="masked_cross_entropy",
        cell="masked_cross_entropy_values",
        means="Where `pad` is 0 nothing was left out: `if pad` is False for 0.",
        hint="Is 0 true or false in an `if`, and is it a token?",
        section="ch4-loss",
        edits=[("ignore_index=pad", "ignore_index=pad or -100")],
    ),
    Mistake(
        name="logarithm to the base 2",
        function="masked_cross_entropy",
        cell="masked_cross_entropy_values",
        means="This is the loss in bits, with logarithms to the base 2. The task has the natural logarithm.",
        hint="What is the loss of a token of probability 1/2 in the task's small case?",
        section="ch4-loss",
        edits=[
            (
                "return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=pad)",
                "return F.cross_entropy(\n        logits.flatten(0, 1), targets.flatten(), ignore_index=pad\n    ) / torch.log(torch.tensor(2.0))",
            )
        ],
    ),
    Mistake(
        name="a small number in the logarithm",
        function="masked_cross_entropy",
        cell="masked_cross_entropy_values",
        means="The probability was kept from becoming 0 before the logarithm, by a clamp or by a small number that is added. The loss of a token that is very unlikely then ends at about 20.",
        hint="Which function computes the logarithm of a softmax without taking the softmax first?",
        section="ch4-loss",
        source="""
def masked_cross_entropy(logits, targets, pad):
    real = targets != pad
    p = torch.softmax(logits[real], dim=-1).gather(1, targets[real][:, None])
    return -torch.log(p.clamp(min=1e-9)).mean()
""",
    ),
]

ALTERNATIVES = [
    Alternative(
        name="loops",
        cost=(
            "They say in words which pairs are allowed. A mask of T · S entries is set one by "
            "one in Python."
        ),
        source="""
def padding_mask(lengths, max_len):
    rows = [[j < length for j in range(max_len)] for length in lengths.tolist()]
    return torch.tensor(rows)[:, None, None]


def causal_mask(T, S=None):
    if S is None:
        S = T
    mask = torch.zeros(T, S, dtype=torch.bool)
    for i in range(T):
        for j in range(S):
            mask[i, j] = j <= i + S - T
    return mask


def masked_softmax(scores, mask):
    if mask is None:
        mask = torch.ones_like(scores, dtype=torch.bool)
    mask = mask.expand(scores.shape).reshape(-1, scores.shape[-1])
    rows = []
    for row, allowed in zip(scores.reshape(mask.shape), mask):
        weights = torch.zeros_like(row)
        if allowed.any():
            weights[allowed] = torch.softmax(row[allowed], dim=0)
        rows.append(weights)
    return torch.stack(rows).view(scores.shape)


def masked_cross_entropy(logits, targets, pad):
    losses = []
    for one, sentence in zip(logits, targets):
        for logit, target in zip(one, sentence):
            if target != pad:
                losses.append(torch.logsumexp(logit, dim=0) - logit[target])
    return sum(losses) / len(losses)
""",
    ),
    Alternative(
        name="minus infinity and nan_to_num",
        cost=(
            "The shortest version. Rows without anything to attend to become NaN on the way, so "
            "a gradient through them is NaN although the result is right."
        ),
        source="""
from functools import reduce


def padding_mask(lengths, max_len):
    return torch.arange(max_len).view(1, 1, 1, -1) < lengths.view(-1, 1, 1, 1)


def causal_mask(T, S=None):
    S = S or T
    return torch.ones(T, S).triu(diagonal=S - T + 1) == 0


def combine(*masks):
    given = [mask for mask in masks if mask is not None]
    return reduce(torch.logical_and, given) if given else None


def masked_softmax(scores, mask):
    if mask is None:
        return F.softmax(scores, -1)
    return F.softmax(scores.masked_fill(mask.logical_not(), -torch.inf), -1).nan_to_num(0.0)


def additive(mask, dtype):
    return torch.where(mask, 0.0, -torch.inf).to(dtype)


def from_key_padding(mask):
    return mask.logical_not().unsqueeze(1).unsqueeze(1)
""",
    ),
    Alternative(
        name="positions compared",
        cost=(
            "Masks come from comparing position numbers, which works for any offset and any "
            "shape. A mask multiplied as booleans looks like arithmetic and is a logical *and*."
        ),
        source="""
def padding_mask(lengths, max_len):
    real = torch.arange(max_len).expand(len(lengths), max_len).lt(lengths.unsqueeze(1))
    return real.reshape(len(lengths), 1, 1, max_len)


def causal_mask(T, S=None):
    S = T if S is None else S
    query_position = torch.arange(S - T, S)
    return query_position[:, None] >= torch.arange(S)[None, :]


def combine(*masks):
    result = None
    for mask in masks:
        if mask is None:
            continue
        result = mask if result is None else result * mask
    return result


def masked_softmax(scores, mask):
    if mask is None:
        return scores.softmax(dim=-1)
    some = mask.any(dim=-1, keepdim=True)
    weights = torch.where(mask, scores, -torch.inf).softmax(dim=-1)
    return torch.where(some, weights, torch.zeros_like(weights))


def additive(mask, dtype):
    return torch.log(mask.to(dtype))
""",
    ),
    Alternative(
        name="a safe denominator",
        cost=(
            "No NaN anywhere, forward or backward, also in half precision. It is the softmax "
            "written out, so it is longer and uses more memory than PyTorch's."
        ),
        source="""
import numpy as np


def padding_mask(lengths, max_len):
    return torch.from_numpy(np.arange(max_len) < lengths.numpy()[:, None, None, None])


def causal_mask(T, S=None):
    S = T if S is None else S
    return torch.from_numpy(np.tri(T, S, S - T, dtype=bool))


def masked_softmax(scores, mask):
    if mask is None:
        mask = torch.ones((), dtype=torch.bool)
    lowest = torch.finfo(scores.dtype).min
    largest = scores.masked_fill(~mask, lowest).max(dim=-1, keepdim=True).values
    exponentials = torch.exp((scores - largest).masked_fill(~mask, 0)) * mask
    total = exponentials.sum(dim=-1, keepdim=True)
    return exponentials / torch.where(total > 0, total, torch.ones_like(total))


def masked_cross_entropy(logits, targets, pad):
    real = targets.ne(pad)
    index = torch.where(real, targets, torch.zeros_like(targets))
    log_p = torch.log_softmax(logits, dim=-1).gather(-1, index.unsqueeze(-1)).squeeze(-1)
    return -torch.where(real, log_p, 0.0).sum() / real.sum()
""",
    ),
    Alternative(
        name="a test by derivatives",
        cost=(
            "It finds leaks without moving anything, for smooth functions. It misses dependence "
            "without a derivative, such as an argmax, and computes a derivative for each output "
            "number."
        ),
        source="""
def leaks(fn, x):
    jacobian = torch.autograd.functional.jacobian(fn, x)  # (B, T, E, B, T, D)
    return (jacobian.abs() > 1e-9).any(dim=5).any(dim=3).any(dim=2).any(dim=0)


def masked_cross_entropy(logits, targets, pad):
    return F.cross_entropy(logits.transpose(1, 2), targets, ignore_index=pad)
""",
    ),
    Alternative(
        name="every number moved on its own",
        cost=(
            "It finds every pair, and nothing cancels. It calls the model once for each number "
            "of the input."
        ),
        source="""
def leaks(fn, x):
    T = x.shape[1]
    result = torch.zeros(T, T, dtype=torch.bool)
    before = fn(x)
    for b in range(x.shape[0]):
        for j in range(T):
            for d in range(x.shape[2]):
                moved = x.clone()
                moved[b, j, d] -= 0.7
                difference = fn(moved) - before
                for i in range(T):
                    if difference[:, i].abs().max() > 1e-9:
                        result[i, j] = True
    return result


def masked_cross_entropy(logits, targets, pad):
    real = targets != pad
    return F.cross_entropy(logits[real], targets[real])
""",
    ),
    Alternative(
        name="inputs replaced, rows compared",
        cost=(
            "One call for each position. Two changes could cancel in principle; with random "
            "numbers they don't in practice."
        ),
        source="""
def leaks(fn, x):
    generator = torch.Generator().manual_seed(3)
    other = torch.randn(x.shape, generator=generator, dtype=x.dtype)
    with torch.no_grad():
        right = fn(x.clone())
        rows = []
        for j in range(x.size(1)):
            mixed = torch.cat([x[:, :j], other[:, j : j + 1], x[:, j + 1 :]], dim=1)
            same = torch.isclose(fn(mixed), right, rtol=0, atol=1e-9)
            rows.append(~same.all(dim=0).all(dim=-1))
    return torch.stack(rows).T


def combine(*masks):
    masks = [mask for mask in masks if mask is not None]
    if len(masks) == 0:
        return None
    return torch.stack(torch.broadcast_tensors(*masks)).all(dim=0)


def masked_cross_entropy(logits, targets, pad):
    losses = F.nll_loss(
        F.log_softmax(logits, dim=2).flatten(end_dim=1),
        targets.reshape(-1),
        ignore_index=pad,
        reduction="sum",
    )
    return losses / (targets != pad).sum()
""",
    ),
]

# shown after a task is passed
DISCUSSIONS = [
    Discussion(
        "padding_mask",
        (
            Way(
                "From the tokens, where they are at hand.",
                "mask = (tokens != pad)[:, None, None, :]",
                "It needs no lengths and also knows padding at the front. No real token may have the "
                "number of the padding.",
            ),
            Way(
                "Row by row, into a mask in which everything is False.",
                "for row, length in zip(mask, lengths.tolist()):\n    row[..., :length] = True",
                "There is nothing to broadcast. Python runs the loop, and on a graphics processor "
                "each row would wait for its own little write.",
            ),
        ),
    ),
    Discussion(
        "causal_mask",
        (
            Way(
                "With positions that are compared.",
                "i, j = torch.arange(S - T, S)[:, None], torch.arange(S)\nmask = j <= i",
                "The rule stands in the code, and others are near: `(j <= i) & (i - j < 5)` is a "
                "window. `tril` needs no positions.",
            ),
            Way(
                "What is forbidden, turned round.",
                "future = torch.ones(T, S, dtype=torch.bool).triu(S - T + 1)\nmask = ~future",
                "PyTorch's own layers want `future`, because there True means ignore. The `+ 1` is "
                "easy to forget: the diagonal is no future.",
            ),
        ),
    ),
    Discussion(
        "combine",
        (
            Way(
                "With `reduce`, over the masks that are there.",
                "present = [mask for mask in masks if mask is not None]\n"
                "combined = functools.reduce(torch.logical_and, present)",
                "The loop is gone. An empty list raises a TypeError, so that case has to be caught "
                "before.",
            ),
            Way(
                "All masks stacked, and `all` over the new axis.",
                "stacked = torch.stack(torch.broadcast_tensors(*present))\n"
                "combined = stacked.all(dim=0)",
                "It says what is meant: allowed is what all allow. Every mask is copied in full size "
                "before two of them are compared.",
            ),
        ),
    ),
    Discussion(
        "masked_softmax",
        (
            Way(
                "With minus infinity, after rows with nothing to attend to have been opened.",
                "empty = ~mask.any(dim=-1, keepdim=True)\n"
                'opened = scores.masked_fill(~(mask | empty), float("-inf"))\n'
                "weights = torch.softmax(opened, dim=-1).masked_fill(empty, 0)",
                "Masked weights are 0 by themselves. It takes two more passes over the mask, and "
                "without `empty` such a row would be NaN.",
            ),
            Way(
                "With exponentials and a sum of your own.",
                "lowered = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)\n"
                "parts = torch.exp(lowered - lowered.amax(dim=-1, keepdim=True)) * mask\n"
                "weights = parts / parts.sum(dim=-1, keepdim=True).clamp_min(1)",
                "The largest part of a row is 1, so `clamp_min` changes empty rows only. It takes "
                "five steps where `softmax` is one call.",
            ),
        ),
    ),
    Discussion(
        "additive",
        (
            Way(
                "With `torch.where`, which chooses between two numbers.",
                "zero, hidden = torch.zeros((), dtype=dtype), torch.full((), -torch.inf, dtype=dtype)\n"
                "bias = torch.where(mask, zero, hidden)",
                "Both cases stand side by side. With plain numbers, `torch.where(mask, 0.0, "
                "-torch.inf)`, the result has the default data type, whatever `dtype` says.",
            ),
            Way(
                "As a logarithm: log 1 is 0, and log 0 is minus infinity.",
                "allowed = mask.to(dtype)\nbias = allowed.log()",
                "It also takes shares between 0 and 1, which then multiply the weights before they "
                "are normalised. Who reads it has to think for a moment.",
            ),
        ),
    ),
    Discussion(
        "from_key_padding",
        (
            Way(
                "With names in place of signs.",
                "may_attend = mask.logical_not()\nheads_and_queries = may_attend.unsqueeze(1).unsqueeze(1)",
                "Nobody has to count the `None` of an index. It is longer, and each `unsqueeze` moves "
                "the axes for the next one.",
            ),
            Way(
                "With the shape that comes out.",
                "B, S = mask.shape\nmay_attend = (~mask).reshape(B, 1, 1, S)",
                "The shape can be read off. The sizes have to be taken first, and a mask with one "
                "axis more raises an error.",
            ),
        ),
    ),
    Discussion(
        "leaks",
        (
            Way(
                "With derivatives: what has one depends.",
                "jacobian = torch.autograd.functional.jacobian(fn, x)  # (B, T, E, B, T, D)\n"
                "depends = jacobian.abs().amax(dim=(0, 2, 3, 5)) > 0",
                "One call, and no random numbers. It misses what depends without a derivative, such "
                "as a rounded number, or a ReLU that is 0 around x.",
            ),
            Way(
                "All positions in one batch.",
                "moved = x.expand(T, *x.shape).clone()  # a copy for each position\n"
                "moved[torch.arange(T), :, torch.arange(T)] += torch.randn(T, B, D, dtype=x.dtype)\n"
                "after = fn(moved.flatten(0, 1)).unflatten(0, (T, B))  # (T, B, T, E)",
                "`fn` is called once for all positions, which is faster. It takes T times the memory. "
                "It relies on `fn` to treat the examples of a batch apart, which not all functions of the "
                "checks do.",
            ),
        ),
    ),
    Discussion(
        "masked_cross_entropy",
        (
            Way(
                "With the real tokens alone.",
                "rows, wanted = logits[real], targets[real]  # real = targets != pad\n"
                "loss = F.cross_entropy(rows, wanted)",
                "You see what counts, and the average is over real tokens by itself. The real rows "
                "of the logits are copied.",
            ),
            Way(
                "Written out, with an average of your own.",
                "chosen = targets.where(real, 0)[..., None]\n"
                "log_p = logits.log_softmax(dim=-1).gather(-1, chosen).squeeze(-1)\n"
                "loss = -log_p.where(real, 0).sum() / real.sum()",
                "You can average differently, such as by sentence. `pad` may be no token at all, so it "
                "has to be replaced before `gather`.",
            ),
        ),
    ),
]
