"""Known mistakes and accepted alternatives of exercise 9."""

from autograder.catalogue import Alternative, Discussion, Mistake
from autograder.runtime.guide import Way

# the section of the book to read again, by grade cell
SECTIONS = {
    "merge_values": "ch9-merge",
    "merge_edges": "ch9-merge",
    "flash_forward_values": "ch9-tiles",
    "flash_forward_causal": "ch9-tile-masks",
    "flash_forward_edges": "ch9-one-pass",
    "flash_forward_memory": "ch9-whole-matrix",
    "flash_backward_values": "ch9-gradient",
    "flash_backward_edges": "ch9-gradient",
    "flash_backward_memory": "ch9-whole-matrix",
    "tiles_values": "ch9-tile-masks",
    "traffic_values": "ch9-counting",
    "paged_attention_values": "ch9-pages",
    "linear_attention_values": "ch9-linear",
    "linear_attention_memory": "ch9-whole-matrix",
}

MISTAKES = [
    # merge --------------------------------------------------------------------------------------
    Mistake(
        name="mean of the two outputs",
        function="merge",
        cell="merge_values",
        means="The two outputs were averaged, as if both parts had the same weight. The lse says how much each has.",
        hint="If one part holds nearly all the weight of a query, which output should the result be near to?",
        section="ch9-merge",
        edits=[
            (
                "output = share_a[..., None] * output_a + share_b[..., None] * output_b",
                "output = total[..., None] * (output_a + output_b) / 2",
            )
        ],
    ),
    Mistake(
        name="outputs weighted with the lse itself",
        function="merge",
        cell="merge_values",
        means="The outputs were weighted with the two log-sum-exps. These are logarithms and may be negative; a weight is a sum of exponentials.",
        hint="Of which number is the lse the logarithm?",
        section="ch9-merge",
        source="""
def merge(a, b):
    (output_a, lse_a), (output_b, lse_b) = a, b
    total = lse_a + lse_b
    output = (lse_a[..., None] * output_a + lse_b[..., None] * output_b) / total[..., None]
    return output, torch.logaddexp(lse_a, lse_b)
""",
    ),
    Mistake(
        name="outputs added",
        function="merge",
        cell="merge_values",
        means="The two outputs were added. Each of them is an average already, with weights that sum to 1.",
        hint="What do the weights of the values sum to in your result?",
        section="ch9-merge",
        edits=[
            (
                "output = share_a[..., None] * output_a + share_b[..., None] * output_b",
                "output = total[..., None] * (output_a + output_b)",
            )
        ],
    ),
    Mistake(
        name="shares exchanged",
        function="merge",
        cell="merge_values",
        means="The first part's output has the second part's weight, and the other way round.",
        hint="Which of the two outputs belongs to which lse?",
        section="ch9-merge",
        edits=[
            ("share_a[..., None] * output_a", "share_b[..., None] * output_a"),
            ("share_b[..., None] * output_b", "share_a[..., None] * output_b"),
        ],
    ),
    Mistake(
        name="larger lse returned",
        function="merge",
        cell="merge_values",
        means="The output is right, but the lse is the larger of the two. The sums of exponentials have to be added.",
        hint="How large is the sum of exponentials over both parts, if both have the same?",
        section="ch9-merge",
        edits=[("shift + total.log()", "highest")],
    ),
    Mistake(
        name="log-sum-exps added",
        function="merge",
        cell="merge_values",
        means="The output is right, but the lse is the sum of the two. A sum of logarithms is the logarithm of a product.",
        hint="Which of the two has to be added: the sums of exponentials or their logarithms?",
        section="ch9-merge",
        edits=[("shift + total.log()", "lse_a + lse_b")],
    ),
    Mistake(
        name="largest lse not added back",
        function="merge",
        cell="merge_values",
        means="The output is right, but the lse is that of numbers from which the larger lse was subtracted.",
        hint="What did you subtract before the exponential, and where does it come back?",
        section="ch9-merge",
        edits=[("shift + total.log()", "total.log()")],
    ),
    Mistake(
        name="output and lse exchanged",
        function="merge",
        cell="merge_values",
        means="The two results come in the opposite order: first the lse, then the output.",
        hint="In which order does the docstring name the results?",
        section="ch9-merge",
        source="""
def merge(a, b):
    (output_a, lse_a), (output_b, lse_b) = a, b
    lse = torch.logaddexp(lse_a, lse_b)
    output = (lse_a - lse).exp()[..., None] * output_a + (lse_b - lse).exp()[..., None] * output_b
    return lse, output
""",
    ),
    Mistake(
        name="exponentials of the bare lse",
        function="merge",
        cell="merge_edges",
        means="The exponential of an lse in the thousands is infinite, and that of one in the minus thousands is 0. Infinity divided by infinity is NaN, and so is 0 by 0.",
        hint="Which number can be subtracted from both log-sum-exps without a change of the output?",
        section="ch9-one-pass",
        source="""
def merge(a, b):
    (output_a, lse_a), (output_b, lse_b) = a, b
    share_a, share_b = lse_a.exp(), lse_b.exp()
    total = share_a + share_b
    output = share_a[..., None] * output_a + share_b[..., None] * output_b
    return output / total.where(total > 0, 1.0)[..., None], total.log()
""",
    ),
    Mistake(
        name="NaN where both parts are empty",
        function="merge",
        cell="merge_edges",
        means="Where both parts are empty, both log-sum-exps are minus infinity, and minus infinity minus minus infinity is NaN.",
        hint="What do you subtract from the lse of a query that sees nothing in either part?",
        section="ch9-mistake-empty",
        edits=[("highest.masked_fill(highest.isneginf(), 0.0)", "highest")],
    ),
    Mistake(
        name="first lse subtracted",
        function="merge",
        cell="merge_edges",
        means="The first part's lse was subtracted, whichever is larger. Where that part is empty, this is infinite.",
        hint="After your subtraction, how large can the other exponential be?",
        section="ch9-one-pass",
        edits=[("torch.maximum(lse_a, lse_b)", "lse_a")],
    ),
    Mistake(
        name="0 divided by 0 where both parts are empty",
        function="merge",
        cell="merge_edges",
        means="Where both parts are empty, both weights are 0, and the division by their sum gives NaN.",
        hint="What is the sum of your two weights if neither part has anything?",
        section="ch9-mistake-empty",
        edits=[("total.clamp(min=1.0)", "total")],
    ),
    Mistake(
        name="one shift for all queries",
        function="merge",
        cell="merge_edges",
        means="The largest lse of all queries was subtracted everywhere. A query that lies far below has only exponentials of 0.",
        hint="Does every query have an exp(0) after your subtraction?",
        section="ch9-mistake-maximum",
        source="""
def merge(a, b):
    (output_a, lse_a), (output_b, lse_b) = a, b
    shift = torch.maximum(lse_a, lse_b).max()
    share_a, share_b = (lse_a - shift).exp(), (lse_b - shift).exp()
    total = share_a + share_b
    output = share_a[..., None] * output_a + share_b[..., None] * output_b
    return output / total.where(total > 0, 1.0)[..., None], shift + total.log()
""",
    ),
    Mistake(
        name="lse of an empty query set to 0",
        function="merge",
        cell="merge_edges",
        means="A query that sees nothing has an lse of 0 here. That is the logarithm of 1: merged with a third part, it takes weight that it must not have.",
        hint="How much weight has a part without keys, and what is the logarithm of that?",
        section="ch9-mistake-empty",
        edits=[("shift + total.log()", "shift + total.log().nan_to_num(neginf=0.0)")],
    ),
    Mistake(
        name="first part changed in place",
        function="merge",
        cell="merge_edges",
        means="The first output that was passed in has changed: the caller's tensor was multiplied in place.",
        hint="What is the difference between `a *= b` and `a = a * b` for a tensor?",
        section="ch9-mistake-in-place",
        edits=[
            (
                "output = share_a[..., None] * output_a + share_b[..., None] * output_b",
                "output_a *= share_a[..., None]\n    output = output_a + share_b[..., None] * output_b",
            )
        ],
    ),
    # flash_forward ------------------------------------------------------------------------------
    Mistake(
        name="no scaling",
        function="flash_forward",
        cell="flash_forward_values",
        means="These are the results of the plain dot products, not divided by the square root of d.",
        hint="What is a score, by the first cell of this notebook?",
        section="ch9-mistake-scale",
        edits=[("scale * (q @ k.mT)", "q @ k.mT")],
    ),
    Mistake(
        name="square root of dv",
        function="flash_forward",
        cell="flash_forward_values",
        means="The dot products were divided by the square root of the width of the values. Where d and dv are equal, nobody notices.",
        hint="A dot product is a sum of how many products?",
        section="ch9-mistake-scale",
        edits=[("query.shape[-1] ** -0.5", "value.shape[-1] ** -0.5")],
    ),
    Mistake(
        name="always divided by 8",
        function="flash_forward",
        cell="flash_forward_values",
        means="The dot products were divided by 8, which is right for d = 64 alone.",
        hint="Which of your numbers depends on the shape of the queries?",
        section="ch9-mistake-scale",
        edits=[("query.shape[-1] ** -0.5", "0.125")],
    ),
    Mistake(
        name="divided by d",
        function="flash_forward",
        cell="flash_forward_values",
        means="The dot products were divided by d itself.",
        hint="Which power of d stands in the definition of a score?",
        section="ch9-mistake-scale",
        edits=[("query.shape[-1] ** -0.5", "1 / query.shape[-1]")],
    ),
    Mistake(
        name="as many keys as queries",
        function="flash_forward",
        cell="flash_forward_values",
        means="The loop over keys ends at the number of queries. With more keys than queries, the last ones are never looked at.",
        hint="From which tensor do you take the number of keys?",
        section="ch9-mistake-tails",
        edits=[("range(0, S, block_k)", "range(0, min(S, T), block_k)")],
    ),
    Mistake(
        name="last keys dropped",
        function="flash_forward",
        cell="flash_forward_values",
        means="Only whole tiles of keys are used. What is left at the end, fewer than block_k keys, is never looked at.",
        hint="How many tiles do 7 keys need, if a tile holds 3?",
        section="ch9-mistake-tails",
        edits=[("range(0, S, block_k)", "range(0, max(S // block_k, 1) * block_k, block_k)")],
    ),
    Mistake(
        name="last queries dropped",
        function="flash_forward",
        cell="flash_forward_values",
        means="Only whole tiles of queries are computed. The queries at the end, fewer than block_q, have no result, or 0.",
        hint="How many tiles do 7 queries need, if a tile holds 3?",
        section="ch9-mistake-tails",
        source="""
def flash_forward(query, key, value, block_q, block_k, causal=False):
    T, S = query.shape[-2], key.shape[-2]
    outputs = torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)
    all_lse = torch.zeros(query.shape[:-1], dtype=torch.promote_types(query.dtype, torch.float32))
    for i in range(T // block_q):
        rows = torch.arange(i * block_q, (i + 1) * block_q)
        q = query[..., rows, :].to(all_lse.dtype)
        scores = q @ key.to(q.dtype).mT / query.shape[-1] ** 0.5
        if causal:
            scores = scores.masked_fill(torch.arange(S) > rows[:, None] + S - T, -torch.inf)
        all_lse[..., rows] = scores.logsumexp(-1)
        weights = scores.softmax(-1).nan_to_num()
        outputs[..., rows, :] = (weights @ value.to(q.dtype)).to(query.dtype)
    return outputs, all_lse
""",
    ),
    Mistake(
        name="block_q used for the keys",
        function="flash_forward",
        cell="flash_forward_values",
        means="The tiles of keys begin every block_k keys, but are block_q long. Where the two differ, keys are left out or used twice.",
        hint="Write down the first and the last key of your first three tiles of keys.",
        section="ch9-tiles",
        edits=[
            ("key[..., start : start + block_k, :]", "key[..., start : start + block_q, :]"),
            ("value[..., start : start + block_k, :]", "value[..., start : start + block_q, :]"),
        ],
    ),
    Mistake(
        name="keys and values exchanged",
        function="flash_forward",
        cell="flash_forward_values",
        means="Keys and values were exchanged: the values answer the queries, and the keys are averaged.",
        hint="Which of the two is compared with the query, and which makes the output?",
        section="ch9-tiles",
        edits=[
            ("k = key[", "k = value["),
            ("v = value[", "v = key["),
        ],
    ),
    Mistake(
        name="each tile's output averaged",
        function="flash_forward",
        cell="flash_forward_values",
        means="Every tile of keys has a softmax of its own, and the outputs of the tiles were averaged. So each tile has the same weight.",
        hint="If one tile holds the key with by far the largest score, how much should the others count?",
        section="ch9-merge",
        source="""
def flash_forward(query, key, value, block_q, block_k, causal=False):
    T, S = query.shape[-2], key.shape[-2]
    dtype = torch.promote_types(query.dtype, torch.float32)
    q, scale = query.to(dtype), query.shape[-1] ** -0.5
    outputs, all_lse = [], []
    for start in range(0, S, block_k):
        scores = scale * q @ key[..., start : start + block_k, :].to(dtype).mT
        if causal:
            columns = torch.arange(start, start + scores.shape[-1])
            scores = scores.masked_fill(columns > torch.arange(T)[:, None] + S - T, -torch.inf)
        weights = scores.softmax(-1).nan_to_num()
        outputs.append(weights @ value[..., start : start + block_k, :].to(dtype))
        all_lse.append(scores.logsumexp(-1))
    return torch.stack(outputs).mean(0).to(query.dtype), torch.stack(all_lse).logsumexp(0)
""",
    ),
    Mistake(
        name="each tile's output added",
        function="flash_forward",
        cell="flash_forward_values",
        means="Every tile of keys has a softmax of its own, and the outputs of the tiles were added. The weights of a query sum to the number of tiles.",
        hint="Divide once for each query. After which tile do you know by what?",
        section="ch9-merge",
        source="""
def flash_forward(query, key, value, block_q, block_k, causal=False):
    T, S = query.shape[-2], key.shape[-2]
    dtype = torch.promote_types(query.dtype, torch.float32)
    q, scale = query.to(dtype), query.shape[-1] ** -0.5
    output, all_lse = 0, []
    for start in range(0, S, block_k):
        scores = scale * q @ key[..., start : start + block_k, :].to(dtype).mT
        if causal:
            columns = torch.arange(start, start + scores.shape[-1])
            scores = scores.masked_fill(columns > torch.arange(T)[:, None] + S - T, -torch.inf)
        weights = scores.softmax(-1).nan_to_num()
        output = output + weights @ value[..., start : start + block_k, :].to(dtype)
        all_lse.append(scores.logsumexp(-1))
    return output.to(query.dtype), torch.stack(all_lse).logsumexp(0)
""",
    ),
    Mistake(
        name="never divided by the sum",
        function="flash_forward",
        cell="flash_forward_values",
        means="The output is a sum of values with the exponentials as weights. It was never divided by the sum of these.",
        hint="What do the weights of a query sum to at the end?",
        section="ch9-one-pass",
        edits=[("output / total.clamp(min=1.0)[..., None]", "output")],
    ),
    Mistake(
        name="nothing corrected when the maximum grows",
        function="flash_forward",
        cell="flash_forward_values",
        means="When a later tile holds a larger score, the sum and the output so far still belong to the old largest score. They were added to numbers of another scale.",
        hint="By which factor do the old exponentials change when the largest score grows from m to m'?",
        section="ch9-mistake-correction",
        edits=[
            ("total = correction * total + ", "total = total + "),
            ("output = correction[..., None] * output + ", "output = output + "),
        ],
    ),
    Mistake(
        name="output not corrected when the maximum grows",
        function="flash_forward",
        cell="flash_forward_values",
        means="The sum is corrected when the largest score grows, and the output so far is not.",
        hint="Which of the things that you keep for each query are relative to the largest score?",
        section="ch9-mistake-correction",
        edits=[("output = correction[..., None] * output + ", "output = output + ")],
    ),
    Mistake(
        name="sum not corrected when the maximum grows",
        function="flash_forward",
        cell="flash_forward_values",
        means="The output so far is corrected when the largest score grows, and the sum is not.",
        hint="Which of the things that you keep for each query are relative to the largest score?",
        section="ch9-mistake-correction",
        edits=[("total = correction * total + ", "total = total + ")],
    ),
    Mistake(
        name="correction upside down",
        function="flash_forward",
        cell="flash_forward_values",
        means="What was kept is multiplied by the exponential of new minus old. When the largest score grows, the old exponentials have to become smaller.",
        hint="Is the factor above 1 or below 1 when the largest score grows?",
        section="ch9-mistake-correction",
        edits=[
            (
                "correction = (highest - shift).exp()",
                "correction = torch.where(total > 0, (shift - highest).exp(), 0.0)",
            )
        ],
    ),
    Mistake(
        name="the tile's maximum taken for the largest so far",
        function="flash_forward",
        cell="flash_forward_edges",
        means="The largest score of the newest tile takes the place of the largest so far, also where it is smaller. The correction is then the exponential of a large number.",
        hint="What is your correction where the newest tile lies far below the ones before it?",
        section="ch9-mistake-maximum",
        edits=[
            (
                "new = torch.maximum(highest, scores.amax(dim=-1))",
                "new = scores.amax(dim=-1)\n            new = torch.where(new.isneginf(), highest, new)",
            )
        ],
    ),
    Mistake(
        name="largest score forgotten in the lse",
        function="flash_forward",
        cell="flash_forward_values",
        means="The output is right, but the lse is the logarithm of the sum of exponentials from which the largest score was subtracted.",
        hint="What did you subtract before the exponentials, and where does it come back?",
        section="ch9-lse",
        edits=[("highest + total.log()", "total.log()")],
    ),
    Mistake(
        name="largest score returned as the lse",
        function="flash_forward",
        cell="flash_forward_values",
        means="The output is right, but in place of the lse stands the largest score.",
        hint="Which two of the things that you keep for a query make its lse?",
        section="ch9-lse",
        edits=[("all_lse.append(highest + total.log())", "all_lse.append(highest)")],
    ),
    Mistake(
        name="sum returned in place of its logarithm",
        function="flash_forward",
        cell="flash_forward_values",
        means="The output is right, but in place of the lse stands the sum of exponentials itself, relative to the largest score.",
        hint="What do the three letters of lse stand for?",
        section="ch9-lse",
        edits=[("all_lse.append(highest + total.log())", "all_lse.append(total)")],
    ),
    Mistake(
        name="logarithm to the base 2",
        function="flash_forward",
        cell="flash_forward_values",
        means="The output is right, but the lse counts in powers of 2. Kernels often do so inside; the result is asked for as a natural logarithm.",
        hint="Which base has the exponential of the definition?",
        section="ch9-lse",
        edits=[("highest + total.log()", "(highest + total.log()) / 0.6931471805599453")],
    ),
    Mistake(
        name="lse without the scale",
        function="flash_forward",
        cell="flash_forward_values",
        means="The output is right, but the lse is that of the dot products. A score is a dot product divided by the square root of d.",
        hint="Of which numbers is the lse made?",
        section="ch9-lse",
        source="""
def flash_forward(query, key, value, block_q, block_k, causal=False):
    T, S = query.shape[-2], key.shape[-2]
    dtype = torch.promote_types(query.dtype, torch.float32)
    outputs, all_lse = [], []
    for first in range(0, T, block_q):
        q = query[..., first : first + block_q, :].to(dtype)
        products = q @ key.to(dtype).mT
        if causal:
            rows = torch.arange(first, first + q.shape[-2])[:, None]
            products = products.masked_fill(torch.arange(S) > rows + S - T, -torch.inf)
        weights = (products / query.shape[-1] ** 0.5).softmax(-1).nan_to_num()
        outputs.append(weights @ value.to(dtype))
        all_lse.append(products.logsumexp(-1))
    return torch.cat(outputs, dim=-2).to(query.dtype), torch.cat(all_lse, dim=-1)
""",
    ),
    Mistake(
        name="weights in bfloat16",
        function="flash_forward",
        cell="flash_forward_values",
        means="The weights were rounded to bfloat16 before they met the values. Kernels for half precision do so; here the inputs are more precise.",
        hint="In which data type are your weights when they are multiplied by the values?",
        section="ch9-precision",
        edits=[("weights @ v", "weights.bfloat16().to(dtype) @ v")],
    ),
    Mistake(
        name="output kept in float16",
        function="flash_forward",
        cell="flash_forward_values",
        means="The output so far was kept in float16, whatever the inputs are. It has eleven binary digits, and every tile rounds again.",
        hint="Which data type has the tensor in which you keep the output?",
        section="ch9-precision",
        edits=[
            (
                "output = correction[..., None] * output + weights @ v",
                "output = (correction[..., None] * output + weights @ v).half().to(dtype)",
            )
        ],
    ),
    Mistake(
        name="everything in float32",
        function="flash_forward",
        cell="flash_forward_edges",
        means="The results are float32, although the inputs are float64.",
        hint="Which data type do torch.zeros and torch.full give, if none is asked for?",
        section="ch9-precision",
        edits=[("torch.promote_types(query.dtype, torch.float32)", "torch.float32")],
    ),
    Mistake(
        name="computed in half precision",
        function="flash_forward",
        cell="flash_forward_edges",
        means="Sums were added up in the data type of the inputs. In bfloat16, 256 plus 1 is 256, so a sum of many exponentials stops growing.",
        hint="In which data type is the running sum, if the inputs are bfloat16?",
        section="ch9-precision",
        edits=[
            (
                "torch.promote_types(query.dtype, torch.float32)",
                "query.dtype",
            )
        ],
    ),
    Mistake(
        name="lse in the data type of half precision",
        function="flash_forward",
        cell="flash_forward_edges",
        means="The output is right, but the lse of half-precision inputs was rounded to half precision, too. The backward pass takes its exponential and needs more digits.",
        hint="Which of the two results has the data type of the inputs, and which has at least float32?",
        section="ch9-precision",
        edits=[("torch.cat(all_lse, dim=-1)", "torch.cat(all_lse, dim=-1).to(query.dtype)")],
    ),
    Mistake(
        name="output not in the data type of the inputs",
        function="flash_forward",
        cell="flash_forward_edges",
        means="The values are right, but the output of half-precision inputs stayed in float32.",
        hint="You converted the tiles to float32. Where do you convert back?",
        section="ch9-precision",
        edits=[("torch.cat(outputs, dim=-2).to(query.dtype)", "torch.cat(outputs, dim=-2)")],
    ),
    Mistake(
        name="axes of a batch and of heads expected",
        function="flash_forward",
        cell="flash_forward_values",
        means="The function works with exactly two leading axes. There may be none, or any number.",
        hint="How do you name the last two axes, however many there are?",
        section="ch9-tiles",
        edits=[
            (
                "T, S = query.shape[-2], key.shape[-2]",
                "B, H, T, _ = query.shape\n    S = key.shape[2]",
            )
        ],
    ),
    Mistake(
        name="no causal mask",
        function="flash_forward",
        cell="flash_forward_causal",
        means="`causal` makes no difference: every query sees every key.",
        hint="Where in your code does the argument causal occur?",
        section="ch9-tile-masks",
        edits=[("if causal:", "if False:")],
    ),
    Mistake(
        name="always causal",
        function="flash_forward",
        cell="flash_forward_values",
        means="The future is hidden also where that was not asked for.",
        hint="What should happen if causal is False?",
        section="ch9-tile-masks",
        edits=[("if causal:", "if True:")],
    ),
    Mistake(
        name="own position hidden",
        function="flash_forward",
        cell="flash_forward_causal",
        means="A query doesn't see the key of its own position. The first of a text then sees nothing.",
        hint="May the last query see the last key?",
        section="ch9-tile-masks",
        edits=[("columns > rows", "columns >= rows")],
    ),
    Mistake(
        name="one key of the future seen",
        function="flash_forward",
        cell="flash_forward_causal",
        means="Every query sees one key too many.",
        hint="With as many queries as keys, how many keys does query 0 see?",
        section="ch9-tile-masks",
        edits=[("rows[:, None] + S - T", "rows[:, None] + 1 + S - T")],
    ),
    Mistake(
        name="causal mask at the top left",
        function="flash_forward",
        cell="flash_forward_causal",
        means="Query t sees the keys 0 to t, as if the queries were the first positions of the sequence. They are the last ones. With as many queries as keys there is no difference.",
        hint="How many keys does a single new query see, after a long text?",
        section="ch9-mistake-corner",
        edits=[("rows[:, None] + S - T", "rows[:, None]")],
    ),
    Mistake(
        name="corner on the wrong side",
        function="flash_forward",
        cell="flash_forward_causal",
        means="The triangle was moved by T - S in place of S - T.",
        hint="With more keys than queries, does the first query see more than one key or fewer?",
        section="ch9-mistake-corner",
        edits=[("rows[:, None] + S - T", "rows[:, None] + T - S")],
    ),
    Mistake(
        name="mask by positions within the tile",
        function="flash_forward",
        cell="flash_forward_causal",
        means="Every tile has the same small triangle as its mask. Positions have to be counted from the beginning of the sequence, not of the tile.",
        hint="Which number has the first key of your second tile?",
        section="ch9-tile-masks",
        edits=[
            (
                "columns = torch.arange(start, start + k.shape[-2])",
                "columns = torch.arange(k.shape[-2]) + (T - S)",
            ),
            ("columns > rows[:, None] + S - T", "columns > rows[:, None] - first + S - T"),
        ],
    ),
    Mistake(
        name="tiles with j > i left out",
        function="flash_forward",
        cell="flash_forward_causal",
        means="Tile j of the keys is used for tile i of the queries only if j is at most i. That is right only where both tiles are equally long and there are as many queries as keys.",
        hint="Which positions do tile i of the queries and tile j of the keys hold, if the block sizes differ?",
        section="ch9-tile-masks",
        edits=[
            (
                "k = key[..., start : start + block_k, :].to(dtype)",
                "if causal and start // block_k > first // block_q:\n                break\n"
                "            k = key[..., start : start + block_k, :].to(dtype)",
            )
        ],
    ),
    Mistake(
        name="causal mask only in the tiles with i = j",
        function="flash_forward",
        cell="flash_forward_causal",
        means="The mask was put only on the tiles on the diagonal, and the tiles beyond it were left out. Where the block sizes differ, or the numbers of queries and keys, the mask cuts through other tiles, too.",
        hint="Draw the tiles for 4 queries and 6 keys, with tiles of 2 queries and 3 keys. Which are cut?",
        section="ch9-tile-masks",
        edits=[
            ("if causal:", "if causal and start // block_k == first // block_q:"),
            (
                "k = key[..., start : start + block_k, :].to(dtype)",
                "if causal and start // block_k > first // block_q:\n                break\n"
                "            k = key[..., start : start + block_k, :].to(dtype)",
            ),
        ],
    ),
    Mistake(
        name="masked scores set to -30",
        function="flash_forward",
        cell="flash_forward_edges",
        means="A masked score is -30. That is small only as long as the real scores are not far below zero, too.",
        hint="Is there a number below every score that can occur?",
        section="ch9-tile-masks",
        edits=[
            (
                "scores = scores.masked_fill(columns > rows[:, None] + S - T, -torch.inf)",
                "future = columns > rows[:, None] + S - T\n"
                "                scores = scores.masked_fill(future, -30.0)\n"
                "                scores[..., rows + S - T < 0, :] = -torch.inf",
            )
        ],
    ),
    Mistake(
        name="masked scores set to 0",
        function="flash_forward",
        cell="flash_forward_causal",
        means="Masked scores became 0, by a product with the mask for example. But exp(0) is 1, so the future keeps a weight.",
        hint="Which score would give a weight of 0?",
        section="ch9-tile-masks",
        edits=[
            (
                "columns > rows[:, None] + S - T, -torch.inf",
                "columns > rows[:, None] + S - T, 0.0",
            )
        ],
    ),
    Mistake(
        name="mask after the exponentials only",
        function="flash_forward",
        cell="flash_forward_edges",
        means="The mask is right, but masked scores take part in the largest score. Where one of them is far above the others, all exponentials that count become 0.",
        hint="Which scores should take part in the maximum?",
        section="ch9-mistake-maximum",
        source="""
def flash_forward(query, key, value, block_q, block_k, causal=False):
    T, S = query.shape[-2], key.shape[-2]
    dtype = torch.promote_types(query.dtype, torch.float32)
    outputs, all_lse = [], []
    for first in range(0, T, block_q):
        q = query[..., first : first + block_q, :].to(dtype)
        rows = torch.arange(first, first + q.shape[-2])
        highest = torch.full(q.shape[:-1], -torch.inf, dtype=dtype)
        total = torch.zeros(q.shape[:-1], dtype=dtype)
        output = torch.zeros((*q.shape[:-1], value.shape[-1]), dtype=dtype)
        for start in range(0, S, block_k):
            k = key[..., start : start + block_k, :].to(dtype)
            v = value[..., start : start + block_k, :].to(dtype)
            scores = query.shape[-1] ** -0.5 * (q @ k.mT)
            new = torch.maximum(highest, scores.amax(dim=-1))
            weights = (scores - new[..., None]).exp()
            if causal:
                columns = torch.arange(start, start + k.shape[-2])
                weights = weights.masked_fill(columns > rows[:, None] + S - T, 0.0)
            correction = (highest - new).exp()
            total = correction * total + weights.sum(dim=-1)
            output = correction[..., None] * output + weights @ v
            highest = new
        outputs.append(output / total.where(total > 0, 1.0)[..., None])
        all_lse.append(highest + total.log())
    return torch.cat(outputs, dim=-2).to(query.dtype), torch.cat(all_lse, dim=-1)
""",
    ),
    Mistake(
        name="nothing to attend to: NaN",
        function="flash_forward",
        cell="flash_forward_causal",
        means="A query with nothing to attend to gives NaN here, from minus infinity minus minus infinity.",
        hint="What is the largest score of a row in which all scores are minus infinity?",
        section="ch9-mistake-empty",
        edits=[("new.masked_fill(new.isneginf(), 0.0)", "new")],
    ),
    Mistake(
        name="nothing to attend to: 0 divided by 0",
        function="flash_forward",
        cell="flash_forward_causal",
        means="The lse is right, but the output of a query with nothing to attend to is NaN. Its sum is 0, and so is what it is divided by.",
        hint="By what do you divide where the sum is 0?",
        section="ch9-mistake-empty",
        edits=[("total.clamp(min=1.0)", "total")],
    ),
    Mistake(
        name="nothing to attend to: equal weights",
        function="flash_forward",
        cell="flash_forward_causal",
        means="Masked scores are a very low number. In a row with nothing else all of them are equal, so the query gets the average of values that it must not see.",
        hint="If all scores of a row have the same fill, however low, what does the softmax make of them?",
        section="ch9-mistake-empty",
        edits=[
            (
                "columns > rows[:, None] + S - T, -torch.inf",
                "columns > rows[:, None] + S - T, -1e30",
            )
        ],
    ),
    Mistake(
        name="nothing to attend to: lse 0",
        function="flash_forward",
        cell="flash_forward_causal",
        means="The output is right, but a query with nothing to attend to has an lse of 0. That is the logarithm of 1, as if it saw a key.",
        hint="What is the sum over no keys at all, and what is its logarithm?",
        section="ch9-mistake-empty",
        edits=[
            (
                "all_lse.append(highest + total.log())",
                "all_lse.append((highest + total.log()).nan_to_num(neginf=0.0))",
            )
        ],
    ),
    Mistake(
        name="no maximum subtracted",
        function="flash_forward",
        cell="flash_forward_edges",
        means="The exponential of a large score is infinite here. Where all scores of a query lie far below zero, all of its exponentials are 0.",
        hint="Which number could you subtract from all scores of a query, so that no exponential is large?",
        section="ch9-one-pass",
        edits=[
            (
                "new = torch.maximum(highest, scores.amax(dim=-1))",
                "new = torch.zeros_like(highest)",
            ),
            ("correction = (highest - shift).exp()", "correction = torch.ones_like(highest)"),
            (
                "output / total.clamp(min=1.0)[..., None]",
                "output / total.where(total > 0, 1.0)[..., None]",
            ),
        ],
    ),
    Mistake(
        name="largest score begins at 0",
        function="flash_forward",
        cell="flash_forward_edges",
        means="The largest score so far begins at 0. Where all scores of a query lie far below zero, all of its exponentials become 0.",
        hint="Which number is below every score that can come?",
        section="ch9-mistake-maximum",
        edits=[
            (
                "torch.full(q.shape[:-1], -torch.inf, dtype=dtype)",
                "torch.zeros(q.shape[:-1], dtype=dtype)",
            ),
            (
                "output / total.clamp(min=1.0)[..., None]",
                "output / total.where(total > 0, 1.0)[..., None]",
            ),
        ],
    ),
    Mistake(
        name="one maximum for a whole tile",
        function="flash_forward",
        cell="flash_forward_edges",
        means="The largest score of the whole tile was subtracted from all of its queries. A query whose scores lie far below has only exponentials of 0.",
        hint="Does every query have an exp(0) after your subtraction?",
        section="ch9-mistake-maximum",
        edits=[
            (
                "scores.amax(dim=-1))",
                "scores.amax(dim=(-2, -1), keepdim=True)[..., 0])",
            ),
            (
                "output / total.clamp(min=1.0)[..., None]",
                "output / total.where(total > 0, 1.0)[..., None]",
            ),
        ],
    ),
    Mistake(
        name="one maximum for everything",
        function="flash_forward",
        cell="flash_forward_edges",
        means="One number was subtracted from all scores of all queries. A query whose scores lie far below has only exponentials of 0.",
        hint="Does every query have an exp(0) after your subtraction?",
        section="ch9-mistake-maximum",
        source="""
def flash_forward(query, key, value, block_q, block_k, causal=False):
    T, S = query.shape[-2], key.shape[-2]
    dtype = torch.promote_types(query.dtype, torch.float32)
    scale = query.shape[-1] ** -0.5
    tiles = [query[..., first : first + block_q, :].to(dtype) for first in range(0, T, block_q)]
    highest = max((scale * q @ key.to(dtype).mT).max() for q in tiles)
    outputs, all_lse, first = [], [], 0
    for q in tiles:
        weights = (scale * q @ key.to(dtype).mT - highest).exp()
        rows = torch.arange(first, first + q.shape[-2])
        if causal:
            weights = weights.masked_fill(torch.arange(S) > rows[:, None] + S - T, 0.0)
        total = weights.sum(dim=-1)
        outputs.append(weights @ value.to(dtype) / total.where(total > 0, 1.0)[..., None])
        all_lse.append(highest + total.log())
        first += q.shape[-2]
    return torch.cat(outputs, dim=-2).to(query.dtype), torch.cat(all_lse, dim=-1)
""",
    ),
    Mistake(
        name="query scaled in place",
        function="flash_forward",
        cell="flash_forward_edges",
        means="The queries that were passed in have changed: the scale was multiplied into the caller's tensor.",
        hint="What is the difference between `a *= b` and `a = a * b` for a tensor?",
        section="ch9-mistake-in-place",
        edits=[
            (
                "scale = query.shape[-1] ** -0.5",
                "query *= query.shape[-1] ** -0.5\n    scale = 1.0",
            )
        ],
    ),
    Mistake(
        name="memory taken to be contiguous",
        function="flash_forward",
        cell="flash_forward_edges",
        means="`view` needs numbers that lie one after the other in memory. After a transpose they don't.",
        hint="What is the difference between `view` and `reshape`?",
        section="ch9-tiles",
        edits=[
            (
                "scale = query.shape[-1] ** -0.5",
                "query, key, value = (x.view(x.numel()).view(x.shape) for x in (query, key, value))\n"
                "    scale = query.shape[-1] ** -0.5",
            )
        ],
    ),
    Mistake(
        name="whole matrix of scores",
        function="flash_forward",
        cell="flash_forward_memory",
        means="All scores were in memory at the same time: as one matrix, or as tiles that were kept. The result is right, and for a long text there is no room for it.",
        hint="How many tiles of scores have you kept when you come to the last one?",
        section="ch9-whole-matrix",
        source="""
def flash_forward(query, key, value, block_q, block_k, causal=False):
    T, S = query.shape[-2], key.shape[-2]
    dtype = torch.promote_types(query.dtype, torch.float32)
    scores = query.to(dtype) @ key.to(dtype).mT / query.shape[-1] ** 0.5
    if causal:
        scores = scores.masked_fill(torch.arange(S) > torch.arange(T)[:, None] + S - T, -torch.inf)
    output = scores.softmax(-1).nan_to_num() @ value.to(dtype)
    return output.to(query.dtype), scores.logsumexp(-1)
""",
    ),
    # flash_backward -----------------------------------------------------------------------------
    Mistake(
        name="backward: D missing",
        function="flash_backward",
        cell="flash_backward_values",
        means="D was left out. dv is right, but dq and dk are as if a weight could change without the others of its row.",
        hint="The weights of a row sum to 1. Which term of dS sees to that?",
        section="ch9-gradient",
        edits=[("(g @ v.mT - delta[..., rows, :])", "(g @ v.mT)")],
    ),
    Mistake(
        name="backward: D as a mean",
        function="flash_backward",
        cell="flash_backward_values",
        means="D is the mean over the components of the output; the formula has their sum.",
        hint="What stands in front of the product in the formula of D?",
        section="ch9-gradient",
        edits=[
            (
                "(grad * output).sum(dim=-1, keepdim=True)",
                "(grad * output).mean(dim=-1, keepdim=True)",
            )
        ],
    ),
    Mistake(
        name="backward: one D for all queries",
        function="flash_backward",
        cell="flash_backward_values",
        means="D was summed over the queries as well. Each query has a D of its own.",
        hint="Which letters does D have as indices?",
        section="ch9-gradient",
        edits=[
            (
                "(grad * output).sum(dim=-1, keepdim=True)",
                "(grad * output).sum(dim=(-2, -1), keepdim=True).expand_as(grad[..., :1])",
            )
        ],
    ),
    Mistake(
        name="backward: D over the keys of one tile",
        function="flash_backward",
        cell="flash_backward_values",
        means="D was computed as the sum of P times dP over the keys of a tile. That is right over all keys, but a tile holds only some of them.",
        hint="How can you get D without the weights, from what the forward pass has returned?",
        section="ch9-gradient",
        edits=[
            (
                "dscores = weights * (g @ v.mT - delta[..., rows, :])",
                "dweights = g @ v.mT\n"
                "            dscores = weights * (dweights - (weights * dweights).sum(-1, keepdim=True))",
            )
        ],
    ),
    Mistake(
        name="backward: D added",
        function="flash_backward",
        cell="flash_backward_values",
        means="D was added, not subtracted.",
        hint="Which sign has D in the formula of dS?",
        section="ch9-gradient",
        edits=[("g @ v.mT - delta", "g @ v.mT + delta")],
    ),
    Mistake(
        name="backward: no scale in dq",
        function="flash_backward",
        cell="flash_backward_values",
        means="dk and dv are right. dq was not divided by the square root of d.",
        hint="A score is a dot product divided by what? Its derivative with respect to the query has the same factor.",
        section="ch9-gradient",
        edits=[("scale * (dscores @ k)", "(dscores @ k)")],
    ),
    Mistake(
        name="backward: no scale in dk",
        function="flash_backward",
        cell="flash_backward_values",
        means="dq and dv are right. dk was not divided by the square root of d.",
        hint="A score is a dot product divided by what? Its derivative with respect to the key has the same factor.",
        section="ch9-gradient",
        edits=[("scale * (dscores.mT @ q)", "(dscores.mT @ q)")],
    ),
    Mistake(
        name="backward: no scale in dq and dk",
        function="flash_backward",
        cell="flash_backward_values",
        means="dv is right. dq and dk were not divided by the square root of d.",
        hint="A score is a dot product divided by what? Its derivatives have the same factor.",
        section="ch9-gradient",
        edits=[
            ("scale * (dscores @ k)", "(dscores @ k)"),
            ("scale * (dscores.mT @ q)", "(dscores.mT @ q)"),
        ],
    ),
    Mistake(
        name="backward: scaled twice",
        function="flash_backward",
        cell="flash_backward_values",
        means="dq and dk were divided by the square root of d twice, so by d.",
        hint="How often does the scale stand between a score and the query?",
        section="ch9-gradient",
        edits=[
            ("scale * (dscores @ k)", "scale**2 * (dscores @ k)"),
            ("scale * (dscores.mT @ q)", "scale**2 * (dscores.mT @ q)"),
        ],
    ),
    Mistake(
        name="backward: scores without the scale",
        function="flash_backward",
        cell="flash_backward_values",
        means="The scores were computed anew without the square root of d, so they do not belong to the lse.",
        hint="Are your scores the ones of the forward pass?",
        section="ch9-mistake-scale",
        edits=[("scale * (q @ k.mT)", "q @ k.mT")],
    ),
    Mistake(
        name="backward: square root of dv",
        function="flash_backward",
        cell="flash_backward_values",
        means="The square root is that of the width of the values. Where d and dv are equal, nobody notices.",
        hint="A dot product is a sum of how many products?",
        section="ch9-mistake-scale",
        edits=[("query.shape[-1] ** -0.5", "value.shape[-1] ** -0.5")],
    ),
    Mistake(
        name="backward: always divided by 8",
        function="flash_backward",
        cell="flash_backward_values",
        means="The scale is 1/8, which is right for d = 64 alone.",
        hint="Which of your numbers depends on the shape of the queries?",
        section="ch9-mistake-scale",
        edits=[("query.shape[-1] ** -0.5", "0.125")],
    ),
    Mistake(
        name="backward: softmax of the tile",
        function="flash_backward",
        cell="flash_backward_values",
        means="The weights were computed as the softmax over the keys of a tile. They have to belong to all keys, and that is what the lse is for.",
        hint="What do the weights of a query sum to over all tiles?",
        section="ch9-lse",
        edits=[
            (
                "weights = (scores - finite).exp()",
                "weights = torch.softmax(scores, dim=-1).nan_to_num()",
            )
        ],
    ),
    Mistake(
        name="backward: softmax over the keys that are given",
        function="flash_backward",
        cell="flash_backward_edges",
        means="The lse was computed anew from the keys that were handed in. They may be a part of all keys; the lse that is handed in belongs to all.",
        hint="Which of your arguments have you not used?",
        section="ch9-lse",
        edits=[
            (
                "delta = (grad * output)",
                "whole = scale * (query @ key.mT)\n    if causal:\n"
                "        whole = whole.masked_fill(torch.arange(S) > torch.arange(T)[:, None] + S - T, -torch.inf)\n"
                "    lse = whole.logsumexp(-1)\n    delta = (grad * output)",
            )
        ],
    ),
    Mistake(
        name="backward: output computed anew from the keys that are given",
        function="flash_backward",
        cell="flash_backward_edges",
        means="The output was computed anew from the keys that were handed in. They may be a part of all keys; the output that is handed in belongs to all.",
        hint="Which of your arguments have you not used?",
        section="ch9-gradient",
        edits=[
            (
                "delta = (grad * output)",
                "whole = scale * (query @ key.mT)\n    if causal:\n"
                "        whole = whole.masked_fill(torch.arange(S) > torch.arange(T)[:, None] + S - T, -torch.inf)\n"
                "    output = whole.softmax(-1).nan_to_num() @ value\n    delta = (grad * output)",
            )
        ],
    ),
    Mistake(
        name="backward: dq of the last tile only",
        function="flash_backward",
        cell="flash_backward_values",
        means="Every tile of keys has overwritten dq. The contributions of all tiles have to be added.",
        hint="How many tiles of keys does one query meet?",
        section="ch9-gradient",
        edits=[("dq[..., rows, :] += ", "dq[..., rows, :] = ")],
    ),
    Mistake(
        name="backward: dk and dv of the last tile only",
        function="flash_backward",
        cell="flash_backward_values",
        means="Every tile of queries has overwritten dk and dv. The contributions of all tiles have to be added.",
        hint="How many tiles of queries meet one key?",
        section="ch9-gradient",
        edits=[
            ("dv[..., columns, :] += ", "dv[..., columns, :] = "),
            ("dk[..., columns, :] += ", "dk[..., columns, :] = "),
        ],
    ),
    Mistake(
        name="backward: dk and dq exchanged",
        function="flash_backward",
        cell="flash_backward_values",
        means="The gradients of the keys and of the queries come in the opposite order.",
        hint="In which order does the docstring name the results?",
        section="ch9-gradient",
        edits=[("return dq, dk, dv", "return dk, dq, dv")],
    ),
    Mistake(
        name="backward: dv from the output",
        function="flash_backward",
        cell="flash_backward_values",
        means="dv is the transposed weights times the output. It has to be times the gradient of the output.",
        hint="Which matrix stands behind the transposed P in the formula of dV?",
        section="ch9-gradient",
        edits=[("weights.mT @ g", "weights.mT @ output[..., rows, :]")],
    ),
    Mistake(
        name="backward: softmax forgotten in the derivative",
        function="flash_backward",
        cell="flash_backward_values",
        means="The gradient of the weights was passed on as that of the scores. The factor P is missing.",
        hint="Which matrix stands in front of the bracket in the formula of dS?",
        section="ch9-gradient",
        edits=[("dscores = weights * (", "dscores = (")],
    ),
    Mistake(
        name="backward: last keys dropped",
        function="flash_backward",
        cell="flash_backward_values",
        means="Only whole tiles of keys are used. The keys at the end, fewer than block_k, have gradient 0.",
        hint="How many tiles do 7 keys need, if a tile holds 3?",
        section="ch9-mistake-tails",
        edits=[("range(0, S, block_k)", "range(0, S // block_k * block_k, block_k)")],
    ),
    Mistake(
        name="backward: last queries dropped",
        function="flash_backward",
        cell="flash_backward_values",
        means="Only whole tiles of queries are used. The queries at the end, fewer than block_q, have gradient 0 and add nothing to the others.",
        hint="How many tiles do 7 queries need, if a tile holds 3?",
        section="ch9-mistake-tails",
        edits=[("range(0, T, block_q)", "range(0, T // block_q * block_q, block_q)")],
    ),
    Mistake(
        name="backward: as many keys as queries",
        function="flash_backward",
        cell="flash_backward_values",
        means="The loop over keys ends at the number of queries. With more keys than queries, the last ones have gradient 0.",
        hint="From which tensor do you take the number of keys?",
        section="ch9-mistake-tails",
        edits=[
            (
                "torch.arange(start, min(start + block_k, S))",
                "torch.arange(start, max(start, min(start + block_k, S, T)))",
            )
        ],
    ),
    Mistake(
        name="backward: no causal mask",
        function="flash_backward",
        cell="flash_backward_edges",
        means="The mask was left out when the scores were computed anew. Keys of the future get weights that they never had.",
        hint="Is every weight that you compute one of the forward pass?",
        section="ch9-tile-masks",
        edits=[("if causal:", "if False:")],
    ),
    Mistake(
        name="backward: own position hidden",
        function="flash_backward",
        cell="flash_backward_edges",
        means="The weight of a query on the key of its own position is 0 here.",
        hint="May the last query see the last key?",
        section="ch9-tile-masks",
        edits=[("columns > rows", "columns >= rows")],
    ),
    Mistake(
        name="backward: causal mask at the top left",
        function="flash_backward",
        cell="flash_backward_edges",
        means="The mask is that of queries which are the first positions of the sequence. They are the last ones.",
        hint="Is your mask the one of the forward pass?",
        section="ch9-mistake-corner",
        edits=[("rows[:, None] + S - T", "rows[:, None]")],
    ),
    Mistake(
        name="backward: tiles with j > i left out",
        function="flash_backward",
        cell="flash_backward_edges",
        means="Tile j of the keys is used for tile i of the queries only if j is at most i. That is right only where both tiles are equally long and there are as many queries as keys.",
        hint="Which positions do tile i of the queries and tile j of the keys hold, if the block sizes differ?",
        section="ch9-tile-masks",
        edits=[
            (
                "q, g = query[..., rows, :], grad[..., rows, :]",
                "if causal and start // block_k > first // block_q:\n                continue\n"
                "            q, g = query[..., rows, :], grad[..., rows, :]",
            )
        ],
    ),
    Mistake(
        name="backward: mask put on dS only",
        function="flash_backward",
        cell="flash_backward_edges",
        means="Masked places are 0 in dS, so dq and dk are right. But the weights themselves were not masked, and dv gets contributions of the future.",
        hint="Which of the three gradients uses the weights without dS?",
        section="ch9-tile-masks",
        source="""
def flash_backward(query, key, value, output, lse, grad, block_q, block_k, causal=False):
    T, S = query.shape[-2], key.shape[-2]
    scale = query.shape[-1] ** -0.5
    dq, dk, dv = (torch.zeros(x.shape, dtype=query.dtype) for x in (query, key, value))
    delta = (grad * output).sum(dim=-1, keepdim=True)
    for start in range(0, S, block_k):
        columns = torch.arange(start, min(start + block_k, S))
        k, v = key[..., columns, :], value[..., columns, :]
        for first in range(0, T, block_q):
            rows = torch.arange(first, min(first + block_q, T))
            q, g = query[..., rows, :], grad[..., rows, :]
            own = lse[..., rows, None]
            weights = torch.where(own.isneginf(), 0.0, (scale * (q @ k.mT) - own).exp())
            dscores = weights * (g @ v.mT - delta[..., rows, :])
            if causal:
                dscores = dscores.masked_fill(columns > rows[:, None] + S - T, 0.0)
            dv[..., columns, :] += weights.mT @ g
            dk[..., columns, :] += scale * (dscores.mT @ q)
            dq[..., rows, :] += scale * (dscores @ k)
    return dq, dk, dv
""",
    ),
    Mistake(
        name="backward: masked by a product",
        function="flash_backward",
        cell="flash_backward_edges",
        means="The weights were multiplied by the mask after the exponential. Where a masked score is far above the lse, the exponential is infinite, and infinity times 0 is NaN.",
        hint="What is exp(2000) * 0?",
        section="ch9-tile-masks",
        edits=[
            (
                "scores = scores.masked_fill(columns > rows[:, None] + S - T, -torch.inf)",
                "hidden = columns > rows[:, None] + S - T",
            ),
            (
                "weights = (scores - finite).exp()",
                "weights = (scores - finite).exp()\n            if causal:\n"
                "                weights = weights * ~hidden",
            ),
        ],
    ),
    Mistake(
        name="backward: NaN where a query sees nothing",
        function="flash_backward",
        cell="flash_backward_edges",
        means="A query with nothing to attend to has scores and an lse of minus infinity, and minus infinity minus minus infinity is NaN. From there it reaches dk and dv.",
        hint="What do you compute where the lse is minus infinity?",
        section="ch9-mistake-empty",
        edits=[
            ("lse[..., rows, None].clamp(min=torch.finfo(lse.dtype).min)", "lse[..., rows, None]")
        ],
    ),
    Mistake(
        name="backward: exponentials divided by exp(lse)",
        function="flash_backward",
        cell="flash_backward_edges",
        means="The exponentials of the scores were divided by that of the lse. For large scores both are infinite, for scores far below zero both are 0.",
        hint="Can you divide before you take the exponential?",
        section="ch9-one-pass",
        edits=[
            (
                "weights = (scores - finite).exp()",
                "weights = torch.where(lse[..., rows, None].isneginf(), 0.0, scores.exp() / lse[..., rows, None].exp())",
            )
        ],
    ),
    Mistake(
        name="backward: largest score subtracted, not the lse",
        function="flash_backward",
        cell="flash_backward_values",
        means="The largest score was subtracted before the exponential, and the sum of exponentials is missing.",
        hint="What do the weights of a query sum to over all tiles?",
        section="ch9-lse",
        edits=[
            (
                "weights = (scores - finite).exp()",
                "weights = (scores - scores.amax(-1, keepdim=True)).exp().nan_to_num()",
            )
        ],
    ),
    Mistake(
        name="backward: everything in float32",
        function="flash_backward",
        cell="flash_backward_edges",
        means="The gradients are float32, although the inputs are float64.",
        hint="Which data type does torch.zeros give, if none is asked for?",
        section="ch9-precision",
        edits=[
            ("dq = torch.zeros(query.shape, dtype=query.dtype)", "dq = torch.zeros(query.shape)"),
            ("dk = torch.zeros(key.shape, dtype=query.dtype)", "dk = torch.zeros(key.shape)"),
            ("dv = torch.zeros(value.shape, dtype=query.dtype)", "dv = torch.zeros(value.shape)"),
        ],
    ),
    Mistake(
        name="backward: query scaled in place",
        function="flash_backward",
        cell="flash_backward_edges",
        means="The queries that were passed in have changed: the scale was multiplied into the caller's tensor.",
        hint="What is the difference between `a *= b` and `a = a * b` for a tensor?",
        section="ch9-mistake-in-place",
        edits=[
            (
                "scale = query.shape[-1] ** -0.5",
                "scale = query.shape[-1] ** -0.5\n    query *= scale",
            ),
            ("scale * (q @ k.mT)", "q @ k.mT"),
            ("scale * (dscores.mT @ q)", "(dscores.mT @ q)"),
        ],
    ),
    Mistake(
        name="whole matrix of weights",
        function="flash_backward",
        cell="flash_backward_memory",
        means="All weights were in memory at the same time: as one matrix, or as tiles that were kept. The gradients are right, and for a long text there is no room for the weights.",
        hint="A tile of weights can be computed anew from the scores and the lse. For how long do you need it then?",
        section="ch9-whole-matrix",
        source="""
def flash_backward(query, key, value, output, lse, grad, block_q, block_k, causal=False):
    T, S, scale = query.shape[-2], key.shape[-2], query.shape[-1] ** -0.5
    scores = scale * (query @ key.mT)
    if causal:
        scores = scores.masked_fill(torch.arange(S) > torch.arange(T)[:, None] + S - T, -torch.inf)
    weights = (scores - lse[..., None].clamp(min=torch.finfo(lse.dtype).min)).exp()
    dscores = weights * (grad @ value.mT - (grad * output).sum(dim=-1, keepdim=True))
    return scale * (dscores @ key), scale * (dscores.mT @ query), weights.mT @ grad
""",
    ),
    # tiles --------------------------------------------------------------------------------------
    Mistake(
        name="j at most i",
        function="tiles",
        cell="tiles_values",
        means="Tile (i, j) is there if j is at most i, and an edge if both are equal. That is right only for equal block sizes and as many queries as keys.",
        hint="Which positions do the queries of tile i have, and which the keys of tile j?",
        section="ch9-tile-masks",
        source="""
def tiles(T, S, block_q, block_k, causal):
    found = []
    for i in range(-(-T // block_q)):
        for j in range(-(-S // block_k)):
            if not causal or j < i:
                found.append((i, j, "full"))
            elif j == i:
                found.append((i, j, "edge"))
    return found
""",
    ),
    Mistake(
        name="tiles: corner at the top left",
        function="tiles",
        cell="tiles_values",
        means="The triangle begins at the top left, as if the queries were the first positions of the sequence. They are the last ones.",
        hint="Which keys does the last query see?",
        section="ch9-mistake-corner",
        edits=[
            ("end <= first + S - T", "end <= first"),
            ("start <= last + S - T", "start <= last"),
        ],
    ),
    Mistake(
        name="tiles: edges counted as full",
        function="tiles",
        cell="tiles_values",
        means="All tiles that have work are called full. A kernel would then not look at the mask where it cuts through a tile.",
        hint="Which pair of a tile decides whether every pair may attend: which query and which key?",
        section="ch9-tile-masks",
        edits=[('(i, j, "edge")', '(i, j, "full")')],
    ),
    Mistake(
        name="tiles: full and edge by the wrong corner",
        function="tiles",
        cell="tiles_values",
        means="A tile is called full if its last query sees all its keys. The first query sees the fewest.",
        hint="Which query of a tile sees the fewest keys?",
        section="ch9-tile-masks",
        edits=[("end <= first + S - T", "end <= last + S - T")],
    ),
    Mistake(
        name="tiles: full tiles called edge",
        function="tiles",
        cell="tiles_values",
        means="Every tile is called an edge under a causal mask. Nothing would be computed wrongly, but the mask would be looked at everywhere.",
        hint="Which tiles need no mask at all?",
        section="ch9-tile-masks",
        edits=[("not causal or end <= first + S - T", "not causal")],
    ),
    Mistake(
        name="tiles: own position hidden",
        function="tiles",
        cell="tiles_values",
        means="The key of a query's own position counts as hidden.",
        hint="May a query see the key of its own position?",
        section="ch9-tile-masks",
        edits=[
            ("end <= first + S - T", "end < first + S - T"),
            ("start <= last + S - T", "start < last + S - T"),
        ],
    ),
    Mistake(
        name="tiles: smaller tiles taken for whole ones",
        function="tiles",
        cell="tiles_values",
        means="The last tiles were taken to be as large as the others. Queries and keys that don't exist decide about their kind, or whether they are there.",
        hint="Which is the last key of the last tile?",
        section="ch9-mistake-tails",
        edits=[
            (
                "min(first + block_q, T) - 1, min(start + block_k, S) - 1",
                "first + block_q - 1, start + block_k - 1",
            )
        ],
    ),
    Mistake(
        name="tiles: smaller tiles called edge",
        function="tiles",
        cell="tiles_values",
        means="A smaller tile at the end is called an edge. Only the mask makes an edge; queries and keys that don't exist don't count.",
        hint="Is there a pair in that tile that may not attend?",
        section="ch9-mistake-tails",
        edits=[
            (
                "if not causal or end <= first + S - T:",
                "whole = first + block_q <= T and start + block_k <= S\n"
                "            if whole and (not causal or end <= first + S - T):",
            ),
            ("elif start <= last + S - T:", "elif not causal or start <= last + S - T:"),
        ],
    ),
    Mistake(
        name="tiles: smaller tiles left out",
        function="tiles",
        cell="tiles_values",
        means="Only whole tiles are there. The queries and keys at the end are in none.",
        hint="How many tiles do 7 queries need, if a tile holds 3?",
        section="ch9-mistake-tails",
        edits=[
            ("range(0, T, block_q)", "range(0, T // block_q * block_q, block_q)"),
            ("range(0, S, block_k)", "range(0, S // block_k * block_k, block_k)"),
        ],
    ),
    Mistake(
        name="tiles: empty tiles not left out",
        function="tiles",
        cell="tiles_values",
        means="Tiles in which nothing may be attended to are there, called edges.",
        hint="Which key of a tile is the first to be seen, and by which query?",
        section="ch9-tile-masks",
        edits=[("elif start <= last + S - T:", "else:")],
    ),
    Mistake(
        name="tiles: keys first",
        function="tiles",
        cell="tiles_values",
        means="The tiles come in the order of the keys: all queries for one tile of keys, then the next. They are asked for in the order of the queries.",
        hint="Which of your two loops is the outer one?",
        section="ch9-tile-masks",
        edits=[("return found", "return sorted(found, key=lambda tile: (tile[1], tile[0]))")],
    ),
    Mistake(
        name="tiles: first query and first key",
        function="tiles",
        cell="tiles_values",
        means="The tiles are given by their first query and first key, not by their numbers.",
        hint="What are i and j in the small case?",
        section="ch9-tile-masks",
        edits=[
            ("return found", "return [(i * block_q, j * block_k, kind) for i, j, kind in found]")
        ],
    ),
    Mistake(
        name="tiles: always causal",
        function="tiles",
        cell="tiles_values",
        means="The argument `causal` makes no difference: tiles are left out or cut without a causal mask, too.",
        hint="Where in your code does the argument causal occur?",
        section="ch9-tile-masks",
        edits=[("not causal or end", "end")],
    ),
    # traffic ------------------------------------------------------------------------------------
    Mistake(
        name="keys and values counted once",
        function="traffic",
        cell="traffic_values",
        means="The keys and values were counted once. Each program has a fast memory of its own, so every tile of queries loads them again.",
        hint="How many programs are there, and what does each of them load?",
        section="ch9-counting",
        edits=[("programs * (S * d + S * dv)", "(S * d + S * dv)")],
    ),
    Mistake(
        name="queries loaded for each tile of keys",
        function="traffic",
        cell="traffic_values",
        means="The queries were counted once for each tile of keys. A program loads its queries once and keeps them.",
        hint="When does a program forget what it has loaded?",
        section="ch9-counting",
        edits=[('"loaded": T * d + programs', '"loaded": T * d * -(-S // block_k) + programs')],
    ),
    Mistake(
        name="lse not counted",
        function="traffic",
        cell="traffic_values",
        means="The lse was forgotten: one number is stored for each query, beside its output.",
        hint="What does a program store at its end?",
        section="ch9-counting",
        edits=[("T * dv + T}", "T * dv}")],
    ),
    Mistake(
        name="smaller tiles of queries not counted",
        function="traffic",
        cell="traffic_values",
        means="The number of programs was rounded down. The queries that are left at the end need one, too.",
        hint="How many tiles do 7 queries need, if a tile holds 3?",
        section="ch9-mistake-tails",
        edits=[("-(-T // block_q)", "max(T // block_q, 1)")],
    ),
    Mistake(
        name="number of programs not rounded",
        function="traffic",
        cell="traffic_values",
        means="The number of programs is a fraction here. A program with few queries loads all keys all the same.",
        hint="Can there be two and a half programs?",
        section="ch9-counting",
        edits=[
            ("-(-T // block_q)", "T / block_q"),
            ("T * d + programs * (S * d + S * dv)", "round(T * d + programs * (S * d + S * dv))"),
        ],
    ),
    Mistake(
        name="smaller tiles counted as whole ones",
        function="traffic",
        cell="traffic_values",
        means="The last tiles were counted as if they were as large as the others. Only numbers that exist are moved.",
        hint="How many queries has the second program of the example?",
        section="ch9-mistake-tails",
        edits=[
            (
                'return {"loaded": T * d + programs',
                "T, S = programs * block_q, -(-S // block_k) * block_k\n"
                '    return {"loaded": T * d + programs',
            )
        ],
    ),
    Mistake(
        name="programs counted by block_k",
        function="traffic",
        cell="traffic_values",
        means="There is one program for each block_k queries here. The queries come in tiles of block_q.",
        hint="Which of the two block sizes belongs to the queries?",
        section="ch9-counting",
        edits=[("T // block_q", "T // block_k")],
    ),
    Mistake(
        name="d for dv",
        function="traffic",
        cell="traffic_values",
        means="Values and outputs were counted with the width of the keys.",
        hint="How many numbers has one value?",
        section="ch9-counting",
        source="""
def traffic(T, S, d, dv, block_q, block_k, tiled):
    if not tiled:
        return {"loaded": T * d + 2 * S * d + 2 * T * S, "stored": 2 * T * S + T * d}
    programs = -(-T // block_q)
    return {"loaded": T * d + programs * 2 * S * d, "stored": T * d + T}
""",
    ),
    Mistake(
        name="weights not stored",
        function="traffic",
        cell="traffic_values",
        means="The weights were not stored and loaded again. Without tiles the softmax is a program of its own, and what it has computed is gone when it ends.",
        hint="How often does the matrix of T times S numbers go in either direction?",
        section="ch9-counting",
        edits=[
            ("S * d + T * S + T * S + S * dv", "S * d + T * S + S * dv"),
            ('"stored": T * S + T * S + T * dv', '"stored": T * S + T * dv'),
        ],
    ),
    Mistake(
        name="whole matrix not counted",
        function="traffic",
        cell="traffic_values",
        means="Without tiles only the inputs and the output were counted. The scores and the weights go through the slow memory, too.",
        hint="Where are the scores between the first program and the second?",
        section="ch9-counting",
        edits=[
            ("S * d + T * S + T * S + S * dv", "S * d + S * dv"),
            ('"stored": T * S + T * S + T * dv', '"stored": T * dv'),
        ],
    ),
    Mistake(
        name="lse counted without tiles",
        function="traffic",
        cell="traffic_values",
        means="Without tiles nothing stores an lse: the third program stores the output alone.",
        hint="What do the three programs store, one after the other?",
        section="ch9-counting",
        edits=[("T * S + T * S + T * dv}", "T * S + T * S + T * dv + T}")],
    ),
    Mistake(
        name="scores of a tile counted",
        function="traffic",
        cell="traffic_values",
        means="The scores were counted for the tiled program. They stay in its fast memory; that is what the tiles are for.",
        hint="Where do the scores of a tile come from, and who needs them after its program?",
        section="ch9-counting",
        edits=[("T * dv + T}", "T * dv + T + T * S}")],
    ),
    # paged_attention ----------------------------------------------------------------------------
    Mistake(
        name="table ignored",
        function="paged_attention",
        cell="paged_attention_values",
        means="The pages were taken in the order in which they lie in memory, n for each text. The table says where a text's pages are.",
        hint="Where in your code does the argument table occur?",
        section="ch9-pages",
        edits=[
            (
                "used = table[b, : -(-length // page)]",
                "used = torch.arange(b * table.shape[1], b * table.shape[1] + -(-length // page))",
            )
        ],
    ),
    Mistake(
        name="first text's table for all",
        function="paged_attention",
        cell="paged_attention_values",
        means="All texts use the first row of the table.",
        hint="Which row of the table belongs to text b?",
        section="ch9-pages",
        edits=[("table[b, ", "table[0, ")],
    ),
    Mistake(
        name="rest of the last page attended to",
        function="paged_attention",
        cell="paged_attention_values",
        means="All slots of the last page take part. Those behind the last token belong to nobody, or to another text.",
        hint="How many slots of the last page does a text of lengths[b] tokens use?",
        section="ch9-mistake-stale",
        edits=[
            (
                "key_pages[used].transpose(0, 1).flatten(1, 2)[:, :length]",
                "key_pages[used].transpose(0, 1).flatten(1, 2)",
            ),
            (
                "value_pages[used].transpose(0, 1).flatten(1, 2)[:, :length]",
                "value_pages[used].transpose(0, 1).flatten(1, 2)",
            ),
        ],
    ),
    Mistake(
        name="last page not looked at",
        function="paged_attention",
        cell="paged_attention_values",
        means="The number of pages was rounded down. The tokens on a page that is not full are never looked at.",
        hint="How many pages do 7 tokens need, if a page has 3 slots?",
        section="ch9-mistake-tails",
        edits=[("-(-length // page)", "length // page")],
    ),
    Mistake(
        name="all entries of the table used",
        function="paged_attention",
        cell="paged_attention_values",
        means="All n pages of a text take part, also those that it does not need. What is on them belongs to other texts.",
        hint="How many entries of the table does a text of lengths[b] tokens need?",
        section="ch9-mistake-stale",
        source="""
def paged_attention(query, key_pages, value_pages, table, lengths):
    outputs = []
    for b in range(len(query)):
        k = key_pages[table[b]].transpose(0, 1).flatten(1, 2)
        v = value_pages[table[b]].transpose(0, 1).flatten(1, 2)
        scores = query[b, :, None] @ k.mT / query.shape[-1] ** 0.5
        outputs.append((torch.softmax(scores, dim=-1) @ v)[:, 0])
    return torch.stack(outputs)
""",
    ),
    Mistake(
        name="stale entries looked up, then masked",
        function="paged_attention",
        cell="paged_attention_values",
        means="All entries of the table were looked up, and what is too much was masked. But an entry that is not needed may be larger than any page, and a masked slot may be NaN.",
        hint="Which entries of the table may you use as an index at all?",
        section="ch9-mistake-stale",
        source="""
def paged_attention(query, key_pages, value_pages, table, lengths):
    k = key_pages[table].transpose(1, 2).flatten(2, 3)
    v = value_pages[table].transpose(1, 2).flatten(2, 3)
    scores = (k @ query[..., None])[..., 0] / query.shape[-1] ** 0.5
    seen = (torch.arange(k.shape[2]) < lengths[:, None])[:, None]
    weights = scores.masked_fill(~seen, -torch.inf).softmax(-1).masked_fill(~seen, 0.0)
    return (weights[:, :, None] @ v)[:, :, 0]
""",
    ),
    Mistake(
        name="weight 0 times NaN",
        function="paged_attention",
        cell="paged_attention_values",
        means="Slots without a token have weight 0, but their values may be NaN, and 0 times NaN is NaN.",
        hint="What is 0 times NaN, and how can a slot stay out of the sum altogether?",
        section="ch9-mistake-stale",
        source="""
def paged_attention(query, key_pages, value_pages, table, lengths):
    table = table.clamp(0, len(key_pages) - 1)
    k = key_pages[table].transpose(1, 2).flatten(2, 3)
    v = value_pages[table].transpose(1, 2).flatten(2, 3)
    scores = (k @ query[..., None])[..., 0] / query.shape[-1] ** 0.5
    seen = (torch.arange(k.shape[2]) < lengths[:, None])[:, None]
    weights = scores.masked_fill(~seen, -torch.inf).softmax(-1).masked_fill(~seen, 0.0)
    return (weights[:, :, None] @ v)[:, :, 0]
""",
    ),
    Mistake(
        name="one length for all texts",
        function="paged_attention",
        cell="paged_attention_values",
        means="All texts have the length of the longest one. The shorter ones attend to slots that are not theirs.",
        hint="How many tokens has text b?",
        section="ch9-pages",
        edits=[("enumerate(lengths.tolist())", "enumerate([int(lengths.max())] * len(lengths))")],
    ),
    Mistake(
        name="newest token left out",
        function="paged_attention",
        cell="paged_attention_values",
        means="The last token of each text is missing.",
        hint="How many tokens does a query attend to, if lengths[b] is 5?",
        section="ch9-pages",
        edits=[("enumerate(lengths.tolist())", "enumerate((lengths - 1).clamp(min=0).tolist())")],
    ),
    Mistake(
        name="slots and pages exchanged",
        function="paged_attention",
        cell="paged_attention_values",
        means="The tokens come in the order of slots: first slot 0 of all pages, then slot 1. A text fills one page after the other.",
        hint="Which comes first when two axes become one: the page or the slot?",
        section="ch9-pages",
        edits=[
            (
                "key_pages[used].transpose(0, 1).flatten(1, 2)",
                "key_pages[used].permute(1, 2, 0, 3).flatten(1, 2)",
            ),
            (
                "value_pages[used].transpose(0, 1).flatten(1, 2)",
                "value_pages[used].permute(1, 2, 0, 3).flatten(1, 2)",
            ),
        ],
    ),
    Mistake(
        name="heads and slots mixed",
        function="paged_attention",
        cell="paged_attention_values",
        means="The axes of pages and heads were not exchanged before two axes became one, so keys of one head were handed to another.",
        hint="In which order are the axes of key_pages[table[b]]?",
        section="ch9-pages",
        edits=[
            (
                "key_pages[used].transpose(0, 1).flatten(1, 2)",
                "key_pages[used].reshape(query.shape[1], -1, key_pages.shape[-1])",
            ),
            (
                "value_pages[used].transpose(0, 1).flatten(1, 2)",
                "value_pages[used].reshape(query.shape[1], -1, value_pages.shape[-1])",
            ),
        ],
    ),
    Mistake(
        name="one head's pages for all heads",
        function="paged_attention",
        cell="paged_attention_values",
        means="All heads attend to the keys and values of the first head.",
        hint="Which axis of the pages is the one of heads?",
        section="ch9-pages",
        edits=[
            (
                "scores = query[b, :, None]",
                "k, v = k[:1], v[:1]\n        scores = query[b, :, None]",
            )
        ],
    ),
    Mistake(
        name="pages: no scaling",
        function="paged_attention",
        cell="paged_attention_values",
        means="The dot products were not divided by the square root of d.",
        hint="What is a score, by the first cell of this notebook?",
        section="ch9-mistake-scale",
        edits=[(" / query.shape[-1] ** 0.5", "")],
    ),
    Mistake(
        name="pages: square root of dv",
        function="paged_attention",
        cell="paged_attention_values",
        means="The dot products were divided by the square root of the width of the values.",
        hint="A dot product is a sum of how many products?",
        section="ch9-mistake-scale",
        edits=[("query.shape[-1] ** 0.5", "value_pages.shape[-1] ** 0.5")],
    ),
    Mistake(
        name="pages: no maximum subtracted",
        function="paged_attention",
        cell="paged_attention_values",
        means="The exponential of a large score is infinite here, and infinity divided by infinity is NaN.",
        hint="Which number could you subtract from all scores of a query, so that no exponential is large?",
        section="ch9-one-pass",
        edits=[
            ("torch.softmax(scores, dim=-1)", "(scores.exp() / scores.exp().sum(-1, keepdim=True))")
        ],
    ),
    Mistake(
        name="pages: empty text gives NaN",
        function="paged_attention",
        cell="paged_attention_values",
        means="A text of length 0 gives NaN here.",
        hint="What does your softmax make of a row without a single key?",
        section="ch9-mistake-empty",
        edits=[
            (
                "outputs.append((torch.softmax(scores, dim=-1) @ v)[:, 0])",
                "weights = torch.softmax(scores, dim=-1)\n"
                "        outputs.append((weights @ v)[:, 0] / weights.sum(-1))",
            )
        ],
    ),
    # linear_attention_chunked -------------------------------------------------------------------
    Mistake(
        name="own position left out in the chunk",
        function="linear_attention_chunked",
        cell="linear_attention_values",
        means="A query doesn't see the key of its own position. The sum runs up to and including t.",
        hint="Which diagonal belongs to the small causal matrix?",
        section="ch9-linear-chunks",
        edits=[(".tril() @ v", ".tril(-1) @ v")],
    ),
    Mistake(
        name="chunk added to the state too early",
        function="linear_attention_chunked",
        cell="linear_attention_values",
        means="The chunk's own keys were in the state already when its queries looked at it. They count twice, those of the future among them.",
        hint="Which positions should the state hold when a chunk begins?",
        section="ch9-linear-chunks",
        source="""
def linear_attention_chunked(query, key, value, chunk):
    T = query.shape[-2]
    state = torch.zeros((*key.shape[:-2], key.shape[-1], value.shape[-1]), dtype=value.dtype)
    outputs = []
    for start in range(0, T, chunk):
        q, k, v = (x[..., start : start + chunk, :] for x in (query, key, value))
        state = state + k.mT @ v
        outputs.append(q @ state + (q @ k.mT).tril() @ v)
    return torch.cat(outputs, dim=-2), state
""",
    ),
    Mistake(
        name="future of the chunk seen",
        function="linear_attention_chunked",
        cell="linear_attention_values",
        means="Within a chunk every query sees every key, also those of its future. Does a product lack the small causal matrix, or does the state hold the whole chunk already?",
        hint="Which keys of its own chunk may the first query of a chunk see?",
        section="ch9-linear-chunks",
        edits=[("(q @ k.mT).tril() @ v", "(q @ k.mT) @ v")],
    ),
    Mistake(
        name="state forgotten between chunks",
        function="linear_attention_chunked",
        cell="linear_attention_values",
        means="Each chunk begins with an empty state, so a query sees its own chunk only.",
        hint="What of the chunks before has a query to see?",
        section="ch9-linear-chunks",
        edits=[("q @ state + (q @ k.mT)", "(q @ k.mT)")],
    ),
    Mistake(
        name="only the chunk before in the state",
        function="linear_attention_chunked",
        cell="linear_attention_values",
        means="The state was replaced by that of the newest chunk. It has to hold all chunks so far.",
        hint="What happens to the state of the first chunk at the end of the second?",
        section="ch9-linear-chunks",
        edits=[("state = state + k.mT @ v", "state = k.mT @ v")],
    ),
    Mistake(
        name="chunk itself left out",
        function="linear_attention_chunked",
        cell="linear_attention_values",
        means="A query sees the chunks before its own, but nothing of its own chunk.",
        hint="Which keys are in the state when a chunk begins, and which are missing?",
        section="ch9-linear-chunks",
        edits=[("q @ state + (q @ k.mT).tril() @ v", "q @ state")],
    ),
    Mistake(
        name="last chunk dropped",
        function="linear_attention_chunked",
        cell="linear_attention_values",
        means="Only whole chunks are computed. The positions at the end, fewer than chunk, are missing.",
        hint="How many chunks do 7 positions need, if a chunk has 3?",
        section="ch9-mistake-tails",
        edits=[("range(0, T, chunk)", "range(0, max(T // chunk, 1) * chunk, chunk)")],
    ),
    Mistake(
        name="state without the last chunk",
        function="linear_attention_chunked",
        cell="linear_attention_values",
        means="The outputs are right, but the last chunk is missing in the state that is returned.",
        hint="At which moment do you return the state?",
        section="ch9-linear-chunks",
        edits=[
            (
                "return torch.cat(outputs, dim=-2), state",
                "return torch.cat(outputs, dim=-2), state - k.mT @ v",
            )
        ],
    ),
    Mistake(
        name="state transposed",
        function="linear_attention_chunked",
        cell="linear_attention_values",
        means="The outputs are right, but the state that is returned has an axis for values first and one for keys second.",
        hint="Which shape does the docstring give the state?",
        section="ch9-linear",
        edits=[
            (
                "return torch.cat(outputs, dim=-2), state",
                "return torch.cat(outputs, dim=-2), state.mT",
            )
        ],
    ),
    Mistake(
        name="softmax within the chunk",
        function="linear_attention_chunked",
        cell="linear_attention_values",
        means="Within a chunk the weights went through a softmax. Here there is none.",
        hint="By which number does the formula multiply a value?",
        section="ch9-linear",
        edits=[
            (
                "(q @ k.mT).tril() @ v",
                "(q @ k.mT).masked_fill(torch.ones(q.shape[-2], q.shape[-2]).triu(1).bool(), -torch.inf).softmax(-1) @ v",
            )
        ],
    ),
    Mistake(
        name="divided by the square root of d",
        function="linear_attention_chunked",
        cell="linear_attention_values",
        means="The outputs were divided by the square root of d. Without the softmax there is nothing that it would keep in bounds, and the formula has none.",
        hint="Which factors stand in the formula?",
        section="ch9-linear",
        edits=[
            (
                "torch.cat(outputs, dim=-2), state",
                "torch.cat(outputs, dim=-2) / query.shape[-1] ** 0.5, state",
            )
        ],
    ),
    Mistake(
        name="divided by the sum of the weights",
        function="linear_attention_chunked",
        cell="linear_attention_values",
        means="The outputs were divided by the sum of the dot products. Some forms of linear attention do so; this one doesn't, and the sum may be near 0 or negative.",
        hint="Which factors stand in the formula?",
        section="ch9-linear",
        edits=[
            (
                "return torch.cat(outputs, dim=-2), state",
                "sums = (query * key.cumsum(dim=-2)).sum(dim=-1, keepdim=True)\n"
                "    return torch.cat(outputs, dim=-2) / sums, state",
            )
        ],
    ),
    Mistake(
        name="linear: everything in float32",
        function="linear_attention_chunked",
        cell="linear_attention_values",
        means="The state is float32 from the beginning, whatever the inputs are.",
        hint="Which data type does torch.zeros give, if none is asked for?",
        section="ch9-precision",
        source="""
def linear_attention_chunked(query, key, value, chunk):
    T = query.shape[-2]
    state = torch.zeros((*key.shape[:-2], key.shape[-1], value.shape[-1]))
    outputs = []
    for start in range(0, T, chunk):
        q, k, v = (x[..., start : start + chunk, :].float() for x in (query, key, value))
        outputs.append(q @ state + (q @ k.mT).tril() @ v)
        state = state + k.mT @ v
    return torch.cat(outputs, dim=-2), state
""",
    ),
    Mistake(
        name="values changed in place",
        function="linear_attention_chunked",
        cell="linear_attention_values",
        means="The outputs were written into the tensor of values that was passed in.",
        hint="Into which tensor do you write your outputs?",
        section="ch9-mistake-in-place",
        edits=[
            (
                "return torch.cat(outputs, dim=-2), state",
                "return value.copy_(torch.cat(outputs, dim=-2)), state",
            )
        ],
    ),
    Mistake(
        name="matrix of all queries and keys",
        function="linear_attention_chunked",
        cell="linear_attention_memory",
        means="The dot products of all queries with all keys were in memory at the same time. The result is right, but the chunks were not used.",
        hint="How many numbers has your largest matrix, if T is 100,000 and the chunk is 64?",
        section="ch9-whole-matrix",
        source="""
def linear_attention_chunked(query, key, value, chunk):
    return (query @ key.mT).tril() @ value, key.mT @ value
""",
    ),
]

