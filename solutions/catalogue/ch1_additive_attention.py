"""Known mistakes and accepted alternatives of exercise 1."""

from autograder.catalogue import Alternative, Discussion, Mistake
from autograder.runtime.guide import Way

# the section of the book to read again, by grade cell
SECTIONS = {
    "additive_scores_values": "ch1-three-steps",
    "attend_values": "ch1-three-steps",
    "attend_edges": "ch1-padding",
    "additive_attention_values": "ch1-three-steps",
    "additive_attention_gradients": "ch1-softmax",
    "decoder_step_values": "ch1-previous-state",
}

# what is one idea in several answers, beside mistakes that mean the same word for word
IDEAS = [
    ("no tanh", "module without tanh"),
    ("v applied before tanh", "module applies tanh after v"),
    ("keys not used", "module scores without the keys"),
    ("query not used", "module scores without the query"),
    ("query without a source axis", "module's query without a source axis"),
    ("scores divided by a square root", "module divides by a square root"),
    ("plain mean of the values", "module averages the keys"),
    (
        "softmax over the batch",
        "module's softmax over the batch",
        "one softmax for the whole batch",
    ),
    ("mask ignored", "mask not passed on", "weights returned without the mask"),
    ("mask inverted", "step inverts the mask"),
    ("masked scores set to 0", "module sets masked scores to 0"),
    (
        "masked scores set to -10",
        "module sets masked scores to -10",
        "masked scores set to -100 or -1000",
        "masked scores set to -10000",
        "module's fill of -100",
    ),
    ("context keeps an axis of length 1", "module's context keeps an axis of length 1"),
    ("no maximum subtracted", "module without a maximum"),
    ("maximum over masked scores as well", "module's maximum over masked scores as well"),
]

