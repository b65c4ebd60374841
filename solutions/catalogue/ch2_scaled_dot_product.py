"""Known mistakes and accepted alternatives of exercise 2."""

from autograder.catalogue import Alternative, Discussion, Mistake
from autograder.runtime.guide import Way

# the section of the book to read again, by grade cell
SECTIONS = {
    "softmax_values": "ch2-softmax",
    "softmax_edges": "ch2-softmax",
    "attention_numpy_values": "ch2-all-words",
    "attention_numpy_edges": "ch2-mask",
    "attention_values": "ch2-mask",
    "attention_edges": "ch2-torch",
    "score_statistics_values": "ch2-scaling",
    "attention_jacobian_values": "ch2-saturation",
}

# what is one idea in several answers, beside mistakes that mean the same word for word
IDEAS = [
    ("multiplied by the square root", "torch: multiplied by the square root"),
    ("square root of the number of keys", "torch: square root of the number of keys"),
    ("scaled after the softmax", "torch: scaled after the softmax"),
    ("softmax over the queries", "torch: softmax over the queries"),
    ("mask inverted", "torch: mask inverted"),
    (
        "masked scores set to -10",
        "masked scores set to -100 or -1000",
        "masked scores set to -10000",
    ),
    ("nothing to attend to: NaN", "torch: nothing to attend to: NaN"),
]