ALTERNATIVES = [
    Alternative(
        name="merging as you go",
        cost=(
            "Task 2 becomes task 1 in a loop: attend to one tile of keys, merge it with what there is. Every step divides by its own sum, "
            "which the running form puts off to the end."
        ),
        source="""
def merge(a, b):
    lse = torch.logaddexp(a[1], b[1])
    parts = [
        torch.where(part.isneginf(), 0.0, (part - lse).exp())[..., None] * output
        for output, part in (a, b)
    ]
    return parts[0] + parts[1], lse


def flash_forward(query, key, value, block_q, block_k, causal=False):
    T, S = query.shape[-2], key.shape[-2]
    dtype = torch.promote_types(query.dtype, torch.float32)
    results = []
    for first in range(0, T, block_q):
        q = query[..., first : first + block_q, :].to(dtype) / query.shape[-1] ** 0.5
        rows = torch.arange(first, first + q.shape[-2])
        result = None
        for start in range(0, S, block_k):
            scores = q @ key[..., start : start + block_k, :].to(dtype).mT
            if causal:
                columns = torch.arange(start, start + scores.shape[-1])
                scores = scores.masked_fill(columns > rows[:, None] + (S - T), -torch.inf)
            weights = scores.softmax(-1).nan_to_num()
            part = weights @ value[..., start : start + block_k, :].to(dtype), scores.logsumexp(-1)
            result = part if result is None else merge(result, part)
        results.append(result)
    outputs, all_lse = zip(*results)
    return torch.cat(outputs, -2).to(query.dtype), torch.cat(all_lse, -1)
""",
    ),
    Alternative(
        name="loops over single numbers of a row",
        cost=(
            "One key after the other, with a running maximum that is one number for each query: the idea without tiles. In Python it is "
            "slow, and on any machine it uses no matrix product."
        ),
        source="""
import math


def merge(a, b):
    output, lse = torch.empty_like(a[0]), torch.empty_like(a[1])
    flat = [x.reshape(-1, x.shape[-1]) for x in (a[0], b[0])]
    rows, each = [], []
    for x, y, m, n in zip(*flat, a[1].flatten().tolist(), b[1].flatten().tolist()):
        top = max(m, n)
        if top == -math.inf:
            rows.append(torch.zeros_like(x))
            each.append(top)
            continue
        p, q = math.exp(m - top), math.exp(n - top)
        rows.append((p * x + q * y) / (p + q))
        each.append(top + math.log(p + q))
    return torch.stack(rows).reshape(output.shape), torch.tensor(each, dtype=lse.dtype).reshape(lse.shape)


def tiles(T, S, block_q, block_k, causal):
    found = []
    for i in range(math.ceil(T / block_q)):
        for j in range(math.ceil(S / block_k)):
            pairs = [
                not causal or s <= t + S - T
                for t in range(i * block_q, min(T, (i + 1) * block_q))
                for s in range(j * block_k, min(S, (j + 1) * block_k))
            ]
            if any(pairs):
                found.append((i, j, "full" if all(pairs) else "edge"))
    return found


def traffic(T, S, d, dv, block_q, block_k, tiled):
    loaded = stored = 0
    if tiled:
        for first in range(0, T, block_q):
            rows = min(block_q, T - first)
            loaded += rows * d
            for start in range(0, S, block_k):
                loaded += min(block_k, S - start) * (d + dv)
            stored += rows * dv + rows
    else:
        for takes, gives in [(T * d + S * d, T * S), (T * S, T * S), (T * S + S * dv, T * dv)]:
            loaded += takes
            stored += gives
    return {"stored": stored, "loaded": loaded}


def linear_attention_chunked(query, key, value, chunk):
    state = (key[..., :0, :].mT @ value[..., :0, :]) * 0
    outputs = []
    for t in range(query.shape[-2]):
        state = state + key[..., t, :, None] * value[..., t, None, :]
        outputs.append((query[..., t, None, :] @ state)[..., 0, :])
    return torch.stack(outputs, dim=-2), state
""",
    ),
    Alternative(
        name="keys outside, queries inside",
        cost=(
            "The loop over keys is the outer one, as in the first FlashAttention. What is kept for each query then has to be kept for all "
            "queries at once, and is loaded and stored again for each tile of keys."
        ),
        source="""
def flash_forward(query, key, value, block_q, block_k, causal=False):
    T, S, dtype = query.shape[-2], key.shape[-2], torch.promote_types(query.dtype, torch.float32)
    lowest = torch.finfo(dtype).min
    highest = torch.full(query.shape[:-1], lowest, dtype=dtype)[..., None]
    total = torch.zeros_like(highest)
    output = torch.zeros(*query.shape[:-1], value.shape[-1], dtype=dtype)
    for k, v, columns in zip(
        key.split(block_k, -2), value.split(block_k, -2), torch.arange(S).split(block_k)
    ):
        for rows in torch.arange(T).split(block_q):
            scores = query[..., rows, :].to(dtype) @ k.to(dtype).mT / query.shape[-1] ** 0.5
            seen = torch.ones(len(rows), len(columns), dtype=torch.bool)
            if causal:
                seen = columns <= rows[:, None] + S - T
            scores = scores.where(seen, lowest)
            new = torch.maximum(highest[..., rows, :], scores.amax(-1, keepdim=True))
            weights = (scores - new).exp() * seen
            old = (highest[..., rows, :] - new).exp()
            total[..., rows, :] = total[..., rows, :] * old + weights.sum(-1, keepdim=True)
            output[..., rows, :] = output[..., rows, :] * old + weights @ v.to(dtype)
            highest[..., rows, :] = new
    empty = total == 0
    output = output / total.masked_fill(empty, 1.0)
    lse = (highest + total.log()).masked_fill(empty, -torch.inf)
    return output.to(query.dtype), lse[..., 0]


def flash_backward(query, key, value, output, lse, grad, block_q, block_k, causal=False):
    T, S = query.shape[-2], key.shape[-2]
    root = query.shape[-1] ** 0.5
    dq, dk, dv = query * 0, key * 0, value * 0
    delta = torch.einsum("...td,...td->...t", grad, output)
    for rows in torch.arange(T).split(block_q):
        q, g = query[..., rows, :], grad[..., rows, :]
        for columns in torch.arange(S).split(block_k):
            k, v = key[..., columns, :], value[..., columns, :]
            exponents = q @ k.mT / root - lse[..., rows].unsqueeze(-1)
            if causal:
                exponents = exponents.masked_fill(columns > rows[:, None] + S - T, -torch.inf)
            p = exponents.exp()
            ds = p * (g @ v.mT - delta[..., rows].unsqueeze(-1)) / root
            dq[..., rows, :] += ds @ k
            dk[..., columns, :] += ds.mT @ q
            dv[..., columns, :] += p.mT @ g
    return dq, dk, dv
""",
    ),
    Alternative(
        name="two passes, first the lse",
        cost=(
            "With the lse known, the weights of every tile are final and nothing has to be corrected: the forward pass looks like the "
            "backward pass. All scores are computed twice."
        ),
        source="""
def _scores(query, key, rows, columns, causal):
    T, S = query.shape[-2], key.shape[-2]
    dtype = torch.promote_types(query.dtype, torch.float32)
    q, k = query[..., rows, :].to(dtype), key[..., columns, :].to(dtype)
    scores = torch.einsum("...td,...sd->...ts", q, k) * query.shape[-1] ** -0.5
    if causal:
        scores = torch.where(columns - rows[:, None] > S - T, -torch.inf, scores)
    return scores


def flash_forward(query, key, value, block_q, block_k, causal=False):
    T, S = query.shape[-2], key.shape[-2]
    outputs, all_lse = [], []
    for rows in torch.arange(T).split(block_q):
        parts = [_scores(query, key, rows, columns, causal) for columns in torch.arange(S).split(block_k)]
        lse = torch.stack([scores.logsumexp(-1) for scores in parts]).logsumexp(0)
        output = 0
        for columns in torch.arange(S).split(block_k):
            scores = _scores(query, key, rows, columns, causal)
            weights = (scores - lse.nan_to_num(neginf=0.0)[..., None]).exp()
            output = output + torch.einsum("...ts,...sv->...tv", weights, value[..., columns, :].to(scores.dtype))
        outputs.append(output.to(query.dtype))
        all_lse.append(lse)
    return torch.cat(outputs, dim=-2), torch.cat(all_lse, dim=-1)


def flash_backward(query, key, value, output, lse, grad, block_q, block_k, causal=False):
    T, S = query.shape[-2], key.shape[-2]
    scale = query.shape[-1] ** -0.5
    dq, dk, dv = [], 0, 0
    delta = (grad * output).sum(-1)
    finite = torch.nan_to_num(lse, neginf=0.0)
    for rows in torch.arange(T).split(block_q):
        q, g = query[..., rows, :], grad[..., rows, :]
        own, dk_parts, dv_parts = 0, [], []
        for columns in torch.arange(S).split(block_k):
            p = (_scores(query, key, rows, columns, causal) - finite[..., rows, None]).exp()
            ds = scale * p * (g @ value[..., columns, :].mT - delta[..., rows, None])
            own = own + ds @ key[..., columns, :]
            dk_parts.append(ds.mT @ q)
            dv_parts.append(p.mT @ g)
        dq.append(own)
        dk, dv = dk + torch.cat(dk_parts, -2), dv + torch.cat(dv_parts, -2)
    return torch.cat(dq, -2), dk, dv
""",
    ),
    Alternative(
        name="padded to whole tiles",
        cost=(
            "Queries and keys are padded until the block sizes divide, and what is too much is masked and cut off. Every tile then has the "
            "same shape, which kernels like. The padding is computed for nothing."
        ),
        source="""
from torch.nn import functional as F


def flash_forward(query, key, value, block_q, block_k, causal=False):
    T, S = query.shape[-2], key.shape[-2]
    more_q, more_k = -T % block_q, -S % block_k
    work = torch.float64 if query.dtype == torch.float64 else torch.float32
    q = F.pad(query, (0, 0, 0, more_q)).to(work)
    k, v = (F.pad(x, (0, 0, 0, more_k)).to(work) for x in (key, value))
    output = q.new_zeros(*q.shape[:-1], v.shape[-1])
    lse = q.new_full(q.shape[:-1], -torch.inf)
    for i in range(0, T + more_q, block_q):
        rows = torch.arange(i, i + block_q)[:, None]
        m = q.new_full((*q.shape[:-2], block_q, 1), -torch.inf)
        l = torch.zeros_like(m)
        o = q.new_zeros(*q.shape[:-2], block_q, v.shape[-1])
        for j in range(0, S + more_k, block_k):
            columns = torch.arange(j, j + block_k)
            hidden = (columns >= S) | (causal and columns > rows + S - T)
            s = q[..., i : i + block_q, :] @ k[..., j : j + block_k, :].mT / query.shape[-1] ** 0.5
            s = s.masked_fill(hidden, -torch.inf)
            n = torch.maximum(m, s.max(-1, keepdim=True).values)
            f = torch.where(n == -torch.inf, torch.zeros_like(n), n)
            p, c = torch.exp(s - f), torch.exp(m - f)
            l, o, m = l * c + p.sum(-1, keepdim=True), o * c + p @ v[..., j : j + block_k, :], n
        output[..., i : i + block_q, :] = o / torch.where(l == 0, torch.ones_like(l), l)
        lse[..., i : i + block_q] = (m + l.log()).squeeze(-1)
    return output[..., :T, :].to(query.dtype), lse[..., :T]


def paged_attention(query, key_pages, value_pages, table, lengths):
    page = key_pages.shape[2]
    longest = max(int(lengths.max()), 1)
    positions = torch.arange(longest)
    seen = positions < lengths[:, None]  # (B, longest)
    entries = table.gather(1, (positions // page).expand(len(table), -1)).where(seen, 0)
    slots = (positions % page).expand_as(entries)
    k, v = (
        pages[entries, :, slots].transpose(1, 2).masked_fill(~seen[:, None, :, None], 0.0)
        for pages in (key_pages, value_pages)
    )
    scores = torch.einsum("bhd,bhsd->bhs", query, k) / query.shape[-1] ** 0.5
    scores = scores.masked_fill(~seen[:, None], torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, -1) * seen[:, None]
    return torch.einsum("bhs,bhsv->bhv", weights, v)


def linear_attention_chunked(query, key, value, chunk):
    T = query.shape[-2]
    q, k, v = (
        F.pad(x, (0, 0, 0, -T % chunk)).unflatten(-2, (-1, chunk)) for x in (query, key, value)
    )
    states = (k.mT @ v).cumsum(-3)
    before = states - k.mT @ v
    output = q @ before + (q @ k.mT * torch.ones(chunk, chunk, dtype=q.dtype).tril()) @ v
    return output.flatten(-3, -2)[..., :T, :], states[..., -1, :, :]
""",
    ),
    Alternative(
        name="each tile differentiated by autograd",
        cost=(
            "The formulas of the softmax are left to automatic differentiation, one tile at a time: P is exp(score - lse) with a fixed lse, and "
            "D comes in as a constant. Short, but it hides where the memory goes."
        ),
        source="""
def flash_backward(query, key, value, output, lse, grad, block_q, block_k, causal=False):
    T, S = query.shape[-2], key.shape[-2]
    results = [torch.zeros(x.shape, dtype=x.dtype) for x in (query, key, value)]
    for i in range(0, T, block_q):
        for j in range(0, S, block_k):
            rows, columns = slice(i, i + block_q), slice(j, j + block_k)
            places = rows, columns, columns
            leaves = [
                x[..., place, :].detach().clone().requires_grad_()
                for x, place in zip((query, key, value), places)
            ]
            q, k, v = leaves
            scores = q @ k.mT / q.shape[-1] ** 0.5
            if causal:
                t, s = torch.arange(T)[rows, None], torch.arange(S)[columns]
                scores = scores.masked_fill(s > t + S - T, -torch.inf)
            weights = (scores - lse[..., rows].nan_to_num(neginf=0.0)[..., None]).exp()
            g, o = grad[..., rows, :], output[..., rows, :]
            loss = (g * (weights @ v)).sum() - (weights.sum(-1) * (g * o).sum(-1)).sum()
            for result, place, found in zip(results, places, torch.autograd.grad(loss, leaves)):
                result[..., place, :] += found
    return tuple(results)


def paged_attention(query, key_pages, value_pages, table, lengths):
    B, H, d = query.shape
    page = key_pages.size(2)
    outputs = query.new_zeros(B, H, value_pages.size(-1))
    for b in range(B):
        n = int(lengths[b])
        if n == 0:
            continue
        where = [(int(table[b, s // page]), s % page) for s in range(n)]
        k = torch.stack([key_pages[p, :, slot] for p, slot in where], dim=1)
        v = torch.stack([value_pages[p, :, slot] for p, slot in where], dim=1)
        weights = torch.softmax((k * query[b, :, None]).sum(-1) / d**0.5, dim=-1)
        outputs[b] = (weights[..., None] * v).sum(1)
    return outputs
""",
    ),
    Alternative(
        name="in NumPy",
        cost=(
            "Nothing of torch is needed but at the door. NumPy has no bfloat16, so half precision takes a detour, and no processor but the "
            "CPU."
        ),
        source="""
import numpy as np


def merge(a, b):
    outputs, lse = [x[0].numpy() for x in (a, b)], [x[1].numpy() for x in (a, b)]
    together = np.logaddexp(*lse)
    with np.errstate(invalid="ignore"):
        shares = [np.nan_to_num(np.exp(one - together))[..., None] for one in lse]
    return torch.from_numpy(sum(s * o for s, o in zip(shares, outputs))), torch.from_numpy(together)


def flash_forward(query, key, value, block_q, block_k, causal=False):
    dtype = torch.promote_types(query.dtype, torch.float32)
    q, k, v = (x.to(dtype).numpy() for x in (query, key, value))
    T, S, d = q.shape[-2], k.shape[-2], q.shape[-1]
    output = np.zeros((*q.shape[:-1], v.shape[-1]), q.dtype)
    lse = np.full(q.shape[:-1], -np.inf, q.dtype)
    for i in range(0, T, block_q):
        m = np.full((*q.shape[:-2], min(block_q, T - i)), -np.inf, q.dtype)
        l, o = np.zeros_like(m), output[..., i : i + block_q, :]
        for j in range(0, S, block_k):
            scores = q[..., i : i + block_q, :] @ k[..., j : j + block_k, :].swapaxes(-1, -2)
            scores /= q.dtype.type(d**0.5)
            if causal:
                t = np.arange(i, i + scores.shape[-2])[:, None]
                scores[..., np.arange(j, j + scores.shape[-1]) > t + S - T] = -np.inf
            new = np.maximum(m, scores.max(-1))
            finite = np.where(np.isneginf(new), q.dtype.type(0), new)
            p = np.exp(scores - finite[..., None])
            old = np.exp(m - finite)
            l = l * old + p.sum(-1)
            o[...] = o * old[..., None] + p @ v[..., j : j + block_k, :]
            m = new
        o /= np.where(l == 0, 1, l)[..., None]
        with np.errstate(divide="ignore"):
            lse[..., i : i + block_q] = m + np.log(l)
    return torch.from_numpy(output).to(query.dtype), torch.from_numpy(lse)


def tiles(T, S, block_q, block_k, causal):
    mask = np.tri(T, S, S - T, dtype=bool) if causal else np.ones((T, S), bool)
    cuts = np.arange(0, T, block_q), np.arange(0, S, block_k)
    seen = np.add.reduceat(np.add.reduceat(mask.astype(int), cuts[0], 0), cuts[1], 1)
    every = np.add.reduceat(np.add.reduceat(np.ones((T, S), int), cuts[0], 0), cuts[1], 1)
    return [
        [int(i), int(j), "full" if seen[i, j] == every[i, j] else "edge"]
        for i, j in np.argwhere(seen)
    ]
""",
    ),
    Alternative(
        name="one tile after another, from the list of tiles",
        cost=(
            "The mask is looked at in tiles that it cuts through only, and tiles without work are never touched: under a causal mask half of the "
            "products are saved. A mistake in the list of tiles becomes one in the result."
        ),
        source="""
def flash_forward(query, key, value, block_q, block_k, causal=False):
    T, S = query.shape[-2], key.shape[-2]

    def with_work():
        for i in range(-(-T // block_q)):
            fewest = i * block_q + S - T + 1 if causal else S
            most = min(T, (i + 1) * block_q) + S - T if causal else S
            for j in range(-(-S // block_k)):
                if j * block_k < most:
                    yield i, j, "full" if min(S, (j + 1) * block_k) <= fewest else "edge"

    dtype = torch.promote_types(query.dtype, torch.float32)
    m = torch.full((*query.shape[:-1], 1), -torch.inf, dtype=dtype)
    total = torch.zeros_like(m)
    output = torch.zeros(*query.shape[:-1], value.shape[-1], dtype=dtype)
    for i, j, kind in with_work():
        rows, columns = slice(i * block_q, (i + 1) * block_q), slice(j * block_k, (j + 1) * block_k)
        scores = query[..., rows, :].to(dtype) @ key[..., columns, :].to(dtype).mT
        scores = scores * query.shape[-1] ** -0.5
        if kind == "edge":
            future = torch.arange(S)[columns] > torch.arange(T)[rows, None] + S - T
            scores = scores.masked_fill(future, -torch.inf)
        new = torch.maximum(m[..., rows, :], scores.amax(-1, keepdim=True))
        base = new.clamp(min=torch.finfo(dtype).min)
        weights, old = (scores - base).exp(), (m[..., rows, :] - base).exp()
        total[..., rows, :] = old * total[..., rows, :] + weights.sum(-1, keepdim=True)
        output[..., rows, :] = old * output[..., rows, :] + weights @ value[..., columns, :].to(dtype)
        m[..., rows, :] = new
    lse = torch.where(total > 0, m + total.log(), -torch.inf)
    return (output / total.clamp(min=1)).to(query.dtype), lse[..., 0]


def tiles(T, S, block_q, block_k, causal):
    rows, columns = -(-T // block_q), -(-S // block_k)
    if not causal:
        return [(i, j, "full") for i in range(rows) for j in range(columns)]
    found = []
    for i in range(rows):
        fewest = i * block_q + S - T + 1
        most = min(T, (i + 1) * block_q) + S - T
        found += [
            (i, j, "full" if min(S, (j + 1) * block_k) <= fewest else "edge")
            for j in range(columns)
            if j * block_k < most
        ]
    return found


def linear_attention_chunked(query, key, value, chunk):
    outputs, state = [], None
    for q, k, v in zip(*(x.split(chunk, dim=-2) for x in (query, key, value))):
        scores = torch.tril(torch.einsum("...td,...sd->...ts", q, k))
        output = torch.einsum("...ts,...sv->...tv", scores, v)
        added = torch.einsum("...sd,...sv->...dv", k, v)
        if state is not None:
            output = output + torch.einsum("...td,...dv->...tv", q, state)
            added = added + state
        outputs.append(output)
        state = added
    return torch.cat(outputs, dim=-2), state
""",
    ),
]