MISTAKES = [
    # additive_scores ----------------------------------------------------------------------------
    Mistake(
        name="no tanh",
        function="additive_scores",
        cell="additive_scores_values",
        means="These are the scores without the tanh. The query then adds the same number to all scores of its example. The softmax removes it, and the weights no longer depend on the query.",
        hint="What stands between the sum of the two projections and v in the formula?",
        section="ch1-mistake-tanh",
        edits=[
            (
                "np.tanh(projected_query[:, None] + projected_key)",
                "(projected_query[:, None] + projected_key)",
            )
        ],
    ),
    Mistake(
        name="v applied before tanh",
        function="additive_scores",
        cell="additive_scores_values",
        means="Here v has reduced the hidden layer to one number before the tanh. All scores lie "
        "between -1 and 1.",
        hint="On how many numbers per position does the tanh work: one, or A of them?",
        section="ch1-three-steps",
        edits=[
            (
                "np.tanh(projected_query[:, None] + projected_key) @ v",
                "np.tanh((projected_query[:, None] + projected_key) @ v)",
            )
        ],
    ),
    Mistake(
        name="keys not used",
        function="additive_scores",
        cell="additive_scores_values",
        means="These scores come from the query alone, so every position of an example has the same "
        "score. Attention that never looks at the keys weights all positions equally.",
        hint="If you permute the keys of one example, what should happen to its scores?",
        section="ch1-mistake-decoder-only",
        edits=[("+ projected_key)", "+ 0 * projected_key)")],
    ),
    Mistake(
        name="query not used",
        function="additive_scores",
        cell="additive_scores_values",
        means="These scores come from the keys alone: whatever the decoder is looking for, it would "
        "attend to the same positions.",
        hint="Give one example two different queries. Should its scores be equal?",
        section="ch1-three-steps",
        edits=[("np.tanh(projected_query[:, None] +", "np.tanh(0 * projected_query[:, None] +")],
    ),
    Mistake(
        name="w_q and w_k swapped",
        function="additive_scores",
        cell="additive_scores_values",
        means="The query is projected with w_k and the keys with w_q. Where Dq and Dk differ, the "
        "shapes don't fit; where they are equal, the scores are wrong and nothing complains.",
        hint="Which of the two matrices has Dq columns?",
        section="ch1-three-steps",
        edits=[("query @ w_q.T", "query @ w_k.T"), ("key @ w_k.T", "key @ w_q.T")],
    ),
    Mistake(
        name="query without a source axis",
        function="additive_scores",
        cell="additive_scores_values",
        means="The projected query (B, A) and the projected keys (B, S, A) were added as they are. "
        "NumPy lines shapes up from the right and tries to match B with S.",
        hint="Where does the query need an axis of length 1, so that it is repeated for each position?",
        section="ch1-three-steps",
        edits=[("projected_query[:, None]", "projected_query")],
    ),
    Mistake(
        name="queries repeated in another order than the keys",
        function="additive_scores",
        cell="additive_scores_values",
        means="The copies of the queries stand in another order than the keys, so a key is scored against the query of "
        "another example.",
        hint="Which query stands at [0, 1] of your repeated queries, and which one belongs there?",
        section="ch1-three-steps",
        edits=[
            (
                "projected_query[:, None]",
                "np.concatenate([projected_query] * key.shape[1]).reshape(*key.shape[:2], -1)",
            )
        ],
    ),
    Mistake(
        name="tanh of each projection",
        function="additive_scores",
        cell="additive_scores_values",
        means="Here each projection goes through a tanh of its own, and then they are added. The "
        "query and the key no longer meet inside the hidden layer.",
        hint="Does the formula have one tanh or two?",
        section="ch1-three-steps",
        edits=[
            (
                "np.tanh(projected_query[:, None] + projected_key)",
                "(np.tanh(projected_query[:, None]) + np.tanh(projected_key))",
            )
        ],
    ),
    Mistake(
        name="projections multiplied",
        function="additive_scores",
        cell="additive_scores_values",
        means="Here the two projections are multiplied inside the tanh.",
        hint="Why is this attention called additive?",
        section="ch1-three-steps",
        edits=[("[:, None] + projected_key", "[:, None] * projected_key")],
    ),
    Mistake(
        name="sigmoid in place of tanh",
        function="additive_scores",
        cell="additive_scores_values",
        means="These are the scores with the logistic function in the hidden layer.",
        hint="What range does the hidden layer have in the formula, and what range in yours?",
        section="ch1-three-steps",
        edits=[
            (
                "np.tanh(projected_query[:, None] + projected_key)",
                "(1 / (1 + np.exp(-(projected_query[:, None] + projected_key))))",
            )
        ],
    ),
    Mistake(
        name="v left out",
        function="additive_scores",
        cell="additive_scores_values",
        means="Here the hidden units are summed without their weights v.",
        hint="Which of the five arguments have you not used yet?",
        section="ch1-three-steps",
        edits=[(" @ v  # (B, S)", ".sum(axis=-1)")],
    ),
    Mistake(
        name="softmax already applied",
        function="additive_scores",
        cell="additive_scores_values",
        means="These are the attention weights: a softmax has run over the scores.",
        hint="The function is asked for the scores. Which step belongs to the next task?",
        section="ch1-three-steps",
        edits=[
            (
                "return np.tanh(projected_query[:, None] + projected_key) @ v",
                "e = np.exp(np.tanh(projected_query[:, None] + projected_key) @ v)\n"
                "    return e / e.sum(axis=-1, keepdims=True)",
            )
        ],
    ),
    Mistake(
        name="scores divided by a square root",
        function="additive_scores",
        cell="additive_scores_values",
        means="These are the scores divided by the square root of the hidden width A. The square root "
        "belongs to scaled dot-product attention, which comes in chapter 2.",
        hint="Is there a division in the formula of additive attention?",
        section="ch1-three-steps",
        edits=[(" @ v  # (B, S)", " @ v / np.sqrt(len(v))")],
    ),
    Mistake(
        name="projections not transposed",
        function="additive_scores",
        cell="additive_scores_values",
        means="Here both inputs are multiplied by their matrix as it stands. But w_q has the shape (A, Dq), so its columns, not its rows, belong to the query.",
        hint="Which axis of w_q has the width of the query, and which axis does `query @ w_q` sum over?",
        section="ch1-three-steps",
        edits=[("query @ w_q.T", "query @ w_q"), ("key @ w_k.T", "key @ w_k")],
    ),
    Mistake(
        name="w_q not transposed",
        function="additive_scores",
        cell="additive_scores_values",
        means="The query is multiplied by w_q as it stands. But w_q has the shape (A, Dq), and the product sums over its first axis.",
        hint="Which axis of w_q has the width of the query, and which axis does `query @ w_q` sum over?",
        section="ch1-three-steps",
        edits=[("query @ w_q.T", "query @ w_q")],
    ),
    Mistake(
        name="w_k not transposed",
        function="additive_scores",
        cell="additive_scores_values",
        means="The keys are multiplied by w_k as it stands. But w_k has the shape (A, Dk), and the product sums over its first axis.",
        hint="Which axis of w_k has the width of a key, and which axis does `key @ w_k` sum over?",
        section="ch1-three-steps",
        edits=[("key @ w_k.T", "key @ w_k")],
    ),
    Mistake(
        name="tanh by exponentials",
        function="additive_scores",
        cell="additive_scores_values",
        means="The tanh is computed from exponentials here. For a large argument they are infinite, and infinity divided by infinity is NaN.",
        hint="Does NumPy have a tanh of its own?",
        section="ch1-three-steps",
        source="""
def additive_scores(query, key, w_q, w_k, v):
    x = (query @ w_q.T)[:, None] + key @ w_k.T
    return (np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x)) @ v
""",
    ),
    Mistake(
        name="projections subtracted",
        function="additive_scores",
        cell="additive_scores_values",
        means="Here the projected key is subtracted from the projected query.",
        hint="Which sign stands between the two projections in the formula?",
        section="ch1-three-steps",
        edits=[("[:, None] + projected_key", "[:, None] - projected_key")],
    ),
    Mistake(
        name="ReLU in place of tanh",
        function="additive_scores",
        cell="additive_scores_values",
        means="The hidden layer is cut off at 0 here. A tanh lets negative values pass.",
        hint="Which function does the formula name?",
        section="ch1-three-steps",
        edits=[
            (
                "np.tanh(projected_query[:, None] + projected_key)",
                "np.maximum(projected_query[:, None] + projected_key, 0)",
            )
        ],
    ),
    Mistake(
        name="scores keep an axis of length 1",
        function="additive_scores",
        cell="additive_scores_values",
        means="The scores have the shape (B, S, 1). One number for each position is asked for, without an axis around it.",
        hint="Is v a vector or a column in your product?",
        section="ch1-three-steps",
        edits=[("@ v  #", "@ v[:, None]  #")],
    ),
    Mistake(
        name="hidden units not added up",
        function="additive_scores",
        cell="additive_scores_values",
        means="Each hidden unit has been multiplied by its weight in v, but they have not been summed.",
        hint="How many numbers should each position have in the end?",
        section="ch1-three-steps",
        edits=[("@ v  #", "* v  #")],
    ),
    Mistake(
        name="everything squeezed out of the scores",
        function="additive_scores",
        cell="additive_scores_values",
        means="A bare `squeeze` has dropped an axis that should stay: with one example or one position, the shape is wrong.",
        hint="Which axes have length 1 if there is only one example?",
        section="ch1-three-steps",
        edits=[
            (
                "return np.tanh(projected_query[:, None] + projected_key) @ v  # (B, S)",
                "return np.squeeze(np.tanh(projected_query[:, None] + projected_key) @ v[:, None])",
            )
        ],
    ),
    Mistake(
        name="averaged over the hidden units",
        function="additive_scores",
        cell="additive_scores_values",
        means="The scores are A times too small: the weighted hidden units were averaged, not summed.",
        hint="Is there a division in the formula?",
        section="ch1-three-steps",
        edits=[("@ v  #", "@ v / len(v)  #")],
    ),
    Mistake(
        name="query of the first example for all",
        function="additive_scores",
        cell="additive_scores_values",
        means="Every key was scored against the query of example 0.",
        hint="To which example does a key belong, and whose query does it meet in your code?",
        section="ch1-three-steps",
        edits=[("projected_query[:, None]", "projected_query[0]")],
    ),
    Mistake(
        name="keys cut apart in the wrong order",
        function="additive_scores",
        cell="additive_scores_values",
        means="The keys were made flat for the product and cut up again as (S, B, A). So keys wander from one example to another.",
        hint="Which axis comes first in `key`, and which one in your `reshape`?",
        section="ch1-three-steps",
        edits=[
            (
                "projected_key = key @ w_k.T",
                "projected_key = (key @ w_k.T).reshape(key.shape[1], key.shape[0], -1).transpose(1, 0, 2)",
            )
        ],
    ),
    Mistake(
        name="query's new axis in front",
        function="additive_scores",
        cell="additive_scores_values",
        means="The projected query has the shape (1, B, A). Position i of every example meets the query of example i, or the shapes don't fit.",
        hint="Which axis of the keys has no partner in the query, the first or the second?",
        section="ch1-three-steps",
        edits=[("projected_query[:, None]", "projected_query[None]")],
    ),
    # attend -------------------------------------------------------------------------------------
    Mistake(
        name="softmax over the batch",
        function="attend",
        cell="attend_values",
        means="These are the weights when the softmax runs over the examples of the batch (axis 0) "
        "instead of over the source positions.",
        hint="One example distributes a total weight of 1. Along which axis do its weights lie?",
        section="ch1-mistake-axis",
        edits=[
            ("scores.max(axis=-1", "scores.max(axis=0"),
            ("exponentials.sum(axis=-1", "exponentials.sum(axis=0"),
        ],
    ),
    Mistake(
        name="context from the scores",
        function="attend",
        cell="attend_values",
        means="Here the weights multiply the scores. The values, which the context is to be made of, "
        "are not used.",
        hint="What should be in the context if one weight is 1 and the others are 0?",
        section="ch1-mistake-context",
        edits=[('np.einsum("bs,bsd->bd", weights, value)', "weights * scores")],
    ),
    Mistake(
        name="plain mean of the values",
        function="attend",
        cell="attend_values",
        means="This context is the plain average of the values: the weights have no influence on it.",
        hint="Where do your weights enter the context?",
        section="ch1-three-steps",
        edits=[('np.einsum("bs,bsd->bd", weights, value)', "value.mean(axis=1)")],
    ),
    Mistake(
        name="weighted mean in place of weighted sum",
        function="attend",
        cell="attend_values",
        means="This context is S times too small: the weighted values were averaged over the "
        "positions, although the weights already sum to 1.",
        hint="If all values are equal, the context should be that value. Is yours?",
        section="ch1-three-steps",
        edits=[
            (
                'np.einsum("bs,bsd->bd", weights, value)',
                "(weights[:, :, None] * value).mean(axis=1)",
            )
        ],
    ),
    Mistake(
        name="all weights against all examples",
        function="attend",
        cell="attend_values",
        means="`weights @ value` applies the weights of every example to the values of every example, "
        "so the context has the shape (B, B, Dv).",
        hint="For a matrix product of one example, which shape do its weights need?",
        section="ch1-three-steps",
        edits=[('np.einsum("bs,bsd->bd", weights, value)', "weights @ value")],
    ),
    Mistake(
        name="values of one example for all",
        function="attend",
        cell="attend_values",
        means="The weights of every example were applied to the values of the first one.",
        hint="To whose values do the weights of example 1 belong?",
        section="ch1-three-steps",
        edits=[('np.einsum("bs,bsd->bd", weights, value)', "np.dot(weights, value[0])")],
    ),
    Mistake(
        name="mask ignored",
        function="attend",
        cell="attend_values",
        means="These are the weights without the mask: padding receives attention.",
        hint="Is the mask used at all when it is given?",
        section="ch1-mistake-padding",
        edits=[("np.where(mask, scores,", "np.where(True, scores,")],
    ),
    Mistake(
        name="mask inverted",
        function="attend",
        cell="attend_values",
        means="These weights lie on exactly the positions that may not be attended to.",
        hint="In this course, does True mean `may attend` or `ignore`?",
        section="ch1-padding",
        source="""
def attend(scores, value, mask=None):
    if mask is not None:
        scores = np.where(mask, -1e9, scores)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return np.einsum("bs,bsd->bd", weights, value), weights
""",
    ),
    Mistake(
        name="mask after the softmax",
        function="attend",
        cell="attend_values",
        means="Here the mask sets weights to 0 after the softmax. The weights that are left sum to "
        "less than 1, because padding took its share of the sum.",
        hint="What do the weights of an example with padding sum to?",
        section="ch1-mistake-padding",
        source="""
def attend(scores, value, mask=None):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    if mask is not None:
        weights = weights * mask
    return np.einsum("bs,bsd->bd", weights, value), weights
""",
    ),
    Mistake(
        name="masked scores set to 0",
        function="attend",
        cell="attend_values",
        means="Here a masked score is 0, or nearly 0 as with -1e-9, when it enters the softmax. But "
        "exp(0) is 1, so the position keeps a weight, often the largest one.",
        hint="Which score would give a weight of 0?",
        section="ch1-padding",
        edits=[("-np.inf", "0.0")],
    ),
    Mistake(
        name="masked scores set to -10",
        function="attend",
        cell="attend_values",
        means="Here a masked score is -10. That is small only as long as the other scores are not "
        "small as well.",
        hint="What happens to an example whose real scores are all below -10?",
        section="ch1-padding",
        edits=[("-np.inf", "-10.0")],
    ),
    Mistake(
        name="no exponential",
        function="attend",
        cell="attend_values",
        means="Here the scores are divided by their sum. Weights made like this may be negative, and "
        "the sum may be close to 0.",
        hint="What turns a score of any sign into a positive number?",
        section="ch1-softmax",
        source="""
def attend(scores, value, mask=None):
    if mask is not None:
        scores = np.where(mask, scores, 0.0)
    weights = scores / scores.sum(axis=-1, keepdims=True)
    return np.einsum("bs,bsd->bd", weights, value), weights
""",
    ),
    Mistake(
        name="weights not normalised",
        function="attend",
        cell="attend_values",
        means="These weights are the exponentials themselves; they don't sum to 1.",
        hint="Which half of the softmax is missing?",
        section="ch1-softmax",
        edits=[("exponentials / exponentials.sum(axis=-1, keepdims=True)", "exponentials")],
    ),
    Mistake(
        name="log-softmax returned",
        function="attend",
        cell="attend_values",
        means="The second result holds the logarithms of the weights.",
        hint="Do the numbers in your weights sum to 1?",
        section="ch1-softmax",
        edits=[("return context, weights", "return context, np.log(weights)")],
    ),
    Mistake(
        name="only the best position",
        function="attend",
        cell="attend_values",
        means="Here all the weight lies on the position with the largest score. That is a hard choice, "
        "through which no gradient could flow.",
        hint="What share of the weight does the second-best position get?",
        section="ch1-soft-lookup",
        edits=[
            (
                "weights = exponentials / exponentials.sum(axis=-1, keepdims=True)",
                "weights = np.eye(scores.shape[1])[exponentials.argmax(axis=-1)]",
            )
        ],
    ),
    Mistake(
        name="results exchanged",
        function="attend",
        cell="attend_values",
        means="The two results come in the opposite order: first the weights, then the context.",
        hint="In which order does the docstring name the results?",
        section="ch1-three-steps",
        edits=[("return context, weights", "return weights, context")],
    ),
    Mistake(
        name="keepdims forgotten",
        function="attend",
        cell="attend_values",
        means="The maximum and the sum of each row have lost their axis, so NumPy lines them up with the positions and not with the examples.",
        hint="Which argument of max and sum keeps an axis of length 1?",
        section="ch1-softmax",
        edits=[
            ("scores.max(axis=-1, keepdims=True)", "scores.max(axis=-1)"),
            ("exponentials.sum(axis=-1, keepdims=True)", "exponentials.sum(axis=-1)"),
        ],
    ),
    Mistake(
        name="one softmax for the whole batch",
        function="attend",
        cell="attend_values",
        means="All weights of the batch together sum to 1. Each example should have a total weight of 1.",
        hint="Along which axis must the sum run?",
        section="ch1-mistake-axis",
        edits=[
            ("scores.max(axis=-1, keepdims=True)", "scores.max()"),
            ("exponentials.sum(axis=-1, keepdims=True)", "exponentials.sum()"),
        ],
    ),
    Mistake(
        name="context keeps an axis of length 1",
        function="attend",
        cell="attend_values",
        means="The context has the shape (B, 1, Dv): the matrix product needs an axis for the weights, and the result still has it.",
        hint="Which axis of your context has length 1, whatever the inputs are?",
        section="ch1-three-steps",
        edits=[('np.einsum("bs,bsd->bd", weights, value)', "weights[:, None] @ value")],
    ),
    Mistake(
        name="boolean mask added to the scores",
        function="attend",
        cell="attend_values",
        means="Adding True adds 1, and adding False adds 0. No position is shut out.",
        hint="Which number must be added to a score so that its weight is 0?",
        section="ch1-padding",
        edits=[("np.where(mask, scores, -np.inf)", "scores + mask")],
    ),
    Mistake(
        name="crash without a mask",
        function="attend",
        cell="attend_values",
        means="With `mask=None` the function stops with an error.",
        hint="What does `None` stand for in the docstring, and where do you treat it?",
        section="ch1-padding",
        edits=[
            ("    if mask is not None:\n        scores = ", "    scores = "),
            ("np.where(mask, scores, -np.inf)", "np.where(~mask, -np.inf, scores)"),
        ],
    ),
    Mistake(
        name="no maximum subtracted",
        function="attend",
        cell="attend_edges",
        means="The exponential of a large score is infinite here, and infinity divided by infinity "
        "is NaN.",
        hint="Which number could you subtract from all the scores of an example, so that none is large?",
        section="ch1-softmax",
        edits=[("scores - scores.max(axis=-1, keepdims=True)", "scores")],
    ),
    Mistake(
        name="one maximum for the whole batch",
        function="attend",
        cell="attend_edges",
        means="Here the largest score of the whole batch was subtracted everywhere. In an example whose "
        "scores are all far below it, every exponential becomes 0.",
        hint="Does each example have a weight of exp(0) before you normalise?",
        section="ch1-softmax",
        edits=[("scores.max(axis=-1, keepdims=True)", "scores.max()")],
    ),
    Mistake(
        name="maximum over masked scores as well",
        function="attend",
        cell="attend_edges",
        means="The maximum was taken before the mask. Where a masked score is far larger than the others, all exponentials that count become 0.",
        hint="Which scores should take part in the maximum?",
        section="ch1-softmax",
        source="""
def attend(scores, value, mask=None):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    if mask is not None:
        exponentials = exponentials * mask
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return np.einsum("bs,bsd->bd", weights, value), weights
""",
    ),
    Mistake(
        name="exponentials times the mask, no maximum",
        function="attend",
        cell="attend_edges",
        means="Padding is left out of the sum, which is right. But the exponential of a large score is infinite, and of a very negative one it is 0.",
        hint="Which number could you subtract from all the scores of an example, so that the largest becomes 0?",
        section="ch1-softmax",
        source="""
def attend(scores, value, mask=None):
    exponentials = np.exp(scores)
    if mask is not None:
        exponentials = exponentials * mask
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return np.einsum("bs,bsd->bd", weights, value), weights
""",
    ),
    Mistake(
        name="masked scores set to -100 or -1000",
        function="attend",
        cell="attend_edges",
        means="Here a masked score is some negative number such as -100. Where the real scores lie far below it, padding gets all the weight.",
        hint="Is there a number below every score that can occur?",
        section="ch1-padding",
        edits=[("-np.inf", "-100.0")],
    ),
    Mistake(
        name="masked scores set to -10000",
        function="attend",
        cell="attend_edges",
        means="Here a masked score is -10000. The scores may be of any size: where the real ones are about as low, "
        "padding gets weight.",
        hint="Is there a number below every score that can occur?",
        section="ch1-padding",
        edits=[("-np.inf", "-10_000")],
    ),
    Mistake(
        name="large scores clipped",
        function="attend",
        cell="attend_edges",
        means="Scores beyond a limit were cut off at it, so that several different scores became equal.",
        hint="Do two scores of 10000 and 10003 have equal weights?",
        section="ch1-softmax",
        edits=[
            (
                "np.exp(scores - scores.max(axis=-1, keepdims=True))",
                "np.exp(np.clip(scores, -500, 500))",
            )
        ],
    ),
    Mistake(
        name="padding set to 0 in the caller's values",
        function="attend",
        cell="attend_edges",
        means="The values that were passed in have changed: those of the padding are 0 now.",
        hint="Does your line make a new array or write into the old one?",
        section="ch1-padding",
        edits=[
            (
                "        scores = np.where(mask, scores, -np.inf)",
                "        scores = np.where(mask, scores, -np.inf)\n        value[~mask] = 0",
            )
        ],
    ),
    Mistake(
        name="mask written into the caller's scores",
        function="attend",
        cell="attend_edges",
        means="The scores that were passed in have changed: the fill for masked positions was written "
        "into them.",
        hint="Does your line make a new array or write into the old one?",
        section="ch1-padding",
        edits=[
            (
                "scores = np.where(mask, scores, -np.inf)",
                "scores[~mask] = -1e9",
            )
        ],
    ),
    Mistake(
        name="maximum subtracted in place",
        function="attend",
        cell="attend_edges",
        means="The scores that were passed in have changed: `-=` subtracted the maximum in the "
        "caller's array.",
        hint="What is the difference between `a -= b` and `a = a - b` for an array?",
        section="ch1-softmax",
        source="""
def attend(scores, value, mask=None):
    scores -= scores.max(axis=-1, keepdims=True)
    if mask is not None:
        scores = np.where(mask, scores, -1e9)
    exponentials = np.exp(scores)
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return np.einsum("bs,bsd->bd", weights, value), weights
""",
    ),
    Mistake(
        name="mean subtracted in place of the maximum",
        function="attend",
        cell="attend_edges",
        means="The mean of the scores was subtracted. A score far above the mean still overflows.",
        hint="After which subtraction is no score above 0?",
        section="ch1-softmax",
        source="""
def attend(scores, value, mask=None):
    if mask is None:
        mask = np.ones_like(scores, dtype=bool)
    mean = np.where(mask, scores, 0).sum(axis=-1, keepdims=True) / mask.sum(axis=-1, keepdims=True)
    exponentials = np.exp(np.where(mask, scores - mean, -np.inf))
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return np.einsum("bs,bsd->bd", weights, value), weights
""",
    ),
    Mistake(
        name="masked scores 10 below the smallest",
        function="attend",
        cell="attend_values",
        means="A masked score was put a little below the smallest score. Its weight is small then, but not exactly 0.",
        hint="Which score gives a weight of exactly 0?",
        section="ch1-padding",
        edits=[
            (
                "np.where(mask, scores, -np.inf)",
                "np.where(mask, scores, scores.min(axis=-1, keepdims=True) - 10)",
            )
        ],
    ),
    Mistake(
        name="everything squeezed out of the context",
        function="attend",
        cell="attend_edges",
        means="A bare `squeeze` has dropped an axis that should stay: with one example, or values of width 1, the shape is wrong.",
        hint="Which axis do you want to drop? Name it.",
        section="ch1-three-steps",
        edits=[('np.einsum("bs,bsd->bd", weights, value)', "np.squeeze(weights[:, None] @ value)")],
    ),
    Mistake(
        name="weights returned without the mask",
        function="attend",
        cell="attend_values",
        means="The context is right. The weights that are returned are those before the mask.",
        hint="Are the weights that you return the ones that made the context?",
        section="ch1-mistake-padding",
        source="""
def attend(scores, value, mask=None):
    def softmax(x):
        exponentials = np.exp(x - x.max(axis=-1, keepdims=True))
        return exponentials / exponentials.sum(axis=-1, keepdims=True)

    weights = softmax(scores)
    masked = scores if mask is None else np.where(mask, scores, -np.inf)
    return np.einsum("bs,bsd->bd", softmax(masked), value), weights
""",
    ),
    Mistake(
        name="values set to 0 in place of the weights",
        function="attend",
        cell="attend_values",
        means="The mask reached the values only. Padding adds nothing to the context, but it still takes its share of the weights.",
        hint="What do the weights of the real positions sum to?",
        section="ch1-mistake-padding",
        source="""
def attend(scores, value, mask=None):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    if mask is not None:
        value = value * mask[:, :, None]
    return np.einsum("bs,bsd->bd", weights, value), weights
""",
    ),
    Mistake(
        name="context summed over the batch",
        function="attend",
        cell="attend_values",
        means="The sum of the context runs over the examples. It should run over the positions of one example.",
        hint="In your `einsum` or sum, which letter or axis is summed away?",
        section="ch1-mistake-axis",
        edits=[('"bs,bsd->bd"', '"bs,bsd->sd"')],
    ),
    # AdditiveAttention --------------------------------------------------------------------------
    Mistake(
        name="layers with a bias",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="The linear layers have a bias, which the task leaves out.",
        hint="Which argument of nn.Linear decides whether it has a bias?",
        section="ch1-three-steps",
        edits=[
            (
                "self.w_q = nn.Linear(d_query, d_hidden, bias=False)",
                "self.w_q = nn.Linear(d_query, d_hidden)",
            ),
            (
                "self.w_k = nn.Linear(d_key, d_hidden, bias=False)",
                "self.w_k = nn.Linear(d_key, d_hidden)",
            ),
            ("self.v = nn.Linear(d_hidden, 1, bias=False)", "self.v = nn.Linear(d_hidden, 1)"),
        ],
    ),
    Mistake(
        name="module without tanh",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="These are the weights without the tanh. The query then adds the same number to all "
        "scores of its example, so the softmax removes it: the weights don't depend on the query.",
        hint="What stands between the sum of the two projections and v in the formula?",
        section="ch1-mistake-tanh",
        edits=[
            (
                "torch.tanh(self.w_q(query).unsqueeze(1) + self.w_k(key))",
                "self.w_q(query).unsqueeze(1) + self.w_k(key)",
            )
        ],
    ),
    Mistake(
        name="module applies tanh after v",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="Here v has reduced the hidden layer to one number before the tanh.",
        hint="On how many numbers per position does the tanh work: one, or A of them?",
        section="ch1-three-steps",
        edits=[
            (
                "torch.tanh(self.w_q(query).unsqueeze(1) + self.w_k(key))",
                "self.w_q(query).unsqueeze(1) + self.w_k(key)",
            ),
            ("self.v(hidden)", "torch.tanh(self.v(hidden))"),
        ],
    ),
    Mistake(
        name="module scores without the keys",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="The scores come from the query alone, so all positions that may be attended to have the "
        "same weight. The decoder sees an average of the source and no layer of the attention learns.",
        hint="If you permute the keys of one example, what should happen to its weights?",
        section="ch1-mistake-decoder-only",
        edits=[("+ self.w_k(key))", "+ 0 * self.w_k(key))")],
    ),
    Mistake(
        name="module's softmax over the batch",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="These are the weights when the softmax runs over the examples of the batch (dim 0) "
        "instead of over the source positions.",
        hint="One example distributes a total weight of 1. Along which dimension do its weights lie?",
        section="ch1-mistake-axis",
        edits=[("torch.softmax(scores, dim=-1)", "torch.softmax(scores, dim=0)")],
    ),
    Mistake(
        name="module ignores the mask",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="These are the weights without the mask: padding receives attention.",
        hint="Is the mask used when it is given? If you call `masked_fill`, where does its result go?",
        section="ch1-mistake-padding",
        edits=[
            ('scores.masked_fill(~mask, float("-inf"))', "scores"),
        ],
    ),
    Mistake(
        name="module's mask inverted",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="These weights lie on exactly the positions that may not be attended to.",
        hint="masked_fill fills where its mask is True. What does True mean in this course?",
        section="ch1-padding",
        edits=[("masked_fill(~mask,", "masked_fill(mask,"), ('float("-inf")', "-1e9")],
    ),
    Mistake(
        name="module masks after the softmax",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="Here the mask sets weights to 0 after the softmax. The weights that are left sum to "
        "less than 1, because padding took its share of the sum.",
        hint="What do the weights of an example with padding sum to?",
        section="ch1-mistake-padding",
        edits=[
            ('            scores = scores.masked_fill(~mask, float("-inf"))\n', ""),
            ("        if mask is not None:\n", ""),
            (
                "weights = torch.softmax(scores, dim=-1)\n",
                "weights = torch.softmax(scores, dim=-1)\n"
                "        weights = weights if mask is None else weights * mask\n",
            ),
        ],
    ),
    Mistake(
        name="module sets masked scores to 0",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="Here a masked score is 0, or nearly 0 as with -1e-9, when it enters the softmax. But "
        "exp(0) is 1, so the position keeps a weight.",
        hint="Which score would give a weight of 0?",
        section="ch1-padding",
        edits=[('float("-inf")', "0.0")],
    ),
    Mistake(
        name="module sets masked scores to -10",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="Here a masked score is -10, and padding keeps a small weight.",
        hint="Which fill is below every score that can occur?",
        section="ch1-padding",
        edits=[('float("-inf")', "-10.0")],
    ),
    Mistake(
        name="projected keys as values",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="This context is a weighted sum of the projected keys, of width A. The values are to be "
        "the keys themselves.",
        hint="Which width should the context have?",
        section="ch1-names",
        edits=[
            (
                'torch.einsum("bs,bsd->bd", weights, key)',
                'torch.einsum("bs,bsd->bd", weights, self.w_k(key))',
            )
        ],
    ),
    Mistake(
        name="module averages the keys",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="This context is the plain average of the keys: the weights have no influence on it.",
        hint="Where do your weights enter the context?",
        section="ch1-three-steps",
        edits=[('torch.einsum("bs,bsd->bd", weights, key)', "key.mean(dim=1)")],
    ),
    Mistake(
        name="squeeze without a dimension",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="With one example in the batch, its axis has disappeared as well: `squeeze()` drops every "
        "axis of length 1.",
        hint="Which argument tells squeeze the one axis that you mean?",
        section="ch1-three-steps",
        edits=[
            ("self.v(hidden).squeeze(-1)", "self.v(hidden).squeeze()"),
            (
                'torch.einsum("bs,bsd->bd", weights, key)',
                "(weights.unsqueeze(-1) * key).sum(dim=1)",
            ),
        ],
    ),
    Mistake(
        name="module returns the weights first",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="The two results come in the opposite order: first the weights, then the context.",
        hint="In which order does the docstring name the results?",
        section="ch1-three-steps",
        edits=[("return context, weights", "return weights, context")],
    ),
    Mistake(
        name="v with a bias",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="The layer `v` has a bias, which the task leaves out. The softmax would remove it anyway.",
        hint="Which argument of nn.Linear decides whether it has a bias?",
        section="ch1-three-steps",
        edits=[("self.v = nn.Linear(d_hidden, 1, bias=False)", "self.v = nn.Linear(d_hidden, 1)")],
    ),
    Mistake(
        name="module's query without a source axis",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="The projected query (B, A) and the projected keys (B, S, A) were added as they are. Torch lines shapes up from the right and tries to match B with S.",
        hint="Where does the query need an axis of length 1, so that it is repeated for each position?",
        section="ch1-three-steps",
        edits=[("self.w_q(query).unsqueeze(1)", "self.w_q(query)")],
    ),
    Mistake(
        name="module projects the query with w_k",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="The query went through `w_k` and the keys through `w_q`.",
        hint="Which of the two layers takes inputs of width Dq?",
        section="ch1-three-steps",
        edits=[("self.w_q(query)", "self.w_k(query)"), ("self.w_k(key)", "self.w_q(key)")],
    ),
    Mistake(
        name="widths of query and key exchanged in the module",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="`w_q` was made for vectors as wide as keys, and `w_k` for vectors as wide as queries.",
        hint="Which of the two layers takes inputs of width Dq?",
        section="ch1-three-steps",
        edits=[
            ("self.w_q = nn.Linear(d_query,", "self.w_q = nn.Linear(d_key,"),
            ("self.w_k = nn.Linear(d_key,", "self.w_k = nn.Linear(d_query,"),
        ],
    ),
    Mistake(
        name="module with ReLU in place of tanh",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="The hidden layer is cut off at 0 here. A tanh lets negative values pass.",
        hint="Which function does the formula name?",
        section="ch1-three-steps",
        edits=[
            (
                "torch.tanh(self.w_q(query).unsqueeze(1) + self.w_k(key))",
                "torch.relu(self.w_q(query).unsqueeze(1) + self.w_k(key))",
            )
        ],
    ),
    Mistake(
        name="module divides by a square root",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="These scores are divided by the square root of the hidden width. That belongs to scaled dot-product attention, which comes in chapter 2.",
        hint="Is there a division in the formula of additive attention?",
        section="ch1-three-steps",
        edits=[
            ("self.v(hidden).squeeze(-1)", "self.v(hidden).squeeze(-1) / hidden.shape[-1] ** 0.5")
        ],
    ),
    Mistake(
        name="softmax along an axis of length 1",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="Here every weight is 1. The softmax ran over the axis of length 1 that `v` leaves behind.",
        hint="Which shape do the scores have when the softmax sees them?",
        section="ch1-mistake-axis",
        source="""
class AdditiveAttention(nn.Module):
    def __init__(self, d_query, d_key, d_hidden):
        super().__init__()
        self.w_q = nn.Linear(d_query, d_hidden, bias=False)
        self.w_k = nn.Linear(d_key, d_hidden, bias=False)
        self.v = nn.Linear(d_hidden, 1, bias=False)

    def forward(self, query, key, mask=None):
        scores = self.v(torch.tanh(self.w_q(query).unsqueeze(1) + self.w_k(key)))
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(-1), -1e9)
        weights = torch.softmax(scores, dim=-1)
        return (weights * key).sum(dim=1), weights.squeeze(-1)
""",
    ),
    Mistake(
        name="module's context keeps an axis of length 1",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="The context has the shape (B, 1, Dk): the matrix product needs an axis for the weights, and the result still has it.",
        hint="Which axis of your context has length 1, whatever the inputs are?",
        section="ch1-three-steps",
        edits=[
            ('torch.einsum("bs,bsd->bd", weights, key)', "torch.bmm(weights.unsqueeze(1), key)")
        ],
    ),
    Mistake(
        name="keys of the first call kept",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="The module remembers the projected keys of its first call and uses them again, although the keys have changed.",
        hint="What does your module keep in `self` during `forward`?",
        section="ch1-three-steps",
        edits=[
            (
                "        hidden = torch.tanh",
                '        if not hasattr(self, "projected"):\n            self.projected = self.w_k(key)\n        hidden = torch.tanh',
            ),
            ("+ self.w_k(key))", "+ self.projected)"),
        ],
    ),
    Mistake(
        name="weights detached",
        function="AdditiveAttention",
        cell="additive_attention_gradients",
        means="The values are right, but no gradient flows through the weights, so w_q, w_k and v "
        "never learn.",
        hint="Which of `detach`, `no_grad`, `.data` or `.numpy()` stands on the way from the scores to "
        "the results?",
        section="ch1-three-steps",
        edits=[("torch.softmax(scores, dim=-1)", "torch.softmax(scores, dim=-1).detach()")],
    ),
    Mistake(
        name="weights detached in the context",
        function="AdditiveAttention",
        cell="additive_attention_gradients",
        means="The weights carry a gradient, the context has none through them. A model that uses the context never "
        "learns where to look.",
        hint="Is what you multiply the keys with still connected to the scores?",
        section="ch1-three-steps",
        edits=[("weights, key)  # (B, Dk)", "weights.data, key)  # (B, Dk)")],
    ),
    Mistake(
        name="values detached",
        function="AdditiveAttention",
        cell="additive_attention_gradients",
        means="The values are right, but the keys receive no gradient through the context, only "
        "through the scores. The encoder would learn little.",
        hint="Through which two ways do the keys influence the context?",
        section="ch1-names",
        edits=[
            (
                'torch.einsum("bs,bsd->bd", weights, key)',
                'torch.einsum("bs,bsd->bd", weights, key.detach())',
            )
        ],
    ),
    Mistake(
        name="no gradient at all",
        function="AdditiveAttention",
        cell="additive_attention_gradients",
        means="The values are right, but they carry no history: nothing that stands before them can learn.",
        hint="Which of `no_grad`, `detach`, `.data` or `.numpy()` stands in your `forward`?",
        section="ch1-three-steps",
        edits=[
            (
                "        hidden = torch.tanh",
                "        query, key = query.detach(), key.detach()\n        hidden = torch.tanh",
            ),
            (
                "        return context, weights",
                "        return context.detach(), weights.detach()",
            ),
        ],
    ),
    Mistake(
        name="module without a maximum",
        function="AdditiveAttention",
        cell="additive_attention_gradients",
        means="The softmax is written out with bare exponentials. The exponential of a large score is infinite, and infinity divided by infinity is NaN.",
        hint="What does `torch.softmax` do before it takes exponentials?",
        section="ch1-softmax",
        edits=[
            (
                "weights = torch.softmax(scores, dim=-1)",
                "weights = scores.exp() / scores.exp().sum(dim=-1, keepdim=True)",
            )
        ],
    ),
    Mistake(
        name="module's maximum over masked scores as well",
        function="AdditiveAttention",
        cell="additive_attention_gradients",
        means="The exponentials were multiplied by the mask after the maximum of all scores was subtracted. Where a masked score is far larger, nothing is left.",
        hint="Which scores should take part in the maximum?",
        section="ch1-softmax",
        source="""
class AdditiveAttention(nn.Module):
    def __init__(self, d_query, d_key, d_hidden):
        super().__init__()
        self.w_q = nn.Linear(d_query, d_hidden, bias=False)
        self.w_k = nn.Linear(d_key, d_hidden, bias=False)
        self.v = nn.Linear(d_hidden, 1, bias=False)

    def forward(self, query, key, mask=None):
        scores = self.v(torch.tanh(self.w_q(query).unsqueeze(1) + self.w_k(key))).squeeze(-1)
        weights = torch.softmax(scores, dim=-1)
        if mask is not None:
            weights = weights * mask
            weights = weights / weights.sum(dim=-1, keepdim=True)
        return torch.einsum("bs,bsd->bd", weights, key), weights
""",
    ),
    Mistake(
        name="module's fill of -100",
        function="AdditiveAttention",
        cell="additive_attention_gradients",
        means="Here a masked score is some negative number such as -100. Where the real scores lie below it, padding gets all the weight.",
        hint="Which fill is below every score that can occur?",
        section="ch1-padding",
        edits=[('float("-inf")', "-100.0")],
    ),
    Mistake(
        name="padding set to 0 in the caller's keys",
        function="AdditiveAttention",
        cell="additive_attention_gradients",
        means="The keys that were passed in have changed: those of the padding are 0 now.",
        hint="Does your line make a new tensor or write into the old one?",
        section="ch1-padding",
        edits=[
            (
                '            scores = scores.masked_fill(~mask, float("-inf"))',
                '            scores = scores.masked_fill(~mask, float("-inf"))\n            key.data[~mask] = 0',
            )
        ],
    ),
    Mistake(
        name="mask added as a float64 tensor",
        function="AdditiveAttention",
        cell="additive_attention_gradients",
        means="With a mask, the scores become float64, and float32 keys don't fit them any more.",
        hint="Which data type does the tensor have that you make from the mask?",
        section="ch1-padding",
        edits=[
            (
                'scores.masked_fill(~mask, float("-inf"))',
                "scores + torch.zeros(mask.shape, dtype=torch.float64).masked_fill(~mask, -1e9)",
            )
        ],
    ),
    Mistake(
        name="query projected without gradient",
        function="AdditiveAttention",
        cell="additive_attention_gradients",
        means="The values are right, but `w_q` learns nothing: its product was made without history.",
        hint="Which of `no_grad`, `detach` or `.data` stands where the query is projected?",
        section="ch1-three-steps",
        edits=[("self.w_q(query).unsqueeze(1)", "self.w_q(query).detach().unsqueeze(1)")],
    ),
    Mistake(
        name="keys projected without gradient",
        function="AdditiveAttention",
        cell="additive_attention_gradients",
        means="The values are right, but `w_k` learns nothing: its product was made without history.",
        hint="Which of `no_grad`, `detach` or `.data` stands where the keys are projected?",
        section="ch1-three-steps",
        edits=[("+ self.w_k(key))", "+ self.w_k(key).detach())")],
    ),
    Mistake(
        name="module returns the scores",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="The second result holds the scores. The weights are asked for.",
        hint="Which of your two tensors sums to 1 in each row?",
        section="ch1-three-steps",
        edits=[("return context, weights", "return context, scores")],
    ),
    Mistake(
        name="module scores without the query",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="The scores come from the keys alone. Whatever the query is, the weights are the same.",
        hint="Does your sum inside the tanh hold both projections?",
        section="ch1-three-steps",
        edits=[
            (
                "torch.tanh(self.w_q(query).unsqueeze(1) + self.w_k(key))",
                "torch.tanh(0 * self.w_q(query).unsqueeze(1) + self.w_k(key))",
            )
        ],
    ),
    Mistake(
        name="module's context summed over the batch",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="The sum of the context runs over the examples. It should run over the positions of one example.",
        hint="Which axis do you sum over when you make the context?",
        section="ch1-mistake-axis",
        edits=[('"bs,bsd->bd"', '"bs,bsd->sd"')],
    ),
    Mistake(
        name="mask of the first call kept",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="The module keeps the mask of its first call and uses it again, whatever mask it is given.",
        hint="What does your module keep in `self` during `forward`?",
        section="ch1-padding",
        edits=[
            (
                "        hidden = torch.tanh",
                '        if not hasattr(self, "mask") and mask is not None:\n            self.mask = mask\n        hidden = torch.tanh',
            ),
            (
                "        if mask is not None:\n            scores",
                '        mask = getattr(self, "mask", None)\n        if mask is not None and mask.shape == scores.shape:\n            scores',
            ),
        ],
    ),
    Mistake(
        name="mask of an earlier call kept",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="The module keeps a mask and uses it in later calls that have none.",
        hint="What should a call without a mask do with a mask that came before?",
        section="ch1-padding",
        edits=[
            (
                "        hidden = torch.tanh",
                "        if mask is not None:\n            self.mask = mask\n        hidden = torch.tanh",
            ),
            (
                "        if mask is not None:\n            scores",
                '        mask = getattr(self, "mask", None)\n        if mask is not None and mask.shape == scores.shape:\n            scores',
            ),
        ],
    ),
    # AttentionDecoderStep -----------------------------------------------------------------------
    Mistake(
        name="attention from the new state",
        function="AttentionDecoderStep",
        cell="decoder_step_values",
        means="You attend twice: with the previous state for the cell, then with the new state for the results. In Bahdanau's model the context that is returned is the one that went into the cell.",
        hint="Which state does the decoder have at the moment when it looks at the source?",
        section="ch1-previous-state",
        edits=[
            (
                "return new_state, context, weights",
                "context, weights = self.attention(new_state, key, mask)\n        return new_state, context, weights",
            )
        ],
    ),
    Mistake(
        name="attention after the cell",
        function="AttentionDecoderStep",
        cell="decoder_step_values",
        means="This is Luong's order: the cell runs first, on the embedding alone, and its new state is the query. It is another published design (Luong, Pham and Manning, 2015), not a slip. This task builds Bahdanau's.",
        hint="In Bahdanau's design, which state asks, and what goes into the cell beside the embedding?",
        section="ch1-previous-state",
        source="""
class AttentionDecoderStep(nn.Module):
    def __init__(self, d_embed, d_state, d_key, d_hidden):
        super().__init__()
        self.attention = AdditiveAttention(d_state, d_key, d_hidden)
        self.cell = nn.GRUCell(d_embed, d_state)

    def forward(self, embedded, state, key, mask=None):
        new_state = self.cell(embedded, state)
        context, weights = self.attention(new_state, key, mask)
        return new_state, context, weights
""",
    ),
    Mistake(
        name="context before the embedding",
        function="AttentionDecoderStep",
        cell="decoder_step_values",
        means="The cell's input is [context; embedded]. The widths add up, so nothing complains, but "
        "the weights meet the wrong numbers.",
        hint="In which order does the task join the two?",
        section="ch1-previous-state",
        edits=[
            ("torch.cat([embedded, context], dim=-1)", "torch.cat([context, embedded], dim=-1)")
        ],
    ),
    Mistake(
        name="mask not passed on",
        function="AttentionDecoderStep",
        cell="decoder_step_values",
        means="The step attends to padding: the mask it was given never reaches the attention.",
        hint="Which of your arguments does the call of self.attention not get?",
        section="ch1-mistake-padding",
        edits=[("self.attention(state, key, mask)", "self.attention(state, key)")],
    ),
    Mistake(
        name="context not used by the cell",
        function="AttentionDecoderStep",
        cell="decoder_step_values",
        means="The cell sees zeros where the context should be: it decodes without the source.",
        hint="What is joined to the embedding?",
        section="ch1-bottleneck",
        edits=[("[embedded, context]", "[embedded, torch.zeros_like(context)]")],
    ),
    Mistake(
        name="last key in place of the context",
        function="AttentionDecoderStep",
        cell="decoder_step_values",
        means="The cell sees the last key instead of the context. That is the decoder without "
        "attention, with its bottleneck.",
        hint="What should the new state depend on: one source position, or all of them by weight?",
        section="ch1-bottleneck",
        edits=[("[embedded, context]", "[embedded, key[:, -1]]")],
    ),
    Mistake(
        name="cell without the previous state",
        function="AttentionDecoderStep",
        cell="decoder_step_values",
        means="The cell started from a state of zeros: it has forgotten what it wrote before.",
        hint="How many arguments does a GRU cell take?",
        section="ch1-previous-state",
        edits=[("dim=-1), state)", "dim=-1))")],
    ),
    Mistake(
        name="previous state returned",
        function="AttentionDecoderStep",
        cell="decoder_step_values",
        means="The first result is the state that came in, not the one that the cell computed.",
        hint="Which of your two states is the result?",
        section="ch1-previous-state",
        edits=[("return new_state, context", "return state, context")],
    ),
    Mistake(
        name="previous state added to the new one",
        function="AttentionDecoderStep",
        cell="decoder_step_values",
        means="The result is the cell's output plus the previous state. A GRU mixes the two by itself.",
        hint="What does the GRU's update gate do?",
        section="ch1-previous-state",
        edits=[("return new_state, context", "return state + new_state, context")],
    ),
    Mistake(
        name="results in another order",
        function="AttentionDecoderStep",
        cell="decoder_step_values",
        means="The context comes first and the new state second.",
        hint="In which order does the docstring name the results?",
        section="ch1-decoder",
        edits=[("return new_state, context, weights", "return context, new_state, weights")],
    ),
    Mistake(
        name="cell without the embedding",
        function="AttentionDecoderStep",
        cell="decoder_step_values",
        means="The cell gets the context alone. It doesn't know which word was written last.",
        hint="Which two things does the task join for the cell?",
        section="ch1-decoder",
        edits=[
            ("nn.GRUCell(d_embed + d_key, d_state)", "nn.GRUCell(d_key, d_state)"),
            ("torch.cat([embedded, context], dim=-1)", "context"),
        ],
    ),
    Mistake(
        name="embedded word as the query",
        function="AttentionDecoderStep",
        cell="decoder_step_values",
        means="The attention was asked with the embedding of the previous word. The query is to be the previous state.",
        hint="What is the decoder looking for, and where is that stored?",
        section="ch1-previous-state",
        edits=[
            (
                "AdditiveAttention(d_state, d_key, d_hidden)",
                "AdditiveAttention(d_embed, d_key, d_hidden)",
            ),
            ("self.attention(state, key, mask)", "self.attention(embedded, key, mask)"),
        ],
    ),
    Mistake(
        name="state kept in the module",
        function="AttentionDecoderStep",
        cell="decoder_step_values",
        means="The step goes on from the state of its own last call and ignores the state that it is given.",
        hint="Where does your step read the previous state: from its argument or from `self`?",
        section="ch1-previous-state",
        edits=[
            (
                "        context, weights = self.attention(state, key, mask)\n",
                '        state = getattr(self, "last", state)\n        context, weights = self.attention(state, key, mask)\n',
            ),
            (
                "        return new_state, context",
                "        self.last = new_state\n        return new_state, context",
            ),
        ],
    ),
    Mistake(
        name="arguments of the cell exchanged",
        function="AttentionDecoderStep",
        cell="decoder_step_values",
        means="The cell got the state as its input and the input as its state.",
        hint="In which order does nn.GRUCell take the input and the state?",
        section="ch1-decoder",
        edits=[
            (
                "self.cell(torch.cat([embedded, context], dim=-1), state)",
                "self.cell(state, torch.cat([embedded, context], dim=-1))",
            )
        ],
    ),
    Mistake(
        name="joined along the batch",
        function="AttentionDecoderStep",
        cell="decoder_step_values",
        means="The embedding and the context were joined along the batch, one below the other. The cell needs them side by side.",
        hint="Which dimension grows when two vectors are joined into a longer one?",
        section="ch1-decoder",
        edits=[("[embedded, context], dim=-1", "[embedded, context], dim=0")],
    ),
    Mistake(
        name="step inverts the mask",
        function="AttentionDecoderStep",
        cell="decoder_step_values",
        means="The mask was inverted on its way to the attention, so the step attends to padding only.",
        hint="In this course, does True mean `may attend` or `ignore`?",
        section="ch1-padding",
        edits=[
            (
                "self.attention(state, key, mask)",
                "self.attention(state, key, None if mask is None else ~mask)",
            )
        ],
    ),
    Mistake(
        name="weights not returned",
        function="AttentionDecoderStep",
        cell="decoder_step_values",
        means="The step returns two results. The weights, which the chapter draws as an alignment, are missing.",
        hint="How many results does the docstring name?",
        section="ch1-decoder",
        edits=[("return new_state, context, weights", "return new_state, context")],
    ),
    Mistake(
        name="query detached",
        function="AttentionDecoderStep",
        cell="decoder_step_values",
        means="The values are right, but the previous state receives no gradient through the attention.",
        hint="Does your call of the attention see the state itself or a copy without its history?",
        section="ch1-previous-state",
        edits=[("self.attention(state, key, mask)", "self.attention(state.detach(), key, mask)")],
    ),
    Mistake(
        name="context detached",
        function="AttentionDecoderStep",
        cell="decoder_step_values",
        means="The values are right, but no gradient flows from the new state into the attention.",
        hint="Does the cell see the context itself or a copy without its history?",
        section="ch1-decoder",
        edits=[("[embedded, context]", "[embedded, context.detach()]")],
    ),
    Mistake(
        name="mask of an earlier step kept",
        function="AttentionDecoderStep",
        cell="decoder_step_values",
        means="The step keeps a mask and uses it in later steps that have none.",
        hint="What should a step without a mask do with a mask that came before?",
        section="ch1-padding",
        edits=[
            (
                "        context, weights = self.attention(state, key, mask)",
                '        if mask is not None:\n            self.mask = mask\n        mask = getattr(self, "mask", None)\n        if mask is not None and mask.shape != key.shape[:2]:\n            mask = None\n        context, weights = self.attention(state, key, mask)',
            )
        ],
    ),
    Mistake(
        name="cell before the attention, without a context",
        function="AttentionDecoderStep",
        cell="decoder_step_values",
        means="The cell runs first and gets zeros where the context belongs. Then the new state is the query.",
        hint="What does the task say comes first, the attention or the cell?",
        section="ch1-previous-state",
        source="""
class AttentionDecoderStep(nn.Module):
    def __init__(self, d_embed, d_state, d_key, d_hidden):
        super().__init__()
        self.attention = AdditiveAttention(d_state, d_key, d_hidden)
        self.cell = nn.GRUCell(d_embed + d_key, d_state)

    def forward(self, embedded, state, key, mask=None):
        zeros = torch.zeros_like(key[:, 0])
        new_state = self.cell(torch.cat([embedded, zeros], dim=-1), state)
        context, weights = self.attention(new_state, key, mask)
        return new_state, context, weights
""",
    ),
    Mistake(
        name="cell without a bias",
        function="AttentionDecoderStep",
        cell="decoder_step_values",
        means="The cell has no bias. The task leaves out the bias of the attention's layers only.",
        hint="What does nn.GRUCell do about a bias if you say nothing?",
        section="ch1-decoder",
        edits=[
            (
                "nn.GRUCell(d_embed + d_key, d_state)",
                "nn.GRUCell(d_embed + d_key, d_state, bias=False)",
            )
        ],
    ),
    Mistake(
        name="nn.RNNCell in place of nn.GRUCell",
        function="AttentionDecoderStep",
        cell="decoder_step_values",
        means="The cell is a plain recurrent cell, without the gates of a GRU.",
        hint="Which class does the task name for `cell`?",
        section="ch1-decoder",
        edits=[("nn.GRUCell(", "nn.RNNCell(")],
    ),
    Mistake(
        name="nn.GRU in place of nn.GRUCell",
        function="AttentionDecoderStep",
        cell="decoder_step_values",
        means="The cell is an nn.GRU, which reads whole sequences. Its parameters have other names than those of an nn.GRUCell.",
        hint="Which of PyTorch's layers takes one step?",
        section="ch1-decoder",
        source="""
class AttentionDecoderStep(nn.Module):
    def __init__(self, d_embed, d_state, d_key, d_hidden):
        super().__init__()
        self.attention = AdditiveAttention(d_state, d_key, d_hidden)
        self.cell = nn.GRU(d_embed + d_key, d_state, batch_first=True)

    def forward(self, embedded, state, key, mask=None):
        context, weights = self.attention(state, key, mask)
        x = torch.cat([embedded, context], dim=-1).unsqueeze(1)
        _, new_state = self.cell(x, state.unsqueeze(0).contiguous())
        return new_state.squeeze(0), context, weights
""",
    ),
]

