"""Known mistakes and accepted alternatives of exercise 10."""

from autograder.catalogue import Alternative, Discussion, Mistake
from autograder.runtime.guide import Way

# the section of the book to read again, by grade cell
SECTIONS = {
    "prefix_matching_values": "ch10-score",
    "prefix_matching_edges": "ch10-score",
    "ov_circuit_values": "ch10-ov",
    "copying_values": "ch10-copying",
    "logit_attribution_values": "ch10-sum",
    "patch_values": "ch10-patching",
    "patch_state": "ch10-mistake-hook",
    "restored_values": "ch10-restored",
    "mean_ablated_values": "ch10-ablation",
    "mean_ablated_state": "ch10-mistake-hook",
    "composition_values": "ch10-composition",
}

MISTAKES = [
    # prefix_matching ----------------------------------------------------------------------------
    Mistake(
        name="the earlier token itself in place of the one after it",
        function="prefix_matching",
        cell="prefix_matching_values",
        means="The weights on the earlier token itself were added up. A head that only finds equal tokens gets a high score here, although it does not look at what came next.",
        hint="The head has to say what comes next. At which place does it find that?",
        section="ch10-score",
        edits=[("places = earlier.roll(1, dims=1)", "places = earlier")],
    ),
    Mistake(
        name="the token before in place of the one after",
        function="prefix_matching",
        cell="prefix_matching_values",
        means="The places moved the wrong way: these are the weights on the token before the earlier one.",
        hint="Is the next token at p + 1 or at p - 1? Try it on a text of three tokens.",
        section="ch10-score",
        edits=[("earlier.roll(1, dims=1)", "earlier.roll(-1, dims=1)")],
    ),
    Mistake(
        name="two tokens after the earlier one",
        function="prefix_matching",
        cell="prefix_matching_values",
        means="The place was moved on twice. These are the weights on the token after the next.",
        hint="How far is it from a token to the one that comes after it?",
        section="ch10-score",
        edits=[("earlier.roll(1, dims=1)", "earlier.roll(2, dims=1)")],
    ),
    Mistake(
        name="rows and columns of the weights exchanged",
        function="prefix_matching",
        cell="prefix_matching_values",
        means="The weights were read with the key first and the query second. With a causal mask most of these weights are 0.",
        hint="Which index of `weights[h]` is the one that asks: the first or the second?",
        section="ch10-score",
        edits=[("(weights * places)", "(weights.mT * places)")],
    ),
    Mistake(
        name="mean over all positions",
        function="prefix_matching",
        cell="prefix_matching_values",
        means="The sum was divided by the number of all positions. Those whose token is new count as zeros here, so the score is too small.",
        hint="Can a position whose token is new have a right place to look at?",
        section="ch10-score",
        edits=[("[:, counts].mean(dim=-1)", ".mean(dim=-1)")],
    ),
    Mistake(
        name="every position is taken for its own earlier occurrence",
        function="prefix_matching",
        cell="prefix_matching_values",
        means="Each token is equal to itself, so here every position counts, and has the place after itself as well.",
        hint="What does `tokens[p] == tokens[q]` give for p = q?",
        section="ch10-score",
        source="""
def prefix_matching(weights, tokens):
    T = len(tokens)
    scores = []
    for q in range(T):
        places = [p + 1 for p in range(q + 1) if tokens[p] == tokens[q] and p + 1 < T]
        if places:
            scores.append(weights[:, q, places].sum(dim=-1))
    return torch.stack(scores).mean(dim=0)
""",
    ),
    Mistake(
        name="only the latest occurrence",
        function="prefix_matching",
        cell="prefix_matching_values",
        means="Where a token occurred several times before, only the latest place was read. The weight on the other places is lost.",
        hint="A head may share its weight among several places that are right. What then?",
        section="ch10-score",
        source="""
def prefix_matching(weights, tokens):
    last, scores = {}, []
    for q, token in enumerate(tokens.tolist()):
        if token in last:
            scores.append(weights[:, q, last[token] + 1])
        last[token] = q
    return torch.stack(scores).mean(dim=0) if scores else weights.new_zeros(len(weights))
""",
    ),
    Mistake(
        name="only the first occurrence",
        function="prefix_matching",
        cell="prefix_matching_values",
        means="Where a token occurred several times before, only the place after the very first one was read.",
        hint="`list.index` and `argmax` find one place only. How many may there be?",
        section="ch10-score",
        source="""
def prefix_matching(weights, tokens):
    words, scores = tokens.tolist(), []
    for q, token in enumerate(words):
        first = words.index(token)
        if first < q:
            scores.append(weights[:, q, first + 1])
    return torch.stack(scores).mean(dim=0) if scores else weights.new_zeros(len(weights))
""",
    ),
    Mistake(
        name="mean over the earlier occurrences",
        function="prefix_matching",
        cell="prefix_matching_values",
        means="The weights on several right places were averaged, not added. A head that spreads its weight over two right places gets half of what it should.",
        hint="If all of a head's weight lies on right places, which score should it have?",
        section="ch10-score",
        source="""
def prefix_matching(weights, tokens):
    scores = []
    for q in range(len(tokens)):
        places = [p + 1 for p in range(q) if tokens[p] == tokens[q]]
        if places:
            scores.append(weights[:, q, places].mean(dim=-1))
    return torch.stack(scores).mean(dim=0) if scores else weights.new_zeros(len(weights))
""",
    ),
    Mistake(
        name="mean over all pairs",
        function="prefix_matching",
        cell="prefix_matching_values",
        means="The sum was divided by the number of pairs, a position and one of its earlier occurrences. A position with many of them counts several times.",
        hint="How many numbers does one position give, if its token occurred twice before?",
        section="ch10-score",
        edits=[
            (
                "(weights * places).sum(dim=-1)[:, counts].mean(dim=-1)",
                "weights[:, places].mean(dim=-1)",
            )
        ],
    ),
    Mistake(
        name="later occurrences as well",
        function="prefix_matching",
        cell="prefix_matching_values",
        means="Every other place with the same token was taken, those that come later too. A first occurrence has nothing to look back at, and yet it counts here.",
        hint="Which p are allowed for a position q?",
        section="ch10-score",
        source="""
def prefix_matching(weights, tokens):
    T = len(tokens)
    scores = []
    for q in range(T):
        same = [p for p in range(T) if tokens[p] == tokens[q] and p != q]
        if same:
            places = [p + 1 for p in same if p + 1 < T]
            scores.append(weights[:, q, places].sum(dim=-1))
    return torch.stack(scores).mean(dim=0) if scores else weights.new_zeros(len(weights))
""",
    ),
    Mistake(
        name="a token twice in a row is left out",
        function="prefix_matching",
        cell="prefix_matching_values",
        means="Where a token stands twice in a row, the place after the first one is the position itself. It was skipped here.",
        hint="In the text (7, 7, 4, 7), which place does position 1 have?",
        section="ch10-score",
        source="""
def prefix_matching(weights, tokens):
    scores = []
    for q in range(len(tokens)):
        places = [p + 1 for p in range(q - 1) if tokens[p] == tokens[q]]
        if places:
            scores.append(weights[:, q, places].sum(dim=-1))
    return torch.stack(scores).mean(dim=0) if scores else weights.new_zeros(len(weights))
""",
    ),
    Mistake(
        name="the repeat is taken to begin in the middle",
        function="prefix_matching",
        cell="prefix_matching_values",
        means="This reads one diagonal of the weights, as if the second half of every text repeated the first. Any head that looks so many positions back gets a high score.",
        hint="Where do you look at the tokens at all?",
        section="ch10-without-the-head",
        source="""
def prefix_matching(weights, tokens):
    half = len(tokens) // 2
    return weights.diagonal(1 - half, dim1=-2, dim2=-1)[:, 1:].mean(dim=-1)
""",
    ),
    Mistake(
        name="rows of the first occurrences",
        function="prefix_matching",
        cell="prefix_matching_values",
        means="The rows of the earlier positions were read, not those of the positions at which the token comes again.",
        hint="Which of the two equal tokens asks: the earlier one or the later one?",
        section="ch10-score",
        source="""
def prefix_matching(weights, tokens):
    T = len(tokens)
    scores = []
    for q in range(T):
        places = [p + 1 for p in range(q + 1, T) if tokens[p] == tokens[q] and p + 1 < T]
        if q + 1 < T and (tokens[q + 1 :] == tokens[q]).any():
            scores.append(weights[:, q, places].sum(dim=-1))
    return torch.stack(scores).mean(dim=0) if scores else weights.new_zeros(len(weights))
""",
    ),
    Mistake(
        name="share of rows whose largest weight is right",
        function="prefix_matching",
        cell="prefix_matching_values",
        means="Here a position counts as 1 if its largest weight lies on a right place, and as 0 if not. How much weight it is makes no difference.",
        hint="Should a weight of 0.4 on the right place count as much as one of 0.9?",
        section="ch10-score",
        edits=[
            (
                "(weights * places).sum(dim=-1)[:, counts].mean(dim=-1)",
                "places.expand_as(weights).gather(-1, weights.argmax(-1, keepdim=True))"
                "[:, counts, 0].to(weights.dtype).mean(dim=-1)",
            )
        ],
    ),
    Mistake(
        name="sum over the positions in place of the mean",
        function="prefix_matching",
        cell="prefix_matching_values",
        means="The scores of the positions were added up. A longer text then gives a higher score.",
        hint="Can your score be larger than 1?",
        section="ch10-score",
        edits=[("[:, counts].mean(dim=-1)", "[:, counts].sum(dim=-1)")],
    ),
    Mistake(
        name="one score for all heads together",
        function="prefix_matching",
        cell="prefix_matching_values",
        means="The mean runs over the heads as well, so there is one number for the whole layer.",
        hint="Which axis of `weights` has to be left in the end?",
        section="ch10-score",
        edits=[("[:, counts].mean(dim=-1)", "[:, counts].mean()")],
    ),
    Mistake(
        name="no repeated token: NaN",
        function="prefix_matching",
        cell="prefix_matching_edges",
        means="Where no token occurs twice, the mean over no positions is 0 divided by 0.",
        hint="How many positions count in a text whose tokens are all different?",
        section="ch10-score",
        edits=[("if not counts.any():", "if len(tokens) < 2:")],
    ),
    Mistake(
        name="no repeated token: a single 0",
        function="prefix_matching",
        cell="prefix_matching_edges",
        means="Where no token occurs twice, one 0 came back, and not one for each head.",
        hint="Which shape does the result have in all other texts?",
        section="ch10-score",
        edits=[("weights.new_zeros(len(weights))", "weights.new_zeros(())")],
    ),
    Mistake(
        name="result always in float32",
        function="prefix_matching",
        cell="prefix_matching_edges",
        means="The scores are float32, whatever the weights are. A tensor that is made without `dtype` is float32.",
        hint="Which data type has the tensor in which you collect the scores?",
        section="ch10-score",
        source="""
def prefix_matching(weights, tokens):
    H, T, _ = weights.shape
    scores, n = torch.zeros(H), 0
    for q in range(T):
        places = [p + 1 for p in range(q) if tokens[p] == tokens[q]]
        if places:
            n += 1
            for h in range(H):
                scores[h] += weights[h, q, places].sum()
    return scores / max(n, 1)
""",
    ),
    Mistake(
        name="weights overwritten",
        function="prefix_matching",
        cell="prefix_matching_edges",
        means="The score is right, but the caller's weights have become 0 almost everywhere.",
        hint="What does `*=` do to a tensor that was passed in?",
        section="ch10-score",
        edits=[("(weights * places)", "weights.mul_(places)")],
    ),
    # ov_circuit ---------------------------------------------------------------------------------
    Mistake(
        name="rows and columns of the result exchanged",
        function="ov_circuit",
        cell="ov_circuit_values",
        means="The numbers are right, but row and column have changed places. Here the row is the token whose logit gains.",
        hint="In entry [s, t], which token does the head look at?",
        section="ch10-ov",
        edits=[("w_e @ w_v.T @ w_o.T @ w_u.T", "(w_e @ w_v.T @ w_o.T @ w_u.T).T")],
    ),
    Mistake(
        name="embedding and unembedding exchanged",
        function="ov_circuit",
        cell="ov_circuit_values",
        means="The unembedding stands in front and the embedding behind, so the head reads what it should write.",
        hint="What happens to a token first: is it embedded or unembedded?",
        section="ch10-ov",
        edits=[("w_e @", "w_u @"), ("@ w_u.T", "@ w_e.T")],
    ),
    Mistake(
        name="the output matrix before the value matrix",
        function="ov_circuit",
        cell="ov_circuit_values",
        means="The shapes fit, but the row of a token meets the output matrix first. The matrix in the middle is the transpose of the right one.",
        hint="For rows, a matrix W acts as `x @ W.T`. Which of the two does a vector pass first?",
        section="ch10-mistake-matrices",
        edits=[("w_v.T @ w_o.T", "w_o @ w_v")],
    ),
    Mistake(
        name="value matrix not transposed",
        function="ov_circuit",
        cell="ov_circuit_values",
        means="The value matrix was used as `x @ w_v`. Where all sizes are equal nobody complains, but the values are wrong.",
        hint="The matrix has the shape (outputs, inputs). How does it act on rows?",
        section="ch10-mistake-matrices",
        edits=[("w_v.T", "w_v")],
    ),
    Mistake(
        name="rows of the output matrix for columns",
        function="ov_circuit",
        cell="ov_circuit_values",
        means="The output matrix was used as `x @ w_o`. Where all sizes are equal nobody complains, but its rows stand where its columns should.",
        hint="The matrix has the shape (outputs, inputs). How does it act on rows?",
        section="ch10-mistake-matrices",
        edits=[("w_o.T", "w_o")],
    ),
    Mistake(
        name="no matrix of the head transposed",
        function="ov_circuit",
        cell="ov_circuit_values",
        means="Both matrices of the head were used as they are. With `x @ W` on rows, each has to be transposed.",
        hint="What shape has `w_e @ w_v`, and what should it have?",
        section="ch10-mistake-matrices",
        edits=[("w_v.T @ w_o.T", "w_v @ w_o")],
    ),
    Mistake(
        name="without the unembedding",
        function="ov_circuit",
        cell="ov_circuit_values",
        means="These are the vectors that the head writes, not yet logits.",
        hint="What makes logits of a vector?",
        section="ch10-ov",
        edits=[(" @ w_u.T", "")],
    ),
    Mistake(
        name="without the embedding",
        function="ov_circuit",
        cell="ov_circuit_values",
        means="This maps vectors to logits. The first axis has no tokens yet.",
        hint="Which vector stands where the token s is read?",
        section="ch10-ov",
        edits=[("w_e @ w_v.T", "w_v.T")],
    ),
    Mistake(
        name="the direct path included",
        function="ov_circuit",
        cell="ov_circuit_values",
        means="What the token does to the logits without any head was added.",
        hint="Which of your terms would be there without this head?",
        section="ch10-sum",
        edits=[("w_e @ w_v.T @ w_o.T @ w_u.T", "w_e @ w_u.T + w_e @ w_v.T @ w_o.T @ w_u.T")],
    ),
    Mistake(
        name="scaled by the width of the head",
        function="ov_circuit",
        cell="ov_circuit_values",
        means="The result was divided by the root of the head's width. That belongs to scores, before the softmax.",
        hint="Where in attention does the square root stand: at the scores or at the values?",
        section="ch10-ov",
        edits=[
            ("w_e @ w_v.T @ w_o.T @ w_u.T", "w_e @ w_v.T @ w_o.T @ w_u.T / w_v.shape[0] ** 0.5")
        ],
    ),
    Mistake(
        name="softmax over the rows",
        function="ov_circuit",
        cell="ov_circuit_values",
        means="The rows became probabilities. The circuit says what is added to the logits, which may be negative.",
        hint="Which numbers of yours are negative?",
        section="ch10-ov",
        edits=[("w_e @ w_v.T @ w_o.T @ w_u.T", "(w_e @ w_v.T @ w_o.T @ w_u.T).softmax(dim=-1)")],
    ),
    Mistake(
        name="mean of each row subtracted",
        function="ov_circuit",
        cell="ov_circuit_values",
        means="Each row has the mean 0. That changes no probability, but it is not what the head adds.",
        hint="Does the statement ask for what is added, or for a difference from the average?",
        section="ch10-ov",
        edits=[
            (
                "return w_e @ w_v.T @ w_o.T @ w_u.T",
                "circuit = w_e @ w_v.T @ w_o.T @ w_u.T\n    return circuit - circuit.mean(dim=-1, keepdim=True)",
            )
        ],
    ),
    # copying ------------------------------------------------------------------------------------
    Mistake(
        name="singular values in place of eigenvalues",
        function="copying",
        cell="copying_values",
        means="Singular values are never negative, so their sum is also the sum of their absolute values. The result is 1 for every head.",
        hint="Which of your numbers can be negative?",
        section="ch10-copying",
        edits=[("torch.linalg.eigvals(ov)", "torch.linalg.svdvals(ov)")],
    ),
    Mistake(
        name="trace over the sum of the singular values",
        function="copying",
        cell="copying_values",
        means="The sum of the eigenvalues is right, but it was divided by that of the singular values. They are larger where the matrix is not symmetric.",
        hint="Of which numbers should the absolute values stand below the line?",
        section="ch10-copying",
        edits=[("eigenvalues.abs().sum()", "torch.linalg.svdvals(ov).sum()")],
    ),
    Mistake(
        name="the matrix is taken to be symmetric",
        function="copying",
        cell="copying_values",
        means="`eigvalsh` reads one triangle of the matrix only, as if the other were its mirror image.",
        hint="Is what s does to t the same as what t does to s?",
        section="ch10-copying",
        edits=[("torch.linalg.eigvals(ov)", "torch.linalg.eigvalsh(ov)")],
    ),
    Mistake(
        name="eigenvalues of the symmetric part",
        function="copying",
        cell="copying_values",
        means="The matrix was averaged with its mirror image first. The sum of the eigenvalues stays the same, but not that of their absolute values.",
        hint="Whose eigenvalues does the formula name?",
        section="ch10-copying",
        edits=[("torch.linalg.eigvals(ov)", "torch.linalg.eigvalsh((ov + ov.T) / 2)")],
    ),
    Mistake(
        name="absolute values of the real parts",
        function="copying",
        cell="copying_values",
        means="The imaginary parts were dropped too early. The absolute value of a complex number needs both parts.",
        hint="What is the absolute value of 3 + 4i?",
        section="ch10-copying",
        edits=[("eigenvalues.abs().sum()", "eigenvalues.real.abs().sum()")],
    ),
    Mistake(
        name="real and imaginary parts added up",
        function="copying",
        cell="copying_values",
        means="The absolute value of a complex number was taken as the sum of the sizes of its two parts. For 3 + 4i that gives 7, not 5.",
        hint="What is the absolute value of 3 + 4i?",
        section="ch10-copying",
        edits=[
            (
                "eigenvalues.abs().sum()",
                "(eigenvalues.real.abs() + eigenvalues.imag.abs()).sum()",
            )
        ],
    ),
    Mistake(
        name="share of positive eigenvalues",
        function="copying",
        cell="copying_values",
        means="This counts the eigenvalues with a positive real part. How large they are makes no difference.",
        hint="Should a tiny eigenvalue weigh as much as the largest one?",
        section="ch10-copying",
        edits=[
            (
                "return eigenvalues.real.sum().item() / total if total else 0.0",
                # a narrow head has zeros among its eigenvalues, whose rounded signs differ by processor
                "return (eigenvalues.real > 1e-12).double().mean().item() if total else 0.0",
            )
        ],
    ),
    Mistake(
        name="share of tokens that gain most themselves",
        function="copying",
        cell="copying_values",
        means="This is the share of tokens whose own logit gains most. It is another measure of copying, and it says nothing about how much.",
        hint="Which numbers of the matrix does the formula in the statement use?",
        section="ch10-copying",
        source="""
def copying(ov):
    own = ov.argmax(dim=-1) == torch.arange(len(ov))
    return own.double().mean().item() if ov.any() else 0.0
""",
    ),
    Mistake(
        name="the diagonal over its absolute values",
        function="copying",
        cell="copying_values",
        means="The sum above the line is right, since it is that of the diagonal. Below the line stand the entries of the diagonal, which are no eigenvalues.",
        hint="When are the entries of the diagonal the eigenvalues?",
        section="ch10-copying",
        edits=[("eigenvalues.abs().sum()", "ov.diagonal().abs().sum()")],
    ),
    Mistake(
        name="divided by the norm of the matrix",
        function="copying",
        cell="copying_values",
        means="The sum of the eigenvalues was divided by the Frobenius norm of the matrix.",
        hint="What does the formula have below the line?",
        section="ch10-copying",
        edits=[("eigenvalues.abs().sum()", "ov.norm()")],
    ),
    Mistake(
        name="absolute value of the sum",
        function="copying",
        cell="copying_values",
        means="The sum was divided by its own size, so only its sign is left: 1 or -1.",
        hint="What comes first below the line: the sum or the absolute values?",
        section="ch10-copying",
        edits=[("eigenvalues.abs().sum()", "eigenvalues.sum().abs()")],
    ),
    Mistake(
        name="mean of the eigenvalues",
        function="copying",
        cell="copying_values",
        means="This is the mean of the eigenvalues. It grows with the matrix, so two heads can't be compared.",
        hint="What happens to your number when all weights are doubled?",
        section="ch10-copying",
        edits=[("eigenvalues.real.sum().item() / total", "eigenvalues.real.mean().item()")],
    ),
    Mistake(
        name="a complex result",
        function="copying",
        cell="copying_values",
        means="The sum of the eigenvalues was left complex, though its imaginary part is 0.",
        hint="Which part of the sum do you need?",
        section="ch10-copying",
        edits=[("eigenvalues.real.sum()", "eigenvalues.sum()")],
    ),
    Mistake(
        name="largest eigenvalue only",
        function="copying",
        cell="copying_values",
        means="Only the eigenvalue of the largest size was looked at.",
        hint="Over how many eigenvalues do the sums run?",
        section="ch10-copying",
        edits=[
            (
                "eigenvalues.real.sum().item() / total",
                "eigenvalues.real[eigenvalues.abs().argmax()].item() / total",
            )
        ],
    ),
    Mistake(
        name="NaN for a matrix of zeros",
        function="copying",
        cell="copying_values",
        means="For a matrix of zeros, 0 was divided by 0.",
        hint="What is the sum of the absolute values of a matrix of zeros?",
        section="ch10-copying",
        edits=[
            (
                "eigenvalues.real.sum().item() / total if total else 0.0",
                "(eigenvalues.real.sum() / eigenvalues.abs().sum()).item()",
            )
        ],
    ),
    # logit_attribution --------------------------------------------------------------------------
    Mistake(
        name="the norm applied to each part",
        function="logit_attribution",
        cell="logit_attribution_values",
        means="Each part was divided by its own root mean square. Then a small part counts as much as a large one, and the shares don't add up to the logit.",
        hint="Do your shares add up to the logit of the target?",
        section="ch10-mistake-norm",
        edits=[
            ("/ scale", "/ parts.square().mean(dim=-1).sqrt()"),
        ],
    ),
    Mistake(
        name="the norm left out",
        function="logit_attribution",
        cell="logit_attribution_values",
        means="These are the shares before the norm: each is too large or too small by the factor `scale`.",
        hint="Which argument have you not used yet?",
        section="ch10-mistake-norm",
        edits=[(" / scale", "")],
    ),
    Mistake(
        name="multiplied by the scale",
        function="logit_attribution",
        cell="logit_attribution_values",
        means="The shares were multiplied by `scale`, but the norm divides by it.",
        hint="Does the norm make a long vector shorter or longer?",
        section="ch10-mistake-norm",
        edits=[("/ scale", "* scale")],
    ),
    Mistake(
        name="divided by the square of the scale",
        function="logit_attribution",
        cell="logit_attribution_values",
        means="The shares were divided by the square of `scale`, as if it were a mean square without its root.",
        hint="What does the norm divide by: the mean square or its root?",
        section="ch10-mistake-norm",
        edits=[("/ scale", "/ scale**2")],
    ),
    Mistake(
        name="the scale computed from the parts",
        function="logit_attribution",
        cell="logit_attribution_values",
        means="The norm of the sum was computed anew. A model may add a small number below the root, or have parts that are not listed here, so its own `scale` was given.",
        hint="Where does the statement say that `scale` comes from?",
        section="ch10-mistake-norm",
        edits=[("/ scale", "/ parts.sum(dim=0).square().mean(dim=-1).sqrt()")],
    ),
    Mistake(
        name="targets shifted once more",
        function="logit_attribution",
        cell="logit_attribution_values",
        means="Each position got the target of the next one. The targets had been shifted already.",
        hint="What does the statement say about `targets[t]`?",
        section="ch10-sum",
        edits=[("w_u[targets]", "w_u[targets.roll(-1)]")],
    ),
    Mistake(
        name="targets of the position before",
        function="logit_attribution",
        cell="logit_attribution_values",
        means="Each position got the target of the one before it, which is the token that it reads itself.",
        hint="Which token should position t say?",
        section="ch10-sum",
        edits=[("w_u[targets]", "w_u[targets.roll(1)]")],
    ),
    Mistake(
        name="columns of the unembedding for rows",
        function="logit_attribution",
        cell="logit_attribution_values",
        means="Columns of `w_u` were taken. Where V and D are equal nobody complains.",
        hint="In `w_u`, does a token have a row or a column?",
        section="ch10-mistake-matrices",
        edits=[("w_u[targets]", "w_u.T[targets]")],
    ),
    Mistake(
        name="one target for each part",
        function="logit_attribution",
        cell="logit_attribution_values",
        means="The targets were laid along the parts, not along the positions. Where there are as many parts as positions nobody complains.",
        hint="Which axis of `parts` do the targets belong to?",
        section="ch10-sum",
        edits=[("(parts * directions)", "(parts * directions[:, None])")],
    ),
    Mistake(
        name="one scale for each part",
        function="logit_attribution",
        cell="logit_attribution_values",
        means="`scale` was laid along the parts, not along the positions. Where there are as many parts as positions nobody complains.",
        hint="Which axis of `parts` does `scale` belong to?",
        section="ch10-sum",
        edits=[("/ scale", "/ scale[:, None]")],
    ),
    Mistake(
        name="logits beside their mean",
        function="logit_attribution",
        cell="logit_attribution_values",
        means="From each token's row of `w_u` the mean of all rows was subtracted. Then the shares add up to the logit less the mean logit.",
        hint="Do your shares add up to the logit itself?",
        section="ch10-sum",
        edits=[("w_u[targets]", "(w_u - w_u.mean(dim=0))[targets]")],
    ),
    Mistake(
        name="log-probabilities of each part",
        function="logit_attribution",
        cell="logit_attribution_values",
        means="A softmax was taken of what each part gives alone. It is not linear, so its results don't add up.",
        hint="Do your shares add up to the logit of the target?",
        section="ch10-sum",
        source="""
def logit_attribution(parts, scale, w_u, targets):
    logits = parts @ w_u.T / scale[:, None]
    log_p = logits.log_softmax(dim=-1)
    return log_p.gather(-1, targets.expand(len(parts), -1)[..., None])[..., 0]
""",
    ),
    Mistake(
        name="directions of length 1",
        function="logit_attribution",
        cell="logit_attribution_values",
        means="The row of the target was brought to length 1 first. Then the shares add up to a cosine's part of the logit, not to the logit.",
        hint="Does the unembedding divide its rows by their length?",
        section="ch10-sum",
        edits=[("w_u[targets]", "torch.nn.functional.normalize(w_u[targets], dim=-1)")],
    ),
    Mistake(
        name="the logit in place of the shares",
        function="logit_attribution",
        cell="logit_attribution_values",
        means="The parts were added up first. This is the logit itself, one number for each position.",
        hint="Which axis of the result counts the parts?",
        section="ch10-sum",
        edits=[("(parts * directions)", "(parts.sum(dim=0) * directions)")],
    ),
    Mistake(
        name="parts divided in place",
        function="logit_attribution",
        cell="logit_attribution_values",
        means="The shares are right, but the caller's parts have been divided, too.",
        hint="What does `/=` do to a tensor that was passed in?",
        section="ch10-sum",
        edits=[
            (
                "return (parts * directions).sum(dim=-1) / scale",
                "parts /= scale[:, None]\n    return (parts * directions).sum(dim=-1)",
            )
        ],
    ),
    # patch --------------------------------------------------------------------------------------
    Mistake(
        name="the direction reversed",
        function="patch",
        cell="patch_values",
        means="The clean text was read, with a piece of the corrupted run in it. That shows what the piece breaks, not what it mends.",
        hint="Which text does the model read, and from which run does the piece come?",
        section="ch10-patching",
        edits=[("run.trace(clean)", "run.trace(corrupted)"), ("run(corrupted,", "run(clean,")],
    ),
    Mistake(
        name="a patch without effect",
        function="patch",
        cell="patch_values",
        means="These are the logits of the corrupted texts, as if nothing had been replaced. Either what is written goes into a copy, or the piece comes from the corrupted run itself.",
        hint="Compare your result with `run(corrupted)`. Where does what you wrote get lost?",
        section="ch10-mistake-hook",
        edits=[("added[:, position] = source", "added.clone()[:, position] = source")],
    ),
    Mistake(
        name="the clean logits",
        function="patch",
        cell="patch_values",
        means="These are the logits of the clean texts, as if nothing had been corrupted.",
        hint="Which text does the model read in your last line?",
        section="ch10-patching",
        edits=[("run(corrupted,", "run(clean,")],
    ),
    Mistake(
        name="all positions patched",
        function="patch",
        cell="patch_values",
        means="The head adds what it adds in the clean text at every position, not only at the one that was asked for.",
        hint="At how many positions may the head differ from the corrupted run?",
        section="ch10-patching",
        edits=[
            ("added[layer, :, head, position]", "added[layer, :, head]"),
            ("added[:, position] = source", "added[:] = source"),
        ],
    ),
    Mistake(
        name="later positions patched as well",
        function="patch",
        cell="patch_values",
        means="The head was patched from the position on to the end of the text.",
        hint="What does `position:` stand for in an index?",
        section="ch10-patching",
        edits=[
            ("added[layer, :, head, position]", "added[layer, :, head, position:]"),
            ("added[:, position] = source", "added[:, position:] = source"),
        ],
    ),
    Mistake(
        name="earlier positions patched as well",
        function="patch",
        cell="patch_values",
        means="The head was patched from the start of the text up to the position.",
        hint="How many positions does your slice hold?",
        section="ch10-patching",
        edits=[
            ("added[layer, :, head, position]", "added[layer, :, head, : position + 1]"),
            ("added[:, position] = source", "added[:, : position + 1] = source"),
        ],
    ),
    Mistake(
        name="the position before",
        function="patch",
        cell="patch_values",
        means="The head was patched one position too early, as if positions were counted from 1.",
        hint="Which number does the first position have?",
        section="ch10-patching",
        edits=[
            ("added[layer, :, head, position]", "added[layer, :, head, position - 1]"),
            ("added[:, position] = source", "added[:, position - 1] = source"),
        ],
    ),
    Mistake(
        name="the position is taken for a text",
        function="patch",
        cell="patch_values",
        means="The index went to the first axis, which counts the texts. One text was patched at all positions.",
        hint="Which axis of what your function gets counts the positions?",
        section="ch10-patching",
        edits=[
            ("added[layer, :, head, position]", "added[layer, position, head]"),
            ("added[:, position] = source", "added[position] = source"),
        ],
    ),
    Mistake(
        name="only the first text patched",
        function="patch",
        cell="patch_values",
        means="Only the first text of the batch was patched, and the others were left corrupted.",
        hint="What does an index of 0 on the first axis pick out?",
        section="ch10-patching",
        edits=[
            ("added[layer, :, head, position]", "added[layer, 0, head, position]"),
            ("added[:, position] = source", "added[0, position] = source"),
        ],
    ),
    Mistake(
        name="the first clean text for all",
        function="patch",
        cell="patch_values",
        means="All texts got the piece of the first clean text. Each has a clean text of its own.",
        hint="Which shape has what you take from the clean run?",
        section="ch10-patching",
        edits=[("added[layer, :, head, position]", "added[layer, 0, head, position]")],
    ),
    Mistake(
        name="mean over the clean texts",
        function="patch",
        cell="patch_values",
        means="All texts got the mean over the clean texts. That is a kind of ablation, not a patch.",
        hint="From which clean text does each text take its piece?",
        section="ch10-ablation",
        edits=[("added[layer, :, head, position]", "added[layer, :, head, position].mean(dim=0)")],
    ),
    Mistake(
        name="layer and head exchanged",
        function="patch",
        cell="patch_values",
        means="Layer and head have changed places, so another head was patched.",
        hint="In which order does `replace` name a head?",
        section="ch10-patching",
        edits=[
            ("added[layer, :, head, position]", "added[head, :, layer, position]"),
            ("{(layer, head): patched}", "{(head, layer): patched}"),
        ],
    ),
    Mistake(
        name="the piece of another head",
        function="patch",
        cell="patch_values",
        means="The right head was replaced, but by what head 0 of its layer adds in the clean text.",
        hint="From which head do you take what you put in?",
        section="ch10-patching",
        edits=[("added[layer, :, head, position]", "added[layer, :, 0, position]")],
    ),
    Mistake(
        name="all heads of the layer patched",
        function="patch",
        cell="patch_values",
        means="Every head of the layer was patched. Then nobody knows which of them made the difference.",
        hint="How many heads do you replace?",
        section="ch10-patching",
        source="""
def patch(run, clean, corrupted, layer, head, position):
    layers_added = run.trace(clean).added[layer]

    def patched(h):
        def function(added):
            added[:, position] = layers_added[:, h, position]
            return added

        return function

    return run(corrupted, replace={(layer, h): patched(h) for h in range(layers_added.shape[1])})
""",
    ),
    Mistake(
        name="added on top",
        function="patch",
        cell="patch_values",
        means="The head adds what it adds in both texts together. The piece was added to the old one, and did not replace it.",
        hint="What is left of the corrupted piece after your line?",
        section="ch10-patching",
        edits=[("added[:, position] = source", "added[:, position] += source")],
    ),
    Mistake(
        name="zero in place of the clean piece",
        function="patch",
        cell="patch_values",
        means="The head adds nothing at this position. That takes it out, but it puts nothing of the clean run in.",
        hint="Where does your code use the clean text?",
        section="ch10-ablation",
        edits=[("added[:, position] = source", "added[:, position] = 0")],
    ),
    Mistake(
        name="the token replaced in place of the head",
        function="patch",
        cell="patch_values",
        means="The clean token was put into the corrupted text. Then every head reads it, not only the one that was asked for.",
        hint="Which heads see your change?",
        section="ch10-patching",
        source="""
def patch(run, clean, corrupted, layer, head, position):
    mixed = corrupted.clone()
    mixed[:, position] = clean[:, position]
    return run(mixed)
""",
    ),
    Mistake(
        name="the direct effect only",
        function="patch",
        cell="patch_values",
        means="The difference was added at the end of the model. Heads of later layers have not seen it.",
        hint="Which layers run after your change?",
        section="ch10-patching",
        source="""
def patch(run, clean, corrupted, layer, head, position):
    trace = run.trace(corrupted)
    stream = trace.embedding + trace.added.sum(dim=(0, 2))
    clean_part = run.trace(clean).added[layer, :, head, position]
    stream[:, position] += clean_part - trace.added[layer, :, head, position]
    scale = (stream.square().mean(dim=-1, keepdim=True) + 1e-6).sqrt()
    return run.unembed(stream / scale)
""",
    ),
    Mistake(
        name="the same head in every layer",
        function="patch",
        cell="patch_values",
        means="The head with this number was patched in all layers, with what it adds there in the clean text.",
        hint="Where does your code use the argument `layer`?",
        section="ch10-patching",
        source="""
def patch(run, clean, corrupted, layer, head, position):
    every = run.trace(clean).added

    def patched(number):
        def function(added):
            added[:, position] = every[number, :, head, position]
            return added

        return function

    return run(corrupted, replace={(number, head): patched(number) for number in range(len(every))})
""",
    ),
    Mistake(
        name="logits of the position only",
        function="patch",
        cell="patch_values",
        means="Only the logits at the patched position came back. The effect may show at later ones.",
        hint="Which shape has the result in the docstring?",
        section="ch10-patching",
        edits=[
            (
                "return run(corrupted, replace={(layer, head): patched})",
                "return run(corrupted, replace={(layer, head): patched})[:, position]",
            )
        ],
    ),
    Mistake(
        name="a hook that stays on",
        function="patch",
        cell="patch_state",
        means="The first call is right, but the hook was never removed. From then on every run of the model is patched.",
        hint="What does `register_forward_hook` return, and what is it for?",
        section="ch10-mistake-hook",
        source="""
def patch(run, clean, corrupted, layer, head, position):
    source = run.trace(clean).added[layer, :, head, position]

    def hook(module, inputs, output):
        output[0][:, head, position] = source

    run.layers[layer].register_forward_hook(hook)
    return run(corrupted)
""",
    ),
    Mistake(
        name="the clean run of the first call kept",
        function="patch",
        cell="patch_state",
        means="The clean run was kept from the first call, so a later call patches with pieces of other texts.",
        hint="What belongs to the clean text, and what to the model?",
        section="ch10-mistake-hook",
        edits=[
            (
                "source = run.trace(clean).added[layer, :, head, position]",
                "if not hasattr(run, 'clean_added'):\n        run.clean_added = run.trace(clean).added\n"
                "    source = run.clean_added[layer, : len(clean), head, position]",
            )
        ],
    ),
    Mistake(
        name="corrupted texts overwritten",
        function="patch",
        cell="patch_state",
        means="The result is right, but the caller's corrupted texts have changed: `=` copies no tensor.",
        hint="Is a second name for a tensor a second tensor?",
        section="ch10-mistake-hook",
        edits=[
            (
                "return run(corrupted, replace={(layer, head): patched})",
                "logits = run(corrupted, replace={(layer, head): patched})\n"
                "    mixed = corrupted\n    mixed[:, position] = clean[:, position]\n    return logits",
            )
        ],
    ),
    # restored -----------------------------------------------------------------------------------
    Mistake(
        name="what is missing in place of what was restored",
        function="restored",
        cell="restored_values",
        means="The clean run is 0 here and the corrupted run is 1. The scale is upside down.",
        hint="Which number should come out if patched equals clean?",
        section="ch10-restored",
        edits=[
            (
                "low, high = difference(corrupted), difference(clean)",
                "low, high = difference(clean), difference(corrupted)",
            )
        ],
    ),
    Mistake(
        name="the sign reversed",
        function="restored",
        cell="restored_values",
        means="The size is right, but not the sign: above and below the line, the subtractions go opposite ways.",
        hint="Put in patched = clean. Do you get 1 or -1?",
        section="ch10-restored",
        edits=[("(high - low)", "(low - high)")],
    ),
    Mistake(
        name="divided by the clean difference alone",
        function="restored",
        cell="restored_values",
        means="What was gained was divided by the clean difference. The corrupted run does not stand at 0, so its difference belongs below the line, too.",
        hint="Put in patched = clean. Do you get 1?",
        section="ch10-restored",
        edits=[("(high - low)", "high")],
    ),
    Mistake(
        name="the corrupted run not subtracted",
        function="restored",
        cell="restored_values",
        means="The patched difference was divided by the clean one. A patch that does nothing should give 0.",
        hint="Put in patched = corrupted. Do you get 0?",
        section="ch10-restored",
        edits=[("(difference(patched) - low) / (high - low)", "difference(patched) / high")],
    ),
    Mistake(
        name="the two differences added below the line",
        function="restored",
        cell="restored_values",
        means="Below the line the clean and the corrupted difference were added, not subtracted.",
        hint="Put in patched = clean. Do you get 1?",
        section="ch10-restored",
        edits=[("(high - low)", "(high + low)")],
    ),
    Mistake(
        name="no division",
        function="restored",
        cell="restored_values",
        means="This is the gain in logits. It can't be compared between pairs of texts.",
        hint="On which scale is the clean run 1?",
        section="ch10-restored",
        edits=[("(difference(patched) - low) / (high - low)", "difference(patched) - low")],
    ),
    Mistake(
        name="probabilities in place of logits",
        function="restored",
        cell="restored_values",
        means="A softmax came first. Probabilities near 0 or 1 hardly move, so most of the effect is hidden.",
        hint="What does the statement subtract: logits or probabilities?",
        section="ch10-restored",
        edits=[
            (
                "return (logits[texts, right] - logits[texts, wrong]).mean().item()",
                "p = logits.softmax(dim=-1)\n        return (p[texts, right] - p[texts, wrong]).mean().item()",
            )
        ],
    ),
    Mistake(
        name="the right answer alone",
        function="restored",
        cell="restored_values",
        means="Only the logit of the right answer was used. It also rises when all logits rise.",
        hint="Which argument have you not used yet?",
        section="ch10-restored",
        edits=[("(logits[texts, right] - logits[texts, wrong])", "logits[texts, right]")],
    ),
    Mistake(
        name="log-probability of the right answer",
        function="restored",
        cell="restored_values",
        means="This compares the log-probability of the right answer in the three runs. The wrong answer that was chosen plays no part of its own.",
        hint="Which argument have you not used yet?",
        section="ch10-restored",
        edits=[
            (
                "(logits[texts, right] - logits[texts, wrong])",
                "logits.log_softmax(dim=-1)[texts, right]",
            )
        ],
    ),
    Mistake(
        name="share of texts answered rightly",
        function="restored",
        cell="restored_values",
        means="This counts texts in which right lies above wrong. A patch that closes half of the gap often changes no count.",
        hint="Does your number change when a logit moves a little?",
        section="ch10-restored",
        edits=[
            (
                "(logits[texts, right] - logits[texts, wrong]).mean()",
                "(logits[texts, right] > logits[texts, wrong]).double().mean()",
            )
        ],
    ),
    Mistake(
        name="mean of the ratios",
        function="restored",
        cell="restored_values",
        means="A ratio was computed for each text, and then their mean. A text whose gap is near 0 has a huge ratio and drowns all others.",
        hint="In which order does the statement take the mean and divide?",
        section="ch10-restored",
        source="""
def restored(clean, corrupted, patched, right, wrong):
    texts = torch.arange(len(right))
    low, high, now = (
        x[texts, right] - x[texts, wrong] for x in (corrupted, clean, patched)
    )
    if low.mean() == high.mean():
        raise ValueError("nothing to restore")
    return ((now - low) / (high - low)).mean().item()
""",
    ),
    Mistake(
        name="every text with every answer",
        function="restored",
        cell="restored_values",
        means="`logits[:, right]` takes the answers of all texts from each text. The mean then runs over B times B numbers, most of which mean nothing.",
        hint="Which shape has `logits[:, right]`?",
        section="ch10-restored",
        edits=[
            (
                "(logits[texts, right] - logits[texts, wrong])",
                "(logits[:, right] - logits[:, wrong])",
            )
        ],
    ),
    Mistake(
        name="the answers of the first text for all",
        function="restored",
        cell="restored_values",
        means="All texts were judged by the right and wrong answer of the first one.",
        hint="How many right answers are there?",
        section="ch10-restored",
        edits=[
            (
                "(logits[texts, right] - logits[texts, wrong])",
                "(logits[:, right[0]] - logits[:, wrong[0]])",
            )
        ],
    ),
    Mistake(
        name="cut off at 0 and 1",
        function="restored",
        cell="restored_values",
        means="Results below 0 and above 1 were cut off. But a patch can do harm, and it can do more than the clean run.",
        hint="Does the statement bound the result?",
        section="ch10-restored",
        edits=[
            (
                "return (difference(patched) - low) / (high - low)",
                "return min(1.0, max(0.0, (difference(patched) - low) / (high - low)))",
            )
        ],
    ),
    Mistake(
        name="one number for each text",
        function="restored",
        cell="restored_values",
        means="No mean was taken, so there is a number for each text.",
        hint="Where does the mean over the texts stand in the formula?",
        section="ch10-restored",
        source="""
def restored(clean, corrupted, patched, right, wrong):
    texts = torch.arange(len(right))
    low, high, now = (
        x[texts, right] - x[texts, wrong] for x in (corrupted, clean, patched)
    )
    if torch.equal(low, high):
        raise ValueError("nothing to restore")
    return (now - low) / (high - low)
""",
    ),
    Mistake(
        name="no ValueError",
        function="restored",
        cell="restored_values",
        means="Where the clean and the corrupted run have the same difference, the division by 0 was left to Python.",
        hint="What does your division do if there is no gap?",
        section="ch10-restored",
        edits=[
            (
                '    if low == high:\n        raise ValueError("the clean and the corrupted run differ in nothing that could be restored")\n',
                "",
            )
        ],
    ),
    Mistake(
        name="NaN or infinity in place of a ValueError",
        function="restored",
        cell="restored_values",
        means="Tensors divide by 0 without complaint. Where there is no gap, NaN or infinity came back.",
        hint="What does a tensor give for 1 / 0, and who would notice?",
        section="ch10-restored",
        source="""
def restored(clean, corrupted, patched, right, wrong):
    texts = torch.arange(len(right))
    low, high, now = (
        (x[texts, right] - x[texts, wrong]).mean() for x in (corrupted, clean, patched)
    )
    return ((now - low) / (high - low)).item()
""",
    ),
    Mistake(
        name="logits subtracted in place",
        function="restored",
        cell="restored_values",
        means="The result is right, but the corrupted logits were subtracted from the caller's own tensors.",
        hint="What does `-=` do to a tensor that was passed in?",
        section="ch10-restored",
        source="""
def restored(clean, corrupted, patched, right, wrong):
    texts = torch.arange(len(right))
    clean -= corrupted
    patched -= corrupted
    gap, gained = (
        (x[texts, right] - x[texts, wrong]).mean().item() for x in (clean, patched)
    )
    if gap == 0:
        raise ValueError("nothing to restore")
    return gained / gap
""",
    ),
    # mean_ablated -------------------------------------------------------------------------------
    Mistake(
        name="zero in place of the mean",
        function="mean_ablated",
        cell="mean_ablated_values",
        means="The head adds nothing. The layers behind it then get vectors that they have never seen, which breaks more than the head's part.",
        hint="Where does your code use `reference`?",
        section="ch10-ablation",
        edits=[("lambda added: mean.expand_as(added)", "lambda added: torch.zeros_like(added)")],
    ),
    Mistake(
        name="mean over the positions of the reference texts",
        function="mean_ablated",
        cell="mean_ablated_values",
        means="The mean runs along the wrong axis: there is one vector for each reference text, not one for each position. Where there are as many texts as positions nobody complains.",
        hint="Which axis counts the texts?",
        section="ch10-mistake-mean",
        edits=[(".mean(dim=0)", ".mean(dim=1)")],
    ),
    Mistake(
        name="mean over the positions of each text that is read",
        function="mean_ablated",
        cell="mean_ablated_values",
        means="The mean runs over the positions of each text that is read. What the head says about this one text is still in it.",
        hint="Does your mean change when `tokens` change?",
        section="ch10-mistake-mean",
        edits=[
            (
                "run.trace(reference).added[layer, :, head].mean(dim=0)",
                "run.trace(tokens).added[layer, :, head].mean(dim=1, keepdim=True)",
            ),
        ],
    ),
    Mistake(
        name="one mean for all positions",
        function="mean_ablated",
        cell="mean_ablated_values",
        means="The mean runs over texts and positions, so that the head adds the same vector everywhere.",
        hint="How many vectors are left after your mean?",
        section="ch10-mistake-mean",
        edits=[(".mean(dim=0)", ".mean(dim=(0, 1))")],
    ),
    Mistake(
        name="mean over the width",
        function="mean_ablated",
        cell="mean_ablated_values",
        means="The mean was taken of the entries of each vector as well, so that all entries became equal.",
        hint="What does dim=-1 count?",
        section="ch10-mistake-mean",
        edits=[(".mean(dim=0)", ".mean(dim=0).mean(dim=-1, keepdim=True)")],
    ),
    Mistake(
        name="mean over the texts that are read",
        function="mean_ablated",
        cell="mean_ablated_values",
        means="The mean was taken over `tokens` themselves. With a single text, nothing changes at all.",
        hint="Over which texts should the mean run?",
        section="ch10-ablation",
        edits=[("run.trace(reference)", "run.trace(tokens)")],
    ),
    Mistake(
        name="mean over all texts together",
        function="mean_ablated",
        cell="mean_ablated_values",
        means="The mean runs over the reference texts and the texts that are read. So it still knows something of these.",
        hint="Does your mean change when `tokens` change?",
        section="ch10-ablation",
        edits=[("run.trace(reference)", "run.trace(torch.cat([reference, tokens]))")],
    ),
    Mistake(
        name="sum in place of the mean",
        function="mean_ablated",
        cell="mean_ablated_values",
        means="What the head adds in the reference texts was added up, and not divided by their number.",
        hint="What happens to your vector when there are twice as many reference texts?",
        section="ch10-mistake-mean",
        edits=[(".mean(dim=0)", ".sum(dim=0)")],
    ),
    Mistake(
        name="median in place of the mean",
        function="mean_ablated",
        cell="mean_ablated_values",
        means="The median of each entry was taken.",
        hint="Which average does the statement ask for?",
        section="ch10-mistake-mean",
        edits=[(".mean(dim=0)", ".median(dim=0).values")],
    ),
    Mistake(
        name="the first reference text only",
        function="mean_ablated",
        cell="mean_ablated_values",
        means="The head adds what it adds in one reference text. That is resampling: it depends on which text was taken.",
        hint="How many reference texts does your code use?",
        section="ch10-ablation",
        edits=[("[layer, :, head].mean(dim=0)", "[layer, 0, head]")],
    ),
    Mistake(
        name="mean of the logits",
        function="mean_ablated",
        cell="mean_ablated_values",
        means="The model ran once for each reference text, and the mean of the logits was taken. What comes behind the head is not linear, so that is something else.",
        hint="What is averaged in the statement: logits, or what the head adds?",
        section="ch10-ablation",
        source="""
def mean_ablated(run, tokens, layer, head, reference):
    results = []
    for added_there in run.trace(reference).added[layer, :, head]:
        replace = {(layer, head): lambda added: added_there.expand_as(added)}
        results.append(run(tokens, replace=replace))
    return torch.stack(results).mean(dim=0)
""",
    ),
    Mistake(
        name="the mean subtracted",
        function="mean_ablated",
        cell="mean_ablated_values",
        means="The head adds what it adds less the mean. So just what it says about the text is left in.",
        hint="What should be left: the mean, or all but the mean?",
        section="ch10-ablation",
        edits=[("lambda added: mean.expand_as(added)", "lambda added: added - mean")],
    ),
    Mistake(
        name="the mean added on top",
        function="mean_ablated",
        cell="mean_ablated_values",
        means="The mean was added to what the head adds, and did not replace it.",
        hint="What is left of the old values after your change?",
        section="ch10-ablation",
        edits=[("lambda added: mean.expand_as(added)", "lambda added: added + mean")],
    ),
    Mistake(
        name="the whole layer ablated",
        function="mean_ablated",
        cell="mean_ablated_values",
        means="All heads of the layer add their means. Then nobody knows which of them was needed.",
        hint="How many heads do you replace?",
        section="ch10-ablation",
        source="""
def mean_ablated(run, tokens, layer, head, reference):
    means = run.trace(reference).added[layer].mean(dim=0)
    replace = {
        (layer, h): lambda added, h=h: means[h].expand_as(added) for h in range(len(means))
    }
    return run(tokens, replace=replace)
""",
    ),
    Mistake(
        name="layer and head exchanged in the ablation",
        function="mean_ablated",
        cell="mean_ablated_values",
        means="Layer and head have changed places, so another head was taken out.",
        hint="In which order does `replace` name a head?",
        section="ch10-ablation",
        edits=[
            ("added[layer, :, head]", "added[head, :, layer]"),
            ("{(layer, head):", "{(head, layer):"),
        ],
    ),
    Mistake(
        name="only the last position ablated",
        function="mean_ablated",
        cell="mean_ablated_values",
        means="Only the last position got the mean. At all others the head works as before, and other heads can read what it wrote.",
        hint="At which positions does the head add its mean?",
        section="ch10-ablation",
        source="""
def mean_ablated(run, tokens, layer, head, reference):
    mean = run.trace(reference).added[layer, :, head].mean(dim=0)

    def function(added):
        added[:, -1] = mean[-1]
        return added

    return run(tokens, replace={(layer, head): function})
""",
    ),
    Mistake(
        name="later layers not computed anew",
        function="mean_ablated",
        cell="mean_ablated_values",
        means="The change was made at the end of the model, so heads of later layers have not seen it.",
        hint="Which layers run after your change?",
        section="ch10-ablation",
        source="""
def mean_ablated(run, tokens, layer, head, reference):
    mean = run.trace(reference).added[layer, :, head].mean(dim=0)
    trace = run.trace(tokens)
    stream = trace.embedding + trace.added.sum(dim=(0, 2)) - trace.added[layer, :, head] + mean
    return run.unembed(stream / (stream.square().mean(dim=-1, keepdim=True) + 1e-6).sqrt())
""",
    ),
    Mistake(
        name="logits of the reference texts",
        function="mean_ablated",
        cell="mean_ablated_values",
        means="The model read the reference texts in the end, not `tokens`.",
        hint="Which texts does the model read in your last line?",
        section="ch10-ablation",
        edits=[("return run(tokens,", "return run(reference,")],
    ),
    Mistake(
        name="the output matrix left empty",
        function="mean_ablated",
        cell="mean_ablated_state",
        means="The head's columns of the output matrix were set to 0 and not put back. The result is right, but the model has lost this head for good.",
        hint="What does the model say when it is asked again?",
        section="ch10-mistake-hook",
        source="""
def mean_ablated(run, tokens, layer, head, reference):
    mean = run.trace(reference).added[layer, :, head].mean(dim=0)
    heads = run.layers[layer]
    d = heads.w_o.weight.shape[1] // heads.n_heads
    with torch.no_grad():
        heads.w_o.weight[:, head * d : head * d + d] = 0
    return run(tokens, replace={(layer, head): lambda added: added + mean})
""",
    ),
    Mistake(
        name="a hook that stays on after the ablation",
        function="mean_ablated",
        cell="mean_ablated_state",
        means="The first call is right, but the hook was never removed. From then on every run of the model lacks this head.",
        hint="What does `register_forward_hook` return, and what is it for?",
        section="ch10-mistake-hook",
        source="""
def mean_ablated(run, tokens, layer, head, reference):
    mean = run.trace(reference).added[layer, :, head].mean(dim=0)

    def hook(module, inputs, output):
        output[0][:, head] = mean[: output[0].shape[2]]

    run.layers[layer].register_forward_hook(hook)
    return run(tokens)
""",
    ),
    # composition --------------------------------------------------------------------------------
    Mistake(
        name="the wrong order",
        function="composition",
        cell="composition_values",
        means="The product has the first matrix in front. For column vectors, what acts first stands on the right.",
        hint="In `w_b @ w_a @ x`, which matrix meets x first?",
        section="ch10-composition",
        edits=[("w_b @ w_a", "w_a @ w_b")],
    ),
    Mistake(
        name="the first matrix transposed",
        function="composition",
        cell="composition_values",
        means="The product was made with the transpose of the first matrix. So what it reads was compared, not what it writes.",
        hint="Does `w_a` write its rows or its columns?",
        section="ch10-composition",
        edits=[("w_b @ w_a", "w_b @ w_a.T")],
    ),
    Mistake(
        name="the second matrix transposed",
        function="composition",
        cell="composition_values",
        means="The product was made with the transpose of the second matrix.",
        hint="Does `w_b` read with its rows or with its columns?",
        section="ch10-composition",
        edits=[("w_b @ w_a", "w_b.T @ w_a")],
    ),
    Mistake(
        name="spectral norms",
        function="composition",
        cell="composition_values",
        means="The largest singular value was taken for the norm. It sees one direction only.",
        hint="Over how many entries does the sum below the root run?",
        section="ch10-composition",
        source="""
def composition(w_a, w_b):
    def size(w):
        return torch.linalg.matrix_norm(w, ord=2)

    product = size(w_a) * size(w_b)
    return (size(w_b @ w_a) / product).item() if product else 0.0
""",
    ),
    Mistake(
        name="nuclear norms",
        function="composition",
        cell="composition_values",
        means="The sum of the singular values was taken for the norm.",
        hint="Which norm is the root of a sum of squares?",
        section="ch10-composition",
        source="""
def composition(w_a, w_b):
    def size(w):
        return torch.linalg.matrix_norm(w, ord="nuc")

    product = size(w_a) * size(w_b)
    return (size(w_b @ w_a) / product).item() if product else 0.0
""",
    ),
    Mistake(
        name="no root",
        function="composition",
        cell="composition_values",
        means="The sums of squares were divided without their roots. This is the square of the score.",
        hint="Do you take the norm or its square?",
        section="ch10-composition",
        edits=[
            ("(together.norm() / product).item()", "(together.norm() / product).square().item()")
        ],
    ),
    Mistake(
        name="norm of the product only",
        function="composition",
        cell="composition_values",
        means="Nothing was divided. Large matrices then get a large score.",
        hint="What happens to your number when all weights are doubled?",
        section="ch10-composition",
        edits=[("(together.norm() / product)", "together.norm()")],
    ),
    Mistake(
        name="divided by one of the norms",
        function="composition",
        cell="composition_values",
        means="The norm of the product was divided by that of the first matrix only.",
        hint="What happens to your number when `w_b` is doubled?",
        section="ch10-composition",
        edits=[("(together.norm() / product)", "(together.norm() / w_a.norm())")],
    ),
    Mistake(
        name="divided by the sum of the norms",
        function="composition",
        cell="composition_values",
        means="The two norms were added below the line, where their product should stand.",
        hint="What happens to your number when all weights are doubled?",
        section="ch10-composition",
        edits=[("(together.norm() / product)", "(together.norm() / (w_a.norm() + w_b.norm()))")],
    ),
    Mistake(
        name="sum of the absolute entries",
        function="composition",
        cell="composition_values",
        means="Absolute values were added up in place of squares.",
        hint="Which norm is the root of a sum of squares?",
        section="ch10-composition",
        edits=[
            (
                "together, product = w_b @ w_a, w_a.norm() * w_b.norm()",
                "together, product = w_b @ w_a, w_a.abs().sum() * w_b.abs().sum()",
            ),
            ("together.norm()", "together.abs().sum()"),
        ],
    ),
    Mistake(
        name="NaN where a matrix is zero",
        function="composition",
        cell="composition_values",
        means="Where one matrix is zero, 0 was divided by 0.",
        hint="What is the norm of a matrix of zeros?",
        section="ch10-composition",
        edits=[(" if product else 0.0", "")],
    ),
    Mistake(
        name="matrices divided in place",
        function="composition",
        cell="composition_values",
        means="The score is right, but the caller's matrices have been divided by their norms.",
        hint="What does `/=` do to a tensor that was passed in?",
        section="ch10-composition",
        source="""
def composition(w_a, w_b):
    if not w_a.any() or not w_b.any():
        return 0.0
    w_a /= w_a.norm()
    w_b /= w_b.norm()
    return (w_b @ w_a).norm().item()
""",
    ),
]