MISTAKES = [
    # softmax ------------------------------------------------------------------------------------
    Mistake(
        name="no maximum subtracted",
        function="softmax",
        cell="softmax_edges",
        means="The exponential of a large number is infinite here, and infinity divided by infinity "
        "is NaN.",
        hint="Which number could you subtract from every slice, so that no exponential is large?",
        section="ch2-softmax",
        edits=[("x - x.max(axis=axis, keepdims=True)", "x")],
    ),
    Mistake(
        name="one maximum for the whole array",
        function="softmax",
        cell="softmax_edges",
        means="Here the largest number of the whole array was subtracted everywhere. In a row that lies "
        "far below it every exponential becomes 0, and 0 divided by 0 is NaN.",
        hint="Does every row have an exp(0) after your subtraction?",
        section="ch2-softmax-rows",
        edits=[("x.max(axis=axis, keepdims=True)", "x.max()")],
    ),
    Mistake(
        name="mean subtracted in place of the maximum",
        function="softmax",
        cell="softmax_edges",
        means="Here the mean was subtracted. Numbers far above the mean still overflow.",
        hint="After your subtraction, what is the largest number that can be left?",
        section="ch2-softmax",
        edits=[("x.max(axis=axis,", "x.mean(axis=axis,")],
    ),
    Mistake(
        name="large numbers clipped",
        function="softmax",
        cell="softmax_edges",
        means="Large numbers were cut off before the exponential. Nothing overflows, but different "
        "large numbers now have the same weight.",
        hint="Which change of all the numbers in a row leaves its softmax exactly as it was?",
        section="ch2-softmax",
        edits=[("x - x.max(axis=axis, keepdims=True)", "np.clip(x, -500, 500)")],
    ),
    Mistake(
        name="stable for positive numbers only",
        function="softmax",
        cell="softmax_edges",
        means="Nothing overflows, but where all numbers are far below zero, all exponentials become 0, and 0 is divided "
        "by 0.",
        hint="What is np.exp(-10000), and which constant would help a row of such numbers?",
        section="ch2-softmax",
        edits=[
            (
                "x - x.max(axis=axis, keepdims=True)",
                "x - (x.max() > 0) * x.max(axis=axis, keepdims=True)",
            )
        ],
    ),
    Mistake(
        name="integers stay integers",
        function="softmax",
        cell="softmax_edges",
        means="The result has the data type of the input, so for integers every weight below 1 was cut "
        "down to 0.",
        hint="Which data type does np.zeros_like give for an array of integers?",
        section="ch2-softmax",
        source="""
def softmax(x, axis=-1):
    result = np.zeros_like(x)
    exponentials = np.exp(x - x.max(axis=axis, keepdims=True))
    result[...] = exponentials / exponentials.sum(axis=axis, keepdims=True)
    return result
""",
    ),
    Mistake(
        name="maximum subtracted in place",
        function="softmax",
        cell="softmax_edges",
        means="The array that was passed in has changed: `-=` subtracted the maximum in the caller's "
        "array.",
        hint="What is the difference between `a -= b` and `a = a - b` for an array?",
        section="ch2-mistake-in-place",
        edits=[
            (
                "exponentials = np.exp(x - x.max(axis=axis, keepdims=True))",
                "x -= x.max(axis=axis, keepdims=True)\n    exponentials = np.exp(x)",
            )
        ],
    ),
    Mistake(
        name="axis ignored, always the last",
        function="softmax",
        cell="softmax_values",
        means="The result sums to 1 along the last axis, whichever axis was asked for.",
        hint="Where in your code does the argument axis occur?",
        section="ch2-softmax",
        edits=[
            ("x.max(axis=axis", "x.max(axis=-1"),
            ("exponentials.sum(axis=axis", "exponentials.sum(axis=-1"),
        ],
    ),
    Mistake(
        name="axis ignored, always the first",
        function="softmax",
        cell="softmax_values",
        means="The result sums to 1 along axis 0, whichever axis was asked for.",
        hint="Where in your code does the argument axis occur?",
        section="ch2-softmax",
        edits=[
            ("x.max(axis=axis", "x.max(axis=0"),
            ("exponentials.sum(axis=axis", "exponentials.sum(axis=0"),
        ],
    ),
    Mistake(
        name="one sum for the whole array",
        function="softmax",
        cell="softmax_values",
        means="All the numbers of the array together sum to 1, not each slice along the axis.",
        hint="What do the numbers of one row sum to?",
        section="ch2-softmax-rows",
        edits=[
            ("x.max(axis=axis, keepdims=True)", "x.max()"),
            ("exponentials.sum(axis=axis, keepdims=True)", "exponentials.sum()"),
        ],
    ),
    Mistake(
        name="keepdims forgotten",
        function="softmax",
        cell="softmax_values",
        means="The maximum and the sum along an axis have one axis less than x, so the shapes don't line up. Where the sizes happen to be equal, NumPy combines the wrong rows without a word.",
        hint="Which argument of max and sum keeps the axis, with length 1?",
        section="ch2-softmax-rows",
        edits=[
            ("x.max(axis=axis, keepdims=True)", "x.max(axis=axis)"),
            ("exponentials.sum(axis=axis, keepdims=True)", "exponentials.sum(axis=axis)"),
        ],
    ),
    Mistake(
        name="keepdims forgotten in the maximum",
        function="softmax",
        cell="softmax_values",
        means="The maximum along an axis has one axis less than x, so the shapes don't line up. Where the sizes happen to be equal, NumPy subtracts the maximum of another row.",
        hint="Which argument of max keeps the axis, with length 1?",
        section="ch2-softmax-rows",
        edits=[("x.max(axis=axis, keepdims=True)", "x.max(axis=axis)")],
    ),
    Mistake(
        name="keepdims forgotten in the sum",
        function="softmax",
        cell="softmax_values",
        means="The sum along an axis has one axis less than x, so the shapes don't line up. Where the sizes happen to be equal, NumPy divides by the sum of another row.",
        hint="Which argument of sum keeps the axis, with length 1?",
        section="ch2-softmax-rows",
        edits=[("exponentials.sum(axis=axis, keepdims=True)", "exponentials.sum(axis=axis)")],
    ),
    Mistake(
        name="maximum along the last axis only",
        function="softmax",
        cell="softmax_values",
        means="The sum runs along the axis that was asked for, but the maximum always along the last one. Numbers that share a sum were shifted by different amounts.",
        hint="Do all numbers of one sum get the same constant subtracted?",
        section="ch2-softmax-rows",
        edits=[("x.max(axis=axis", "x.max(axis=-1")],
    ),
    Mistake(
        name="sum along the last axis only",
        function="softmax",
        cell="softmax_values",
        means="The maximum runs along the axis that was asked for, but the sum always along the last one.",
        hint="Along which axis does your result sum to 1?",
        section="ch2-softmax-rows",
        edits=[("exponentials.sum(axis=axis", "exponentials.sum(axis=-1")],
    ),
    Mistake(
        name="log-softmax returned",
        function="softmax",
        cell="softmax_values",
        means="These are the logarithms of the weights.",
        hint="Do your numbers sum to 1?",
        section="ch2-softmax",
        edits=[
            ("return exponentials /", "return np.log(exponentials) - np.log("),
            (
                "exponentials.sum(axis=axis, keepdims=True)",
                "exponentials.sum(axis=axis, keepdims=True))",
            ),
        ],
    ),
    Mistake(
        name="no exponential",
        function="softmax",
        cell="softmax_values",
        means="Here the numbers are divided by their sum. Weights made like this may be negative.",
        hint="What turns a number of any sign into a positive one?",
        section="ch2-softmax",
        source="""
def softmax(x, axis=-1):
    return x / x.sum(axis=axis, keepdims=True)
""",
    ),
    Mistake(
        name="powers of two",
        function="softmax",
        cell="softmax_values",
        means="These are powers of 2 where the formula has powers of e.",
        hint="What is the base of the exponential?",
        section="ch2-softmax",
        edits=[("np.exp(", "np.exp2(")],
    ),
    Mistake(
        name="minimum subtracted in place of the maximum",
        function="softmax",
        cell="softmax_edges",
        means="The smallest number was subtracted. A number far above it still overflows.",
        hint="After which subtraction is no number above 0?",
        section="ch2-softmax",
        edits=[("x.max(axis", "x.min(axis")],
    ),
    Mistake(
        name="axis moved to the end and left there",
        function="softmax",
        cell="softmax_values",
        means="The numbers are right, but the axis that was asked for now stands last.",
        hint="You moved an axis away. Where do you move it back?",
        section="ch2-softmax-rows",
        source="""
def softmax(x, axis=-1):
    moved = np.swapaxes(x, axis, -1)
    e = np.exp(moved - np.max(moved, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)
""",
    ),
    # attention_numpy ----------------------------------------------------------------------------
    Mistake(
        name="no scaling",
        function="attention_numpy",
        cell="attention_numpy_values",
        means="These are the weights of the plain dot products: they are sharper than they should be.",
        hint="What stands below the fraction line in the formula?",
        section="ch2-scaling",
        edits=[(" / query.shape[-1] ** 0.5", "")],
    ),
    Mistake(
        name="divided by dk",
        function="attention_numpy",
        cell="attention_numpy_values",
        means="The scores were divided by dk itself. The weights come too close to an average.",
        hint="Which power of dk keeps the variance of the scores at 1?",
        section="ch2-scaling",
        edits=[("query.shape[-1] ** 0.5", "query.shape[-1]")],
    ),
    Mistake(
        name="multiplied by the square root",
        function="attention_numpy",
        cell="attention_numpy_values",
        means="The scores were multiplied by the square root of dk, which makes them larger still.",
        hint="Should the scaled scores be larger or smaller than the dot products?",
        section="ch2-variance",
        edits=[("/ query.shape[-1] ** 0.5", "* query.shape[-1] ** 0.5")],
    ),
    Mistake(
        name="square root of dv",
        function="attention_numpy",
        cell="attention_numpy_values",
        means="The scores were divided by the square root of the width of the values. Where dk and dv "
        "are equal, as in many models, nobody notices.",
        hint="A score is a sum of how many products?",
        section="ch2-mistake-divisor",
        edits=[("query.shape[-1] ** 0.5", "value.shape[-1] ** 0.5")],
    ),
    Mistake(
        name="square root of the number of keys",
        function="attention_numpy",
        cell="attention_numpy_values",
        means="The scores were divided by the square root of S, the number of keys.",
        hint="A score is a sum of how many products?",
        section="ch2-mistake-divisor",
        edits=[("query.shape[-1] ** 0.5", "key.shape[-2] ** 0.5")],
    ),
    Mistake(
        name="square root of the number of queries",
        function="attention_numpy",
        cell="attention_numpy_values",
        means="The scores were divided by the square root of T, the number of queries. `query.shape[1]` "
        "is T as soon as there is a leading axis.",
        hint="A score is a sum of how many products?",
        section="ch2-mistake-divisor",
        edits=[("query.shape[-1] ** 0.5", "query.shape[-2] ** 0.5")],
    ),
    Mistake(
        name="always divided by 8",
        function="attention_numpy",
        cell="attention_numpy_values",
        means="The scores were divided by 8, which is right for dk = 64 alone.",
        hint="Which of your numbers depends on the shape of the queries?",
        section="ch2-mistake-divisor",
        edits=[("query.shape[-1] ** 0.5", "8")],
    ),
    Mistake(
        name="scaled after the softmax",
        function="attention_numpy",
        cell="attention_numpy_values",
        means="The weights were divided by the square root of dk, and so they no longer sum to 1. The "
        "scores went into the softmax unscaled.",
        hint="What do the rows of your weights sum to?",
        section="ch2-scaling",
        edits=[
            (" / query.shape[-1] ** 0.5", ""),
            ("weights = softmax(scores)", "weights = softmax(scores) / query.shape[-1] ** 0.5"),
        ],
    ),
    Mistake(
        name="softmax over the queries",
        function="attention_numpy",
        cell="attention_numpy_values",
        means="These are the weights when the softmax runs over the queries (axis -2) instead of the keys.",
        hint="Each query distributes a total weight of 1. Along which axis do its weights lie?",
        section="ch2-mistake-axis",
        edits=[("softmax(scores)", "softmax(scores, axis=-2)")],
    ),
    Mistake(
        name="one softmax for all queries",
        function="attention_numpy",
        cell="attention_numpy_values",
        means="All the weights of a score matrix together sum to 1, not those of each query.",
        hint="What do the weights of one query sum to?",
        section="ch2-mistake-axis",
        edits=[("softmax(scores)", "softmax(scores, axis=(-2, -1))")],
    ),
    Mistake(
        name="weights transposed",
        function="attention_numpy",
        cell="attention_numpy_values",
        means="The output is the transposed weight matrix times the values. With as many queries as keys "
        "nothing complains, and every output is a mixture of the wrong values.",
        hint="Which index of the weights must meet the index of the values: the query's or the key's?",
        section="ch2-all-words",
        edits=[("return weights @ value", "return weights.swapaxes(-1, -2) @ value")],
    ),
    Mistake(
        name=".T on a stack of matrices",
        function="attention_numpy",
        cell="attention_numpy_values",
        means="`.T` swaps two axes only where there are no more than two: it reverses all axes, the leading ones too.",
        hint="How do you swap the last two axes and leave the others alone?",
        section="ch2-mistake-transpose",
        edits=[("key.swapaxes(-1, -2)", "key.T")],
    ),
    Mistake(
        name="output made of keys",
        function="attention_numpy",
        cell="attention_numpy_values",
        means="The output is the weighted sum of the keys. The keys say where to look, the values what "
        "is found there.",
        hint="Which argument have you not used yet?",
        section="ch2-projections",
        edits=[("weights @ value", "weights @ key")],
    ),
    Mistake(
        name="axes 1 and 2 exchanged",
        function="attention_numpy",
        cell="attention_numpy_values",
        means="The keys were transposed along the axes 1 and 2. These are the last two for a batch of matrices only.",
        hint="How do you name the last two axes, however many there are?",
        section="ch2-mistake-transpose",
        edits=[("key.swapaxes(-1, -2)", "key.swapaxes(1, 2)")],
    ),
    Mistake(
        name="results exchanged",
        function="attention_numpy",
        cell="attention_numpy_values",
        means="The two results come in the opposite order: first the weights, then the output.",
        hint="In which order does the docstring name the results?",
        section="ch2-all-words",
        edits=[("return weights @ value, weights", "return weights, weights @ value")],
    ),
    Mistake(
        name="query and key exchanged",
        function="attention_numpy",
        cell="attention_numpy_values",
        means="Here the keys ask and the queries answer: there is a row of weights for each key.",
        hint="Whose row of weights should sum to 1?",
        section="ch2-three-sentences",
        edits=[("query @ key.swapaxes(-1, -2)", "key @ query.swapaxes(-1, -2)")],
    ),
    Mistake(
        name="keys and values exchanged",
        function="attention_numpy",
        cell="attention_numpy_values",
        means="Here the values answer the queries and the keys are averaged.",
        hint="Which of the two is compared with the query, and which makes the output?",
        section="ch2-three-sentences",
        edits=[
            ("key.swapaxes(-1, -2)", "value.swapaxes(-1, -2)"),
            ("weights @ value", "weights @ key"),
        ],
    ),
    Mistake(
        name="cosine in place of the dot product",
        function="attention_numpy",
        cell="attention_numpy_values",
        means="The queries and keys were brought to length 1 first, so only their directions count.",
        hint="Does the formula divide by the lengths of the vectors?",
        section="ch2-cosine",
        edits=[
            (
                "scores = query @ key.swapaxes(-1, -2)",
                "cosine_query = query / np.linalg.norm(query, axis=-1, keepdims=True)\n"
                "    cosine_key = key / np.linalg.norm(key, axis=-1, keepdims=True)\n"
                "    scores = cosine_query @ cosine_key.swapaxes(-1, -2)",
            )
        ],
    ),
    Mistake(
        name="crash without a mask",
        function="attention_numpy",
        cell="attention_numpy_values",
        means="The function needs a mask, but mask=None means that there is none.",
        hint="What does your first line that uses the mask do with None?",
        section="ch2-mistake-mask",
        source="""
def attention_numpy(query, key, value, mask=None):
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    scores[~mask] = np.finfo(scores.dtype).min
    weights = softmax(scores) * mask
    return weights @ value, weights
""",
    ),
    Mistake(
        name="mask ignored",
        function="attention_numpy",
        cell="attention_numpy_edges",
        means="These are the weights without the mask.",
        hint="Is the mask used at all when it is given?",
        section="ch2-mistake-mask",
        source="""
def attention_numpy(query, key, value, mask=None):
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    weights = softmax(scores)
    return weights @ value, weights
""",
    ),
    Mistake(
        name="mask inverted",
        function="attention_numpy",
        cell="attention_numpy_edges",
        means="These weights lie on exactly the keys that may not be attended to.",
        hint="In this course, does True mean `may attend` or `ignore`?",
        section="ch2-mask",
        edits=[
            ("np.where(mask, scores,", "np.where(~mask, scores,"),
            ("weights * mask", "weights * ~mask"),
        ],
    ),
    Mistake(
        name="mask after the softmax",
        function="attention_numpy",
        cell="attention_numpy_edges",
        means="Here the mask sets weights to 0 after the softmax. What is left of a row sums to less "
        "than 1, because the masked keys took their share of the sum.",
        hint="What do the rows of your weights sum to, with a mask?",
        section="ch2-mistake-mask",
        edits=[("np.where(mask, scores, np.finfo(scores.dtype).min)", "scores")],
    ),
    Mistake(
        name="masked scores set to 0",
        function="attention_numpy",
        cell="attention_numpy_edges",
        means="Here a masked score is 0, or nearly 0 as with -1e-9, when it enters the softmax. But "
        "exp(0) is 1, so the key keeps a weight.",
        hint="Which score would give a weight of 0?",
        section="ch2-mistake-mask",
        edits=[("np.finfo(scores.dtype).min", "0.0"), ("weights * mask", "weights")],
    ),
    Mistake(
        name="masked scores set to -10",
        function="attention_numpy",
        cell="attention_numpy_edges",
        means="Here a masked score is -10. That is small only as long as the other scores are not "
        "small as well.",
        hint="What happens in a row whose other scores are around -10 too?",
        section="ch2-mistake-mask",
        edits=[("np.finfo(scores.dtype).min", "-10.0"), ("weights * mask", "weights")],
    ),
    Mistake(
        name="maximum over masked scores as well",
        function="attention_numpy",
        cell="attention_numpy_edges",
        means="The maximum was taken before the mask. Where a masked score is far larger than the others, all exponentials that count become 0.",
        hint="Which scores should take part in the maximum?",
        section="ch2-softmax-rows",
        source="""
def attention_numpy(query, key, value, mask=None):
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    if mask is not None:
        exponentials = exponentials * mask
    total = exponentials.sum(axis=-1, keepdims=True)
    weights = exponentials / np.where(total == 0, 1, total)
    return weights @ value, weights
""",
    ),
    Mistake(
        name="masked scores set to -100 or -1000",
        function="attention_numpy",
        cell="attention_numpy_edges",
        means="Here a masked score is some negative number such as -100. Where the real scores lie far below it, masked keys get all the weight.",
        hint="Is there a number below every score that can occur?",
        section="ch2-mask",
        edits=[("np.finfo(scores.dtype).min", "-100.0")],
    ),
    Mistake(
        name="boolean mask added to the scores",
        function="attention_numpy",
        cell="attention_numpy_edges",
        means="Adding True adds 1, and adding False adds 0. No key is shut out.",
        hint="Which number must be added to a score so that its weight is 0?",
        section="ch2-mask",
        edits=[
            ("np.where(mask, scores, np.finfo(scores.dtype).min)", "scores + mask"),
            ("weights * mask", "weights"),
        ],
    ),
    Mistake(
        name="nothing to attend to: equal weights",
        function="attention_numpy",
        cell="attention_numpy_edges",
        means="A query with nothing to attend to gets equal weights on all keys here, and so the average "
        "of values that it must not see.",
        hint="If all scores of a row get the same fill, however negative, what does the softmax make "
        "of them?",
        section="ch2-mask",
        edits=[("weights * mask", "weights")],
    ),
    Mistake(
        name="nothing to attend to: NaN",
        function="attention_numpy",
        cell="attention_numpy_edges",
        means="A query with nothing to attend to gives NaN here, from infinity minus infinity.",
        hint="What is the largest score in a row without a single True?",
        section="ch2-mask",
        edits=[("np.finfo(scores.dtype).min", "-np.inf")],
    ),
    Mistake(
        name="bare exponentials times the mask",
        function="attention_numpy",
        cell="attention_numpy_edges",
        means="The masking is right, but a query with nothing to attend to divides 0 by 0, and large "
        "scores overflow.",
        hint="Which two rows would make your division go wrong?",
        section="ch2-mask",
        source="""
def attention_numpy(query, key, value, mask=None):
    exponentials = np.exp(query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1]))
    if mask is not None:
        exponentials = exponentials * mask
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return weights @ value, weights
""",
    ),
    Mistake(
        name="query scaled in place",
        function="attention_numpy",
        cell="attention_numpy_edges",
        means="The queries that were passed in have changed: `/=` scaled the caller's array.",
        hint="What is the difference between `a /= b` and `a = a / b` for an array?",
        section="ch2-mistake-in-place",
        edits=[
            (
                "scores = query @ key.swapaxes(-1, -2) / query.shape[-1] ** 0.5",
                "query /= query.shape[-1] ** 0.5\n    scores = query @ key.swapaxes(-1, -2)",
            )
        ],
    ),
    Mistake(
        name="mask used on the values only",
        function="attention_numpy",
        cell="attention_numpy_edges",
        means="Masked values became 0, but masked keys still take their share of the weights.",
        hint="What do the weights of the keys that may be seen sum to?",
        section="ch2-mistake-mask",
        source="""
def attention_numpy(query, key, value, mask=None):
    weights = softmax(query @ key.swapaxes(-1, -2) / query.shape[-1] ** 0.5)
    output = weights @ value if mask is None else (weights * mask) @ value
    return output, weights
""",
    ),
    Mistake(
        name="masked scores set to -10000",
        function="attention_numpy",
        cell="attention_numpy_edges",
        means="A masked score is -10000. Where the real scores lie below it, the masked keys get all the weight.",
        hint="Which fill is below every score that can occur?",
        section="ch2-mistake-mask",
        edits=[("np.finfo(scores.dtype).min", "-1e4")],
    ),
    Mistake(
        name="weights of an empty row not cleared",
        function="attention_numpy",
        cell="attention_numpy_edges",
        means="The output of an empty row is 0, but its weights are returned as they were.",
        hint="Which of your two results did you clear?",
        section="ch2-mask",
        edits=[
            (
                "return weights @ value, weights",
                "return weights @ value, weights if mask is None else softmax(scores)",
            )
        ],
    ),
    Mistake(
        name="output of an empty row not cleared",
        function="attention_numpy",
        cell="attention_numpy_edges",
        means="The weights of an empty row became 0 after the output had been made. The output is still an average of values that it must not see.",
        hint="In which order do you compute the output and clear the weights?",
        section="ch2-mask",
        source="""
def attention_numpy(query, key, value, mask=None):
    scores = query @ key.swapaxes(-1, -2) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = np.where(mask, scores, np.finfo(scores.dtype).min)
    weights = softmax(scores)
    output = weights @ value
    if mask is not None:
        weights = weights * mask
    return output, weights
""",
    ),
    Mistake(
        name="fill of masked scores put into the weights",
        function="attention_numpy",
        cell="attention_numpy_edges",
        means="Minus infinity, or a very low number, was added to the weights, not to the scores.",
        hint="At which step does the mask come in: before the softmax or behind it?",
        section="ch2-mask",
        source="""
def attention_numpy(query, key, value, mask=None):
    weights = softmax(query @ key.swapaxes(-1, -2) / query.shape[-1] ** 0.5)
    if mask is not None:
        weights = np.where(mask, weights, -1e9)
    return weights @ value, weights
""",
    ),
    Mistake(
        name="key transposed as an array of three axes",
        function="attention_numpy",
        cell="attention_numpy_values",
        means="The key was transposed by `transpose(0, 2, 1)`, which takes arrays of three axes only. There may be more or fewer.",
        hint="Which function exchanges just the last two axes, however many there are?",
        section="ch2-mistake-transpose",
        edits=[("key.swapaxes(-1, -2)", "key.transpose(0, 2, 1)")],
    ),
    # attention ----------------------------------------------------------------------------------
    Mistake(
        name="torch: no scaling",
        function="attention",
        cell="attention_values",
        means="These are the weights of the plain dot products: they are sharper than they should be.",
        hint="What stands below the fraction line in the formula?",
        section="ch2-scaling",
        edits=[(" / query.shape[-1] ** 0.5", "")],
    ),
    Mistake(
        name="torch: divided by dk",
        function="attention",
        cell="attention_values",
        means="The scores were divided by dk itself. The weights come too close to an average.",
        hint="Which power of dk keeps the variance of the scores at 1?",
        section="ch2-scaling",
        edits=[("query.shape[-1] ** 0.5", "query.shape[-1]")],
    ),
    Mistake(
        name="torch: square root of dv",
        function="attention",
        cell="attention_values",
        means="The scores were divided by the square root of the width of the values. Where dk and dv "
        "are equal, as in many models, nobody notices.",
        hint="A score is a sum of how many products?",
        section="ch2-mistake-divisor",
        edits=[("query.shape[-1] ** 0.5", "value.shape[-1] ** 0.5")],
    ),
    Mistake(
        name="torch: always divided by 8",
        function="attention",
        cell="attention_values",
        means="The scores were divided by 8, which is right for dk = 64 alone.",
        hint="Which of your numbers depends on the shape of the queries?",
        section="ch2-mistake-divisor",
        edits=[("query.shape[-1] ** 0.5", "8")],
    ),
    Mistake(
        name="torch: softmax over the queries",
        function="attention",
        cell="attention_values",
        means="These are the weights when the softmax runs over the queries (dim -2) instead of the keys.",
        hint="Each query distributes a total weight of 1. Along which dimension do its weights lie?",
        section="ch2-mistake-axis",
        edits=[("dim=-1", "dim=-2")],
    ),
    Mistake(
        name="torch: softmax over dim 1",
        function="attention",
        cell="attention_values",
        means="The softmax runs over dimension 1. That is right for a single matrix, but with leading "
        "axes dimension 1 is another one.",
        hint="How do you name the last dimension, however many there are?",
        section="ch2-mistake-axis",
        edits=[("dim=-1", "dim=1")],
    ),
    Mistake(
        name="torch: softmax over dim 0",
        function="attention",
        cell="attention_values",
        means="The softmax runs along the first axis. That is the axis of the queries in a matrix, and the batch in a stack.",
        hint="Along which axis do the weights of one query lie?",
        section="ch2-mistake-axis",
        edits=[("dim=-1", "dim=0")],
    ),
    Mistake(
        name="torch: .T on a stack of matrices",
        function="attention",
        cell="attention_values",
        means="`.T` swaps two axes only where there are no more than two: it reverses all axes, the leading ones too.",
        hint="How do you swap the last two axes and leave the others alone?",
        section="ch2-mistake-transpose",
        edits=[("key.transpose(-2, -1)", "key.T")],
    ),
    Mistake(
        name="torch: axes 1 and 2 exchanged",
        function="attention",
        cell="attention_values",
        means="The keys were transposed along the axes 1 and 2. These are the last two for a batch of matrices only.",
        hint="How do you name the last two axes, however many there are?",
        section="ch2-mistake-transpose",
        edits=[("key.transpose(-2, -1)", "key.transpose(1, 2)")],
    ),
    Mistake(
        name="torch: width read from axis 1",
        function="attention",
        cell="attention_values",
        means="The divisor is the root of the second axis. That is the width for a matrix, but not where there are leading axes.",
        hint="Which axis holds the width dk, however many axes there are?",
        section="ch2-mistake-divisor",
        edits=[("query.shape[-1] ** 0.5", "query.shape[1] ** 0.5")],
    ),
    Mistake(
        name="torch: results exchanged",
        function="attention",
        cell="attention_values",
        means="The two results come in the opposite order: first the weights, then the output.",
        hint="In which order does the docstring name the results?",
        section="ch2-all-words",
        edits=[("return weights @ value, weights", "return weights, weights @ value")],
    ),
    Mistake(
        name="torch: query and key exchanged",
        function="attention",
        cell="attention_values",
        means="Here the keys ask and the queries answer: there is a row of weights for each key.",
        hint="Whose row of weights should sum to 1?",
        section="ch2-three-sentences",
        edits=[("query @ key.transpose(-2, -1)", "key @ query.transpose(-2, -1)")],
    ),
    Mistake(
        name="torch: keys and values exchanged",
        function="attention",
        cell="attention_values",
        means="Here the values answer the queries and the keys are averaged.",
        hint="Which of the two is compared with the query, and which makes the output?",
        section="ch2-three-sentences",
        edits=[
            ("key.transpose(-2, -1)", "value.transpose(-2, -1)"),
            ("weights @ value", "weights @ key"),
        ],
    ),
    Mistake(
        name="torch: crash without a mask",
        function="attention",
        cell="attention_values",
        means="The function needs a mask, but mask=None means that there is none.",
        hint="What does your first line that uses the mask do with None?",
        section="ch2-mistake-mask",
        source="""
def attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1) * mask
    return weights @ value, weights
""",
    ),
    Mistake(
        name="torch: mask ignored",
        function="attention",
        cell="attention_values",
        means="These are the weights without the mask.",
        hint="Is the mask used at all when it is given?",
        section="ch2-mistake-mask",
        edits=[
            ("scores.masked_fill(~mask, torch.finfo(scores.dtype).min)", "scores"),
            ("weights * mask", "weights"),
        ],
    ),
    Mistake(
        name="torch: mask inverted",
        function="attention",
        cell="attention_values",
        means="These weights lie on exactly the keys that may not be attended to. It is easily done: "
        "some of PyTorch's own masks mean `ignore` by True.",
        hint="masked_fill fills where its mask is True. What does True mean in this course?",
        section="ch2-mask",
        edits=[("masked_fill(~mask,", "masked_fill(mask,"), ("weights * mask", "weights * ~mask")],
    ),
    Mistake(
        name="torch: mask after the softmax",
        function="attention",
        cell="attention_values",
        means="Here the mask sets weights to 0 after the softmax. What is left of a row sums to less "
        "than 1, because the masked keys took their share of the sum.",
        hint="What do the rows of your weights sum to, with a mask?",
        section="ch2-mistake-mask",
        edits=[("scores.masked_fill(~mask, torch.finfo(scores.dtype).min)", "scores")],
    ),
    Mistake(
        name="torch: masked scores set to 0",
        function="attention",
        cell="attention_values",
        means="Here a masked score is 0, or nearly 0 as with -1e-9, when it enters the softmax. But "
        "exp(0) is 1, so the key keeps a weight.",
        hint="Which score would give a weight of 0?",
        section="ch2-mistake-mask",
        edits=[("torch.finfo(scores.dtype).min", "0.0"), ("weights * mask", "weights")],
    ),
    Mistake(
        name="torch: masked scores set to -10",
        function="attention",
        cell="attention_values",
        means="Here a masked score is -10. That is small only as long as the other scores are not "
        "small as well.",
        hint="What happens in a row whose other scores are around -10 too?",
        section="ch2-mistake-mask",
        edits=[("torch.finfo(scores.dtype).min", "-10.0"), ("weights * mask", "weights")],
    ),
    Mistake(
        name="torch: boolean mask added to the scores",
        function="attention",
        cell="attention_values",
        means="The mask was added to the scores as numbers, 1 where attention is allowed and 0 where it "
        "is not. Masked keys are only a little less likely.",
        hint="Which number would have to be added to make an exponential vanish?",
        section="ch2-mask",
        edits=[
            ("scores.masked_fill(~mask, torch.finfo(scores.dtype).min)", "scores + mask"),
            ("weights * mask", "weights"),
        ],
    ),
    Mistake(
        name="torch: mask of full shape needed",
        function="attention",
        cell="attention_values",
        means="Indexing with a boolean mask needs a mask of the full shape. One that must be broadcast, "
        "like (batch, 1, 1, S), doesn't fit.",
        hint="Which functions broadcast a mask, where indexing does not?",
        section="ch2-mistake-mask",
        source="""
def attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        scores[~mask] = torch.finfo(scores.dtype).min
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights * mask
    return weights @ value, weights
""",
    ),
    Mistake(
        name="torch: dropout left on",
        function="attention",
        cell="attention_values",
        means="Some weights are 0 and the others larger than they should be, and another call gives "
        "other values: dropout acts on the weights.",
        hint="Call your function twice with the same inputs. Are the results equal?",
        section="ch2-differences",
        edits=[
            (
                "return weights @ value",
                "weights = torch.nn.functional.dropout(weights, 0.3)\n    return weights @ value",
            )
        ],
    ),
    Mistake(
        name="torch: later keys hidden",
        function="attention",
        cell="attention_values",
        means="Each query sees only the keys up to its own position. That is causal attention; nobody "
        "asked for it here.",
        hint="Should query 0 be able to attend to the last key when there is no mask?",
        section="ch2-torch",
        edits=[
            (
                "/ query.shape[-1] ** 0.5",
                "/ query.shape[-1] ** 0.5\n"
                "    scores = scores.masked_fill(torch.ones_like(scores).triu(1) == 1, float('-inf'))",
            )
        ],
    ),
    Mistake(
        name="torch: no gradient",
        function="attention",
        cell="attention_edges",
        means="The values are right, but no gradient reaches query, key or value: a model could not "
        "learn through this function.",
        hint="Which of `no_grad`, `detach`, `.data` or `.numpy()` is on the way to the results?",
        section="ch2-torch",
        source="""
@torch.no_grad()
def attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights * mask
    return weights @ value, weights
""",
    ),
    Mistake(
        name="torch: weights detached",
        function="attention",
        cell="attention_edges",
        means="The values are right, but only `value` receives a gradient: queries and keys would never "
        "learn.",
        hint="Through what do the queries influence the output?",
        section="ch2-torch",
        edits=[("torch.softmax(scores, dim=-1)", "torch.softmax(scores, dim=-1).detach()")],
    ),
    Mistake(
        name="torch: always float32",
        function="attention",
        cell="attention_edges",
        means="The results are float32 whatever the inputs are.",
        hint="Which call in your function names a data type?",
        section="ch2-torch",
        edits=[
            (
                "scores = query @",
                "query, key, value = query.float(), key.float(), value.float()\n    scores = query @",
            )
        ],
    ),
    Mistake(
        name="torch: always float64",
        function="attention",
        cell="attention_edges",
        means="The results are float64 whatever the inputs are.",
        hint="Which call in your function names a data type?",
        section="ch2-torch",
        edits=[
            (
                "scores = query @",
                "query, key, value = query.double(), key.double(), value.double()\n"
                "    scores = query @",
            )
        ],
    ),
    Mistake(
        name="torch: query scaled in place",
        function="attention",
        cell="attention_edges",
        means="The queries that were passed in have changed: `/=` scaled the caller's tensor. Where it "
        "needs a gradient, PyTorch refuses.",
        hint="What is the difference between `a /= b` and `a = a / b` for a tensor?",
        section="ch2-mistake-in-place",
        edits=[
            (
                "scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5",
                "query /= query.shape[-1] ** 0.5\n    scores = query @ key.transpose(-2, -1)",
            )
        ],
    ),
    Mistake(
        name="torch: nothing to attend to: NaN",
        function="attention",
        cell="attention_edges",
        means="A row of minus infinity alone gives NaN in the softmax, and one NaN in a gradient spoils "
        "the weights of the whole model.",
        hint="What does your softmax see in a row without a single True, and what should come out?",
        section="ch2-mask",
        edits=[("torch.finfo(scores.dtype).min", "float('-inf')")],
    ),
    Mistake(
        name="torch: nothing to attend to: equal weights",
        function="attention",
        cell="attention_edges",
        means="A query with nothing to attend to gets equal weights on all keys here, and so the average "
        "of values that it must not see.",
        hint="If all scores of a row get the same fill, however negative, what does the softmax make "
        "of them?",
        section="ch2-mask",
        edits=[("weights * mask", "weights")],
    ),
    Mistake(
        name="torch: zeros forward, NaN backward",
        function="attention",
        cell="attention_edges",
        means="The weights of a row with nothing to attend to are mended after the softmax, so the "
        "values are right. But the gradient still passes through the NaN underneath.",
        hint="A repair after the softmax hides the NaN. Can you avoid that it arises?",
        section="ch2-mask",
        edits=[
            (
                "scores.masked_fill(~mask, torch.finfo(scores.dtype).min)",
                "scores + torch.where(mask, 0.0, float('-inf'))",
            ),
            ("weights * mask", "torch.nan_to_num(weights)"),
        ],
    ),
    Mistake(
        name="torch: bare exponentials",
        function="attention",
        cell="attention_edges",
        means="The exponential of a large score is infinite here, and infinity divided by infinity "
        "is NaN.",
        hint="What did your NumPy softmax do against large scores?",
        section="ch2-softmax",
        source="""
def attention(query, key, value, mask=None):
    exponentials = torch.exp(query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5)
    if mask is not None:
        exponentials = exponentials * mask
    total = exponentials.sum(dim=-1, keepdim=True)
    weights = exponentials / torch.where(total == 0, 1.0, total)
    return weights @ value, weights
""",
    ),
    Mistake(
        name="torch: one maximum for all rows",
        function="attention",
        cell="attention_edges",
        means="Here the largest score of all rows was subtracted everywhere. In a row that lies far below "
        "it every exponential becomes 0.",
        hint="Does every row have an exp(0) after your subtraction?",
        section="ch2-softmax-rows",
        source="""
def attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    exponentials = torch.exp(scores - scores.detach().max())
    if mask is not None:
        exponentials = exponentials * mask
    total = exponentials.sum(dim=-1, keepdim=True)
    weights = exponentials / torch.where(total == 0, 1.0, total)
    return weights @ value, weights
""",
    ),
    Mistake(
        name="torch: view of transposed memory",
        function="attention",
        cell="attention_edges",
        means="`view` only works where the numbers lie in memory in the order of the axes. A transposed tensor doesn't.",
        hint="What does `reshape` do where `view` gives up?",
        section="ch2-mistake-transpose",
        source="""
def attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights * mask
    flat = value.view(-1, *value.shape[-2:])
    output = weights.reshape(-1, *weights.shape[-2:]) @ flat
    return output.reshape(*weights.shape[:-1], value.shape[-1]), weights
""",
    ),
    Mistake(
        name="torch: mask changed in place",
        function="attention",
        cell="attention_edges",
        means="The mask that was passed in is inverted afterwards.",
        hint="Which functions of your code end in an underscore, and on whose tensor do they work?",
        section="ch2-mistake-in-place",
        edits=[
            ("scores.masked_fill(~mask, torch", "scores.masked_fill(mask.logical_not_(), torch"),
            ("weights * mask", "weights * ~mask"),
        ],
    ),
    Mistake(
        name="torch: maximum over masked scores as well",
        function="attention",
        cell="attention_edges",
        means="The maximum was taken before the mask. Where a masked score is far larger than the others, all exponentials that count become 0.",
        hint="Which scores should take part in the maximum?",
        section="ch2-softmax-rows",
        source="""
def attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights * mask
        total = weights.sum(dim=-1, keepdim=True)
        weights = weights / torch.where(total == 0, 1.0, total)
    return weights @ value, weights
""",
    ),
    Mistake(
        name="torch: masked scores set to -100 or -1000",
        function="attention",
        cell="attention_edges",
        means="Here a masked score is some negative number such as -100. Where the real scores lie far below it, masked keys get all the weight.",
        hint="Is there a number below every score that can occur?",
        section="ch2-mask",
        edits=[("torch.finfo(scores.dtype).min", "-100.0")],
    ),
    Mistake(
        name="torch: key detached",
        function="attention",
        cell="attention_edges",
        means="The results are right, but no gradient reaches the keys.",
        hint="Which of `detach`, `no_grad` or `.data` stands beside `key`?",
        section="ch2-torch",
        edits=[("query @ key.transpose", "query @ key.detach().transpose")],
    ),
    Mistake(
        name="torch: values detached",
        function="attention",
        cell="attention_edges",
        means="The results are right, but no gradient reaches the values.",
        hint="Which of `detach`, `no_grad` or `.data` stands beside `value`?",
        section="ch2-torch",
        edits=[("weights @ value", "weights @ value.detach()")],
    ),
    Mistake(
        name="torch: masked scores set to -10000",
        function="attention",
        cell="attention_edges",
        means="A masked score is -10000. Where the real scores lie below it, the masked keys get all the weight.",
        hint="Which fill is below every score that can occur?",
        section="ch2-mistake-mask",
        edits=[("torch.finfo(scores.dtype).min", "-1e4")],
    ),
    Mistake(
        name="torch: output of an empty row not cleared",
        function="attention",
        cell="attention_edges",
        means="The weights of an empty row became 0 after the output had been made. The output is still an average of values that it must not see.",
        hint="In which order do you compute the output and clear the weights?",
        section="ch2-mask",
        source="""
def attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)
    output = weights @ value
    if mask is not None:
        weights = weights * mask
    return output, weights
""",
    ),
    Mistake(
        name="torch: mask added as a float64 tensor",
        function="attention",
        cell="attention_edges",
        means="With a mask, the scores become float64, and float32 values don't fit them any more.",
        hint="Which data type does the tensor have that you make from the mask?",
        section="ch2-torch",
        edits=[
            (
                "scores.masked_fill(~mask, torch.finfo(scores.dtype).min)",
                "scores + torch.zeros(mask.shape, dtype=torch.float64).masked_fill(~mask, -1e30)",
            )
        ],
    ),
    Mistake(
        name="torch: log-softmax in place of softmax",
        function="attention",
        cell="attention_values",
        means="The weights are logarithms: `log_softmax` was called.",
        hint="Can a weight be below 0?",
        section="ch2-softmax",
        edits=[("torch.softmax(scores", "torch.log_softmax(scores")],
    ),
    Mistake(
        name="torch: scaled after the softmax",
        function="attention",
        cell="attention_values",
        means="The weights were divided by the root of dk, after the softmax. They no longer sum to 1.",
        hint="Which tensor does the formula divide: the scores or the weights?",
        section="ch2-mistake-divisor",
        edits=[
            (
                "query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5",
                "query @ key.transpose(-2, -1)",
            ),
            (
                "torch.softmax(scores, dim=-1)",
                "torch.softmax(scores, dim=-1) / query.shape[-1] ** 0.5",
            ),
        ],
    ),
    Mistake(
        name="torch: square root of the number of keys",
        function="attention",
        cell="attention_values",
        means="The scores were divided by the root of the number of keys.",
        hint="Which axis of the query has the width dk?",
        section="ch2-mistake-divisor",
        edits=[("query.shape[-1] ** 0.5", "key.shape[-2] ** 0.5")],
    ),
    Mistake(
        name="torch: multiplied by the square root",
        function="attention",
        cell="attention_values",
        means="The scores were multiplied by the root of dk. They should be divided by it.",
        hint="Do the scores grow or shrink by the scale?",
        section="ch2-mistake-divisor",
        edits=[("/ query.shape[-1] ** 0.5", "* query.shape[-1] ** 0.5")],
    ),
    # score_statistics ---------------------------------------------------------------------------
    Mistake(
        name="sample variance",
        function="score_statistics",
        cell="score_statistics_values",
        means="This variance is divided by the number of scores less one.",
        hint="Which argument of var decides what the sum is divided by?",
        section="ch2-variance",
        edits=[("scores.var()", "scores.var(ddof=1)")],
    ),
    Mistake(
        name="standard deviation",
        function="score_statistics",
        cell="score_statistics_values",
        means="This is the square root of the variance.",
        hint="What is the difference between var and std?",
        section="ch2-variance",
        edits=[("scores.var()", "scores.std()")],
    ),
    Mistake(
        name="mean of the squares",
        function="score_statistics",
        cell="score_statistics_values",
        means="This is the mean of the squared scores. It is the variance only if the mean is 0.",
        hint="From what does the variance measure the distance?",
        section="ch2-variance",
        edits=[("scores.var()", "(scores**2).mean()")],
    ),
    Mistake(
        name="variance within each query",
        function="score_statistics",
        cell="score_statistics_values",
        means="This is the variance within each query's scores, averaged over the queries. The spread "
        "between the queries is missing.",
        hint="Is the variance asked for one per query or one of all the scores?",
        section="ch2-variance",
        edits=[("scores.var()", "scores.var(axis=-1).mean()")],
    ),
    Mistake(
        name="variance of the unscaled scores",
        function="score_statistics",
        cell="score_statistics_values",
        means="This is the variance of the dot products before scaling.",
        hint="What does a factor c on all scores do to their variance?",
        section="ch2-variance",
        edits=[("scores.var()", "(query @ key.T).var()")],
    ),
    Mistake(
        name="variance of the weights",
        function="score_statistics",
        cell="score_statistics_values",
        means="This is the variance of the weights, after the softmax.",
        hint="Which of your two arrays holds the scores?",
        section="ch2-variance",
        edits=[("scores.var()", "weights.var()")],
    ),
    Mistake(
        name="weights of the unscaled scores",
        function="score_statistics",
        cell="score_statistics_values",
        means="The variance is right, but the weights come from the scores before scaling.",
        hint="What goes into your softmax?",
        section="ch2-scaling",
        edits=[("softmax(scores)", "softmax(query @ key.T)")],
    ),
    Mistake(
        name="divided by the scale",
        function="score_statistics",
        cell="score_statistics_values",
        means="The scores were divided by `scale`. Here the scale is a factor, for instance 1 / sqrt(d).",
        hint="If scale is 0.5, should the scores get smaller or larger?",
        section="ch2-scaling",
        edits=[("scale * (query @ key.T)", "query @ key.T / scale")],
    ),
    Mistake(
        name="largest weight of all",
        function="score_statistics",
        cell="score_statistics_values",
        means="This is the largest weight of all queries, not the average of each query's largest.",
        hint="Over which axis do you take the maximum, and what happens to the other axis?",
        section="ch2-scaling",
        edits=[("weights.max(axis=-1).mean()", "weights.max()")],
    ),
    Mistake(
        name="largest mean in place of mean of the largest",
        function="score_statistics",
        cell="score_statistics_values",
        means="The weights were averaged over the queries first, and then the largest was taken.",
        hint="Which comes first: each query's largest weight, or the mean over the queries?",
        section="ch2-scaling",
        edits=[("weights.max(axis=-1).mean()", "max(weights.mean(axis=0))")],
    ),
    Mistake(
        name="entropy in bits",
        function="score_statistics",
        cell="score_statistics_values",
        means="This entropy is in bits: the logarithm has base 2.",
        hint="Which logarithm belongs to nats?",
        section="ch2-scaling",
        edits=[("np.log(", "np.log2(")],
    ),
    Mistake(
        name="entropy summed over the queries",
        function="score_statistics",
        cell="score_statistics_values",
        means="This is the sum of the queries' entropies, not their mean.",
        hint="Should the entropy grow if you pass the same queries twice?",
        section="ch2-scaling",
        edits=[(".sum(axis=-1).mean())", ".sum())")],
    ),
    Mistake(
        name="entropy averaged over all weights",
        function="score_statistics",
        cell="score_statistics_values",
        means="Here the terms p ln p were averaged over queries and keys alike. An entropy is a sum over "
        "the keys.",
        hint="Over which axis is the entropy a sum, and over which is the result a mean?",
        section="ch2-scaling",
        edits=[(".sum(axis=-1).mean())", ".mean())")],
    ),
    Mistake(
        name="entropy without its sign",
        function="score_statistics",
        cell="score_statistics_values",
        means="This entropy is negative. The logarithm of a weight is never positive, so the formula has "
        "a minus sign.",
        hint="Can an entropy be negative here?",
        section="ch2-scaling",
        edits=[("float(-(weights", "float((weights")],
    ),
    Mistake(
        name="entropy NaN where a weight is 0",
        function="score_statistics",
        cell="score_statistics_values",
        means="Where a weight has become exactly 0, `0 * log(0)` makes the entropy NaN.",
        hint="What does p ln p tend to as p goes to 0, and which logarithm never has to be computed?",
        section="ch2-scaling",
        edits=[("np.log(np.where(weights > 0, weights, 1))", "np.log(weights)")],
    ),
    Mistake(
        name="statistics over the queries",
        function="score_statistics",
        cell="score_statistics_values",
        means="Softmax, largest weight and entropy run over the queries instead of the keys.",
        hint="Each query distributes a total weight of 1. Along which axis do its weights lie?",
        section="ch2-mistake-axis",
        edits=[
            ("softmax(scores)", "softmax(scores, axis=0)"),
            ("weights.max(axis=-1)", "weights.max(axis=0)"),
            ("log_weights).sum(axis=-1)", "log_weights).sum(axis=0)"),
        ],
    ),
    Mistake(
        name="variance times the scale",
        function="score_statistics",
        cell="score_statistics_values",
        means="The variance of the unscaled scores was multiplied by the scale once. A factor enters a variance squared.",
        hint="If all numbers are doubled, what happens to their variance?",
        section="ch2-variance",
        edits=[("scores.var()", "scale * (query @ key.T).var()")],
    ),
    Mistake(
        name="largest score in place of the largest weight",
        function="score_statistics",
        cell="score_statistics_values",
        means="This is the mean of the largest scores, not of the largest weights.",
        hint="Can the number be larger than 1?",
        section="ch2-scaling",
        edits=[("weights.max(axis=-1)", "scores.max(axis=-1)")],
    ),
    Mistake(
        name="position of the largest weight",
        function="score_statistics",
        cell="score_statistics_values",
        means="This is where the largest weight stands, not how large it is.",
        hint="What is the difference between max and argmax?",
        section="ch2-scaling",
        edits=[("weights.max(axis=-1)", "weights.argmax(axis=-1)")],
    ),
    Mistake(
        name="entropy of the mean weights",
        function="score_statistics",
        cell="score_statistics_values",
        means="The weights were averaged over the queries first. That hides how sharp each query is.",
        hint="Which comes first: the entropy of a query, or the mean over the queries?",
        section="ch2-scaling",
        edits=[
            (
                "-(weights * log_weights).sum(axis=-1).mean()",
                "-(weights.mean(axis=0) * np.log(weights.mean(axis=0))).sum()",
            )
        ],
    ),
    Mistake(
        name="one softmax for all scores",
        function="score_statistics",
        cell="score_statistics_values",
        means="All scores went through one softmax. Each query should have weights of its own that sum to 1.",
        hint="What do the weights of one query sum to?",
        section="ch2-softmax-rows",
        edits=[("softmax(scores)", "softmax(scores.reshape(-1)).reshape(scores.shape)")],
    ),
    Mistake(
        name="sample variance, largest weight of all, and bits",
        function="score_statistics",
        cell="score_statistics_values",
        means="All three numbers are off. The variance is divided by one less, the largest weight is that of all queries, and the entropy is in bits.",
        hint="Take the table of the task, and compare your three lines with it one by one.",
        section="ch2-scaling",
        edits=[
            ("scores.var()", "scores.var(ddof=1)"),
            ("weights.max(axis=-1).mean()", "weights.max()"),
            ("np.log(", "np.log2("),
        ],
    ),
    Mistake(
        name="entropy of each weight's average logarithm",
        function="score_statistics",
        cell="score_statistics_values",
        means="The logarithms were averaged over the keys without their weights.",
        hint="By what does the formula multiply each logarithm?",
        section="ch2-variance",
        edits=[("(weights * log_weights).sum(axis=-1).mean()", "log_weights.mean()")],
    ),
    Mistake(
        name="smallest of the largest weights",
        function="score_statistics",
        cell="score_statistics_values",
        means="The smallest of the largest weights was returned. Their mean is asked for.",
        hint="What do you do with the largest weights of the queries?",
        section="ch2-variance",
        edits=[("weights.max(axis=-1).mean()", "weights.max(axis=-1).min()")],
    ),
    # attention_jacobian -------------------------------------------------------------------------
    Mistake(
        name="covariance not divided",
        function="attention_jacobian",
        cell="attention_jacobian_values",
        means="This is the covariance itself. The scores contain a division that the derivative has too.",
        hint="What is the derivative of the scaled score with respect to the query?",
        section="ch2-saturation",
        edits=[("@ centred / root", "@ centred")],
    ),
    Mistake(
        name="covariance divided by d",
        function="attention_jacobian",
        cell="attention_jacobian_values",
        means="The covariance was divided by d instead of its square root.",
        hint="How often does the factor of the scores appear in the derivative?",
        section="ch2-saturation",
        edits=[("@ centred / root", "@ centred / root**2")],
    ),
    Mistake(
        name="weights without scaling",
        function="attention_jacobian",
        cell="attention_jacobian_values",
        means="The covariance is taken under the weights of the unscaled scores.",
        hint="Which scores does scaled attention give to its softmax?",
        section="ch2-saturation",
        edits=[("softmax(key @ query / root)", "softmax(key @ query)")],
    ),
    Mistake(
        name="second moment in place of the covariance",
        function="attention_jacobian",
        cell="attention_jacobian_values",
        means="The mean was not subtracted: this is the weighted sum of the products of the keys.",
        hint="If you add a constant vector to all keys, should the derivative change?",
        section="ch2-saturation",
        edits=[("key - weights @ key", "key")],
    ),
    Mistake(
        name="plain mean subtracted",
        function="attention_jacobian",
        cell="attention_jacobian_values",
        means="The plain mean of the keys was subtracted, where the output, their weighted mean, belongs.",
        hint="Around which point does the formula measure the keys?",
        section="ch2-saturation",
        edits=[("key - weights @ key", "key - key.mean(axis=0)")],
    ),
    Mistake(
        name="covariance under equal weights",
        function="attention_jacobian",
        cell="attention_jacobian_values",
        means="This is the ordinary covariance of the keys: each counts the same, whatever the query.",
        hint="Where do the attention weights enter the covariance?",
        section="ch2-saturation",
        edits=[
            (
                "return (weights * centred.T) @ centred / root",
                "return np.cov(key.T, bias=True) / root",
            )
        ],
    ),
    Mistake(
        name="weights counted twice",
        function="attention_jacobian",
        cell="attention_jacobian_values",
        means="Both factors of each product carry the weight, so it enters squared.",
        hint="How many times does p occur in each term of the sum?",
        section="ch2-saturation",
        edits=[
            ("(weights * centred.T) @ centred", "(weights * centred.T) @ (weights * centred.T).T")
        ],
    ),
    Mistake(
        name="weights left out of the sum",
        function="attention_jacobian",
        cell="attention_jacobian_values",
        means="The keys are centred at the output, but their products are summed without weights.",
        hint="What multiplies each product in the formula?",
        section="ch2-saturation",
        edits=[("(weights * centred.T)", "centred.T")],
    ),
    Mistake(
        name="only the variances",
        function="attention_jacobian",
        cell="attention_jacobian_values",
        means="Only the diagonal is there. A change in one component of the query moves the other "
        "components of the output too.",
        hint="Are the components of the keys uncorrelated under the weights?",
        section="ch2-saturation",
        edits=[
            (
                "return (weights * centred.T) @ centred / root",
                "return np.diag(weights @ centred**2) / root",
            )
        ],
    ),
    Mistake(
        name="derivative of the softmax alone",
        function="attention_jacobian",
        cell="attention_jacobian_values",
        means="This is the derivative of the weights with respect to the scores, of shape (S, S). The "
        "chain rule goes on from there, at both ends.",
        hint="What does the query do to the scores, and what do the weights do to the output?",
        section="ch2-saturation",
        edits=[
            (
                "return (weights * centred.T) @ centred / root",
                "return np.diag(weights) - np.outer(weights, weights)",
            )
        ],
    ),
    Mistake(
        name="unbiased covariance",
        function="attention_jacobian",
        cell="attention_jacobian_values",
        means="`np.cov` corrects for a small sample by default. The formula has the plain weighted mean of the products.",
        hint="Which argument of np.cov turns the correction off?",
        section="ch2-saturation",
        edits=[
            (
                "return (weights * centred.T) @ centred / root",
                "return np.cov(key, rowvar=False, aweights=weights) / root",
            )
        ],
    ),
    Mistake(
        name="bare exponentials in the weights",
        function="attention_jacobian",
        cell="attention_jacobian_values",
        means="The weights come from bare exponentials here, which overflow for large scores.",
        hint="Which function of yours computes stable weights?",
        section="ch2-softmax",
        edits=[
            (
                "weights = softmax(key @ query / root)",
                "weights = np.exp(key @ query / root)\n    weights = weights / weights.sum()",
            )
        ],
    ),
    Mistake(
        name="root of the number of keys in J",
        function="attention_jacobian",
        cell="attention_jacobian_values",
        means="The root of the number of keys was taken. The formula has the root of the width d.",
        hint="Which of the two arguments tells you d, and along which axis?",
        section="ch2-mistake-divisor",
        edits=[("len(query) ** 0.5", "len(key) ** 0.5")],
    ),
    Mistake(
        name="keys against keys",
        function="attention_jacobian",
        cell="attention_jacobian_values",
        means="The result has the shape (S, S): it compares keys with each other. J has a row and a column for each component.",
        hint="Over which axis does your sum run: over the keys, or over the components?",
        section="ch2-saturation",
        edits=[
            (
                "(weights * centred.T) @ centred / root",
                "(weights[:, None] * centred) @ centred.T / root",
            )
        ],
    ),
    Mistake(
        name="mean square of the output subtracted with the wrong sign",
        function="attention_jacobian",
        cell="attention_jacobian_values",
        means="The outer product of the output was added to the second moment. It must be subtracted.",
        hint="What is the covariance of keys that are all equal?",
        section="ch2-saturation",
        edits=[
            (
                "return (weights * centred.T) @ centred / root",
                "o = weights @ key\n    return ((weights * key.T) @ key + np.outer(o, o)) / root",
            )
        ],
    ),
    Mistake(
        name="key with the largest weight subtracted",
        function="attention_jacobian",
        cell="attention_jacobian_values",
        means="The key with the largest weight was subtracted. The formula subtracts the output o.",
        hint="What is o in the formula: one key, or an average of all?",
        section="ch2-saturation",
        edits=[("key - weights @ key", "key - key[weights.argmax()]")],
    ),
    Mistake(
        name="covariance divided by the number of keys",
        function="attention_jacobian",
        cell="attention_jacobian_values",
        means="The sum over the keys was divided by their number. The weights already sum to 1.",
        hint="What do the weights p sum to?",
        section="ch2-saturation",
        edits=[("@ centred / root", "@ centred / root / len(key)")],
    ),
]