ALTERNATIVES = [
    Alternative(
        name="loops over examples and positions",
        cost=(
            "It is the formula word by word, and the best thing to test other versions against. "
            "Python runs every step, so its time grows with batch, positions and hidden units "
            "alike."
        ),
        source="""
import math


def additive_scores(query, key, w_q, w_k, v):
    scores = np.empty(key.shape[:2])
    for b in range(key.shape[0]):
        for s in range(key.shape[1]):
            hidden = [math.tanh(w_q[a] @ query[b] + w_k[a] @ key[b, s]) for a in range(len(v))]
            scores[b, s] = sum(v[a] * hidden[a] for a in range(len(v)))
    return scores


def attend(scores, value, mask=None):
    context = np.zeros((value.shape[0], value.shape[2]))
    weights = np.zeros(scores.shape)
    for b in range(len(scores)):
        allowed = [s for s in range(scores.shape[1]) if mask is None or mask[b, s]]
        if not allowed:
            continue
        largest = max(scores[b, s] for s in allowed)
        total = sum(math.exp(scores[b, s] - largest) for s in allowed)
        for s in allowed:
            weights[b, s] = math.exp(scores[b, s] - largest) / total
            context[b] += weights[b, s] * value[b, s]
    return context, weights
""",
    ),
    Alternative(
        name="concatenated form W[s; h]",
        cost=(
            "One matrix product, as the paper writes it. The query is copied to every position, "
            "which takes memory for B · S copies and projects the same query S times."
        ),
        source="""
def additive_scores(query, key, w_q, w_k, v):
    joined = np.concatenate([np.repeat(query[:, None], key.shape[1], axis=1), key], axis=-1)
    return np.tanh(joined @ np.hstack([w_q, w_k]).T).dot(v)


class AdditiveAttention(nn.Module):
    def __init__(self, d_query, d_key, d_hidden):
        super().__init__()
        self.w_q = nn.Linear(d_query, d_hidden, bias=False)
        self.w_k = nn.Linear(d_key, d_hidden, bias=False)
        self.v = nn.Linear(d_hidden, 1, bias=False)

    def forward(self, query, key, mask=None):
        queries = query[:, None, :].expand(-1, key.shape[1], -1)
        w = torch.cat([self.w_q.weight, self.w_k.weight], dim=1)
        hidden = torch.tanh(nn.functional.linear(torch.cat([queries, key], dim=-1), w))
        scores = (hidden @ self.v.weight.T)[..., 0]
        if mask is None:
            mask = torch.ones_like(scores, dtype=torch.bool)
        weights = torch.where(mask, scores, -1e30).softmax(-1) * mask
        return (weights[..., None] * key).sum(1), weights
""",
    ),
    Alternative(
        name="einsum, minus infinity and nan_to_num",
        cost=(
            "The indices say which axes meet, so no axis is inserted by hand. A fully masked "
            "row becomes NaN on the way: the forward result is repaired, and a gradient through "
            "such a row would still be NaN."
        ),
        source="""
def additive_scores(query, key, w_q, w_k, v):
    q = np.einsum("bi,ai->ba", query, w_q)
    k = np.einsum("bsj,aj->bsa", key, w_k)
    return np.einsum("bsa,a->bs", np.tanh(q[:, np.newaxis, :] + k), v)


def attend(scores, value, mask=None):
    if mask is not None:
        scores = scores.copy()
        scores[~mask] = -np.inf
    with np.errstate(invalid="ignore"):
        e = np.exp(scores - np.max(scores, axis=1, keepdims=True))
        weights = np.nan_to_num(e / np.sum(e, axis=1, keepdims=True))
    return np.einsum("bs,bsv->bv", weights, value), weights


class AdditiveAttention(nn.Module):
    def __init__(self, d_query, d_key, d_hidden):
        super().__init__()
        self.v = nn.Linear(d_hidden, 1, bias=False)
        self.w_k = nn.Linear(d_key, d_hidden, bias=False)
        self.w_q = nn.Linear(d_query, d_hidden, bias=False)

    def forward(self, query, key, mask=None):
        q = torch.einsum("bi,ai->ba", query, self.w_q.weight)
        k = torch.einsum("bsj,aj->bsa", key, self.w_k.weight)
        scores = torch.einsum("bsa,a->bs", torch.tanh(q.unsqueeze(1) + k), self.v.weight[0])
        if mask is not None:
            scores = scores.masked_fill(mask.logical_not(), -torch.inf)
        weights = nn.functional.softmax(scores, dim=1).nan_to_num()
        return torch.einsum("bs,bsd->bd", weights, key), weights
""",
    ),
    Alternative(
        name="bmm, where(any) and an extra dropout",
        cost=(
            "Where nothing may be attended to, the row is replaced as a whole, which can be "
            "read off the code. The dropout does nothing in evaluation, and in training it "
            "makes the returned weights differ from those used."
        ),
        source="""
from torch.nn import functional as F


class AdditiveAttention(nn.Module):
    def __init__(self, d_query, d_key, d_hidden, dropout=0.2):
        super().__init__()
        self.w_k = nn.Linear(d_key, d_hidden, bias=False)
        self.w_q = nn.Linear(d_query, d_hidden, bias=False)
        self.v = nn.Linear(d_hidden, 1, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, mask=None):
        scores = self.v((self.w_k(key) + self.w_q(query[:, None])).tanh()).flatten(1)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        weights = F.softmax(scores, -1)
        if mask is not None:
            weights = torch.where(mask.any(-1, keepdim=True), weights, torch.zeros_like(weights))
        return torch.bmm(self.dropout(weights)[:, None], key)[:, 0], weights


class AttentionDecoderStep(nn.Module):
    def __init__(self, d_embed, d_state, d_key, d_hidden):
        super().__init__()
        self.cell = nn.GRUCell(input_size=d_embed + d_key, hidden_size=d_state)
        self.attention = AdditiveAttention(d_query=d_state, d_key=d_key, d_hidden=d_hidden)

    def forward(self, embedded, state, key, mask=None):
        context, weights = self.attention(query=state, key=key, mask=mask)
        return self.cell(torch.hstack((embedded, context)), state), context, weights
""",
    ),
    Alternative(
        name="multiply and renormalise",
        cost=(
            "No infinity and no NaN occurs anywhere, so gradients are safe, too. It has to find "
            "the largest allowed score by a trick, which takes a comment to understand."
        ),
        source="""
def attend(scores, value, mask=None):
    mask = np.ones_like(scores) if mask is None else mask.astype(float)
    low = scores.min()
    largest = ((scores - low) * mask).max(axis=-1, keepdims=True) + low
    e = mask * np.exp(np.minimum(scores - largest, 0.0))
    weights = e / np.maximum(e.sum(axis=-1, keepdims=True), np.finfo(float).tiny)
    return (weights[..., None] * value).sum(axis=-2), weights


class AdditiveAttention(nn.Module):
    def __init__(self, d_query, d_key, d_hidden):
        super().__init__()
        self.w_q, self.w_k, self.v = (
            nn.Linear(d_in, d_out, bias=False)
            for d_in, d_out in [(d_query, d_hidden), (d_key, d_hidden), (d_hidden, 1)]
        )

    def forward(self, query, key, mask=None):
        scores = self.v(torch.tanh(self.w_q(query).unsqueeze(-2) + self.w_k(key)))  # (B, S, 1)
        allowed = 1.0 if mask is None else mask[..., None].to(scores.dtype)
        low = scores.amin(dim=1, keepdim=True)
        largest = ((scores - low) * allowed).amax(dim=1, keepdim=True) + low
        e = allowed * torch.exp((scores - largest).clamp(max=0))
        weights = e / e.sum(dim=1, keepdim=True)
        return (weights.mT @ key).squeeze(1), weights.squeeze(-1)
""",
    ),
    Alternative(
        name="own linear layers, keys projected one at a time",
        cost=(
            "Nothing of PyTorch's layers is taken on trust. Keys are projected one after the "
            "other and rows one by one, so a GPU would wait for Python all the time."
        ),
        source="""
class Projection(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(d_out, d_in) / d_in**0.5)

    def forward(self, x):
        return x @ self.weight.T


class AdditiveAttention(nn.Module):
    def __init__(self, d_query, d_key, d_hidden):
        super().__init__()
        self.w_q = Projection(d_query, d_hidden)
        self.w_k = Projection(d_key, d_hidden)
        self.v = Projection(d_hidden, 1)

    def score(self, query, one_key):
        return self.v(torch.tanh(self.w_q(query) + self.w_k(one_key)))

    def forward(self, query, key, mask=None):
        scores = torch.cat([self.score(query, one_key) for one_key in key.unbind(1)], dim=1)
        if mask is None:
            mask = torch.ones(scores.shape, dtype=torch.bool)
        rows = []
        for row, allowed in zip(scores, mask):
            weights = torch.zeros_like(row)
            if allowed.any():
                weights[allowed] = row[allowed].softmax(0)
            rows.append(weights)
        weights = torch.stack(rows)
        context = sum(weights[:, s : s + 1] * key[:, s] for s in range(key.shape[1]))
        return context, weights
""",
    ),
    Alternative(
        name="log-sum-exp",
        cost=(
            "One subtraction takes the place of maximum and division, and it's stable. Fully "
            "masked rows have to be set to zero afterwards."
        ),
        source="""
def attend(scores, value, mask=None):
    masked = scores if mask is None else np.where(mask, scores, -1e30)
    weights = np.exp(masked - np.logaddexp.reduce(masked, axis=1, keepdims=True))
    if mask is not None:
        weights[~mask] = 0
    return np.matmul(weights[:, np.newaxis], value).squeeze(axis=1), weights


class AdditiveAttention(nn.Module):
    def __init__(self, d_query, d_key, d_hidden):
        super().__init__()
        layer = lambda d_in, d_out: nn.Linear(d_in, d_out, bias=False)
        self.add_module("w_q", layer(d_query, d_hidden))
        self.add_module("w_k", layer(d_key, d_hidden))
        self.add_module("v", layer(d_hidden, 1))

    def forward(self, query, key, mask=None):
        scores = self.v(torch.tanh(self.w_q(query)[:, None] + self.w_k(key)))[:, :, 0]
        if mask is not None:
            scores = scores + (~mask).to(scores.dtype) * -1e30
        weights = torch.exp(scores - torch.logsumexp(scores, dim=1, keepdim=True))
        weights = weights if mask is None else weights.masked_fill(~mask, 0.0)
        return torch.matmul(weights.unsqueeze(1), key).squeeze(1), weights
""",
    ),
    Alternative(
        name="the decoder's GRU written out",
        cost=(
            "It shows what the cell does with its gates, and that nothing is hidden in it. "
            "PyTorch's cell does the same in one call, and faster on a GPU."
        ),
        source="""
class AttentionDecoderStep(nn.Module):
    def __init__(self, d_embed, d_state, d_key, d_hidden):
        super().__init__()
        self.attention = AdditiveAttention(d_state, d_key, d_hidden)
        self.cell = nn.GRUCell(d_embed + d_key, d_state)

    def forward(self, embedded, state, key, mask=None):
        context, weights = self.attention(state, key, mask)
        inner = torch.cat((embedded, context), 1) @ self.cell.weight_ih.T + self.cell.bias_ih
        outer = state @ self.cell.weight_hh.T + self.cell.bias_hh
        (r_i, z_i, n_i), (r_o, z_o, n_o) = inner.chunk(3, dim=1), outer.chunk(3, dim=1)
        reset, update = torch.sigmoid(r_i + r_o), torch.sigmoid(z_i + z_o)
        candidate = torch.tanh(n_i + reset * n_o)
        return (1 - update) * candidate + update * state, context, weights
""",
    ),
]

