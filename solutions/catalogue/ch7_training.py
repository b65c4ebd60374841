"""Known mistakes and accepted alternatives of exercise 7."""

from autograder.catalogue import Alternative, Discussion, Mistake
from autograder.runtime.guide import Way

# the section of the book to read again, by grade cell
SECTIONS = {
    "smoothed_cross_entropy_values": "ch7-smoothing",
    "noam_rate_values": "ch7-warmup",
    "greedy_decode_values": "ch7-greedy",
    "beam_search_values": "ch7-beam",
    "beam_search_edges": "ch7-length-penalty",
    "cached_attention_values": "ch7-cache",
    "corpus_bleu_values": "ch7-bleu",
    "fit_values": "ch7-teacher-forcing",
}

SENTENCES_ALONE = """
def corpus_bleu(hypotheses, references, n=4):
    scores = []
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        precision = 1.0
        for k in range(1, n + 1):
            own, right = (
                Counter(zip(*(tokens[i:] for i in range(k)), strict=False))
                for tokens in (hypothesis, reference)
            )
            precision *= (own & right).total() / max(1, own.total())
        c, r = len(hypothesis), len(reference)
        brevity = min(1.0, math.exp(1 - r / c)) if c else 0.0
        scores.append(100 * brevity * precision ** (1 / n))
    return sum(scores) / len(scores)
"""