ALTERNATIVES = [
    Alternative(
        name="one number after the other",
        cost=(
            "The rules as they are printed, so it is easy to check. Python visits every pair of "
            "positions, which is slow for long texts."
        ),
        source="""
def prefix_matching(weights, tokens):
    words, scores = tokens.tolist(), []
    for q in range(len(words)):
        earlier = [p for p in range(q) if words[p] == words[q]]
        if earlier:
            scores.append(sum(weights[:, q, p + 1] for p in earlier))
    if not scores:
        return torch.zeros(weights.shape[0], dtype=weights.dtype)
    return sum(scores) / len(scores)


def ov_circuit(w_e, w_v, w_o, w_u):
    rows = []
    for embedding in w_e:
        value = w_v @ embedding
        written = w_o @ value
        rows.append(w_u @ written)
    return torch.stack(rows)


def logit_attribution(parts, scale, w_u, targets):
    n, T, _ = parts.shape
    shares = torch.empty(n, T, dtype=parts.dtype)
    for i in range(n):
        for t in range(T):
            shares[i, t] = parts[i, t] @ w_u[targets[t]] / scale[t]
    return shares


def restored(clean, corrupted, patched, right, wrong):
    def difference(logits):
        total = 0.0
        for text in range(len(logits)):
            total += float(logits[text, right[text]]) - float(logits[text, wrong[text]])
        return total / len(logits)

    gap = difference(clean) - difference(corrupted)
    if gap == 0:
        raise ValueError("clean and corrupted do not differ")
    return (difference(patched) - difference(corrupted)) / gap


def composition(w_a, w_b):
    def size(w):
        return sum(float(entry) ** 2 for row in w for entry in row) ** 0.5

    if size(w_a) == 0 or size(w_b) == 0:
        return 0.0
    return size(w_b @ w_a) / size(w_a) / size(w_b)
""",
    ),
    Alternative(
        name="Einstein sums",
        cost=(
            "The letters say which axis meets which, so that no transpose is needed. One has to "
            "learn to read them."
        ),
        source="""
def prefix_matching(weights, tokens):
    T = tokens.shape[0]
    places = torch.zeros(T, T, dtype=weights.dtype)
    places[:, 1:] = torch.tril(tokens.unsqueeze(1) == tokens.unsqueeze(0), -1)[:, :-1]
    n = torch.count_nonzero(places.sum(dim=1)).clamp(min=1)
    return torch.einsum("hqk,qk->h", weights, places) / n


def ov_circuit(w_e, w_v, w_o, w_u):
    return torch.einsum("sa,da,bd,tb->st", w_e, w_v, w_o, w_u)


def logit_attribution(parts, scale, w_u, targets):
    return torch.einsum("itd,td->it", parts, w_u[targets] / scale[:, None])


def composition(w_a, w_b):
    together = torch.einsum("km,mn->kn", w_b, w_a)
    sizes = [float(torch.einsum("ij,ij->", w, w)) ** 0.5 for w in (together, w_a, w_b)]
    return sizes[0] / (sizes[1] * sizes[2]) if sizes[1] * sizes[2] > 0 else 0.0
""",
    ),
    Alternative(
        name="PyTorch's own hooks, taken off again",
        cost=(
            "It works on any PyTorch model, also on one without `replace`. Who forgets to take "
            "the hook off, or raises an error before, spoils every later run."
        ),
        source="""
def patch(run, clean, corrupted, layer, head, position):
    kept = {}

    def keep(module, inputs, output):
        kept["clean"] = output[0][:, head, position].clone()

    def put_in(module, inputs, output):
        added, weights = output
        added = added.clone()
        added[:, head, position] = kept["clean"]
        return added, weights

    handle = run.layers[layer].register_forward_hook(keep)
    try:
        run(clean)
    finally:
        handle.remove()
    handle = run.layers[layer].register_forward_hook(put_in)
    try:
        return run(corrupted)
    finally:
        handle.remove()


def mean_ablated(run, tokens, layer, head, reference):
    kept = []
    handle = run.layers[layer].register_forward_hook(
        lambda module, inputs, output: kept.append(output[0][:, head].mean(dim=0))
    )
    with torch.no_grad():
        run(reference)
    handle.remove()

    def put_in(module, inputs, output):
        added = output[0].clone()
        added[:, head] = kept[0]
        return added, output[1]

    handle = run.layers[layer].register_forward_hook(put_in)
    logits = run(tokens)
    handle.remove()
    return logits
""",
    ),
    Alternative(
        name="a new tensor, nothing overwritten",
        cost=(
            "No value ever changes, so there is nothing to trip over, and gradients pass. "
            "It makes a few more tensors."
        ),
        source="""
def patch(run, clean, corrupted, layer, head, position):
    source = run.trace(clean).added[layer][:, head]
    here = (torch.arange(clean.shape[1]) == position).unsqueeze(-1)
    return run(corrupted, replace={(layer, head): lambda added: torch.where(here, source, added)})


def mean_ablated(run, tokens, layer, head, reference):
    mean = run.trace(reference).added[layer][:, head].mean(0, keepdim=True)
    return run(tokens, {(layer, head): lambda added: mean.repeat(len(added), 1, 1)})


def prefix_matching(weights, tokens):
    equal = tokens.view(-1, 1) == tokens.view(1, -1)
    earlier = torch.tril(equal, diagonal=-1)
    # the place after p: the weights move one to the left, and a column of zeros comes in
    ahead = torch.cat([weights[:, :, 1:], torch.zeros_like(weights[:, :, :1])], dim=-1)
    per_position = torch.where(earlier, ahead, torch.zeros_like(ahead)).sum(-1)
    n = int(earlier.any(-1).sum())
    return per_position.sum(-1) / max(n, 1)
""",
    ),
    Alternative(
        name="one text at a time",
        cost=(
            "Nothing can get from one text of the batch into another. The model runs B times "
            "where once would do."
        ),
        source="""
def patch(run, clean, corrupted, layer, head, position):
    results = []
    for one, other in zip(clean, corrupted):
        piece = run.trace(one[None]).added[layer, 0, head, position]

        def put_in(added, piece=piece):
            before, after = added[0, :position], added[0, position + 1 :]
            return torch.cat([before, piece[None], after])[None]

        results.append(run(other[None], replace={(layer, head): put_in}))
    return torch.cat(results)


def mean_ablated(run, tokens, layer, head, reference):
    total = 0
    for text in reference:
        total = total + run.trace(text[None]).added[layer, 0, head]
    mean = total / len(reference)
    return torch.cat(
        [run(text[None], replace={(layer, head): lambda _: mean[None]}) for text in tokens]
    )


def restored(clean, corrupted, patched, right, wrong):
    totals = [0.0, 0.0, 0.0]
    for b, (r, w) in enumerate(zip(right.tolist(), wrong.tolist())):
        for i, logits in enumerate((clean, corrupted, patched)):
            totals[i] += (logits[b, r] - logits[b, w]).item()
    if totals[0] == totals[1]:
        raise ValueError(f"both differences are {totals[0]}")
    return (totals[2] - totals[1]) / (totals[0] - totals[1])
""",
    ),
    Alternative(
        name="NumPy",
        cost=(
            "Its linear algebra gives the same numbers. Tensors have to be taken over into arrays, "
            "and no gradient passes."
        ),
        source="""
import numpy as np


def prefix_matching(weights, tokens):
    words, w = tokens.numpy(), weights.detach().numpy()
    q, p = np.nonzero(np.tril(words[:, None] == words[None, :], -1))
    if len(q) == 0:
        return torch.zeros(len(w), dtype=weights.dtype)
    total = w[:, q, p + 1].sum(axis=1)
    return torch.from_numpy(total / len(np.unique(q))).to(weights.dtype)


def copying(ov):
    values = np.linalg.eigvals(ov.numpy())
    size = np.abs(values).sum()
    return float(values.sum().real / size) if size > 0 else 0.0


def restored(clean, corrupted, patched, right, wrong):
    rows = np.arange(len(right))

    def difference(logits):
        x = np.asarray(logits)
        return np.mean(x[rows, right.numpy()] - x[rows, wrong.numpy()])

    if difference(clean) == difference(corrupted):
        raise ValueError("no difference")
    gained = difference(patched) - difference(corrupted)
    return float(gained / (difference(clean) - difference(corrupted)))


def composition(w_a, w_b):
    a, b = w_a.numpy(), w_b.numpy()
    if not a.any() or not b.any():
        return 0.0
    return float(np.linalg.norm(b @ a) / np.linalg.norm(a) / np.linalg.norm(b))
""",
    ),
    Alternative(
        name="by other formulas",
        cost=(
            "The trace is the sum of the eigenvalues, log-probabilities have the same differences "
            "as logits, and norms come from singular values. That is worth knowing, and a reader "
            "has to know it."
        ),
        source="""
def ov_circuit(w_e, w_v, w_o, w_u):
    # column by column: the matrix of the whole path, turned round at the end
    whole = w_u @ (w_o @ w_v)
    return (whole @ w_e.transpose(0, 1)).transpose(0, 1)


def copying(ov):
    size = torch.linalg.eigvals(ov.double()).abs().sum()
    return float(torch.trace(ov) / size) if size != 0 else 0.0


def logit_attribution(parts, scale, w_u, targets):
    every = (parts / scale.view(-1, 1)) @ w_u.T
    return every.gather(2, targets.view(1, -1, 1).expand(len(parts), -1, 1)).squeeze(2)


def restored(clean, corrupted, patched, right, wrong):
    def difference(logits):
        log_p = torch.log_softmax(logits, dim=1)
        chosen = torch.stack([right, wrong], dim=1)
        two = log_p.gather(1, chosen).mean(dim=0)
        return float(two[0] - two[1])

    high, low = difference(clean), difference(corrupted)
    if high == low:
        raise ValueError
    return 1 - (high - difference(patched)) / (high - low)


def composition(w_a, w_b):
    def size(w):
        return torch.linalg.svdvals(w).square().sum().sqrt().item()

    if size(w_a) * size(w_b) == 0:
        return 0.0
    return size(w_b @ w_a) / (size(w_a) * size(w_b))
""",
    ),
    Alternative(
        name="pieces caught on the way",
        cost=(
            "It needs nothing but `replace`: a function that returns what it gets changes nothing, "
            "and can keep it. A trace of all heads isn't made."
        ),
        source="""
def patch(run, clean, corrupted, layer, head, position):
    caught = []

    def catch(added):
        caught.append(added)
        return added

    run(clean, replace={(layer, head): catch})

    def put_in(added):
        mixed = added.clone()
        mixed[:, position, :] = caught[0][:, position, :]
        return mixed

    return run(corrupted, replace={(layer, head): put_in})


def mean_ablated(run, tokens, layer, head, reference):
    caught = []

    def catch(added):
        caught.append(added.sum(0) / added.shape[0])
        return added

    run.trace(reference, {(layer, head): catch})
    return run.trace(tokens, {(layer, head): lambda a: torch.stack([caught[0]] * len(a))}).logits


def copying(ov):
    values, _ = torch.linalg.eig(ov)
    parts = torch.view_as_real(values)
    size = torch.hypot(parts[:, 0], parts[:, 1]).sum()
    if size == 0:
        return 0.0
    return (parts[:, 0].sum() / size).item()
""",
    ),
]