# shown after a task is passed
DISCUSSIONS = [
    Discussion(
        "additive_scores",
        (
            Way(
                "Query and key joined to one vector, and the two matrices to one matrix.",
                "copies = np.broadcast_to(query[:, None], (*key.shape[:2], query.shape[-1]))\n"
                "joined = np.concatenate([copies, key], axis=-1)  # (B, S, Dq + Dk)\n"
                "hidden = np.tanh(joined @ np.concatenate([w_q, w_k], axis=1).T)",
                "Many papers write it like this. But each query is projected S times in place of "
                "once, and the joined array takes memory of its own.",
            ),
            Way(
                "One position after the other, with the query projected before the loop.",
                "for i in range(S):\n"
                "    scores[:, i] = np.tanh(projected_query + key[:, i] @ w_k.T) @ v",
                "It is the formula word by word, and no array of shape (B, S, A) is made. Python "
                "runs the loop, which takes long for a long source.",
            ),
        ),
    ),
    Discussion(
        "attend",
        (
            Way(
                "Through the logarithm of the sum, with minus infinity where there is padding.",
                "log_sum = np.logaddexp.reduce(scores, axis=-1, keepdims=True)\n"
                "weights = np.exp(scores - log_sum)",
                "You look for no maximum, because `logaddexp` does. It is many times slower than "
                "one `exp` over the array.",
            ),
            Way(
                "Example by example, with the real positions alone.",
                "for b in range(B):\n"
                "    kept = np.exp(scores[b, mask[b]] - scores[b, mask[b]].max())\n"
                "    weights[b, mask[b]] = kept / kept.sum()",
                "There is no minus infinity, and no number at a padded position is ever used. The "
                "loop runs in Python, one example at a time.",
            ),
        ),
    ),
    Discussion(
        "AdditiveAttention",
        (
            Way(
                "The context as a matrix product: one row of weights for each example.",
                "context = (weights.unsqueeze(1) @ key).squeeze(1)",
                "No letters to learn, as for `einsum`. But two axes come and go, and with `squeeze()` "
                "in place of `squeeze(1)` a batch of one example loses its first axis.",
            ),
            Way(
                "The keys projected once for a source, and not at every step of the decoder.",
                "projected_key = self.w_k(key)  # before the first step\n"
                "hidden = torch.tanh(self.w_q(query).unsqueeze(1) + projected_key)",
                "It saves a projection at every step; appendix A.1.2 of the paper says so, too. The "
                "module then needs a second method, or one argument more.",
            ),
        ),
    ),
    Discussion(
        "AttentionDecoderStep",
        (
            Way(
                "Two products and a sum, without joining the vectors.",
                "E = embedded.shape[-1]\n"
                "gates = embedded @ self.cell.weight_ih[:, :E].T + context @ self.cell.weight_ih[:, E:].T",
                "It shows what joining means: each part has its own columns of the matrix. "
                "`nn.GRUCell` takes the joined vector only, so you write the rest of the cell yourself.",
            ),
            Way(
                "With `nn.GRU`, as a sequence of length 1.",
                "joined = torch.cat([embedded, context], dim=-1)\n"
                "_, last = self.gru(joined.unsqueeze(0), state.unsqueeze(0))\n"
                "new_state = last.squeeze(0)",
                "The same layer can read a whole sequence in one call. Here that helps nobody: the "
                "context of a step needs the state of the step before.",
            ),
        ),
    ),
]