MISTAKES = [
    # smoothed_cross_entropy ---------------------------------------------------------------------
    Mistake(
        name="mean over the padding as well",
        function="smoothed_cross_entropy",
        cell="smoothed_cross_entropy_values",
        means="The losses of the real tokens are divided by the number of all positions. The same sentences get a "
        "smaller loss as soon as they share a batch with a long one.",
        hint="How many numbers did you add up, and by how many do you divide?",
        section="ch7-smoothing",
        edits=[("log_p.mean(dim=-1)).mean()", "log_p.mean(dim=-1)).sum() / targets.numel()")],
    ),
    Mistake(
        name="padding is learned as well",
        function="smoothed_cross_entropy",
        cell="smoothed_cross_entropy_values",
        means="Positions with padding count as tokens to be predicted.",
        hint="Which positions have a right answer at all?",
        section="ch7-smoothing",
        edits=[("real = targets != pad", "real = torch.ones_like(targets, dtype=torch.bool)")],
    ),
    Mistake(
        name="the share spread over the wrong tokens only",
        function="smoothed_cross_entropy",
        cell="smoothed_cross_entropy_values",
        means="The right token gets 1 - eps and each of the V - 1 others eps / (V - 1). This is a formula in use "
        "(Tensor2Tensor's), but not this one.",
        hint="Here every token gets the same part of eps. Does the right one get it, too?",
        section="ch7-smoothing",
        source="""
def smoothed_cross_entropy(logits, targets, smoothing, pad):
    real = targets != pad
    log_p = torch.log_softmax(logits[real], dim=-1)
    right = log_p.gather(-1, targets[real][:, None]).squeeze(-1)
    others = (log_p.sum(dim=-1) - right) / (log_p.shape[-1] - 1)
    return -((1 - smoothing) * right + smoothing * others).mean()
""",
    ),
    Mistake(
        name="nothing for pad, and eps / (V - 2) for the others",
        function="smoothed_cross_entropy",
        cell="smoothed_cross_entropy_values",
        means="The share is spread over all tokens but the right one and pad. This is a formula in use (The Annotated "
        "Transformer's), but not this one.",
        hint="Which tokens get a part of eps in the formula above, and how large is the part?",
        section="ch7-smoothing",
        source="""
def smoothed_cross_entropy(logits, targets, smoothing, pad):
    real = targets != pad
    log_p = torch.log_softmax(logits[real], dim=-1)
    right = log_p.gather(-1, targets[real][:, None]).squeeze(-1)
    others = (log_p.sum(dim=-1) - right - log_p[:, pad]) / (log_p.shape[-1] - 2)
    return -((1 - smoothing) * right + smoothing * others).mean()
""",
    ),
    Mistake(
        name="the logarithm of a softmax",
        function="smoothed_cross_entropy",
        cell="smoothed_cross_entropy_values",
        means="Where a probability is too small for a floating number its logarithm is minus infinity, and smoothing "
        "makes use of every token's.",
        hint="torch can compute the logarithm of a softmax in one go. Why would it?",
        section="ch7-smoothing",
        edits=[
            (
                "torch.log_softmax(logits[real], dim=-1)",
                "torch.softmax(logits[real], dim=-1).log()",
            )
        ],
    ),
    Mistake(
        name="sum in place of the mean",
        function="smoothed_cross_entropy",
        cell="smoothed_cross_entropy_values",
        means="The losses of all real tokens were added up, and not divided by their number.",
        hint="What is divided by what in a mean?",
        section="ch7-smoothing",
        edits=[("log_p.mean(dim=-1)).mean()", "log_p.mean(dim=-1)).sum()")],
    ),
    Mistake(
        name="divided by the number of sentences",
        function="smoothed_cross_entropy",
        cell="smoothed_cross_entropy_values",
        means="The sum over all tokens was divided by the number of sentences, not by that of the real tokens.",
        hint="Is it a mean over sentences or over tokens?",
        section="ch7-smoothing",
        edits=[("log_p.mean(dim=-1)).mean()", "log_p.mean(dim=-1)).sum() / len(targets)")],
    ),
    Mistake(
        name="mean of the sentences' means",
        function="smoothed_cross_entropy",
        cell="smoothed_cross_entropy_values",
        means="Each sentence got a mean of its own, and these were averaged. A token of a short sentence then counts more.",
        hint="Over what does the mean run: over tokens of the batch, or over sentences?",
        section="ch7-mistake-mean",
        source="""
def smoothed_cross_entropy(logits, targets, smoothing, pad):
    losses = []
    for row, target in zip(logits, targets, strict=True):
        real = target != pad
        log_p = torch.log_softmax(row[real], dim=-1)
        right = log_p.gather(-1, target[real][:, None]).squeeze(-1)
        losses.append(-((1 - smoothing) * right + smoothing * log_p.mean(dim=-1)).mean())
    return torch.stack(losses).mean()
""",
    ),
    Mistake(
        name="padding taken to be token 0 in the loss",
        function="smoothed_cross_entropy",
        cell="smoothed_cross_entropy_values",
        means="Targets that are 0 were left out, whatever `pad` is.",
        hint="Which argument says what padding is?",
        section="ch7-smoothing",
        edits=[("real = targets != pad", "real = (targets != 0) & (targets >= 0)")],
    ),
    Mistake(
        name="the right token without its part of epsilon",
        function="smoothed_cross_entropy",
        cell="smoothed_cross_entropy_values",
        means="The right token gets 1 - eps, and each other one eps / V. These shares do not add up to 1.",
        hint="The sum over v in the formula: does it leave out y?",
        section="ch7-smoothing",
        edits=[
            (
                "return -((1 - smoothing) * right + smoothing * log_p.mean(dim=-1)).mean()",
                "return -((1 - smoothing) * right + smoothing / log_p.shape[-1] * (log_p.sum(dim=-1) - right)).mean()",
            )
        ],
    ),
    Mistake(
        name="epsilon spread over all tokens but pad",
        function="smoothed_cross_entropy",
        cell="smoothed_cross_entropy_values",
        means="Each token but pad gets eps / (V - 1). The formula here gives pad its part, too.",
        hint="Which tokens does the sum over v run over?",
        section="ch7-smoothing",
        edits=[
            (
                "return -((1 - smoothing) * right + smoothing * log_p.mean(dim=-1)).mean()",
                "others = (log_p.sum(dim=-1) - log_p[:, pad]) / (log_p.shape[-1] - 1)\n    return -((1 - smoothing) * right + smoothing * others).mean()",
            )
        ],
    ),
    Mistake(
        name="divergence in place of the cross-entropy",
        function="smoothed_cross_entropy",
        cell="smoothed_cross_entropy_values",
        means="The entropy of the smoothed target was subtracted. This is the Kullback-Leibler divergence, whose gradient is the same.",
        hint="How small can the loss in the formula get? And yours?",
        section="ch7-smoothing",
        edits=[
            (
                "return -((1 - smoothing) * right + smoothing * log_p.mean(dim=-1)).mean()",
                "V = log_p.shape[-1]\n    wanted = torch.full_like(log_p, smoothing / V).scatter_(-1, targets[real][:, None], 1 - smoothing + smoothing / V)\n    return (torch.xlogy(wanted, wanted) - wanted * log_p).sum(dim=-1).mean()",
            )
        ],
    ),
    Mistake(
        name="no smoothing",
        function="smoothed_cross_entropy",
        cell="smoothed_cross_entropy_values",
        means="This is the plain cross-entropy. The argument `smoothing` has no effect.",
        hint="Where is epsilon in your code?",
        section="ch7-smoothing",
        edits=[
            (
                "return -((1 - smoothing) * right + smoothing * log_p.mean(dim=-1)).mean()",
                "return -right.mean()",
            )
        ],
    ),
    Mistake(
        name="the two shares exchanged",
        function="smoothed_cross_entropy",
        cell="smoothed_cross_entropy_values",
        means="The right token got the share eps, and the uniform part got 1 - eps.",
        hint="Which part should be the larger one when eps is 0.1?",
        section="ch7-smoothing",
        edits=[
            (
                "return -((1 - smoothing) * right + smoothing * log_p.mean(dim=-1)).mean()",
                "return -(smoothing * right + (1 - smoothing) * log_p.mean(dim=-1)).mean()",
            )
        ],
    ),
    Mistake(
        name="epsilon not divided by V",
        function="smoothed_cross_entropy",
        cell="smoothed_cross_entropy_values",
        means="Every token got the whole of eps.",
        hint="How many tokens share eps?",
        section="ch7-smoothing",
        edits=[
            (
                "return -((1 - smoothing) * right + smoothing * log_p.mean(dim=-1)).mean()",
                "return -((1 - smoothing) * right + smoothing * log_p.sum(dim=-1)).mean()",
            )
        ],
    ),
    Mistake(
        name="the minus forgotten",
        function="smoothed_cross_entropy",
        cell="smoothed_cross_entropy_values",
        means="The loss has the wrong sign, so training makes the right token less likely.",
        hint="Is the logarithm of a probability positive or negative?",
        section="ch7-smoothing",
        edits=[
            (
                "return -((1 - smoothing) * right + smoothing * log_p.mean(dim=-1)).mean()",
                "return ((1 - smoothing) * right + smoothing * log_p.mean(dim=-1)).mean()",
            )
        ],
    ),
    Mistake(
        name="softmax over the positions",
        function="smoothed_cross_entropy",
        cell="smoothed_cross_entropy_values",
        means="The softmax ran over the positions of a sentence, not over the vocabulary.",
        hint="Which numbers are to add up to 1? Along which axis do they lie?",
        section="ch7-smoothing",
        edits=[
            ("torch.log_softmax(logits[real], dim=-1)", "torch.log_softmax(logits, dim=1)[real]")
        ],
    ),
    Mistake(
        name="logits taken for logarithms of probabilities",
        function="smoothed_cross_entropy",
        cell="smoothed_cross_entropy_values",
        means="The softmax is missing.",
        hint="What turns logits into probabilities?",
        section="ch7-smoothing",
        edits=[("torch.log_softmax(logits[real], dim=-1)", "logits[real]")],
    ),
    Mistake(
        name="all of epsilon added to the right token",
        function="smoothed_cross_entropy",
        cell="smoothed_cross_entropy_values",
        means="The right token kept the share 1, and eps was added to it for the others. The shares do not add up to 1.",
        hint="What is left for the right token when the others get eps?",
        section="ch7-smoothing",
        edits=[
            (
                "return -((1 - smoothing) * right + smoothing * log_p.mean(dim=-1)).mean()",
                "return -(right + smoothing * log_p.mean(dim=-1)).mean()",
            )
        ],
    ),
    Mistake(
        name="the caller's targets changed",
        function="smoothed_cross_entropy",
        cell="smoothed_cross_entropy_values",
        means="The value is right, but padding in `targets` was overwritten. The caller still needs it.",
        hint="Whose tensor do you write to?",
        section="ch7-smoothing",
        edits=[("real = targets != pad", "real = targets != pad\n    targets[~real] = 0")],
    ),
    Mistake(
        name="without smoothing padding is forgotten",
        function="smoothed_cross_entropy",
        cell="smoothed_cross_entropy_values",
        means="For smoothing 0 a plain cross-entropy is computed, and there the padding counts as well.",
        hint="Which of your branches knows `pad`?",
        section="ch7-smoothing",
        source="""
def smoothed_cross_entropy(logits, targets, smoothing, pad):
    if smoothing == 0:
        return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
    real = targets != pad
    log_p = torch.log_softmax(logits[real], dim=-1)
    right = log_p.gather(-1, targets[real][:, None]).squeeze(-1)
    return -((1 - smoothing) * right + smoothing * log_p.mean(dim=-1)).mean()
""",
    ),
    Mistake(
        name="a small number added before the logarithm",
        function="smoothed_cross_entropy",
        cell="smoothed_cross_entropy_values",
        means="The probabilities were kept from becoming 0 before their logarithm, by a clamp or by a small number that is added. The loss of an unlikely token then ends at about 20.",
        hint="torch can compute the logarithm of a softmax in one go. Why would it?",
        section="ch7-smoothing",
        edits=[
            (
                "torch.log_softmax(logits[real], dim=-1)",
                "torch.softmax(logits[real], dim=-1).clamp(min=1e-9).log()",
            )
        ],
    ),
    Mistake(
        name="a loss for every token",
        function="smoothed_cross_entropy",
        cell="smoothed_cross_entropy_values",
        means="This is a loss for every real token. One number is asked for.",
        hint="Which shape does the docstring promise?",
        section="ch7-smoothing",
        edits=[("log_p.mean(dim=-1)).mean()", "log_p.mean(dim=-1))")],
    ),
    Mistake(
        name="padding looked up in the logits",
        function="smoothed_cross_entropy",
        cell="smoothed_cross_entropy_values",
        means="The padding's own number was looked up before padding was left out. With -100 there is no such token, and the lookup is an error.",
        hint="Which index could you look up at padded positions, since its value is not used?",
        section="ch7-smoothing",
        source="""
def smoothed_cross_entropy(logits, targets, smoothing, pad):
    real = targets != pad
    log_p = torch.log_softmax(logits, dim=-1)
    right = log_p.gather(-1, targets[..., None]).squeeze(-1)
    losses = -((1 - smoothing) * right + smoothing * log_p.mean(dim=-1))
    return losses[real].mean()
""",
    ),
    Mistake(
        name="padding clamped from below",
        function="smoothed_cross_entropy",
        cell="smoothed_cross_entropy_values",
        means="Padding was moved to token 0 by a clamp from below. That is enough for -100, but `pad` may also lie beyond the vocabulary.",
        hint="Which index do you look up where `pad` is larger than every token?",
        section="ch7-smoothing",
        source="""
def smoothed_cross_entropy(logits, targets, smoothing, pad):
    real = targets != pad
    log_p = torch.log_softmax(logits, dim=-1)
    right = log_p.gather(-1, targets.clamp(min=0)[..., None]).squeeze(-1)
    losses = -((1 - smoothing) * right + smoothing * log_p.mean(dim=-1))
    return losses[real].mean()
""",
    ),
    Mistake(
        name="pad 0 taken for none",
        function="smoothed_cross_entropy",
        cell="smoothed_cross_entropy_values",
        means="Where `pad` is 0 nothing was left out: `if pad` is False for 0.",
        hint="Is 0 true or false in an `if`, and is it a token?",
        section="ch7-smoothing",
        edits=[("real = targets != pad", "real = targets != (pad or -100)")],
    ),
    Mistake(
        name="no gradient to the smoothed logits",
        function="smoothed_cross_entropy",
        cell="smoothed_cross_entropy_values",
        means="The value is right, but no gradient reaches the logits: nothing could learn.",
        hint="Which of `detach`, `no_grad`, `.item()` or `.numpy()` stands in your code?",
        section="ch7-smoothing",
        edits=[
            (
                "torch.log_softmax(logits[real], dim=-1)",
                "torch.log_softmax(logits[real].detach(), dim=-1)",
            )
        ],
    ),
    # noam_rate ----------------------------------------------------------------------------------
    Mistake(
        name="the larger of the two branches",
        function="noam_rate",
        cell="noam_rate_values",
        means="The rate starts high, falls until the warm-up is over, and then rises for ever.",
        hint="Which branch should hold for a small step? Is it the smaller or the larger one there?",
        section="ch7-warmup",
        edits=[("min(step", "max(step")],
    ),
    Mistake(
        name="step 0 is let through",
        function="noam_rate",
        cell="noam_rate_values",
        means="Step 0 reaches the formula and divides by zero there.",
        hint="Loops count from 0, and this formula from 1. What should happen to a 0?",
        section="ch7-warmup",
        edits=[("if step < 1", "if step < 0")],
    ),
    Mistake(
        name="both exponents -1/2",
        function="noam_rate",
        cell="noam_rate_values",
        means="The branches don't meet at the end of the warm-up, and the rate during it is too large by a factor of "
        "warmup.",
        hint="At step = warmup both branches must have the same value. Put it in.",
        section="ch7-warmup",
        edits=[("warmup**-1.5", "warmup**-0.5")],
    ),
    Mistake(
        name="only the fall",
        function="noam_rate",
        cell="noam_rate_values",
        means="There is no warm-up: the rate falls from the first step on.",
        hint="Which of the two branches is the smaller one at step 1?",
        section="ch7-warmup",
        edits=[
            (
                "return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)",
                "return d_model**-0.5 * step**-0.5",
            )
        ],
    ),
    Mistake(
        name="only the rise",
        function="noam_rate",
        cell="noam_rate_values",
        means="The rate rises for ever.",
        hint="Which of the two branches is the smaller one after the warm-up?",
        section="ch7-warmup",
        edits=[
            (
                "return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)",
                "return d_model**-0.5 * step * warmup**-1.5",
            )
        ],
    ),
    Mistake(
        name="times the root of d_model",
        function="noam_rate",
        cell="noam_rate_values",
        means="A wider model got a larger rate. The exponent of d_model has lost its minus.",
        hint="What is the sign of the exponent of d_model?",
        section="ch7-warmup",
        edits=[("d_model**-0.5", "d_model**0.5")],
    ),
    Mistake(
        name="divided by d_model",
        function="noam_rate",
        cell="noam_rate_values",
        means="The rate was divided by d_model, not by its root.",
        hint="What is the exponent of d_model?",
        section="ch7-warmup",
        edits=[("d_model**-0.5", "d_model**-1")],
    ),
    Mistake(
        name="without d_model",
        function="noam_rate",
        cell="noam_rate_values",
        means="The width of the model has no effect.",
        hint="Which of the three arguments don't you use?",
        section="ch7-warmup",
        edits=[("d_model**-0.5 * ", "")],
    ),
    Mistake(
        name="the warm-up with the exponent -1",
        function="noam_rate",
        cell="noam_rate_values",
        means="In the rise the exponent of warmup is -1.",
        hint="At step = warmup both branches must have the same value. Put it in.",
        section="ch7-warmup",
        edits=[("warmup**-1.5", "warmup**-1")],
    ),
    Mistake(
        name="the fall begins one step early",
        function="noam_rate",
        cell="noam_rate_values",
        means="The rate falls already at the step before `warmup`.",
        hint="What is the rate at step = warmup - 1?",
        section="ch7-warmup",
        edits=[
            (
                "return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)",
                "if step < warmup - 1:\n        return d_model**-0.5 * step * warmup**-1.5\n    return d_model**-0.5 * step**-0.5",
            )
        ],
    ),
    Mistake(
        name="steps below 1 taken for step 1",
        function="noam_rate",
        cell="noam_rate_values",
        means="No ValueError comes, but a rate.",
        hint="What does the text ask for below step 1?",
        section="ch7-warmup",
        edits=[('raise ValueError(f"step={step}: steps count from 1")', "step = 1")],
    ),
    Mistake(
        name="step 1 refused",
        function="noam_rate",
        cell="noam_rate_values",
        means="Step 1 raises a ValueError as well.",
        hint="Is 1 below 1?",
        section="ch7-warmup",
        edits=[("if step < 1", "if step <= 1")],
    ),
    Mistake(
        name="another exception",
        function="noam_rate",
        cell="noam_rate_values",
        means="The wrong steps raise an AssertionError.",
        hint="Which class of exception does the text name?",
        section="ch7-warmup",
        edits=[
            ('raise ValueError(f"step={step}: steps count from 1")', "raise AssertionError(step)")
        ],
    ),
    Mistake(
        name="steps counted from 0",
        function="noam_rate",
        cell="noam_rate_values",
        means="The formula was given step + 1.",
        hint="Which number does the first step have here?",
        section="ch7-warmup",
        edits=[
            (
                "return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)",
                "step = step + 1\n    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)",
            )
        ],
    ),
    Mistake(
        name="no ValueError for negative steps",
        function="noam_rate",
        cell="noam_rate_values",
        means="Only step 0 is refused.",
        hint="What should happen at step -3?",
        section="ch7-warmup",
        edits=[("if step < 1", "if step == 0")],
    ),
    Mistake(
        name="falls with the step",
        function="noam_rate",
        cell="noam_rate_values",
        means="After the warm-up the rate falls with the step itself. It should fall with the root of the step.",
        hint="Which exponent has `step` in the branch that falls?",
        section="ch7-warmup",
        edits=[("step**-0.5", "step**-1")],
    ),
    Mistake(
        name="rises with the root of the step",
        function="noam_rate",
        cell="noam_rate_values",
        means="During the warm-up the rate rises with the root of the step. It should rise in proportion to the step.",
        hint="How much larger is the rate at step 2 than at step 1?",
        section="ch7-warmup",
        edits=[("step * warmup**-1.5", "step**0.5 * warmup**-1.5")],
    ),
    Mistake(
        name="the rate stays at its highest",
        function="noam_rate",
        cell="noam_rate_values",
        means="After the warm-up the rate no longer changes.",
        hint="What becomes of the rate behind its highest point?",
        section="ch7-warmup",
        edits=[("min(step**-0.5, step * warmup**-1.5)", "min(warmup**-0.5, step * warmup**-1.5)")],
    ),
    # greedy_decode ------------------------------------------------------------------------------
    Mistake(
        name="tokens after EOS",
        function="greedy_decode",
        cell="greedy_decode_values",
        means="A row that has ended goes on with what the model says after EOS, which nobody has taught it.",
        hint="The others in the batch are still being written. What should a row that has ended get meanwhile?",
        section="ch7-greedy",
        edits=[(".masked_fill(ended, pad)", "")],
    ),
    Mistake(
        name="stops when the first row has ended",
        function="greedy_decode",
        cell="greedy_decode_values",
        means="One short sentence cuts off the whole batch.",
        hint="When is a batch finished: when one row is, or when they all are?",
        section="ch7-greedy",
        edits=[("ended.all()", "ended.any()")],
    ),
    Mistake(
        name="BOS counted in max_len",
        function="greedy_decode",
        cell="greedy_decode_values",
        means="A sentence that needs all of max_len is one token too short.",
        hint="With max_len=1, how many tokens should come out, and how many does your prefix hold then?",
        section="ch7-greedy",
        edits=[("prefix.shape[1] <= max_len", "prefix.shape[1] < max_len")],
    ),
    Mistake(
        name="BOS in the result",
        function="greedy_decode",
        cell="greedy_decode_values",
        means="The result begins with BOS.",
        hint="Is BOS something that the model has written?",
        section="ch7-greedy",
        edits=[("return prefix[:, 1:]", "return prefix")],
    ),
    Mistake(
        name="EOS replaced by pad",
        function="greedy_decode",
        cell="greedy_decode_values",
        means="EOS is missing from the rows: pad stands in its place.",
        hint="Up to which token does a row go?",
        section="ch7-greedy",
        edits=[
            ("return prefix[:, 1:]", "return prefix[:, 1:].masked_fill(prefix[:, 1:] == eos, pad)")
        ],
    ),
    Mistake(
        name="waits for EOS in all rows at once",
        function="greedy_decode",
        cell="greedy_decode_values",
        means="It stops only when all rows say EOS in the same step. It does not remember which rows have ended before.",
        hint="A row has ended in step 3. How do you know that in step 5?",
        section="ch7-greedy",
        edits=[("ended = ended | (token == eos)", "ended = token == eos")],
    ),
    Mistake(
        name="only the newest token handed over",
        function="greedy_decode",
        cell="greedy_decode_values",
        means="step_fn got the last token, not the whole prefix.",
        hint="What does step_fn take?",
        section="ch7-greedy",
        edits=[("step_fn(prefix)", "step_fn(prefix[:, -1:])")],
    ),
    Mistake(
        name="always max_len tokens",
        function="greedy_decode",
        cell="greedy_decode_values",
        means="The loop does not stop when all rows have ended, so that the result is too wide. Perhaps it looks for EOS in the newest tokens only.",
        hint="How wide is the result when the longest row has 3 tokens?",
        section="ch7-greedy",
        edits=[(" and not ended.all()", "")],
    ),
    Mistake(
        name="filled up with EOS",
        function="greedy_decode",
        cell="greedy_decode_values",
        means="Rows that have ended are filled with EOS.",
        hint="What stands behind EOS?",
        section="ch7-greedy",
        edits=[(".masked_fill(ended, pad)", ".masked_fill(ended, eos)")],
    ),
    Mistake(
        name="filled up with 0",
        function="greedy_decode",
        cell="greedy_decode_values",
        means="Rows that have ended are filled with 0, whatever `pad` is.",
        hint="Which argument says what padding is?",
        section="ch7-greedy",
        edits=[(".masked_fill(ended, pad)", ".masked_fill(ended, 0)")],
    ),
    Mistake(
        name="one token too many",
        function="greedy_decode",
        cell="greedy_decode_values",
        means="A sentence without EOS has max_len + 1 tokens.",
        hint="With max_len=1, how many tokens should come out?",
        section="ch7-greedy",
        edits=[("prefix.shape[1] <= max_len", "prefix.shape[1] <= max_len + 1")],
    ),
    Mistake(
        name="the least likely token",
        function="greedy_decode",
        cell="greedy_decode_values",
        means="In each step the token with the smallest probability was taken.",
        hint="Is a likely token one with a large or with a small logarithm?",
        section="ch7-greedy",
        edits=[(".argmax(dim=-1)", ".argmin(dim=-1)")],
    ),
    Mistake(
        name="BOS never taken",
        function="greedy_decode",
        cell="greedy_decode_values",
        means="BOS was excluded from the tokens to choose from. The text does not ask for that.",
        hint="May the model write any token of the vocabulary here?",
        section="ch7-greedy",
        edits=[
            (
                "token = step_fn(prefix).argmax(dim=-1)",
                "scores = step_fn(prefix)\n        scores[:, bos] = -math.inf\n        token = scores.argmax(dim=-1)",
            )
        ],
    ),
    Mistake(
        name="pad taken for an end",
        function="greedy_decode",
        cell="greedy_decode_values",
        means="A row that says the token `pad` before EOS was taken to have ended. Only EOS ends a row.",
        hint="Which token ends a sentence, and may the model say `pad`?",
        section="ch7-greedy",
        edits=[("ended | (token == eos)", "ended | (token == eos) | (token == pad)")],
    ),
    Mistake(
        name="pad never taken",
        function="greedy_decode",
        cell="greedy_decode_values",
        means="The model is not allowed to say `pad`. The most likely token counts, whichever it is.",
        hint="Is any token of the vocabulary forbidden in the task?",
        section="ch7-greedy",
        edits=[
            (
                "step_fn(prefix).argmax(dim=-1)",
                "step_fn(prefix).index_fill(1, torch.tensor([pad]), -torch.inf).argmax(dim=-1)",
            )
        ],
    ),
    Mistake(
        name="EOS never taken",
        function="greedy_decode",
        cell="greedy_decode_values",
        means="The model is not allowed to say EOS, so no row ever ends.",
        hint="What should end a row?",
        section="ch7-greedy",
        edits=[
            (
                "step_fn(prefix).argmax(dim=-1)",
                "step_fn(prefix).index_fill(1, torch.tensor([eos]), -torch.inf).argmax(dim=-1)",
            )
        ],
    ),
    Mistake(
        name="the token of the first sentence for all",
        function="greedy_decode",
        cell="greedy_decode_values",
        means="Every row got the token that is most likely for the first sentence. The sentences of a batch differ.",
        hint="Along which axis do you look for the most likely token, and for how many rows?",
        section="ch7-greedy",
        edits=[
            ("step_fn(prefix).argmax(dim=-1)", "step_fn(prefix)[:1].argmax(dim=-1).expand(batch)")
        ],
    ),
    Mistake(
        name="the last token of each sentence cut off",
        function="greedy_decode",
        cell="greedy_decode_values",
        means="The last column is missing: what was decoded last is not returned.",
        hint="How many tokens does the longest row of your result have, and which is its last?",
        section="ch7-greedy",
        edits=[("return prefix[:, 1:]", "return prefix[:, 1:-1]")],
    ),
    Mistake(
        name="BOS in the result, and EOS cut off",
        function="greedy_decode",
        cell="greedy_decode_values",
        means="The result begins with BOS and lacks its last token: the prefix was returned before the newest token was joined to it.",
        hint="Which column should come first, and which last?",
        section="ch7-greedy",
        edits=[("return prefix[:, 1:]", "return prefix[:, :-1]")],
    ),
    # beam_search --------------------------------------------------------------------------------
    Mistake(
        name="sentences compared without the length penalty",
        function="beam_search",
        cell="beam_search_edges",
        means="The score is the plain log-probability. Since each token costs something, short sentences win.",
        hint="Where does alpha come in?",
        section="ch7-beam",
        edits=[("scores = log_p / ((5 + length) / 6) ** alpha", "scores = log_p")],
    ),
    Mistake(
        name="every prefix continued by its best token only",
        function="beam_search",
        cell="beam_search_values",
        means="The first tokens differ, and from there on each prefix is decoded greedily by itself. No prefix can have "
        "two continuations.",
        hint="The continuations of all prefixes compete for the places. Could two of them come from the same prefix?",
        section="ch7-beam",
        edits=[
            (
                "log_p, places = totals.topk(min(beam, len(totals)))",
                """if length == 1:
            log_p, places = totals.topk(min(beam, len(totals)))
        else:
            log_p, best_tokens = totals.view(step.shape).max(dim=-1)
            places = torch.arange(len(step)) * step.shape[-1] + best_tokens""",
            )
        ],
    ),
    Mistake(
        name="only the newest token counts",
        function="beam_search",
        cell="beam_search_values",
        means="Continuations are compared by the log-probability of their last token, not of the whole sentence.",
        hint="What has a prefix cost so far, and where is that kept?",
        section="ch7-beam",
        edits=[("(log_p[:, None] + step).flatten()", "step.flatten()")],
    ),
    Mistake(
        name="token joined to another prefix",
        function="beam_search",
        cell="beam_search_values",
        means="The best continuations are joined to the prefixes in the order of these, not each to the prefix that it "
        "continues.",
        hint="A place in the flattened totals stands for a prefix and a token. Use both.",
        section="ch7-beam",
        edits=[("prefixes[parents]", "prefixes[torch.arange(len(parents)) % len(prefixes)]")],
    ),
    Mistake(
        name="the first that is finished wins",
        function="beam_search",
        cell="beam_search_values",
        means="The sentence that is finished first is returned, though another one, finished later, may have a better score.",
        hint="How do you choose among the finished sentences, and when can no better one come any more?",
        section="ch7-beam",
        edits=[("if not len(prefixes)", "if finished.any()")],
    ),
    Mistake(
        name="unfinished sentences thrown away",
        function="beam_search",
        cell="beam_search_edges",
        means="What is still open at max_len does not take part. Where nothing has ended there is no result at all.",
        hint="What should a search return if the model never says EOS?",
        section="ch7-beam",
        edits=[("(tokens == eos) | (length == max_len)", "tokens == eos")],
    ),
    Mistake(
        name="divided by the length to the power alpha",
        function="beam_search",
        cell="beam_search_values",
        means="The penalty is L to the power alpha. This is a formula in use, but not this one.",
        hint="What is the penalty of a sentence of one token in the formula above?",
        section="ch7-length-penalty",
        edits=[("scores = log_p / ((5 + length) / 6) ** alpha", "scores = log_p / length**alpha")],
    ),
    Mistake(
        name="divided by the length",
        function="beam_search",
        cell="beam_search_values",
        means="The score is the mean over the tokens. alpha has no effect.",
        hint="Where does alpha come in?",
        section="ch7-length-penalty",
        edits=[("scores = log_p / ((5 + length) / 6) ** alpha", "scores = log_p / length")],
    ),
    Mistake(
        name="BOS counted in the length",
        function="beam_search",
        cell="beam_search_values",
        means="L is too large by one in the penalty.",
        hint="Which of the special tokens count in L?",
        section="ch7-length-penalty",
        edits=[
            (
                "scores = log_p / ((5 + length) / 6) ** alpha",
                "scores = log_p / ((5 + length + 1) / 6) ** alpha",
            )
        ],
    ),
    Mistake(
        name="EOS not counted in the length",
        function="beam_search",
        cell="beam_search_values",
        means="L is too small by one for sentences that end in EOS.",
        hint="Which of the special tokens count in L?",
        section="ch7-length-penalty",
        edits=[
            (
                "scores = log_p / ((5 + length) / 6) ** alpha",
                "scores = log_p / ((5 + length - (tokens == eos).double()) / 6) ** alpha",
            )
        ],
    ),
    Mistake(
        name="multiplied by the penalty",
        function="beam_search",
        cell="beam_search_values",
        means="The score was multiplied by the penalty, so long sentences have become worse still.",
        hint="A logarithm of a probability is negative. What makes it larger: times 2 or divided by 2?",
        section="ch7-length-penalty",
        edits=[
            (
                "scores = log_p / ((5 + length) / 6) ** alpha",
                "scores = log_p * ((5 + length) / 6) ** alpha",
            )
        ],
    ),
    Mistake(
        name="the log-probability returned",
        function="beam_search",
        cell="beam_search_edges",
        means="The right sentence was found, but its ln p was returned and not its score.",
        hint="Which of the two numbers is the score?",
        section="ch7-length-penalty",
        edits=[
            (
                "best, best_score = ids, score",
                "best, best_score, plain = ids, score, score * ((5 + length) / 6) ** alpha",
            ),
            ("return best[1:], best_score", "return best[1:], plain"),
        ],
    ),
    Mistake(
        name="the score as a tensor",
        function="beam_search",
        cell="beam_search_values",
        means="The score is a tensor. The text asks for a float.",
        hint="How do you get a Python number from a tensor?",
        section="ch7-beam",
        edits=[("return best[1:], best_score", "return best[1:], torch.tensor(best_score)")],
    ),
    Mistake(
        name="BOS in the sentence",
        function="beam_search",
        cell="beam_search_values",
        means="The ids begin with BOS.",
        hint="Is BOS something that the model has written?",
        section="ch7-beam",
        edits=[("return best[1:], best_score", "return best, best_score")],
    ),
    Mistake(
        name="EOS cut off",
        function="beam_search",
        cell="beam_search_values",
        means="The ids end before EOS.",
        hint="Does a sentence that has ended hold its EOS?",
        section="ch7-beam",
        edits=[("return best[1:], best_score", "return best[1:][best[1:] != eos], best_score")],
    ),
    Mistake(
        name="beam refilled",
        function="beam_search",
        cell="beam_search_values",
        means="Finished sentences gave up their places: the search went on until `beam` of the kept continuations were open.",
        hint="How many continuations are kept in a round, finished and open together?",
        section="ch7-beam",
        edits=[
            (
                "log_p, places = totals.topk(min(beam, len(totals)))",
                "order = totals.argsort(descending=True)\n        kept = int(((order % step.shape[-1] != eos).cumsum(0) <= beam).sum()) if length < max_len else beam\n        places = order[:kept]\n        log_p = totals[places]",
            )
        ],
    ),
    Mistake(
        name="beam gets narrower for good",
        function="beam_search",
        cell="beam_search_edges",
        means="For each finished sentence, one place was lost in all later rounds.",
        hint="How many continuations does the next round keep?",
        section="ch7-beam",
        edits=[
            ("if not len(prefixes)", "beam -= int(finished.sum())\n        if not len(prefixes)")
        ],
    ),
    Mistake(
        name="starts with copies of BOS",
        function="beam_search",
        cell="beam_search_values",
        means="The search began with `beam` times the same prefix, so that the first round keeps copies of one continuation.",
        hint="How many different prefixes are there before the first token?",
        section="ch7-beam",
        edits=[
            (
                "torch.full((1, 1), bos), torch.zeros(1)",
                "torch.full((beam, 1), bos), torch.zeros(beam)",
            )
        ],
    ),
    Mistake(
        name="unfinished ones only if nothing has finished",
        function="beam_search",
        cell="beam_search_edges",
        means="What is open at max_len takes part only where no sentence has ended.",
        hint="Which sentences compete at the end?",
        section="ch7-beam",
        edits=[
            (
                "finished = (tokens == eos) | (length == max_len)",
                "finished = (tokens == eos) | ((length == max_len) & (best_score == -math.inf))",
            )
        ],
    ),
    Mistake(
        name="finished ones continued",
        function="beam_search",
        cell="beam_search_edges",
        means="Sentences that have ended were continued as well.",
        hint="What may follow EOS?",
        section="ch7-beam",
        edits=[
            (
                "prefixes, log_p = prefixes[~finished], log_p[~finished]",
                "prefixes, log_p = prefixes, log_p",
            )
        ],
    ),
    Mistake(
        name="the worst finished sentence",
        function="beam_search",
        cell="beam_search_values",
        means="The smallest score won.",
        hint="Which of -2 and -3 is the better score?",
        section="ch7-beam",
        edits=[
            (
                "best, best_score = prefixes[0], -math.inf",
                "best, best_score = prefixes[0], math.inf",
            ),
            ("if score > best_score", "if score < best_score"),
        ],
    ),
    Mistake(
        name="the last finished sentence",
        function="beam_search",
        cell="beam_search_values",
        means="What was finished last won, whatever its score.",
        hint="When does a later sentence replace the best one so far?",
        section="ch7-beam",
        edits=[("if score > best_score", "if True")],
    ),
    Mistake(
        name="stops with as many finished as the beam",
        function="beam_search",
        cell="beam_search_edges",
        means="The search ended as soon as `beam` sentences were finished.",
        hint="When does the search end, by rule 4?",
        section="ch7-beam",
        edits=[
            (
                "best, best_score = prefixes[0], -math.inf",
                "best, best_score, done = prefixes[0], -math.inf, 0",
            ),
            (
                "if not len(prefixes)",
                "done += int(finished.sum())\n        if done >= beam or not len(prefixes)",
            ),
        ],
    ),
    Mistake(
        name="probabilities added",
        function="beam_search",
        cell="beam_search_values",
        means="The probabilities of the tokens were added in place of their logarithms.",
        hint="The probability of a sentence is a product. What becomes of it under the logarithm?",
        section="ch7-beam",
        edits=[("(log_p[:, None] + step).flatten()", "(log_p[:, None] + step.exp()).flatten()")],
    ),
    Mistake(
        name="a round too few",
        function="beam_search",
        cell="beam_search_edges",
        means="The search ends at max_len - 1 tokens.",
        hint="Which values does the length take in your loop?",
        section="ch7-beam",
        edits=[
            ("range(1, max_len + 1)", "range(1, max(2, max_len))"),
            ("(length == max_len)", "(length == max(1, max_len - 1))"),
        ],
    ),
    Mistake(
        name="alpha as a factor",
        function="beam_search",
        cell="beam_search_values",
        means="The penalty was multiplied by alpha. Alpha is its exponent.",
        hint="Where does alpha stand in the formula?",
        section="ch7-length-penalty",
        edits=[("((5 + length) / 6) ** alpha", "((5 + length) / 6 * alpha)")],
    ),
    Mistake(
        name="alpha left out",
        function="beam_search",
        cell="beam_search_values",
        means="The score was divided by the penalty itself, without the exponent alpha.",
        hint="What should the score be for alpha 0?",
        section="ch7-length-penalty",
        edits=[("((5 + length) / 6) ** alpha", "((5 + length) / 6)")],
    ),
    Mistake(
        name="only 5 in the penalty's fraction",
        function="beam_search",
        cell="beam_search_values",
        means="The penalty is (5 + L) / 5. The formula divides by 6, so that a sentence of one token has the penalty 1.",
        hint="What is the penalty of a sentence with a single token?",
        section="ch7-length-penalty",
        edits=[("(5 + length) / 6", "(5 + length) / 5")],
    ),
    Mistake(
        name="the length penalty without the five",
        function="beam_search",
        cell="beam_search_values",
        means="The penalty is L / 6. The formula has 5 + L.",
        hint="What is the penalty of a sentence with a single token?",
        section="ch7-length-penalty",
        edits=[("(5 + length) / 6", "length / 6")],
    ),
    # cached_attention ---------------------------------------------------------------------------
    Mistake(
        name="the newest in front",
        function="cached_attention",
        cell="cached_attention_values",
        means="The new key and value stand before the old ones. The output is right, since attention does not know the "
        "order, but the cache is not in the order of the positions.",
        hint="Which position does the last entry of the cache belong to?",
        section="ch7-cache",
        edits=[
            ('[cache["key"], key]', '[key, cache["key"]]'),
            ('[cache["value"], value]', '[value, cache["value"]]'),
        ],
    ),
    Mistake(
        name="the cache that came in is changed",
        function="cached_attention",
        cell="cached_attention_values",
        means="The dictionary of the caller is written to. A second continuation from the same prefix then finds "
        "the first one's token in it.",
        hint="Whose dictionary do you write to?",
        section="ch7-cache",
        source="""
def cached_attention(mha, x, cache=None):
    query, key, value = (
        split_heads(project(x), mha.n_heads) for project in (mha.w_q, mha.w_k, mha.w_v)
    )
    if cache is None:
        cache = {"key": key, "value": value}
    else:
        cache["key"] = torch.cat([cache["key"], key], dim=2)
        cache["value"] = torch.cat([cache["value"], value], dim=2)
    output, _ = mha.attention(query, cache["key"], cache["value"], None)
    return mha.w_o(merge_heads(output)), cache
""",
    ),
    Mistake(
        name="a causal mask aligned to the top left",
        function="cached_attention",
        cell="cached_attention_values",
        means="The only query is taken for the first position, so it sees the oldest key and nothing else.",
        hint="The query is the newest position. Which keys are in its future?",
        section="ch7-cache",
        edits=[
            (
                "(query, key, value, None)",
                "(query, key, value, torch.ones(1, key.shape[2], dtype=torch.bool).tril())",
            )
        ],
    ),
    Mistake(
        name="the new position is not in the cache",
        function="cached_attention",
        cell="cached_attention_values",
        means="The output is right, but the cache that comes back is the old one, so that the next step forgets this "
        "position.",
        hint="What will the next step need that this one has computed?",
        section="ch7-cache",
        edits=[('{"key": key, "value": value}', 'cache or {"key": key, "value": value}')],
    ),
    Mistake(
        name="key and value exchanged in the cache",
        function="cached_attention",
        cell="cached_attention_values",
        means='The new cache has the values under "key" and the keys under "value".',
        hint="What stands behind which name in the dictionary that you return?",
        section="ch7-cache",
        edits=[('{"key": key, "value": value}', '{"key": value, "value": key}')],
    ),
    Mistake(
        name="only the newest position attended to",
        function="cached_attention",
        cell="cached_attention_values",
        means="The query saw the newest key alone. The cache was not read.",
        hint="Which keys go into the attention?",
        section="ch7-mistake-cache",
        edits=[
            (
                "mha.attention(query, key, value, None)",
                "mha.attention(query, key[:, :, -1:], value[:, :, -1:], None)",
            )
        ],
    ),
    Mistake(
        name="only the newest position in the cache",
        function="cached_attention",
        cell="cached_attention_values",
        means="The cache that comes back holds the new position alone, so that the next step has forgotten the earlier ones.",
        hint="How many positions should the new cache hold?",
        section="ch7-mistake-cache",
        edits=[
            ('{"key": key, "value": value}', '{"key": key[:, :, -1:], "value": value[:, :, -1:]}')
        ],
    ),
    Mistake(
        name="the notebook's attention",
        function="cached_attention",
        cell="cached_attention_values",
        means="The function `attention` was called, and not that of the layer.",
        hint="Which attention does `mha` have?",
        section="ch7-cache",
        edits=[("mha.attention(query", "attention(query")],
    ),
    Mistake(
        name="attention called without a mask",
        function="cached_attention",
        cell="cached_attention_values",
        means="The layer's attention was called with three arguments.",
        hint="How many arguments is it to be called with? What may the fourth be?",
        section="ch7-cache",
        edits=[("mha.attention(query, key, value, None)", "mha.attention(query, key, value)")],
    ),
    Mistake(
        name="no w_o",
        function="cached_attention",
        cell="cached_attention_values",
        means="The heads were joined and returned. The last projection is missing.",
        hint="Which four projections does the layer have?",
        section="ch7-cache",
        edits=[
            (
                'return mha.w_o(merge_heads(output)), {"key": key, "value": value}',
                'return merge_heads(output), {"key": key, "value": value}',
            )
        ],
    ),
    Mistake(
        name="cache joined along the heads",
        function="cached_attention",
        cell="cached_attention_values",
        means="The new key was joined to the cache as one more head.",
        hint="The cache has the shape (B, H, t, d). Which of these grows?",
        section="ch7-cache",
        edits=[
            ('torch.cat([cache["key"], key], dim=2)', 'torch.cat([cache["key"], key], dim=1)'),
            (
                'torch.cat([cache["value"], value], dim=2)',
                'torch.cat([cache["value"], value], dim=1)',
            ),
        ],
    ),
    Mistake(
        name="the keys used as values",
        function="cached_attention",
        cell="cached_attention_values",
        means="The output was made of keys.",
        hint="Which of the two is averaged with the weights?",
        section="ch7-cache",
        edits=[("mha.attention(query, key, value, None)", "mha.attention(query, key, key, None)")],
    ),
    Mistake(
        name="the old keys in front of the new value",
        function="cached_attention",
        cell="cached_attention_values",
        means="The value of the cache was made from the cached keys.",
        hint="Which entry of the cache belongs to the values?",
        section="ch7-cache",
        edits=[
            ('torch.cat([cache["value"], value], dim=2)', 'torch.cat([cache["key"], value], dim=2)')
        ],
    ),
    Mistake(
        name="query and key exchanged",
        function="cached_attention",
        cell="cached_attention_values",
        means="w_k made the query, and w_q made the key.",
        hint="Which projection belongs to the question, and which to the cache?",
        section="ch7-cache",
        edits=[("(mha.w_q, mha.w_k, mha.w_v)", "(mha.w_k, mha.w_q, mha.w_v)")],
    ),
    Mistake(
        name="own position not seen",
        function="cached_attention",
        cell="cached_attention_values",
        means="The query sees what is in the cache that came in, but not its own position.",
        hint="May a position attend to itself, and do its key and value go into the attention?",
        section="ch7-mistake-cache",
        source="""
def cached_attention(mha, x, cache=None):
    query, key, value = (
        split_heads(project(x), mha.n_heads) for project in (mha.w_q, mha.w_k, mha.w_v)
    )
    new = {"key": key, "value": value}
    if cache is not None:
        new = {name: torch.cat([cache[name], new[name]], dim=2) for name in new}
    seen = new if cache is None else cache
    output, _ = mha.attention(query, seen["key"], seen["value"], None)
    return mha.w_o(merge_heads(output)), new
""",
    ),
    Mistake(
        name="the first position not seen",
        function="cached_attention",
        cell="cached_attention_values",
        means="The first position of the cache is left out of the attention.",
        hint="How many keys does the query see with three positions in the cache?",
        section="ch7-mistake-cache",
        edits=[
            (
                "mha.attention(query, key, value, None)",
                "mha.attention(query, key[:, :, -max(1, key.shape[2] - 1) :], value[:, :, -max(1, key.shape[2] - 1) :], None)",
            )
        ],
    ),
    Mistake(
        name="the layer put into evaluation mode",
        function="cached_attention",
        cell="cached_attention_values",
        means="The layer is in evaluation mode afterwards. No function here changes its arguments, and the layer is one of them.",
        hint="Who decides whether the layer is in training mode?",
        section="ch7-mistake-cache",
        edits=[("    # nothing in the cache", "    mha.eval()\n    # nothing in the cache")],
    ),
    Mistake(
        name="the layer's weights frozen",
        function="cached_attention",
        cell="cached_attention_values",
        means="The layer's weights no longer ask for a gradient. The caller may go on training it.",
        hint="Which of the layer's weights did your code change, and for how long?",
        section="ch7-mistake-cache",
        edits=[
            (
                "    # nothing in the cache",
                "    mha.requires_grad_(False)\n    # nothing in the cache",
            )
        ],
    ),
    Mistake(
        name="no w_q",
        function="cached_attention",
        cell="cached_attention_values",
        means="The query is x itself. It should have gone through w_q.",
        hint="Which of the four layers of `mha` does your code not call?",
        section="ch7-mistake-cache",
        edits=[
            (
                "for project in (mha.w_q, mha.w_k, mha.w_v)",
                "for project in (nn.Identity(), mha.w_k, mha.w_v)",
            )
        ],
    ),
    # corpus_bleu --------------------------------------------------------------------------------
    Mistake(
        name="matches are not clipped",
        function="corpus_bleu",
        cell="corpus_bleu_values",
        means="An n-gram counts as often as the hypothesis says it, so repeating a right word is rewarded.",
        hint='How much should "the the the the" get for a reference with one "the"?',
        section="ch7-bleu",
        edits=[
            ("(own & right).total()", "sum(m for gram, m in own.items() if gram in right)"),
        ],
    ),
    Mistake(
        name="mean of the sentences' scores",
        function="corpus_bleu",
        cell="corpus_bleu_values",
        means="Each sentence has got a BLEU of its own. A single sentence often has no 4-gram right and then counts 0.",
        hint="Which comes first here, the sum over sentences or the fraction?",
        section="ch7-bleu",
        source=SENTENCES_ALONE,
    ),
    Mistake(
        name="mean of the sentences' scores, from 0 to 1",
        function="corpus_bleu",
        cell="corpus_bleu_values",
        means="Each sentence has got a BLEU of its own, and the factor 100 is missing.",
        hint="Which comes first here, the sum over sentences or the fraction? And between which numbers does BLEU lie?",
        section="ch7-bleu",
        source=SENTENCES_ALONE.replace("100 * ", ""),
    ),
    Mistake(
        name="no brevity penalty",
        function="corpus_bleu",
        cell="corpus_bleu_values",
        means="Precision alone: whoever says only what is certain, and nothing else, wins.",
        hint="What would the score of one single, right n-gram be?",
        section="ch7-bleu",
        edits=[("min(1.0, math.exp(1 - r / c)) * ", "")],
    ),
    Mistake(
        name="precisions that are 0 left out",
        function="corpus_bleu",
        cell="corpus_bleu_values",
        means="Orders without a match are skipped and the mean is taken over the rest, as some code for single sentences does.",
        hint="What is a product in which one factor is 0?",
        section="ch7-bleu",
        source="""
def corpus_bleu(hypotheses, references, n=4):
    matches, counts = [0] * n, [0] * n
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        for k in range(1, n + 1):
            own, right = (
                Counter(zip(*(tokens[i:] for i in range(k)), strict=False))
                for tokens in (hypothesis, reference)
            )
            matches[k - 1] += (own & right).total()
            counts[k - 1] += own.total()
    kept = [m / count for m, count in zip(matches, counts, strict=True) if m]
    if not kept:
        return 0.0
    c, r = sum(map(len, hypotheses)), sum(map(len, references))
    return 100 * min(1.0, math.exp(1 - r / c)) * math.prod(kept) ** (1 / len(kept))
""",
    ),
    Mistake(
        name="a score from 0 to 1",
        function="corpus_bleu",
        cell="corpus_bleu_values",
        means="The factor 100 is missing.",
        hint="Between which numbers does the result lie?",
        section="ch7-bleu",
        edits=[("return 100 * ", "return ")],
    ),
    Mistake(
        name="brevity penalty upside down",
        function="corpus_bleu",
        cell="corpus_bleu_values",
        means="The exponent is 1 - c / r, so that short hypotheses are rewarded.",
        hint="Put in c = 1 and r = 2: is the factor below 1?",
        section="ch7-bleu",
        edits=[("1 - r / c", "1 - c / r"), ("min(1.0, ", "max(1.0, ")],
    ),
    Mistake(
        name="exponent of the penalty with the wrong sign",
        function="corpus_bleu",
        cell="corpus_bleu_values",
        means="The exponent is r / c - 1, which is above 0 for a short corpus: its score grows, even beyond 100.",
        hint="Put in c = 1 and r = 2: is the factor below 1?",
        section="ch7-bleu",
        edits=[("1 - r / c", "r / c - 1"), ("min(1.0, ", "max(1.0, ")],
    ),
    Mistake(
        name="brevity penalty above 1",
        function="corpus_bleu",
        cell="corpus_bleu_values",
        means="Hypotheses that are longer than the references got a factor above 1.",
        hint="What is BP when c is larger than r?",
        section="ch7-bleu",
        edits=[("min(1.0, math.exp(1 - r / c))", "math.exp(1 - r / c)")],
    ),
    Mistake(
        name="c / r as the penalty",
        function="corpus_bleu",
        cell="corpus_bleu_values",
        means="The penalty is the fraction itself, without the exponential function.",
        hint="Which function stands in the second case of BP?",
        section="ch7-bleu",
        edits=[("min(1.0, math.exp(1 - r / c))", "min(1.0, c / r)")],
    ),
    Mistake(
        name="c counted up to the reference's length",
        function="corpus_bleu",
        cell="corpus_bleu_values",
        means="In c, a hypothesis counts at most as many tokens as its reference. So a long one cannot make up for a short one.",
        hint="Is it c of the corpus that is compared with r, or sentence by sentence?",
        section="ch7-bleu",
        edits=[
            (
                "c, r = sum(map(len, hypotheses)), sum(map(len, references))",
                "c = sum(min(len(h), len(g)) for h, g in zip(hypotheses, references, strict=True))\n    r = sum(map(len, references))",
            )
        ],
    ),
    Mistake(
        name="clipped over the whole corpus",
        function="corpus_bleu",
        cell="corpus_bleu_values",
        means="The n-grams of all sentences were thrown together before they were compared.",
        hint="In which sentence must an n-gram occur in order to match?",
        section="ch7-bleu",
        source="""
def corpus_bleu(hypotheses, references, n=4):
    precision = 1.0
    for k in range(1, n + 1):
        own, right = (
            Counter(
                gram
                for tokens in corpus
                for gram in zip(*(tokens[i:] for i in range(k)), strict=False)
            )
            for corpus in (hypotheses, references)
        )
        if not own & right:
            return 0.0
        precision *= (own & right).total() / own.total()
    c, r = sum(map(len, hypotheses)), sum(map(len, references))
    return 100 * min(1.0, math.exp(1 - r / c)) * precision ** (1 / n)
""",
    ),
    Mistake(
        name="arithmetic mean",
        function="corpus_bleu",
        cell="corpus_bleu_values",
        means="The precisions were averaged by their sum.",
        hint="Does the formula have a sum or a product over k?",
        section="ch7-bleu",
        edits=[
            (
                "precision = math.prod(m / count for m, count in zip(matches, counts, strict=True))",
                "precision = sum(m / count for m, count in zip(matches, counts, strict=True)) / n",
            ),
            (" * precision ** (1 / n)", " * precision"),
        ],
    ),
    Mistake(
        name="one added to every count",
        function="corpus_bleu",
        cell="corpus_bleu_values",
        means="1 was added to matches and counts (smoothing).",
        hint="Does the text ask for smoothing?",
        section="ch7-bleu",
        edits=[("m / count for m", "(m + 1) / (count + 1) for m")],
    ),
    Mistake(
        name="product without the root",
        function="corpus_bleu",
        cell="corpus_bleu_values",
        means="The n-th root is missing.",
        hint="What stands behind the bracket of the product?",
        section="ch7-bleu",
        edits=[(" * precision ** (1 / n)", " * precision")],
    ),
    Mistake(
        name="always four orders",
        function="corpus_bleu",
        cell="corpus_bleu_values",
        means="The argument n has no effect: k runs from 1 to 4.",
        hint="Up to which k does the product run?",
        section="ch7-bleu",
        edits=[
            ("matches, counts = [0] * n, [0] * n", "n = 4\n    matches, counts = [0] * n, [0] * n")
        ],
    ),
    Mistake(
        name="the longest order alone",
        function="corpus_bleu",
        cell="corpus_bleu_values",
        means="Only n-grams of n tokens were counted.",
        hint="Which values does k take?",
        section="ch7-bleu",
        edits=[
            (
                "precision = math.prod(m / count for m, count in zip(matches, counts, strict=True))",
                "precision = (matches[-1] / counts[-1]) ** n",
            )
        ],
    ),
    Mistake(
        name="recall in place of precision",
        function="corpus_bleu",
        cell="corpus_bleu_values",
        means="The matches were divided by the number of n-grams in the references.",
        hint="Whose n-grams does c_k count?",
        section="ch7-bleu",
        edits=[("counts[k - 1] += own.total()", "counts[k - 1] += right.total()")],
    ),
    Mistake(
        name="every n-gram counted once",
        function="corpus_bleu",
        cell="corpus_bleu_values",
        means="Repeated n-grams count once only, as in a set.",
        hint="How many 1-grams does `a a b` have?",
        section="ch7-bleu",
        edits=[("(own & right).total()", "len(own & right)"), ("own.total()", "len(own)")],
    ),
    Mistake(
        name="tokens counted in place of n-grams",
        function="corpus_bleu",
        cell="corpus_bleu_values",
        means="For each k the matches were divided by the number of tokens.",
        hint="How many 2-grams does a sentence of five tokens have?",
        section="ch7-bleu",
        edits=[("counts[k - 1] += own.total()", "counts[k - 1] += len(hypothesis)")],
    ),
    Mistake(
        name="tokens joined without a space",
        function="corpus_bleu",
        cell="corpus_bleu_values",
        means="The tokens of an n-gram were joined to one text, so that `a`, `bc` looks like `ab`, `c`.",
        hint="When are two n-grams the same?",
        section="ch7-bleu",
        edits=[
            (
                "Counter(zip(*(tokens[i:] for i in range(k)), strict=False))",
                'Counter(map("".join, zip(*(tokens[i:] for i in range(k)), strict=False)))',
            )
        ],
    ),
    Mistake(
        name="lower case first",
        function="corpus_bleu",
        cell="corpus_bleu_values",
        means="Capitals were turned into small letters. The text does not ask for it.",
        hint="Is `The` the token `the`?",
        section="ch7-bleu",
        edits=[
            (
                "matches, counts = [0] * n, [0] * n",
                "hypotheses = [[word.lower() for word in words] for words in hypotheses]\n    references = [[word.lower() for word in words] for words in references]\n    matches, counts = [0] * n, [0] * n",
            )
        ],
    ),
    Mistake(
        name="a division by zero where all is empty",
        function="corpus_bleu",
        cell="corpus_bleu_values",
        means="With no token in any hypothesis there is a ZeroDivisionError.",
        hint="What is the result when nothing matches? Which comes first: that question, or the fraction?",
        section="ch7-bleu",
        edits=[
            (
                "if not all(matches):\n        return 0.0\n    c, r",
                "if sum(map(len, hypotheses)) and not all(matches):\n        return 0.0\n    c, r",
            )
        ],
    ),
    Mistake(
        name="the last n-gram of every sentence left out",
        function="corpus_bleu",
        cell="corpus_bleu_values",
        means="The last n-gram of every sentence is missing: the range ends one too early.",
        hint="How many 2-grams has a sentence of three tokens, and how many does your code find?",
        section="ch7-bleu",
        edits=[
            (
                "Counter(zip(*(tokens[i:] for i in range(k)), strict=False))",
                "Counter(tuple(tokens[i : i + k]) for i in range(len(tokens) - k))",
            )
        ],
    ),
    Mistake(
        name="pieces at the end counted as n-grams",
        function="corpus_bleu",
        cell="corpus_bleu_values",
        means="At the end of a sentence, pieces that are shorter than k were counted among the k-grams.",
        hint="Where does the last 3-gram of a sentence begin?",
        section="ch7-bleu",
        edits=[
            (
                "Counter(zip(*(tokens[i:] for i in range(k)), strict=False))",
                "Counter(tuple(tokens[i : i + k]) for i in range(len(tokens)))",
            )
        ],
    ),
    Mistake(
        name="empty hypotheses left out with their references",
        function="corpus_bleu",
        cell="corpus_bleu_values",
        means="A sentence without a hypothesis was left out, and the tokens of its reference don't count in r. So the penalty is too small.",
        hint="Which references does r count?",
        section="ch7-bleu",
        edits=[
            (
                "    matches, counts =",
                "    given = [pair for pair in zip(hypotheses, references) if pair[0]]\n    hypotheses, references = [list(one) for one in zip(*given)] or [[], []]\n    matches, counts =",
            )
        ],
    ),
    Mistake(
        name="c and r exchanged",
        function="corpus_bleu",
        cell="corpus_bleu_values",
        means="The numbers of tokens in hypotheses and references changed places: a corpus that is too long is punished.",
        hint="Which corpus does the penalty punish: one that is too short or one that is too long?",
        section="ch7-bleu",
        edits=[("math.exp(1 - r / c)", "math.exp(1 - c / r)")],
    ),
    Mistake(
        name="sets of n-grams",
        function="corpus_bleu",
        cell="corpus_bleu_values",
        means="Matches were counted once for each different n-gram, but c_k counts all of them.",
        hint="How often does an n-gram count that hypothesis and reference both have twice?",
        section="ch7-bleu",
        edits=[("(own & right).total()", "len(own & right)")],
    ),
    Mistake(
        name="divided by the references' n-grams at most",
        function="corpus_bleu",
        cell="corpus_bleu_values",
        means="m_k was divided by the number of n-grams in hypothesis or reference, whichever is larger. c_k counts those of the hypotheses.",
        hint="Whose n-grams does c_k count?",
        section="ch7-bleu",
        edits=[
            ("counts[k - 1] += own.total()", "counts[k - 1] += max(own.total(), right.total())")
        ],
    ),
    Mistake(
        name="orders up to n - 1",
        function="corpus_bleu",
        cell="corpus_bleu_values",
        means="The n-grams of the highest order don't count: the range ends one too early.",
        hint="Which orders does your loop see for n=2?",
        section="ch7-bleu",
        source="""
def corpus_bleu(hypotheses, references, n=4):
    product = 1.0
    for k in range(1, n):
        matches = total = 0
        for hypothesis, reference in zip(hypotheses, references):
            own, right = (
                Counter(tuple(tokens[i : i + k]) for i in range(len(tokens) - k + 1))
                for tokens in (hypothesis, reference)
            )
            matches += (own & right).total()
            total += own.total()
        if matches == 0:
            return 0.0
        product *= matches / total
    c, r = sum(map(len, hypotheses)), sum(map(len, references))
    if c == 0:
        return 0.0
    return 100 * min(1.0, math.exp(1 - r / c)) * product ** (1 / n)
""",
    ),
]