# shown after a task is passed
DISCUSSIONS = [
    Discussion(
        "merge",
        (
            Way(
                "With the logarithm of a sum of exponentials that the library has.",
                "lse = torch.logaddexp(lse_a, lse_b)\nshare_a = (lse_a - lse).exp()",
                "Two lines, and the larger lse is subtracted inside. Where both parts are empty the difference is NaN, so that case "
                "still needs a line.",
            ),
            Way(
                "With a sigmoid: the first part's share depends on the difference alone.",
                "share_a = torch.sigmoid(lse_a - lse_b)\noutput = share_a[..., None] * output_a + (1 - share_a[..., None]) * output_b",
                "It shows that two parts compete as two classes do. The lse has to be computed in another way, and so has the case of "
                "two empty parts.",
            ),
        ),
    ),
    Discussion(
        "flash_forward",
        (
            Way(
                "As `merge` in a loop: the attention over one tile of keys, merged with what there is so far.",
                "part = scores.softmax(-1).nan_to_num() @ v, scores.logsumexp(-1)\nresult = merge(result, part)",
                "There is one place only where exponentials are put together. Each merge divides, which the running form does once at "
                "the end.",
            ),
            Way(
                "In two passes over the keys: the lse first, then the output with final weights.",
                "weights = (scores - lse[..., None]).exp()\noutput = output + weights @ v",
                "Nothing has to be corrected. All scores are computed twice, as in the backward pass.",
            ),
        ),
    ),
    Discussion(
        "flash_backward",
        (
            Way(
                "With the loop over queries outside, so that dq of a tile is finished before the next begins.",
                "own = own + scale * (dscores @ k)",
                "No worker then adds to another one's dq. With the loop over keys outside the same holds for dk and dv; one of the two "
                "always has to be shared.",
            ),
            Way(
                "With automatic differentiation inside a tile. The lse is a constant there, and D brings in what that leaves out.",
                "sums = weights.sum(-1) * (g * o).sum(-1)\nloss = (g * (weights @ v)).sum() - sums.sum()\n"
                "found = torch.autograd.grad(loss, (q, k, v))",
                "The products of the derivative need not be written down. What is kept in memory, and for how long, can no longer be seen.",
            ),
        ),
    ),
    Discussion(
        "tiles",
        (
            Way(
                "By counting: how many keys the first and the last query of a tile see.",
                "fewest = first + S - T + 1\nmost = last + S - T + 1",
                "No tile has to be looked at to know where the full ones end. One must not forget that both may be negative.",
            ),
            Way(
                "From the mask itself, with `any` and `all` over each tile.",
                'part = mask[first : first + block_q, start : start + block_k]\nkind = "full" if part.all() else "edge"',
                "It works for every mask, not only for the causal one. But the mask has `T` times `S` entries, which was to be avoided.",
            ),
        ),
    ),
    Discussion(
        "traffic",
        (
            Way(
                "By a loop that does what the programs do, and counts.",
                "loaded += min(block_k, S - start) * (d + dv)",
                "Each line can be compared with the statement. A formula shows at a glance what depends on what.",
            ),
            Way(
                "With the number of programs by the usual function.",
                "programs = math.ceil(T / block_q)",
                "It says what is meant. The quotient is a floating number, which is exact only up to about 16 digits.",
            ),
        ),
    ),
    Discussion(
        "paged_attention",
        (
            Way(
                "For all texts at once: every position's page and slot as an index.",
                "entries = table.gather(1, positions // page)\nk = key_pages[entries, :, positions % page]",
                "No loop over texts. All are padded to the longest, and what stands there has to be replaced before the product, as 0 "
                "times NaN is NaN.",
            ),
            Way(
                "One page after the other, with a running maximum, as in task 2.",
                "for entry in table[b, :needed].tolist():\n    scores = query[b, :, None] @ key_pages[entry].mT",
                "Nothing is copied: the pages are read where they lie. This is what a kernel does, and in Python the loop is slow.",
            ),
        ),
    ),
    Discussion(
        "linear_attention_chunked",
        (
            Way(
                "One position after the other, as a recurrent network.",
                "state = state + k[..., None] * v[..., None, :]",
                "It needs the least memory and writes text at a constant price for each token. A long sequence takes as many steps, "
                "one after the other.",
            ),
            Way(
                "All chunks at once: the states of all of them by a cumulative sum.",
                "states = (k.mT @ v).cumsum(dim=-3)\nbefore = states - k.mT @ v",
                "There is no loop at all, so a parallel machine is busy. The states of all chunks are in memory at the same time.",
            ),
        ),
    ),
]
