"""Known mistakes and accepted alternatives of exercise 1."""

from autograder.catalogue import Alternative, Mistake

# the section of the book to read again, by grade cell
SECTIONS = {
    "additive_scores_values": "ch1-three-steps",
    "attend_values": "ch1-three-steps",
    "attend_edges": "ch1-padding",
    "additive_attention_values": "ch1-three-steps",
    "additive_attention_gradients": "ch1-padding",
    "decoder_step_values": "ch1-previous-state",
}

MISTAKES = [
    # additive_scores ----------------------------------------------------------------------------
    Mistake(
        name="no tanh",
        function="additive_scores",
        cell="additive_scores_values",
        means="These are the scores without the tanh. The query then adds the same number to all "
        "scores of its example, the softmax removes it, and the weights no longer depend on the query.",
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
        name="mask ignored",
        function="attend",
        cell="attend_values",
        means="These are the weights without the mask: padding receives attention.",
        hint="Is the mask used at all when it is given?",
        section="ch1-mistake-padding",
        edits=[("np.where(mask, scores,", "np.where(True, scores,"), (")) * mask", "))")],
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
    if mask is None:
        mask = np.zeros(scores.shape, dtype=bool)
    scores = np.where(mask, np.finfo(scores.dtype).min, scores)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True)) * ~mask
    total = exponentials.sum(axis=-1, keepdims=True)
    weights = exponentials / np.where(total == 0, 1, total)
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
        edits=[("np.finfo(scores.dtype).min", "0.0"), (")) * mask", "))")],
    ),
    Mistake(
        name="masked scores set to -10",
        function="attend",
        cell="attend_values",
        means="Here a masked score is -10. That is small only as long as the other scores are not "
        "small as well.",
        hint="What happens to an example whose real scores are all below -10?",
        section="ch1-padding",
        edits=[("np.finfo(scores.dtype).min", "-10.0"), (")) * mask", "))")],
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
        edits=[("exponentials / np.where(total == 0, 1, total)", "exponentials")],
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
                "weights = exponentials / np.where(total == 0, 1, total)",
                "weights = np.eye(scores.shape[1])[exponentials.argmax(axis=-1)] * (total > 0)",
            )
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
        name="nothing to attend to: equal weights",
        function="attend",
        cell="attend_edges",
        means="An example with nothing to attend to gets equal weights on all positions here, and so "
        "the average of its padding as context.",
        hint="If all scores of a row get the same fill, however negative, what does the softmax make "
        "of them?",
        section="ch1-padding",
        edits=[(")) * mask", "))")],
    ),
    Mistake(
        name="nothing to attend to: NaN",
        function="attend",
        cell="attend_edges",
        means="An example with nothing to attend to gives NaN here, from 0 divided by 0 or from "
        "infinity minus infinity.",
        hint="What is the sum of the exponentials in a row without a single True?",
        section="ch1-padding",
        edits=[
            ("np.finfo(scores.dtype).min", "-np.inf"),
            ("np.where(total == 0, 1, total)", "total"),
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
                "scores = np.where(mask, scores, np.finfo(scores.dtype).min)",
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
    if mask is None:
        mask = np.ones(scores.shape, dtype=bool)
    scores -= np.where(mask, scores, np.finfo(scores.dtype).min).max(axis=-1, keepdims=True)
    exponentials = np.exp(np.where(mask, scores, -np.inf))
    total = exponentials.sum(axis=-1, keepdims=True)
    weights = exponentials / np.where(total == 0, 1, total)
    return np.einsum("bs,bsd->bd", weights, value), weights
""",
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
            ("scores.masked_fill(~mask, torch.finfo(scores.dtype).min)", "scores"),
            ("weights * mask", "weights"),
        ],
    ),
    Mistake(
        name="module's mask inverted",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="These weights lie on exactly the positions that may not be attended to.",
        hint="masked_fill fills where its mask is True. What does True mean in this course?",
        section="ch1-padding",
        edits=[("masked_fill(~mask,", "masked_fill(mask,"), ("weights * mask", "weights * ~mask")],
    ),
    Mistake(
        name="module masks after the softmax",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="Here the mask sets weights to 0 after the softmax. The weights that are left sum to "
        "less than 1, because padding took its share of the sum.",
        hint="What do the weights of an example with padding sum to?",
        section="ch1-mistake-padding",
        edits=[("scores.masked_fill(~mask, torch.finfo(scores.dtype).min)", "scores")],
    ),
    Mistake(
        name="module sets masked scores to 0",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="Here a masked score is 0, or nearly 0 as with -1e-9, when it enters the softmax. But "
        "exp(0) is 1, so the position keeps a weight.",
        hint="Which score would give a weight of 0?",
        section="ch1-padding",
        edits=[("torch.finfo(scores.dtype).min", "0.0"), ("weights * mask", "weights")],
    ),
    Mistake(
        name="module sets masked scores to -10",
        function="AdditiveAttention",
        cell="additive_attention_values",
        means="Here a masked score is -10, and padding keeps a small weight.",
        hint="Which fill is below every score that can occur?",
        section="ch1-padding",
        edits=[("torch.finfo(scores.dtype).min", "-10.0"), ("weights * mask", "weights")],
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
        name="module with nothing to attend to: NaN",
        function="AdditiveAttention",
        cell="additive_attention_gradients",
        means="A row of minus infinity alone gives NaN in the softmax, and one NaN in a gradient spoils "
        "the weights of the whole model.",
        hint="What does your softmax see in a row without a single True, and what should come out?",
        section="ch1-padding",
        edits=[("torch.finfo(scores.dtype).min", "float('-inf')"), ("weights * mask", "weights")],
    ),
    Mistake(
        name="module with nothing to attend to: equal weights",
        function="AdditiveAttention",
        cell="additive_attention_gradients",
        means="An example with nothing to attend to gets equal weights on all positions here, and so "
        "the average of its padding as context.",
        hint="If all scores of a row get the same fill, however negative, what does the softmax make "
        "of them?",
        section="ch1-padding",
        edits=[("weights * mask", "weights")],
    ),
    Mistake(
        name="zeros forward, NaN backward",
        function="AdditiveAttention",
        cell="additive_attention_gradients",
        means="The weights of a row with nothing to attend to are mended after the softmax, so the "
        "values are right. But the gradient still passes through the NaN underneath.",
        hint="A repair after the softmax hides the NaN. Can you avoid that it arises?",
        section="ch1-padding",
        edits=[
            (
                "scores.masked_fill(~mask, torch.finfo(scores.dtype).min)",
                "scores + torch.where(mask, 0.0, float('-inf'))",
            ),
            ("weights * mask", "torch.nan_to_num(weights)"),
        ],
    ),
    # AttentionDecoderStep -----------------------------------------------------------------------
    Mistake(
        name="attention from the new state",
        function="AttentionDecoderStep",
        cell="decoder_step_values",
        means="The context and the weights that you return were computed again, from the new state. "
        "In Bahdanau's model they come from the previous state, and the new state uses them.",
        hint="Which state does the decoder have at the moment when it looks at the source?",
        section="ch1-previous-state",
        edits=[
            (
                "return new_state, context, weights",
                "context, weights = self.attention(new_state, key, mask)\n"
                "        return new_state, context, weights",
            )
        ],
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
]

ALTERNATIVES = [
    Alternative(
        name="loops over examples and positions",
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
        e = torch.exp(scores - scores.amax(dim=1, keepdim=True))
        if mask is not None:
            e = e * mask[..., None]
        weights = e / e.sum(dim=1, keepdim=True).clamp(min=1e-30)
        return (weights.mT @ key).squeeze(1), weights.squeeze(-1)
""",
    ),
    Alternative(
        name="own linear layers, keys projected one at a time",
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