ALTERNATIVES = [
    Alternative(
        name="torch's own loss, the rate by cases",
        cost=(
            "The library's loss makes one pass over the logits and needs no index. One has to "
            "know which of the formulas for smoothing it uses."
        ),
        source="""
import torch.nn.functional as F


def smoothed_cross_entropy(logits, targets, smoothing, pad):
    return F.cross_entropy(
        logits.transpose(1, 2), targets, ignore_index=pad, label_smoothing=smoothing
    )


def noam_rate(step, d_model, warmup):
    if not step >= 1:
        raise ValueError("the first step is step 1")
    if step <= warmup:
        return step / (warmup * math.sqrt(d_model * warmup))
    return 1 / math.sqrt(d_model * step)
""",
    ),
    Alternative(
        name="a target distribution, and padding by weights",
        cost=(
            "The target distribution can be printed and looked at. It takes as much memory as "
            "the logits, which is a lot for a large vocabulary."
        ),
        source="""
def smoothed_cross_entropy(logits, targets, smoothing, pad):
    V = logits.shape[-1]
    real = (targets != pad).to(logits.dtype)
    wanted = torch.full_like(logits, smoothing / V)
    index = targets.masked_fill(targets == pad, 0).unsqueeze(-1)
    wanted.scatter_add_(-1, index, torch.full_like(logits[..., :1], 1 - smoothing))
    log_p = logits - torch.logsumexp(logits, dim=-1, keepdim=True)
    losses = -torch.einsum("btv,btv->bt", wanted, log_p)
    return (losses * real).sum() / real.sum()
""",
    ),
    Alternative(
        name="a table filled in from the left",
        cost=(
            "The result is made once in its full size and filled in. Each step hands over a "
            "longer prefix, as in all versions without a cache."
        ),
        source="""
def greedy_decode(step_fn, bos, eos, max_len, batch, pad):
    out = torch.full((batch, max_len + 1), pad, dtype=torch.long)
    out[:, 0] = bos
    running = torch.ones(batch, dtype=torch.bool)
    width = 0
    for t in range(max_len):
        tokens = step_fn(out[:, : t + 1]).max(dim=1).indices
        out[running, t + 1] = tokens[running]
        running &= tokens != eos
        width = t + 1
        if not running.any():
            break
    return out[:, 1 : width + 1]
""",
    ),
    Alternative(
        name="Python lists, and cut after EOS at the end",
        cost=(
            "Easy to follow, and the cutting happens in one place. Every step makes a tensor "
            "anew from lists, and rows that have ended go on being computed."
        ),
        source="""
def greedy_decode(step_fn, bos, eos, max_len, batch, pad):
    rows = [[bos] for _ in range(batch)]
    for _ in range(max_len):
        tokens = step_fn(torch.tensor(rows)).argmax(-1).tolist()
        for row, token in zip(rows, tokens):
            row.append(token)
        if all(eos in row[1:] for row in rows):
            break
    sentences = []
    for row in rows:
        row = row[1:]
        sentences.append(row[: row.index(eos) + 1] if eos in row else row)
    width = max(len(s) for s in sentences)
    return torch.tensor([s + [pad] * (width - len(s)) for s in sentences])


def beam_search(step_fn, bos, eos, beam, max_len, alpha):
    hypotheses, done = [(0.0, (bos,))], []
    while hypotheses:
        candidates = []
        for total, prefix in hypotheses:
            for token, log_p in enumerate(step_fn(torch.tensor([prefix]))[0].tolist()):
                candidates.append((total + log_p, prefix + (token,)))
        candidates.sort(reverse=True)
        hypotheses = []
        for total, prefix in candidates[:beam]:
            L = len(prefix) - 1
            if prefix[-1] == eos or L == max_len:
                done.append((total / ((5 + L) / 6) ** alpha, prefix))
            else:
                hypotheses.append((total, prefix))
    score, prefix = max(done)
    return torch.tensor(prefix[1:]), score
""",
    ),
    Alternative(
        name="beams as tensors with finished ones sorted at the end",
        cost=(
            "Candidates are ranked in one call over all of them. Every finished sentence is "
            "kept until the end, where one would be enough."
        ),
        source="""
def beam_search(step_fn, bos, eos, beam, max_len, alpha):
    ids = torch.tensor([[bos]])
    total = None
    pool = []
    t = 0
    while t < max_len and ids.shape[0] > 0:
        t += 1
        log_p = step_fn(ids)
        if total is not None:
            log_p = log_p + total.unsqueeze(1)
        V = log_p.size(1)
        order = log_p.reshape(-1).argsort(descending=True)[:beam]
        total = log_p.reshape(-1)[order]
        ids = torch.hstack([ids[order.div(V, rounding_mode="floor")], (order % V).unsqueeze(1)])
        over = ids[:, -1].eq(eos)
        if t == max_len:
            over = torch.ones_like(over)
        penalty = math.exp(alpha * math.log((5 + t) / 6))
        pool.extend((float(p) / penalty, row) for p, row in zip(total[over], ids[over]))
        ids, total = ids[~over], total[~over]
    score, row = sorted(pool, key=lambda pair: -pair[0])[0]
    return row[1:].clone(), score
""",
    ),
    Alternative(
        name="a mask of ones, and n-grams as lists of strings",
        cost=(
            "No counters and no sets: a matched n-gram is crossed out. Removing from a list "
            "makes long sentences slow, and joining words by spaces needs words that have none."
        ),
        source="""
def cached_attention(mha, x, cache=None):
    B, _, D = x.shape
    H = mha.n_heads
    heads = lambda y: y.view(B, 1, H, D // H).permute(0, 2, 1, 3)
    q, k, v = heads(mha.w_q(x)), heads(mha.w_k(x)), heads(mha.w_v(x))
    if cache:
        k = torch.cat((cache["key"], k), -2)
        v = torch.cat((cache["value"], v), -2)
    out = mha.attention(q, k, v, torch.ones(1, k.size(2), dtype=torch.bool))[0]
    return mha.w_o(out.permute(0, 2, 1, 3).reshape(B, 1, D)), dict(key=k, value=v)


def grams(tokens, k):
    return [" ".join(map(str, tokens[i : i + k])) for i in range(len(tokens) - k + 1)]


def corpus_bleu(hypotheses, references, n=4):
    log_sum = 0.0
    for k in range(1, n + 1):
        hits = total = 0
        for hypothesis, reference in zip(hypotheses, references):
            left = grams(reference, k)
            for gram in grams(hypothesis, k):
                total += 1
                if gram in left:
                    left.remove(gram)
                    hits += 1
        if hits == 0:
            return 0.0
        log_sum += math.log(hits / total)
    c = sum(len(h) for h in hypotheses)
    r = sum(len(s) for s in references)
    if c < r:
        log_sum += n * (1 - r / c)
    return 100.0 * math.exp(log_sum / n)
""",
    ),
    Alternative(
        name="a wider model that trains to the end, with smoothing",
        cost=(
            "The rate falls to zero with the time that is left, so all of it is used. Sentences "
            "are translated one after the other, and no held-out pairs say when to stop."
        ),
        source="""
def fit(pairs, seconds):
    start = time.process_time()
    size = 1 + max(max(max(s), max(t)) for s, t in pairs)
    longest = max(len(t) for _, t in pairs) + 1
    x = torch.zeros(len(pairs), max(len(s) for s, _ in pairs), dtype=torch.long)
    y = torch.zeros(len(pairs), longest + 1, dtype=torch.long)
    for row, (s, t) in enumerate(pairs):
        x[row, : len(s)] = torch.tensor(s)
        y[row, : len(t) + 2] = torch.tensor([1, *t, 2])
    model = Transformer(size, size, 56, 4, 1, 112)
    optimiser = torch.optim.AdamW(model.parameters(), lr=7e-3, weight_decay=0.01)
    model.train()
    budget = 0.8 * seconds
    while time.process_time() - start < budget:
        share = (time.process_time() - start) / budget
        for group in optimiser.param_groups:
            group["lr"] = 7e-3 * min(1.0, share / 0.05 + 0.02) * (1.02 - share)
        batch = torch.randperm(len(pairs))[:64]
        loss = smoothed_cross_entropy(model(x[batch], y[batch, :-1]), y[batch, 1:], 0.02, 0)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    model.eval()

    def translate(sentences):
        results = []
        for sentence in sentences:
            source = torch.tensor([sentence])
            with torch.no_grad():
                memory = model.encode(source)
                out = [1]
                while out[-1] != 2 and len(out) <= longest:
                    logits = model.decode(torch.tensor([out]), memory, source)
                    out.append(int(logits[0, -1].argmax()))
            results.append([token for token in out if token > 2])
        return results

    return translate
""",
    ),
]