ALTERNATIVES = [
    Alternative(
        name="loops",
        cost=(
            "It transcribes the formulas and needs no thought about axes. Time grows with "
            "queries times keys times width, all of it in Python."
        ),
        source="""
import math


def softmax(x, axis=-1):
    rows = np.moveaxis(np.asarray(x, dtype=float), axis, -1)
    result = np.empty(rows.shape)
    for index in np.ndindex(*rows.shape[:-1]):
        largest = max(rows[index])
        exponentials = [math.exp(number - largest) for number in rows[index]]
        result[index] = [e / math.fsum(exponentials) for e in exponentials]
    return np.moveaxis(result, -1, axis)


def attention_numpy(query, key, value, mask=None):
    *leading, T, dk = query.shape
    S, dv = value.shape[-2:]
    output, weights = np.zeros((*leading, T, dv)), np.zeros((*leading, T, S))
    for index in np.ndindex(*leading):
        for t in range(T):
            allowed = [s for s in range(S) if mask is None or mask[index][t, s]]
            if allowed:
                scores = [query[index][t] @ key[index][s] / math.sqrt(dk) for s in allowed]
                for s, weight in zip(allowed, softmax(np.array(scores))):
                    weights[index][t, s] = weight
                    output[index][t] += weight * value[index][s]
    return output, weights


def score_statistics(query, key, scale):
    scores, largest, entropies = [], [], []
    for q in query:
        row = np.array([scale * sum(a * b for a, b in zip(q, k)) for k in key])
        weights = softmax(row)
        scores.extend(row)
        largest.append(max(weights))
        entropies.append(-sum(w * math.log(w) for w in weights if w > 0))
    mean = sum(scores) / len(scores)
    return {
        "variance": sum((s - mean) ** 2 for s in scores) / len(scores),
        "max_weight": sum(largest) / len(largest),
        "entropy": sum(entropies) / len(entropies),
    }


def attention_jacobian(query, key):
    d = len(query)
    weights = softmax(np.array([k @ query / math.sqrt(d) for k in key]))
    output = sum(w * k for w, k in zip(weights, key))
    jacobian = np.zeros((d, d))
    for w, k in zip(weights, key):
        jacobian += w * np.outer(k - output, k - output)
    return jacobian / math.sqrt(d)
""",
    ),
    Alternative(
        name="einsum",
        cost=(
            "Named indices take the place of transposes. `einsum` has to be read, and it "
            "chooses the order of multiplications itself."
        ),
        source="""
def attention_numpy(query, key, value, mask=None):
    scores = np.einsum("...td,...sd->...ts", query, key) / np.sqrt(query.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -1e30)
    weights = softmax(scores, axis=-1)
    if mask is not None:
        weights = np.where(mask, weights, 0.0)
    return np.einsum("...ts,...sv->...tv", weights, value), weights


def attention(query, key, value, mask=None):
    scores = torch.einsum("...td,...sd->...ts", query, key) * query.size(-1) ** -0.5
    if mask is None:
        mask = scores.new_ones((), dtype=torch.bool)
    weights = scores.where(mask, torch.finfo(scores.dtype).min).softmax(-1).where(mask, 0)
    return torch.einsum("...ts,...sv->...tv", weights, value), weights


def attention_jacobian(query, key):
    d = query.size
    p = softmax(np.einsum("sd,d->s", key, query) / np.sqrt(d))
    o = np.einsum("s,sd->d", p, key)
    return (np.einsum("s,si,sj->ij", p, key, key) - np.outer(o, o)) / np.sqrt(d)
""",
    ),
    Alternative(
        name="log-sum-exp",
        cost=(
            "The logarithms of the weights come first, so the entropy needs no logarithm of a "
            "number that may be 0. Statistics by mean of squares lose digits where the mean is "
            "large."
        ),
        source="""
def softmax(x, axis=-1):
    x = np.asarray(x, dtype=np.float64)
    return np.exp(x - np.logaddexp.reduce(x, axis=axis, keepdims=True))


def attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.mT) / torch.tensor(query.shape[-1], dtype=query.dtype).sqrt()
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), -1e30)
    weights = (scores - scores.logsumexp(dim=-1, keepdim=True)).exp()
    if mask is not None:
        weights = weights.masked_fill(mask.logical_not(), 0.0)
    return torch.matmul(weights, value), weights


def score_statistics(query, key, scale):
    scores = np.inner(query, key) * scale
    log_weights = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
    weights = np.exp(log_weights)
    return {
        "variance": np.mean(scores**2) - np.mean(scores) ** 2,
        "max_weight": np.exp(log_weights.max(axis=1)).mean(),
        "entropy": -np.sum(weights * log_weights) / len(query),
    }
""",
    ),
    Alternative(
        name="SciPy",
        cost=(
            "The library has thought of overflow for you. It is one more package that has to be "
            "installed where the code runs, and rows with nothing to attend to remain your "
            "task."
        ),
        source="""
from scipy import special, stats


def softmax(x, axis=-1):
    return special.softmax(x, axis=axis)


def attention_numpy(query, key, value, mask=None):
    scores = np.matmul(query / np.sqrt(query.shape[-1]), np.swapaxes(key, -2, -1))
    if mask is None:
        weights = special.softmax(scores, axis=-1)
    else:
        anything = mask.any(axis=-1, keepdims=True)
        weights = special.softmax(np.where(mask | ~anything, scores, -np.inf), axis=-1) * anything
    return np.matmul(weights, value), weights


def score_statistics(query, key, scale):
    scores = scale * query @ key.T
    weights = special.softmax(scores, axis=1)
    return {
        "entropy": stats.entropy(weights, axis=1).mean(),
        "max_weight": np.mean([row.max() for row in weights]),
        "variance": np.var(scores),
    }
""",
    ),
    Alternative(
        name="minus infinity and nan_to_num",
        cost=(
            "Short, and the forward result is right. NaN stands in a masked row for a moment, "
            "and in torch its gradient is NaN."
        ),
        source="""
def attention_numpy(query, key, value, mask=None):
    scores = (query @ np.moveaxis(key, -1, -2)) / np.sqrt(key.shape[-1])
    if mask is not None:
        scores[~mask] = -np.inf
    with np.errstate(invalid="ignore"):
        weights = np.nan_to_num(softmax(scores))
    return weights @ value, weights


def attention(query, key, value, mask=None):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if mask is not None:
        scores = torch.masked_fill(scores, ~mask, float("-inf"))
    weights = torch.nan_to_num(torch.nn.functional.softmax(scores, dim=-1))
    return weights @ value, weights
""",
    ),
    Alternative(
        name="query and key both scaled, where(any)",
        cost=(
            "Scaling both sides by the fourth root keeps products small before they are summed, "
            "which helps in 16 bits. It is two multiplications more, of the smaller arrays."
        ),
        source="""
from torch.nn import functional as F


def attention(query, key, value, mask=None):
    factor = query.shape[-1] ** -0.25
    scores = torch.matmul(query * factor, (key * factor).transpose(-1, -2))
    if mask is None:
        weights = F.softmax(scores, dim=-1)
    else:
        some = mask.any(dim=-1, keepdim=True)
        scores = scores.masked_fill(~(mask | ~some), -torch.inf)
        weights = torch.where(some, F.softmax(scores, dim=-1), torch.zeros_like(scores))
    return torch.matmul(weights, value), weights


def attention_jacobian(query, key):
    weights = softmax(key @ query / np.sqrt(len(query)))
    derivative_of_softmax = np.diag(weights) - np.outer(weights, weights)
    return key.T @ derivative_of_softmax @ key / np.sqrt(len(query))
""",
    ),
    Alternative(
        name="flattened to one batch axis",
        cost=(
            "`bmm` takes exactly three axes, so any number of leading ones works without "
            "thinking. The mask has to be expanded to full size first, which takes memory."
        ),
        source="""
def attention(query, key, value, mask=None):
    leading, (T, d), S = query.shape[:-2], query.shape[-2:], key.shape[-2]
    q, k, v = (x.reshape(-1, x.shape[-2], x.shape[-1]) for x in (query, key, value))
    scores = torch.bmm(q, k.transpose(1, 2)).div(d**0.5)
    scores = scores - scores.amax(dim=-1, keepdim=True).detach()
    if mask is not None:
        mask = mask.expand(*leading, T, S).reshape(-1, T, S)
        lift = torch.where(mask, scores, -1e30).amax(dim=-1, keepdim=True).detach()
        scores = torch.where(mask, scores - lift, -1e30)
    exponentials = scores.exp()
    weights = exponentials / exponentials.sum(-1, keepdim=True).clamp(min=1e-30)
    output = torch.bmm(weights, v)
    return output.reshape(*leading, T, -1), weights.reshape(*leading, T, S)


def attention_jacobian(query, key):
    p = softmax(key @ query / np.sqrt(len(query)))
    return np.cov(key, rowvar=False, aweights=p, bias=True) / np.sqrt(len(query))
""",
    ),
    Alternative(
        name="one pass over the keys",
        cost=(
            "It keeps a running maximum and a running sum and never needs all scores at once: "
            "this is the idea of FlashAttention. In Python it is slow, and here the scores are "
            "kept anyway because the weights are asked for."
        ),
        source="""
def attention_numpy(query, key, value, mask=None):
    shape = (*query.shape[:-1], 1)
    largest, total = np.full(shape, -1e300), np.zeros(shape)
    output = np.zeros((*query.shape[:-1], value.shape[-1]))
    scores = []
    for s in range(key.shape[-2]):
        score = (query * key[..., s : s + 1, :]).sum(-1, keepdims=True) / query.shape[-1] ** 0.5
        allowed = True if mask is None else mask[..., s : s + 1]
        new = np.where(allowed, np.maximum(largest, score), largest)
        rescale, weight = np.exp(largest - new), np.exp(np.minimum(score - new, 0)) * allowed
        total = total * rescale + weight
        output = output * rescale + weight * value[..., s : s + 1, :]
        largest = new
        scores.append(np.where(allowed, score, -np.inf))
    total = np.where(total == 0, 1, total)
    weights = np.exp(np.concatenate(scores, axis=-1) - largest) / total
    return output / total, weights


def attention(query, key, value, mask=None):
    scores = torch.stack(
        [(query * k.unsqueeze(-2)).sum(-1) for k in key.unbind(-2)], dim=-1
    ) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores + torch.zeros_like(scores).masked_fill(~mask, -1e30)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights * mask.any(dim=-1, keepdim=True)
    output = sum(
        weights[..., s, None] * v.unsqueeze(-2) for s, v in enumerate(value.unbind(-2))
    )
    return output, weights
""",
    ),
    Alternative(
        name="torch behind NumPy",
        cost=(
            "The derivative is left to automatic differentiation, so there's no formula to get "
            "wrong. It computes one backward pass for each entry of the output and teaches "
            "nothing about the result's form."
        ),
        source="""
def softmax(x, axis=-1):
    return torch.softmax(torch.as_tensor(x, dtype=torch.float64), dim=axis).numpy()


def attention_jacobian(query, key):
    keys = torch.from_numpy(key)

    def output(q):
        return torch.softmax(keys @ q / len(q) ** 0.5, dim=0) @ keys

    return torch.autograd.functional.jacobian(output, torch.from_numpy(query)).numpy()
""",
    ),
]