# shown after a task is passed
DISCUSSIONS = [
    Discussion(
        "prefix_matching",
        (
            Way(
                "With pairs of positions in place of a mask.",
                "q, p = equal.tril(-1).nonzero(as_tuple=True)  # all pairs\n"
                "total = weights[:, q, p + 1].sum(dim=-1)\n"
                "score = total / len(q.unique())",
                "It reads just the weights that count, and `p + 1` stands in it as in the rules. A text "
                "without any pair needs a line of its own, since there is nothing to divide by.",
            ),
            Way(
                "As one line, where a segment of n tokens comes twice and nothing else repeats.",
                "score = weights.diagonal(1 - n, dim1=-2, dim2=-1)[:, 1:].mean(dim=-1)",
                "It is short, and many write-ups have it. It does not look at the tokens, so a head that looks a fixed "
                "number of positions back gets a full score.",
            ),
        ),
    ),
    Discussion(
        "ov_circuit",
        (
            Way(
                "The two narrow matrices first.",
                "values = w_e @ w_v.T  # (V, d)\n"
                "readers = w_u @ w_o  # (V, d)\n"
                "circuit = values @ readers.T",
                "The head is narrow, so these two matrices hold all there is to know about it. They take V d "
                "numbers each, while the whole circuit takes V squared.",
            ),
            Way(
                "Column by column, as formulas in papers have it.",
                "circuit = (w_u @ w_o @ w_v @ w_e.T).T",
                "It reads from right to left, as the vector passes. The result has to be turned round, which "
                "is easily forgotten.",
            ),
        ),
    ),
    Discussion(
        "copying",
        (
            Way(
                "With the trace, which is the sum of the eigenvalues.",
                "above = torch.trace(ov).item()",
                "No complex number is left above the line. Below it the eigenvalues are needed all the same.",
            ),
            Way(
                "With a matrix of the head's own size.",
                "small = w_v @ w_e.T @ w_u @ w_o  # (d, d)\n"
                "eigenvalues = torch.linalg.eigvals(small)",
                "A B and B A have the same eigenvalues, apart from zeros. For a large vocabulary that is the "
                "only way that fits into memory. It needs the four matrices, not their product.",
            ),
        ),
    ),
    Discussion(
        "logit_attribution",
        (
            Way(
                "All logits of all parts, then those of the targets.",
                "every = parts @ w_u.T / scale[:, None]  # (n, T, V)\n"
                "index = targets[:, None].expand(len(parts), -1, 1)\n"
                "shares = every.gather(-1, index).squeeze(-1)",
                "You can also read from `every` which other tokens a part speaks for. It computes V logits "
                "where one is needed.",
            ),
            Way(
                "The norm moved into the directions.",
                "directions = w_u[targets] / scale[:, None]\n"
                'shares = torch.einsum("ntd,td->nt", parts, directions)',
                "It divides T vectors, not n times T numbers, and says what the norm is here: a factor of each position.",
            ),
        ),
    ),
    Discussion(
        "patch",
        (
            Way(
                "With `torch.where`, so that nothing is overwritten.",
                "here = torch.arange(corrupted.shape[1])[:, None] == position\n"
                "patched = lambda added: torch.where(here, source, added)",
                "A mask for several positions would work just as well. It takes the piece of all positions, "
                "though one is needed.",
            ),
            Way(
                "With a hook of PyTorch, which has to be taken off.",
                "handle = run.layers[layer].register_forward_hook(hook)\n"
                "logits = run(corrupted)\n"
                "handle.remove()",
                "It works on any model, whoever wrote it. If the run raises an error, the hook stays on, so it "
                "belongs into `try` and `finally`.",
            ),
        ),
    ),
    Discussion(
        "restored",
        (
            Way(
                "From log-probabilities.",
                "log_p = logits.log_softmax(dim=-1)\n"
                "difference = (log_p[texts, right] - log_p[texts, wrong]).mean()",
                "The softmax subtracts the same number from both, so the difference is that of the logits. It "
                "helps where a library gives log-probabilities only.",
            ),
            Way(
                "With the vector of each text's two answers.",
                "chosen = torch.stack([right, wrong], dim=1)\n"
                "first, second = logits.gather(1, chosen).mean(dim=0)",
                "One call takes both logits. `gather` wants its index with as many axes as the logits have.",
            ),
        ),
    ),
    Discussion(
        "mean_ablated",
        (
            Way(
                "By another text in place of the mean (resampling).",
                "other = run.trace(reference).added[layer, torch.randint(len(reference), (B,)), head]\n"
                "logits = run(tokens, replace={(layer, head): lambda added: other})",
                "The layers behind get a vector that really occurs, while a mean may lie between all of them. "
                "The result depends on which texts were drawn, so it takes several draws.",
            ),
            Way(
                "By zeros.",
                "logits = run(tokens, replace={(layer, head): torch.zeros_like})",
                "It needs no other texts. But zero may be far from all that the head ever adds. Then the "
                "damage says more about the layers behind.",
            ),
        ),
    ),
    Discussion(
        "composition",
        (
            Way(
                "From traces, without the product of large matrices.",
                "square = torch.trace((w_b.T @ w_b) @ (w_a @ w_a.T))\n"
                "score = square.sqrt() / (w_a.norm() * w_b.norm())",
                "The two brackets can be made once for each head and used in all pairs. Squares lose half of the digits where the score is tiny.",
            ),
            Way(
                "Beside what chance gives.",
                "chance = torch.stack(\n"
                "    [(w_b @ torch.randn_like(w_a)).norm() for _ in range(100)]\n"
                ").mean() / (w_b.norm() * w_a.numel() ** 0.5)",
                "Two matrices that know nothing of each other have a score above 0, too. What counts is how far a "
                "score lies above this.",
            ),
        ),
    ),
]