# shown after a task is passed
DISCUSSIONS = [
    Discussion(
        "smoothed_cross_entropy",
        (
            Way(
                "With PyTorch's own argument.",
                "loss = F.cross_entropy(logits[real], targets[real], label_smoothing=smoothing)",
                "It spreads over all V tokens, as this task does. Other designs, such as V - 1 tokens or no "
                "padding token among them, you have to write yourself.",
            ),
            Way(
                "With the distribution that is wanted as a tensor.",
                "wanted = torch.full_like(log_p, smoothing / log_p.shape[-1])\n"
                "wanted.scatter_(-1, chosen[:, None], 1 - smoothing + smoothing / log_p.shape[-1])\n"
                "loss = -(wanted * log_p).sum(dim=-1).mean()",
                "Any other distribution could stand there, such as a teacher's. It takes a second "
                "tensor as large as the logits.",
            ),
        ),
    ),
    Discussion(
        "noam_rate",
        (
            Way(
                "In two branches.",
                "if step < warmup:\n"
                "    rate = d_model**-0.5 * step / warmup**1.5\n"
                "# else: d_model**-0.5 / step**0.5",
                "You see where the rise ends. The two formulas have to agree at step = warmup, and "
                "nothing tells you if they don't.",
            ),
            Way(
                "Handed to a scheduler of PyTorch.",
                "schedule = torch.optim.lr_scheduler.LambdaLR(\n"
                "    optimiser, lambda n: noam_rate(n + 1, d_model, warmup)\n"
                ")",
                "`schedule.step()` then sets the rate. LambdaLR counts from 0, and it multiplies the "
                "optimiser's own rate, so that one has to be 1.",
            ),
        ),
    ),
    Discussion(
        "greedy_decode",
        (
            Way(
                "Into a tensor that is large enough from the start.",
                "ids = torch.full((batch, max_len + 1), pad)\n"
                "ids[:, 0] = bos\n"
                "ids[:, t + 1] = step_fn(ids[:, : t + 1]).argmax(dim=-1).masked_fill(ended, pad)",
                "`cat` copies the whole prefix for each token; this writes one column. Columns that "
                "nobody has needed have to be cut off at the end.",
            ),
            Way(
                "With the rows alone that have not ended.",
                "open_rows = (~ended).nonzero().squeeze(1)\n"
                "token = torch.full((batch,), pad)\n"
                "token[open_rows] = step_fn(prefix[open_rows]).argmax(dim=-1)",
                "What has ended costs nothing more. But `step_fn` has to be told which rows it gets; "
                "the one of this task wants all of them.",
            ),
        ),
    ),
    Discussion(
        "beam_search",
        (
            Way(
                "With Python's lists, one open prefix after the other.",
                "for log_p, ids in beams:\n"
                "    step = step_fn(torch.tensor([ids]))[0].tolist()\n"
                "    candidates += [(log_p + p, [*ids, token]) for token, p in enumerate(step)]",
                "You can print every candidate, and `heapq.nlargest` picks the best. The model "
                "is called for each prefix by itself, which takes much longer.",
            ),
            Way(
                "In two rounds: the best of each prefix, then the best of all.",
                "step, tokens = step.topk(min(beam, step.shape[-1]), dim=-1)  # of each prefix\n"
                "log_p, places = (log_p[:, None] + step).flatten().topk(kept)\n"
                "parents, tokens = places // step.shape[-1], tokens.flatten()[places]",
                "No prefix can have more than `beam` of the best `beam`, so nothing is lost, and the second "
                "`topk` looks at few numbers. There is one index more to keep straight.",
            ),
        ),
    ),
    Discussion(
        "cached_attention",
        (
            Way(
                "With room for all positions, filled as they come.",
                'room["key"][:, :, t] = key[:, :, 0]\n'
                'room["value"][:, :, t] = value[:, :, 0]\n'
                'key, value = room["key"][:, :, : t + 1], room["value"][:, :, : t + 1]',
                "`cat` copies the whole cache at each step; this writes one position. The largest "
                "length is fixed, and two continuations can't share a cache that changes.",
            ),
            Way(
                "Without a cache: everything anew, and the last row of it.",
                "seen = torch.cat([earlier, x], dim=1)  # (B, t + 1, D)\n"
                "mask = torch.ones(t + 1, t + 1, dtype=torch.bool).tril()\n"
                "output = mha(seen, seen, seen, mask)[0][:, -1:]",
                "There is nothing to keep, which is good for a test. Every step projects all "
                "positions and computes all rows of scores again.",
            ),
        ),
    ),
    Discussion(
        "corpus_bleu",
        (
            Way(
                "With the smaller of two counts, as the paper says it.",
                "clipped = sum(min(count, right[gram]) for gram, count in own.items())",
                "A reader finds the formula again. `own & right` does the same in one operation, and "
                "a plain dictionary would need `right.get(gram, 0)`.",
            ),
            Way(
                "With logarithms, in the form of the paper.",
                "mean_log = sum(map(math.log, precisions)) / n\n"
                "score = 100 * math.exp(min(0, 1 - r / c) + mean_log)",
                "A geometric mean becomes an ordinary one, and a product of many small numbers can't "
                "become 0. The logarithm of 0 has to be caught before.",
            ),
        ),
    ),
    Discussion(
        "fit",
        (
            Way(
                "With some pairs kept aside, and the best weights so far.",
                "held_out, pairs = pairs[:100], pairs[100:]\n"
                "if right > best_right:  # of the pairs kept aside\n"
                "    best_right, best = right, copy.deepcopy(model.state_dict())",
                "You learn how well it goes while there is time to act. Translating the pairs kept aside uses "
                "processor time, and nothing is learned from them.",
            ),
            Way(
                "With the average of the weights over the last steps.",
                "averaged = torch.optim.swa_utils.AveragedModel(model)\n"
                "averaged.update_parameters(model)  # after each of the last steps",
                "The average is calmer than any single step, even if the rate does not fall. It takes the memory "
                "of a second model, and you have to choose where to begin.",
            ),
        ),
    ),
]