# shown after a task is passed
DISCUSSIONS = [
    Discussion(
        "softmax",
        (
            Way(
                "Through logarithms: subtract the logarithm of the sum, then take the exponential once.",
                "log_sum = np.logaddexp.reduce(x, axis=axis, keepdims=True)\nnp.exp(x - log_sum)",
                "It needs no maximum of your own and gives log-softmax for free. `logaddexp.reduce` "
                "is many times slower than one `exp` over the array.",
            ),
            Way(
                "With the axis moved to the end, so that the rest need not know which one it was.",
                "moved = np.moveaxis(x, axis, -1)\n...  # softmax along the last axis\n"
                "np.moveaxis(result, -1, axis)",
                "Every step is about rows, which is easy to read. The two moves cost no time, but "
                "the result is a view whose memory is in another order.",
            ),
        ),
    ),
    Discussion(
        "attention_numpy",
        (
            Way(
                "The sums written as in the formula, with named indices.",
                'scores = np.einsum("...td,...sd->...ts", query, key)\n'
                'output = np.einsum("...ts,...sv->...tv", weights, value)',
                "No transpose to get wrong, and the shapes stand in the text. `einsum` may be slower "
                "than `@`, which calls the fast matrix product directly.",
            ),
            Way(
                "One query after the other, in a loop over rows.",
                "for t in range(T):\n    weights[..., t, :] = softmax(scores[..., t, :])",
                "It is the formula word by word and needs memory for one row at a time. Python runs "
                "the loop, so it takes many times as long.",
            ),
        ),
    ),
    Discussion(
        "attention",
        (
            Way(
                "With minus infinity in the masked places, and zeros put in afterwards.",
                'scores.masked_fill(~mask, float("-inf"))\ntorch.nan_to_num(weights)',
                "The weights are exactly 0 without a product. But an empty row is NaN on the way, and so "
                "is its gradient: `torch.autograd.detect_anomaly()` stops there.",
            ),
            Way(
                "With the mask as a bias that is added: 0 where a query may attend.",
                "bias = torch.zeros_like(scores).masked_fill_(~mask, torch.finfo(scores.dtype).min)\n"
                "scores = scores + bias",
                "One bias serves many layers, and other biases can be added to it. It takes as much "
                "memory as the scores.",
            ),
        ),
    ),
    Discussion(
        "score_statistics",
        (
            Way(
                "The entropy from log-softmax, without a logarithm of weights.",
                "log_weights = scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True)\n"
                "entropy = -(np.exp(log_weights) * log_weights).sum(-1)",
                "A weight of 0 has a finite logarithm here, so nothing has to be caught. It takes "
                "one slow `logaddexp`.",
            ),
            Way(
                "The logarithm only where it exists.",
                "np.log(weights, out=np.zeros_like(weights), where=weights > 0)",
                "No second array of ones is made. It is easy to forget `out`, and then the other "
                "places hold whatever was in memory.",
            ),
        ),
    ),
    Discussion(
        "attention_jacobian",
        (
            Way(
                "With the derivative of softmax as a matrix of its own.",
                "softmax_jacobian = np.diag(weights) - np.outer(weights, weights)\n"
                "key.T @ softmax_jacobian @ key / root",
                "It shows the chain rule, and the matrix serves for other values, too. It takes "
                "memory for S times S numbers.",
            ),
            Way(
                "As a mean of products minus the product of means.",
                "(weights * key.T) @ key - np.outer(output, output)",
                "Nothing has to be centred. For keys far from zero the two terms are large and nearly "
                "equal, and digits are lost.",
            ),
        ),
    ),
]
