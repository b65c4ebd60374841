"""Known mistakes and accepted alternatives of exercise 8."""

from autograder.catalogue import Alternative, Discussion, Mistake
from autograder.runtime.guide import Way

# the section of the book to read again, by grade cell
SECTIONS = {
    "token_probabilities_values": "ch8-sampling",
    "token_probabilities_edges": "ch8-sampling",
    "window_mask_values": "ch8-window",
    "rolling_cache_values": "ch8-sinks",
    "rolling_cache_edges": "ch8-sinks",
    "cache_bytes_values": "ch8-bytes",
    "latent_attention_values": "ch8-latent",
    "latent_attention_edges": "ch8-latent",
    "rope_frequencies_values": "ch8-longer",
    "speculative_values": "ch8-speculative",
    "speculative_edges": "ch8-speculative",
}

# pieces of the references that several mistakes change
KEPT_BY_K = "(torch.arange(p.shape[-1], device=p.device) < top_k)"
DIVIDED_BY_SUM = "\n        p = p / p.sum(dim=-1, keepdim=True)"
RAMP = "((turns - 1) / (32 - 1)).clamp(0, 1)"
MIXTURE = "(1 - unchanged) * theta / factor + unchanged * theta"
REFUSED = "uniforms[2 * accepted] * p_draft[accepted, token] >= p_target[accepted, token]"
RESIDUAL = "(p - p_draft[accepted]).clamp(min=0)"
HELD = "self.held = key[:, :, kept], value[:, :, kept], positions[kept]"
KEPT_POSITIONS = "(positions > oldest) | (positions < self.sinks)"


def unpacked_attention(weights: str, scores: str = "", keys: str = "rope_key.mT[:, None]") -> str:
    """A whole latent_attention that unpacks keys and values; weights: its lines from scores on."""
    scores = scores or f"scale * (query @ key.mT + rope_query @ {keys})"
    return f"""
def latent_attention(query, rope_query, latent, rope_key, w_uk, w_uv, mask=None):
    key = torch.einsum("bsr,hnr->bhsn", latent, w_uk)
    value = torch.einsum("bsr,hvr->bhsv", latent, w_uv)
    scale = (query.shape[-1] + rope_query.shape[-1]) ** -0.5
    scores = {scores}
    {weights}
    return weights @ value
"""


STABLE_WEIGHTS = """lowest = torch.finfo(scores.dtype).min
    if mask is not None:
        scores = scores.masked_fill(~mask, lowest)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights * mask"""

MISTAKES = [
    # token_probabilities ------------------------------------------------------------------------
    Mistake(
        name="multiplied by the temperature",
        function="token_probabilities",
        cell="token_probabilities_values",
        means="The logits are multiplied by the temperature. So a high temperature makes the model more sure, not less.",
        hint="Should a high temperature make the rows flatter or sharper?",
        section="ch8-sampling",
        edits=[("ordered / temperature", "ordered * temperature")],
    ),
    Mistake(
        name="divided by the temperature after the softmax",
        function="token_probabilities",
        cell="token_probabilities_values",
        means="The probabilities are divided by the temperature, not the logits. The rows no longer add up to 1.",
        hint="What does each row add up to? The temperature belongs inside the softmax.",
        section="ch8-sampling",
        edits=[
            (
                "torch.softmax(ordered / temperature, dim=-1)",
                "torch.softmax(ordered, dim=-1) / temperature",
            )
        ],
    ),
    Mistake(
        name="temperature without effect",
        function="token_probabilities",
        cell="token_probabilities_values",
        means="Every temperature above 0 gives the same result. Either it is not used, or it was cancelled: a factor on all "
        "probabilities is gone once you divide by their sum.",
        hint="Try two temperatures. Which line of your code should make them differ?",
        section="ch8-sampling",
        edits=[("ordered / temperature", "ordered")],
    ),
    Mistake(
        name="temperature last",
        function="token_probabilities",
        cell="token_probabilities_values",
        means="The tokens were chosen at temperature 1, and the temperature acts on those that are left. Some programs do it in this "
        "order, but here the temperature comes first.",
        hint="At a high temperature the sum reaches top_p later. Which probabilities do you add up?",
        section="ch8-conventions",
        edits=[
            ("ordered / temperature", "ordered"),
            (
                "    return torch.zeros_like(p)",
                "    p = p ** (1 / temperature)\n    p = p / p.sum(dim=-1, keepdim=True)\n"
                "    return torch.zeros_like(p)",
            ),
        ],
    ),
    Mistake(
        name="logits divided by the root of the temperature",
        function="token_probabilities",
        cell="token_probabilities_values",
        means="The logits are divided by the root of the temperature. There is no root in this formula.",
        hint="Put in temperature 4 and the logits 0 and 4. Which ratio should the two probabilities have?",
        section="ch8-sampling",
        edits=[("ordered / temperature", "ordered / temperature**0.5")],
    ),
    Mistake(
        name="top_p of all tokens in place of those that top_k left",
        function="token_probabilities",
        cell="token_probabilities_values",
        means="top_p adds up the probabilities of the whole softmax. They have to be divided by the sum of the top_k that "
        "stay first, so that fewer of them are needed.",
        hint="Do the numbers that you add up for top_p have the sum 1 when top_k is given?",
        section="ch8-sampling",
        edits=[
            (
                "before = p.cumsum(dim=-1) - p",
                "full = torch.softmax(ordered / temperature, dim=-1)\n"
                "        before = full.cumsum(dim=-1) - full",
            )
        ],
    ),
    Mistake(
        name="the token that crosses top_p left out",
        function="token_probabilities",
        cell="token_probabilities_values",
        means="The tokens that stay have less than top_p together. The one with which the sum reaches top_p belongs to them.",
        hint="Add up the probabilities that your tokens had before: is it at least top_p?",
        section="ch8-mistake-crossing",
        edits=[("(before < top_p)", "((before + p <= top_p) | (before == 0))")],
    ),
    Mistake(
        name="nothing left when the first token crosses top_p",
        function="token_probabilities",
        cell="token_probabilities_values",
        means="The token that crosses top_p is left out. Where the first one does, nothing is left, and 0 is divided by 0.",
        hint="The most likely token has probability 0.6, and top_p is 0.5. Which tokens stay?",
        section="ch8-mistake-crossing",
        edits=[("(before < top_p)", "(before + p <= top_p)")],
    ),
    Mistake(
        name="one token too many for top_p",
        function="token_probabilities",
        cell="token_probabilities_values",
        means="One more token stays after top_p has been reached. It looks as if the list was moved by one place twice.",
        hint="The sum before a token decides. Is yours the sum before it, or before its neighbour?",
        section="ch8-mistake-crossing",
        edits=[
            (
                "p = p * (before < top_p)",
                "stays = before < top_p\n"
                "        stays[..., 1:] = stays[..., :-1].clone()\n"
                "        p = p * stays",
            )
        ],
    ),
    Mistake(
        name="top_p counted from the unlikely end",
        function="token_probabilities",
        cell="token_probabilities_values",
        means="The sum runs from the least likely token upwards, so that the likely ones are thrown away.",
        hint="In which order does your sort put the tokens? The sum has to start with the most likely one.",
        section="ch8-sampling",
        edits=[
            (
                "before = p.cumsum(dim=-1) - p",
                "before = p.flip(-1).cumsum(dim=-1).flip(-1) - p",
            )
        ],
    ),
    Mistake(
        name="top_p as a share of the largest probability",
        function="token_probabilities",
        cell="token_probabilities_values",
        means="All tokens stay that have at least top_p times the largest probability. This is another rule, called min-p.",
        hint="top_p is about a sum. Which sum do you build?",
        section="ch8-conventions",
        edits=[("(before < top_p)", "(p >= top_p * p[..., :1])")],
    ),
    Mistake(
        name="top_p as the smallest probability",
        function="token_probabilities",
        cell="token_probabilities_values",
        means="Only tokens stay whose own probability is at least top_p. Often there is none.",
        hint="top_p is about a sum. Which sum do you build?",
        section="ch8-sampling",
        edits=[("(before < top_p)", "(p >= top_p)")],
    ),
    Mistake(
        name="never divided by the sum",
        function="token_probabilities",
        cell="token_probabilities_values",
        means="Tokens were taken out, and the others kept their old probabilities. The rows add up to less than 1.",
        hint="What does a row add up to after tokens have been taken out?",
        section="ch8-sampling",
        edits=[
            (f"{KEPT_BY_K}{DIVIDED_BY_SUM}", KEPT_BY_K),
            (f"(before < top_p){DIVIDED_BY_SUM}", "(before < top_p)"),
        ],
    ),
    Mistake(
        name="not divided by the sum after top_p",
        function="token_probabilities",
        cell="token_probabilities_values",
        means="With top_p, the rows add up to less than 1.",
        hint="What does a row add up to after top_p has taken tokens out?",
        section="ch8-sampling",
        edits=[(f"(before < top_p){DIVIDED_BY_SUM}", "(before < top_p)")],
    ),
    Mistake(
        name="not divided by the sum after top_k",
        function="token_probabilities",
        cell="token_probabilities_values",
        means="With top_k, the rows add up to less than 1, unless top_p follows.",
        hint="What does a row add up to after top_k has taken tokens out?",
        section="ch8-sampling",
        edits=[(f"{KEPT_BY_K}{DIVIDED_BY_SUM}", KEPT_BY_K)],
    ),
    Mistake(
        name="one token more than top_k",
        function="token_probabilities",
        cell="token_probabilities_values",
        means="One token too many stays. Indices count from 0, so that the last one that stays has index top_k - 1.",
        hint="Which index does the third largest number have in a sorted list?",
        section="ch8-sampling",
        edits=[("< top_k)", "<= top_k)")],
    ),
    Mistake(
        name="the least likely tokens kept",
        function="token_probabilities",
        cell="token_probabilities_values",
        means="With top_k, the least likely tokens stay.",
        hint="In which order does your sort put the tokens?",
        section="ch8-sampling",
        edits=[
            (KEPT_BY_K, "(torch.arange(p.shape[-1], device=p.device) >= p.shape[-1] - top_k)"),
        ],
    ),
    Mistake(
        name="top_k larger than the vocabulary fails",
        function="token_probabilities",
        cell="token_probabilities_values",
        means="`torch.topk` raises an error when it is asked for more tokens than there are.",
        hint="How many tokens can stay at most? Take the smaller number.",
        section="ch8-sampling",
        edits=[
            (
                "    if top_k is not None:\n",
                "    if top_k is not None:\n        torch.topk(p, top_k)\n",
            )
        ],
    ),
    Mistake(
        name="probabilities left in sorted order",
        function="token_probabilities",
        cell="token_probabilities_values",
        means="The numbers are right, but the largest stands first in every row. Nobody can tell any more which token it belongs to.",
        hint="After the sort, place 0 holds the most likely token. How do you get back to places by token?",
        section="ch8-sampling",
        edits=[("torch.zeros_like(p).scatter(-1, tokens, p)", "p")],
    ),
    Mistake(
        name="put back by the wrong permutation",
        function="token_probabilities",
        cell="token_probabilities_values",
        means="The sorted numbers were put back by `gather` with the indices of the sort. That sorts once more in place of undoing it.",
        hint="The sort says where each number came from. `gather` reads there; which function writes there?",
        section="ch8-sampling",
        edits=[("torch.zeros_like(p).scatter(-1, tokens, p)", "p.gather(-1, tokens)")],
    ),
    Mistake(
        name="removed logits set to 0",
        function="token_probabilities",
        cell="token_probabilities_values",
        means="The logits of the tokens that top_k removes were set to 0, and then came the softmax. A logit of 0 is an ordinary logit, so these "
        "tokens still get a share.",
        hint="Which logit gives a probability of exactly 0?",
        section="ch8-sampling",
        edits=[
            (
                f"p = p * {KEPT_BY_K}",
                "gone = torch.arange(p.shape[-1], device=p.device) >= top_k\n"
                "        p = torch.softmax((ordered / temperature).masked_fill(gone, 0.0), dim=-1)",
            )
        ],
    ),
    Mistake(
        name="softmax along the first axis",
        function="token_probabilities",
        cell="token_probabilities_values",
        means="The softmax runs along the first axis. For a single row that is right; in a batch the texts share one sum.",
        hint="Which axis belongs to the tokens of the vocabulary?",
        section="ch8-sampling",
        edits=[
            (
                "torch.softmax(ordered / temperature, dim=-1)",
                "torch.softmax(ordered / temperature, dim=0)",
            )
        ],
    ),
    Mistake(
        name="log-probabilities",
        function="token_probabilities",
        cell="token_probabilities_values",
        means="Without top_k and top_p the result holds logarithms of probabilities.",
        hint="Can a probability be negative?",
        section="ch8-sampling",
        edits=[
            (
                "torch.softmax(ordered / temperature, dim=-1)",
                "torch.log_softmax(ordered / temperature, dim=-1)",
            )
        ],
    ),
    Mistake(
        name="exponential without the maximum",
        function="token_probabilities",
        cell="token_probabilities_edges",
        means="The exponentials of the logits overflow to infinity or all become 0. Then the division gives NaN.",
        hint="What may be subtracted from all logits of a row without changing the softmax?",
        section="ch8-sampling",
        edits=[
            (
                "p = torch.softmax(ordered / temperature, dim=-1)",
                "p = torch.exp(ordered / temperature)\n    p = p / p.sum(dim=-1, keepdim=True)",
            )
        ],
    ),
    Mistake(
        name="temperature 0 divides by 0",
        function="token_probabilities",
        cell="token_probabilities_edges",
        means="At temperature 0 the logits are divided by 0, which gives infinities and NaN.",
        hint="Which token gets everything at temperature 0? This needs no division.",
        section="ch8-sampling",
        edits=[("if temperature == 0:", "if False:")],
    ),
    Mistake(
        name="temperature 0 as temperature 1",
        function="token_probabilities",
        cell="token_probabilities_edges",
        means="At temperature 0 you give the probabilities of temperature 1. Perhaps `if temperature:` skips the whole step.",
        hint="What is left of the distribution when it gets colder and colder?",
        section="ch8-sampling",
        edits=[("temperature, top_k = 1.0, 1", "temperature = 1.0")],
    ),
    Mistake(
        name="temperature 0 shared among tokens that tie",
        function="token_probabilities",
        cell="token_probabilities_edges",
        means="At temperature 0 several tokens with the same logit share the probability, as with a very small temperature. Only the first of "
        "them should get it.",
        hint="The logits are 2, 5, 5. Which token gets probability 1?",
        section="ch8-conventions",
        edits=[("temperature, top_k = 1.0, 1", "temperature = 1e-6")],
    ),
    Mistake(
        name="all tokens kept that tie with the last one",
        function="token_probabilities",
        cell="token_probabilities_edges",
        means="All tokens stay whose logit is at least that of the last one that stays. Where logits are equal, these are more than top_k.",
        hint="The logits are 5, 5, 5 and top_k is 2. How many tokens stay, and which?",
        section="ch8-conventions",
        edits=[(KEPT_BY_K, "(ordered >= ordered[..., [min(top_k, p.shape[-1]) - 1]])")],
    ),
    Mistake(
        name="of tokens that tie, the last one first",
        function="token_probabilities",
        cell="token_probabilities_edges",
        means="Where logits are equal, the token with the larger index counts as the more likely one. A sort in rising order that is "
        "turned round does this.",
        hint="The logits are 5, 5, 5 and top_k is 2. Which two stay?",
        section="ch8-conventions",
        edits=[
            (
                "ordered, tokens = logits.sort(dim=-1, descending=True, stable=True)",
                "ordered, tokens = (x.flip(-1) for x in logits.sort(dim=-1, stable=True))",
            )
        ],
    ),
    Mistake(
        name="computed in half precision",
        function="token_probabilities",
        cell="token_probabilities_edges",
        means="With logits in 16 bits, the sums run in 16 bits, too, and the result is in 16 bits.",
        hint="What is 1 + 0.001 in bfloat16? Convert before you add up.",
        section="ch8-sampling",
        edits=[("logits = logits.float()", "pass")],
    ),
    Mistake(
        name="always float32",
        function="token_probabilities",
        cell="token_probabilities_edges",
        means="The result is in float32, also for logits in float64.",
        hint="Which data types are to be converted, and which stay?",
        section="ch8-sampling",
        edits=[("if logits.dtype.itemsize < 4:", "if True:")],
    ),
    Mistake(
        name="logits changed in place",
        function="token_probabilities",
        cell="token_probabilities_edges",
        means="The caller's logits are no longer what they were: they have been divided by the temperature.",
        hint="Which of your lines writes into a tensor that came in? `/=` and functions with `_` at the end do.",
        section="ch8-sampling",
        edits=[
            (
                "    p = torch.softmax(ordered / temperature, dim=-1)",
                "    logits /= temperature\n    p = torch.softmax(ordered / temperature, dim=-1)",
            )
        ],
    ),
    Mistake(
        name="arguments not checked",
        function="token_probabilities",
        cell="token_probabilities_edges",
        means="A negative temperature, top_k=0 or top_p=0 goes through and gives numbers that mean nothing.",
        hint="Which errors does the docstring promise under Raises?",
        section="ch8-sampling",
        edits=[
            ("if temperature < 0:", "if False:"),
            ("top_k < 1:", "False:"),
            ("not 0 < top_p <= 1", "False"),
        ],
    ),
    Mistake(
        name="top_k=0 means all tokens",
        function="token_probabilities",
        cell="token_probabilities_edges",
        means="top_k=0 keeps everything, as it does in some libraries. Here it is refused, and None keeps everything.",
        hint="Is 0 the same as None? `if top_k:` treats them alike.",
        section="ch8-conventions",
        edits=[("top_k < 1:", "top_k < 0:"), ("if top_k is not None:", "if top_k:")],
    ),
    Mistake(
        name="top_p=1 refused",
        function="token_probabilities",
        cell="token_probabilities_values",
        means="top_p=1 raises an error. It is allowed and changes nothing.",
        hint="The bracket in (0, 1] tells which of its two ends belongs to it.",
        section="ch8-sampling",
        edits=[("0 < top_p <= 1", "0 < top_p < 1")],
    ),
    Mistake(
        name="temperature 0 refused",
        function="token_probabilities",
        cell="token_probabilities_edges",
        means="Temperature 0 raises an error. It is allowed: the most likely token gets everything.",
        hint="Which temperatures does the docstring call wrong?",
        section="ch8-sampling",
        edits=[("if temperature < 0:", "if temperature <= 0:")],
    ),
    # window_mask --------------------------------------------------------------------------------
    Mistake(
        name="window besides the query itself",
        function="window_mask",
        cell="window_mask_values",
        means="Each query sees one position too many: itself and window positions before it. Its own position counts.",
        hint="With window=1, which keys may a query see?",
        section="ch8-mistake-off-by-one",
        edits=[("key > query - window", "key >= query - window")],
    ),
    Mistake(
        name="window one too short",
        function="window_mask",
        cell="window_mask_values",
        means="Each query sees one position too few. With window=1 it sees nothing at all.",
        hint="With window=1, which keys may a query see?",
        section="ch8-mistake-off-by-one",
        edits=[("key > query - window", "key > query - window + 1")],
    ),
    Mistake(
        name="queries at the first positions",
        function="window_mask",
        cell="window_mask_values",
        means="The queries were taken for the first T positions (the mask begins in the top left corner). They are the last T.",
        hint="With one query and a hundred keys, where does the query stand?",
        section="ch8-mistake-off-by-one",
        edits=[("torch.arange(S - T, S)", "torch.arange(T)")],
    ),
    Mistake(
        name="queries one position too early",
        function="window_mask",
        cell="window_mask_values",
        means="Each query stands one position too early, so it can't see its own key.",
        hint="At which position does the last query stand? The last key is at S - 1.",
        section="ch8-mistake-off-by-one",
        edits=[("torch.arange(S - T, S)", "torch.arange(S - T - 1, S - 1)")],
    ),
    Mistake(
        name="window to both sides",
        function="window_mask",
        cell="window_mask_values",
        means="The window reaches into the future as far as into the past.",
        hint="May position 3 see position 4 while the text is being written?",
        section="ch8-window",
        edits=[("(key <= query)", "(key < query + window)")],
    ),
    Mistake(
        name="future visible",
        function="window_mask",
        cell="window_mask_values",
        means="The window has an end in the past and none in the future: all later keys are visible.",
        hint="May position 3 see position 4 while the text is being written?",
        section="ch8-window",
        edits=[("(key <= query) & ", "")],
    ),
    Mistake(
        name="own key hidden",
        function="window_mask",
        cell="window_mask_values",
        means="No query sees its own key.",
        hint="With window=1, which keys may a query see?",
        section="ch8-mistake-off-by-one",
        edits=[("key <= query", "key < query")],
    ),
    Mistake(
        name="sinks visible before their time",
        function="window_mask",
        cell="window_mask_values",
        means="Queries at the beginning of the text see sinks that come after them.",
        hint="May position 0 see position 1 because that is a sink?",
        section="ch8-sinks",
        edits=[
            (
                "(key <= query) & ((key > query - window) | (key < sinks))",
                "((key <= query) & (key > query - window)) | (key < sinks)",
            )
        ],
    ),
    Mistake(
        name="sinks take places of the window",
        function="window_mask",
        cell="window_mask_values",
        means="With sinks the window is shorter by their number. They come beside the window.",
        hint="How many keys does a late query see with window=4 and sinks=2?",
        section="ch8-sinks",
        edits=[("query - window)", "query - max(window - sinks, 1))")],
    ),
    Mistake(
        name="sinks forgotten in the mask",
        function="window_mask",
        cell="window_mask_values",
        means="The first positions disappear behind the window like all others.",
        hint="Where in your code does the argument sinks occur?",
        section="ch8-sinks",
        edits=[(" | (key < sinks)", "")],
    ),
    Mistake(
        name="one sink too many",
        function="window_mask",
        cell="window_mask_values",
        means="One sink too many: even with sinks=0 the first position stays visible.",
        hint="Which positions are sinks when there are 2 of them? Count from 0.",
        section="ch8-mistake-off-by-one",
        edits=[("key < sinks)", "key <= sinks)")],
    ),
    Mistake(
        name="blocks in place of a window",
        function="window_mask",
        cell="window_mask_values",
        means="The text is cut into blocks, and a query sees the past of its own block. A window moves with the query.",
        hint="How many keys do two neighbouring queries see? Late in the text it is always the same number.",
        section="ch8-conventions",
        edits=[("(key > query - window)", "(key // window == query // window)")],
    ),
    Mistake(
        name="one window for all queries",
        function="window_mask",
        cell="window_mask_values",
        means="The window of the first query is used for all of them. So the later ones see too much.",
        hint="Which keys does the last query see, and how many are that?",
        section="ch8-window",
        edits=[("key > query - window", "key > S - T - window")],
    ),
    Mistake(
        name="window ignored",
        function="window_mask",
        cell="window_mask_values",
        means="This is the plain causal mask: nothing ever leaves the window.",
        hint="Where in your code does the argument window occur?",
        section="ch8-window",
        edits=[("((key > query - window) | (key < sinks))", "(key >= 0)")],
    ),
    Mistake(
        name="True for hidden keys",
        function="window_mask",
        cell="window_mask_values",
        means="The mask is inverted: True stands where a key is hidden.",
        hint="In this course, what does True in a mask mean?",
        section="ch8-window",
        edits=[("return (key <= query) & (", "return ~(key <= query) | ~(")],
    ),
    Mistake(
        name="one row for each key",
        function="window_mask",
        cell="window_mask_values",
        means="The mask is transposed: its rows belong to the keys.",
        hint="Which shape does the docstring give?",
        section="ch8-window",
        edits=[
            ("torch.arange(S - T, S)[:, None]", "torch.arange(S - T, S)"),
            ("key = torch.arange(S)", "key = torch.arange(S)[:, None]"),
        ],
    ),
    Mistake(
        name="numbers in place of booleans",
        function="window_mask",
        cell="window_mask_values",
        means="The mask holds the numbers 0 and 1. With integers `~mask` means something else.",
        hint="Which data type does a comparison give?",
        section="ch8-window",
        edits=[
            (
                "return (key <= query) & ((key > query - window) | (key < sinks))",
                "return 1 * ((key <= query) & ((key > query - window) | (key < sinks)))",
            )
        ],
    ),
    Mistake(
        name="minus infinity in place of False",
        function="window_mask",
        cell="window_mask_values",
        means="The mask holds 0 and minus infinity, to be added to scores. Here it is to be boolean.",
        hint="Which data type does the docstring give?",
        section="ch8-window",
        edits=[
            (
                "return (key <= query) & ((key > query - window) | (key < sinks))",
                "seen = (key <= query) & ((key > query - window) | (key < sinks))\n"
                "    return torch.zeros(T, S).masked_fill(~seen, -torch.inf)",
            )
        ],
    ),
    Mistake(
        name="sizes not checked",
        function="window_mask",
        cell="window_mask_values",
        means="Impossible sizes go through, such as a window of 0 or more queries than keys.",
        hint="Which errors does the docstring promise under Raises?",
        section="ch8-window",
        edits=[("T > S or window < 1 or sinks < 0", "False")],
    ),
    Mistake(
        name="as many queries as keys refused",
        function="window_mask",
        cell="window_mask_values",
        means="A whole text at once, with as many queries as keys, raises an error.",
        hint="Is T = S one of the impossible cases?",
        section="ch8-window",
        edits=[("T > S or", "T >= S or")],
    ),
    # RollingCache -------------------------------------------------------------------------------
    Mistake(
        name="nothing is ever evicted",
        function="RollingCache",
        cell="rolling_cache_values",
        means="All keys since the beginning of the text come back. The cache grows with the text.",
        hint="Which line of your code throws anything away?",
        section="ch8-sinks",
        edits=[(HELD, "self.held = key, value, positions")],
    ),
    Mistake(
        name="the newest keys are evicted",
        function="RollingCache",
        cell="rolling_cache_values",
        means="The cache is filled once and keeps its first keys. New ones are forgotten after one call.",
        hint="At position 100, which keys does the window hold?",
        section="ch8-sinks",
        edits=[(KEPT_POSITIONS, "positions < self.sinks + self.window - 1")],
    ),
    Mistake(
        name="one key too many comes back",
        function="RollingCache",
        cell="rolling_cache_values",
        means="A single position gets the keys of window positions besides its own.",
        hint="How many keys does one query see with window=1 and no sinks?",
        section="ch8-mistake-off-by-one",
        edits=[("positions[-1] + 1 - self.window", "positions[-1] - self.window")],
    ),
    Mistake(
        name="one key too few comes back",
        function="RollingCache",
        cell="rolling_cache_values",
        means="A single position gets one key too few. Between the calls window - 1 keys beside the sinks are needed.",
        hint="How many keys must be held so that, with the new one, there are window?",
        section="ch8-mistake-off-by-one",
        edits=[("positions[-1] + 1 - self.window", "positions[-1] + 2 - self.window")],
    ),
    Mistake(
        name="evicted before the piece has used it",
        function="RollingCache",
        cell="rolling_cache_values",
        means="Old keys are thrown away as soon as the piece is in. That is right for one position. The first queries of a longer piece "
        "lose keys that stand in their windows.",
        hint="A piece of 5 positions arrives. Which is the oldest key that its first query sees?",
        section="ch8-mistake-slots",
        edits=[
            ("positions[-1] + 1 - self.window", "positions[-1] - self.window"),
            ("return key, value, positions", "return self.held"),
        ],
    ),
    Mistake(
        name="one eviction for each call",
        function="RollingCache",
        cell="rolling_cache_values",
        means="Each call throws away at most one key. That is right for single positions, but after longer pieces too much comes back.",
        hint="A piece of 5 positions has arrived. How many old keys have left the window?",
        section="ch8-mistake-slots",
        edits=[
            (
                KEPT_POSITIONS,
                "(torch.arange(len(positions)) != self.sinks) | "
                "(len(positions) < self.sinks + self.window)",
            )
        ],
    ),
    Mistake(
        name="sinks are evicted",
        function="RollingCache",
        cell="rolling_cache_values",
        means="The first positions leave the cache like all others.",
        hint="Where does your eviction ask whether a position is a sink?",
        section="ch8-sinks",
        edits=[(" | (positions < self.sinks)", "")],
    ),
    Mistake(
        name="sinks count in the window",
        function="RollingCache",
        cell="rolling_cache_values",
        means="With sinks the window is shorter by their number. They come beside the window.",
        hint="How many keys come back for a late position with window=4 and sinks=2?",
        section="ch8-sinks",
        edits=[("+ 1 - self.window", "+ 1 - max(self.window - self.sinks, 1)")],
    ),
    Mistake(
        name="slots in place of positions",
        function="RollingCache",
        cell="rolling_cache_values",
        means="The positions that come back count the slots of the cache. After the first eviction they no longer fit the text, and "
        "rotations would be wrong.",
        hint="What is the position of the newest key, if the text has 100 tokens and the cache 5 slots?",
        section="ch8-mistake-slots",
        edits=[("return key, value, positions", "return key, value, torch.arange(len(positions))")],
    ),
    Mistake(
        name="order of the slots",
        function="RollingCache",
        cell="rolling_cache_values",
        means="Keys come back in the order of the slots of a ring. So the newest may stand in front of older ones.",
        hint="Look at the positions that you return: do they rise?",
        section="ch8-mistake-slots",
        edits=[
            (
                "return key, value, positions",
                "slots = torch.where(positions < self.sinks, positions - len(positions), positions % self.window)\n"
                "        order = torch.argsort(slots, stable=True)\n"
                "        return key[:, :, order], value[:, :, order], positions[order]",
            )
        ],
    ),
    Mistake(
        name="new keys in front of the old ones",
        function="RollingCache",
        cell="rolling_cache_values",
        means="The new piece stands in front of what was held. So order is lost, and the wrong ones count as newest.",
        hint="In which order do you hand both parts to `torch.cat`?",
        section="ch8-sinks",
        edits=[
            ("[held_key, key]", "[key, held_key]"),
            ("[held_value, value]", "[value, held_value]"),
            ("[held_positions, positions]", "[positions, held_positions]"),
        ],
    ),
    Mistake(
        name="sinks and window overlap",
        function="RollingCache",
        cell="rolling_cache_values",
        means="While the text is short, keys come back twice: once as sinks and once as part of the window.",
        hint="A text has 3 tokens, with sinks=2 and window=4. How many keys are there to return?",
        section="ch8-sinks",
        source="""
class RollingCache:
    def __init__(self, sinks, window):
        self.sinks, self.window = sinks, window
        self.held = None

    def update(self, key, value, positions):
        recent = self.window - 1 + len(positions)
        if positions[0] > 0:
            held_key, held_value, held_positions = self.held
            key = torch.cat([held_key, key], dim=2)
            value = torch.cat([held_value, value], dim=2)
            positions = torch.cat([held_positions, positions])
        self.held = key, value, positions
        n = len(positions)
        chosen = [*range(min(self.sinks, n)), *range(max(n - recent, 0), n)]
        return key[:, :, chosen], value[:, :, chosen], positions[chosen]
""",
    ),
    Mistake(
        name="a new text continues the old one",
        function="RollingCache",
        cell="rolling_cache_edges",
        means="What was held of the last text is still there when a new one begins.",
        hint="How can you see that a piece begins a new text? Look at its first position.",
        section="ch8-mistake-slots",
        edits=[("if positions[0] > 0:", "if self.held is not None:")],
    ),
    Mistake(
        name="a new text recognised by its batch",
        function="RollingCache",
        cell="rolling_cache_edges",
        means="A new text is noticed only if its batch has another size. Otherwise it continues the old one.",
        hint="Two texts of the same size come one after the other. What tells you where the second begins?",
        section="ch8-mistake-slots",
        edits=[
            (
                "if positions[0] > 0:",
                "if self.held is not None and len(self.held[0]) == len(key):",
            )
        ],
    ),
    Mistake(
        name="one memory for all caches",
        function="RollingCache",
        cell="rolling_cache_edges",
        means="Two caches share what they hold. It belongs to the class, not to the object.",
        hint="Does `self` stand in front of everything that you hold? A list in the class belongs to all objects.",
        section="ch8-sinks",
        edits=[
            ("self.held = None", "RollingCache.held = None"),
            ("= self.held\n", "= RollingCache.held\n"),
            (HELD, HELD.replace("self.held", "RollingCache.held")),
        ],
    ),
    Mistake(
        name="everything held, a part returned",
        function="RollingCache",
        cell="rolling_cache_edges",
        means="What comes back is right, but the object holds the keys of the whole text. So its memory grows as if there were no window.",
        hint="What is the window for, if nothing is ever let go?",
        section="ch8-sinks",
        source="""
class RollingCache:
    def __init__(self, sinks, window):
        self.sinks, self.window = sinks, window
        self.held = None

    def update(self, key, value, positions):
        first = positions[0]
        if first > 0:
            held_key, held_value, held_positions = self.held
            key = torch.cat([held_key, key], dim=2)
            value = torch.cat([held_value, value], dim=2)
            positions = torch.cat([held_positions, positions])
        self.held = key, value, positions
        kept = (positions > first - self.window) | (positions < self.sinks)
        return key[:, :, kept], value[:, :, kept], positions[kept]
""",
    ),
    Mistake(
        name="what was returned changes later",
        function="RollingCache",
        cell="rolling_cache_values",
        means="You return a view of your own memory and write into it in the next call. So what the caller got earlier changes.",
        hint="Who else holds the tensor that you write into?",
        section="ch8-mistake-slots",
        source="""
class RollingCache:
    def __init__(self, sinks, window):
        self.sinks, self.window = sinks, window
        self.held = None

    def update(self, key, value, positions):
        if positions[0] > 0:
            held_key, held_value, held_positions = self.held
            key = torch.cat([held_key, key], dim=2)
            value = torch.cat([held_value, value], dim=2)
            positions = torch.cat([held_positions, positions])
        B, H, n, d = key.shape
        room = self.sinks + self.window + 12
        if positions[0] == 0 and not hasattr(self, "key"):
            self.key = key.new_zeros(B, H, room, d)
            self.value = value.new_zeros(B, H, room, value.shape[-1])
        if n <= room and self.key.shape[0] == B:
            self.key[:, :, :n], self.value[:, :, :n] = key, value
            key, value = self.key[:, :, :n], self.value[:, :, :n]
        oldest = positions[-1] + 1 - self.window
        kept = (positions > oldest) | (positions < self.sinks)
        self.held = key[:, :, kept], value[:, :, kept], positions[kept]
        return key, value, positions
""",
    ),
    Mistake(
        name="keys held in half precision",
        function="RollingCache",
        cell="rolling_cache_values",
        means="What was held for a later call is right to three digits only. It went through float16.",
        hint="In which data type do you hold the keys?",
        section="ch8-bytes",
        edits=[
            (
                HELD,
                "self.held = key[:, :, kept].half().to(key), value[:, :, kept].half().to(value), positions[kept]",
            )
        ],
    ),
    # cache_bytes --------------------------------------------------------------------------------
    Mistake(
        name="keys only",
        function="cache_bytes",
        cell="cache_bytes_values",
        means="Only half is counted: the keys or the values.",
        hint="What does each head hold for a token?",
        section="ch8-bytes",
        edits=[("2 * n_kv_heads", "n_kv_heads")],
    ),
    Mistake(
        name="one layer only",
        function="cache_bytes",
        cell="cache_bytes_values",
        means="The bytes of a single layer. Each layer has keys and values of its own.",
        hint="Where in your code does n_layers occur?",
        section="ch8-bytes",
        edits=[("n_layers * batch", "batch")],
    ),
    Mistake(
        name="one head only",
        function="cache_bytes",
        cell="cache_bytes_values",
        means="The bytes of a single head.",
        hint="Where in your code does n_kv_heads occur?",
        section="ch8-bytes",
        edits=[("2 * n_kv_heads * d_head", "2 * d_head")],
    ),
    Mistake(
        name="one text only",
        function="cache_bytes",
        cell="cache_bytes_values",
        means="The bytes of a single text, whatever the batch is.",
        hint="Where in your code does batch occur?",
        section="ch8-bytes",
        edits=[("batch * held", "held")],
    ),
    Mistake(
        name="values counted, not bytes",
        function="cache_bytes",
        cell="cache_bytes_values",
        means="This is the number of values. Each takes several bytes.",
        hint="How many bytes does a number in float16 take?",
        section="ch8-bytes",
        edits=[(" * bytes_per_value", "")],
    ),
    Mistake(
        name="always two bytes",
        function="cache_bytes",
        cell="cache_bytes_values",
        means="Each value counts as two bytes, whatever was asked for.",
        hint="Where in your code does bytes_per_value occur?",
        section="ch8-bytes",
        edits=[("per_token * bytes_per_value", "per_token * 2")],
    ),
    Mistake(
        name="bits in place of bytes",
        function="cache_bytes",
        cell="cache_bytes_values",
        means="The result is 8 times too large: it counts bits.",
        hint="Which unit does the docstring give?",
        section="ch8-bytes",
        edits=[("* bytes_per_value", "* bytes_per_value * 8")],
    ),
    Mistake(
        name="a full window for short texts",
        function="cache_bytes",
        cell="cache_bytes_values",
        means="A text shorter than the window is counted with a full window.",
        hint="How many tokens does the cache hold when the text has 10 and the window 100?",
        section="ch8-window",
        edits=[("min(n_tokens, window)", "window")],
    ),
    Mistake(
        name="the larger of text and window",
        function="cache_bytes",
        cell="cache_bytes_values",
        means="The larger of both numbers is counted, text or window. A window makes the cache smaller.",
        hint="How many tokens does the cache hold when the text has 1000 and the window 100?",
        section="ch8-window",
        edits=[("min(n_tokens, window)", "max(n_tokens, window)")],
    ),
    Mistake(
        name="window without effect",
        function="cache_bytes",
        cell="cache_bytes_values",
        means="All tokens are counted, although a window was given.",
        hint="Where in your code does window occur?",
        section="ch8-window",
        edits=[("n_tokens if window is None else min(n_tokens, window)", "n_tokens")],
    ),
    Mistake(
        name="one window for the whole batch",
        function="cache_bytes",
        cell="cache_bytes_values",
        means="The texts of a batch share one window. Each has its own.",
        hint="How many tokens does a layer hold of two long texts?",
        section="ch8-window",
        edits=[
            ("min(n_tokens, window)", "min(batch * n_tokens, window) / batch"),
            ("n_layers * batch * held", "round(n_layers * batch * held)"),
        ],
    ),
    Mistake(
        name="a latent for every head",
        function="cache_bytes",
        cell="cache_bytes_values",
        means="The latent is counted once for each head. All heads share one.",
        hint="For how many heads does one latent serve?",
        section="ch8-latent",
        edits=[("else latent", "else n_kv_heads * latent")],
    ),
    Mistake(
        name="a latent for keys and another for values",
        function="cache_bytes",
        cell="cache_bytes_values",
        means="The latent is counted twice. Keys and values are made from the same one.",
        hint="How many vectors does a layer hold for a token?",
        section="ch8-latent",
        edits=[("else latent", "else 2 * latent")],
    ),
    Mistake(
        name="a latent beside keys and values",
        function="cache_bytes",
        cell="cache_bytes_values",
        means="Keys and values are counted besides the latent. It stands in their place.",
        hint="What would be the use of a latent, if keys and values were held, too?",
        section="ch8-latent",
        edits=[
            (
                "2 * n_kv_heads * d_head if latent is None else latent",
                "2 * n_kv_heads * d_head + (latent or 0)",
            )
        ],
    ),
    Mistake(
        name="window forgotten with a latent",
        function="cache_bytes",
        cell="cache_bytes_values",
        means="With a latent all tokens are counted, although a window was given.",
        hint="Does your window apply in both cases, with a latent and without?",
        section="ch8-latent",
        edits=[("if window is None", "if window is None or latent is not None")],
    ),
    # latent_attention ---------------------------------------------------------------------------
    Mistake(
        name="root of the width that was multiplied",
        function="latent_attention",
        cell="latent_attention_values",
        means="The scores are divided by the root of r + dr, the width of the vectors that were multiplied. The width of the key that was "
        "meant is dn + dr.",
        hint="Which width would the key have, if you unpacked it?",
        section="ch8-mistake-scale",
        edits=[("queries * (queries.shape[-1] / meant) ** 0.5", "queries")],
    ),
    Mistake(
        name="root of dn alone",
        function="latent_attention",
        cell="latent_attention_values",
        means="The scores are divided by the root of dn. The rotated part belongs to the key, too.",
        hint="How wide are query and key when both of their parts stand side by side?",
        section="ch8-mistake-scale",
        edits=[("query.shape[-1] + rope_query.shape[-1]", "query.shape[-1]")],
    ),
    Mistake(
        name="root of the latent's width",
        function="latent_attention",
        cell="latent_attention_values",
        means="The scores are divided by the root of r, the width of the latent.",
        hint="Which width would the key have, if you unpacked it?",
        section="ch8-mistake-scale",
        edits=[("query.shape[-1] + rope_query.shape[-1]", "latent.shape[-1]")],
    ),
    Mistake(
        name="scores not scaled",
        function="latent_attention",
        cell="latent_attention_values",
        means="The scores are not divided by a root.",
        hint="What stands under the root in the formula?",
        section="ch8-mistake-scale",
        edits=[("(queries.shape[-1] / meant) ** 0.5", "queries.shape[-1] ** 0.5")],
    ),
    Mistake(
        name="scaled twice",
        function="latent_attention",
        cell="latent_attention_values",
        means="The scores are divided by two roots: yours, and the one inside `attention`.",
        hint="By what does `attention` divide already?",
        section="ch8-mistake-scale",
        edits=[("(queries.shape[-1] / meant) ** 0.5", "meant**-0.5")],
    ),
    Mistake(
        name="only one of the parts scaled",
        function="latent_attention",
        cell="latent_attention_values",
        means="The rotated part is added after the division, so it counts too much.",
        hint="What does the line of the fraction stretch over in the formula?",
        section="ch8-mistake-scale",
        source=unpacked_attention(
            STABLE_WEIGHTS, "scale * query @ key.mT + rope_query @ rope_key.mT[:, None]"
        ),
    ),
    Mistake(
        name="rotated part left out",
        function="latent_attention",
        cell="latent_attention_values",
        means="The scores hold only the part without positions, so attention doesn't know the order.",
        hint="Where in your code does rope_key occur?",
        section="ch8-latent",
        edits=[("[packed, rope_query]", "[packed]"), ("[latent, rope_key]", "[latent]")],
    ),
    Mistake(
        name="each part with a softmax of its own",
        function="latent_attention",
        cell="latent_attention_values",
        means="Both parts got a softmax of their own, and their weights were averaged. They are added before the softmax.",
        hint="How many rows of weights does each query have?",
        section="ch8-latent",
        source=unpacked_attention(
            """parts = [scale * query @ key.mT, scale * rope_query @ rope_key.mT[:, None]]
    if mask is not None:
        parts = [part.masked_fill(~mask, torch.finfo(part.dtype).min) for part in parts]
    weights = sum(torch.softmax(part, dim=-1) for part in parts) / 2
    if mask is not None:
        weights = weights * mask""",
            "None",
        ),
    ),
    Mistake(
        name="keys of the first head for all",
        function="latent_attention",
        cell="latent_attention_values",
        means="All heads unpack their keys with the matrix of head 0.",
        hint="Which index do query and w_uk share?",
        section="ch8-latent",
        edits=[("query, w_uk)", "query, w_uk[:1].expand_as(w_uk))")],
    ),
    Mistake(
        name="values of the first head for all",
        function="latent_attention",
        cell="latent_attention_values",
        means="All heads unpack their values with the matrix of head 0.",
        hint="Which index do the packed output and w_uv share?",
        section="ch8-latent",
        edits=[("found, w_uv)", "found, w_uv[:1].expand_as(w_uv))")],
    ),
    Mistake(
        name="matrices of all heads added up",
        function="latent_attention",
        cell="latent_attention_values",
        means="Each query was packed with the sum of the matrices of all heads. It seems that `einsum` got two letters for one axis.",
        hint="Which letter in your `einsum` stands for the head, in each of its inputs?",
        section="ch8-latent",
        edits=[("bhtn,hnr->bhtr", "bhtn,gnr->bhtr")],
    ),
    Mistake(
        name="output left packed",
        function="latent_attention",
        cell="latent_attention_values",
        means="The result is a sum of latents. It has to be unpacked with w_uv.",
        hint="Which width does the docstring promise for the result?",
        section="ch8-latent",
        edits=[('torch.einsum("bhtr,hvr->bhtv", found, w_uv)', "found")],
    ),
    Mistake(
        name="wrong axis of w_uk",
        function="latent_attention",
        cell="latent_attention_values",
        means="The query was multiplied along the wrong axis of w_uk. Where the widths differ, this raises an error; where they are equal, "
        "nothing warns.",
        hint="w_uk has the shape (H, dn, r). Along which axis does it meet the query?",
        section="ch8-latent",
        edits=[("bhtn,hnr->bhtr", "bhtn,hrn->bhtr")],
    ),
    Mistake(
        name="values unpacked with w_uk",
        function="latent_attention",
        cell="latent_attention_values",
        means="The output was unpacked with the matrix of the keys.",
        hint="Which matrix turns a latent into a value?",
        section="ch8-latent",
        edits=[("found, w_uv)", "found, w_uk)")],
    ),
    Mistake(
        name="mask forgotten",
        function="latent_attention",
        cell="latent_attention_values",
        means="Masked keys get weight as if there were no mask.",
        hint="Where in your code does mask occur?",
        section="ch8-latent",
        edits=[("latent[:, None], mask)", "latent[:, None], None)")],
    ),
    Mistake(
        name="mask inverted",
        function="latent_attention",
        cell="latent_attention_values",
        means="The keys that may be seen get no weight, and the others get all.",
        hint="In this course, what does True in a mask mean?",
        section="ch8-latent",
        edits=[("latent[:, None], mask)", "latent[:, None], None if mask is None else ~mask)")],
    ),
    Mistake(
        name="softmax over the queries",
        function="latent_attention",
        cell="latent_attention_values",
        means="The weights of each key add up to 1 over the queries. They should add up over the keys.",
        hint="Along which axis does each row of weights add up to 1?",
        section="ch8-latent",
        source=unpacked_attention(
            STABLE_WEIGHTS.replace("softmax(scores, dim=-1)", "softmax(scores, dim=-2)")
        ),
    ),
    Mistake(
        name="weights masked after the softmax",
        function="latent_attention",
        cell="latent_attention_values",
        means="Masked keys were in the sum of the softmax and were set to 0 only afterwards. The other weights are too small.",
        hint="What do the weights of a query add up to?",
        section="ch8-latent",
        source=unpacked_attention(
            """weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights * mask"""
        ),
    ),
    Mistake(
        name="NaN where there is nothing to attend to",
        function="latent_attention",
        cell="latent_attention_edges",
        means="A query that sees no key gives NaN: all of its scores are minus infinity.",
        hint="What is the softmax of a row in which every score is minus infinity?",
        section="ch8-latent",
        source=unpacked_attention(
            """if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = torch.softmax(scores, dim=-1)"""
        ),
    ),
    Mistake(
        name="mean of all values where there is nothing to attend to",
        function="latent_attention",
        cell="latent_attention_edges",
        means="A query that sees no key gives the mean of all values. It should give 0.",
        hint="All scores of a row are equal and very low. What is their softmax?",
        section="ch8-latent",
        source=unpacked_attention(STABLE_WEIGHTS.rpartition("    if mask")[0].rstrip()),
    ),
    Mistake(
        name="hidden scores of -100",
        function="latent_attention",
        cell="latent_attention_edges",
        means="Masked scores were set to -100. Where the scores themselves are lower than that, masked keys get all the weight.",
        hint="Which number is lower than every score?",
        section="ch8-latent",
        source=unpacked_attention(STABLE_WEIGHTS.replace("(~mask, lowest)", "(~mask, -100.0)")),
    ),
    Mistake(
        name="exponential without the maximum of the scores",
        function="latent_attention",
        cell="latent_attention_edges",
        means="The exponentials of large scores overflow, and the division gives NaN.",
        hint="What may be subtracted from all scores of a row without changing the softmax?",
        section="ch8-latent",
        source=unpacked_attention(
            """weights = torch.exp(scores)
    if mask is not None:
        weights = weights * mask
    weights = weights / weights.sum(dim=-1, keepdim=True).clamp(min=1e-30)"""
        ),
    ),
    Mistake(
        name="no gradient through the values",
        function="latent_attention",
        cell="latent_attention_edges",
        means="The latent was detached where it serves as value, so it is trained as a key only.",
        hint="Where in your code does `detach` or `no_grad` stand?",
        section="ch8-latent",
        edits=[("latent[:, None], mask)", "latent.detach()[:, None], mask)")],
    ),
    Mistake(
        name="result in float32",
        function="latent_attention",
        cell="latent_attention_edges",
        means="The result is in float32, also for inputs in float64.",
        hint="Does your code name a data type? It should take that of its inputs.",
        section="ch8-latent",
        edits=[
            (
                'torch.einsum("bhtr,hvr->bhtv", found, w_uv)',
                'torch.einsum("bhtr,hvr->bhtv", found, w_uv).float()',
            )
        ],
    ),
    Mistake(
        name="queries scaled in place",
        function="latent_attention",
        cell="latent_attention_edges",
        means="The caller's queries are no longer what they were: they have been divided by the root.",
        hint="Which of your lines writes into a tensor that came in? `*=` and `/=` do.",
        section="ch8-latent",
        edits=[
            (
                "    packed = ",
                "    query /= (query.shape[-1] + rope_query.shape[-1]) ** 0.5\n"
                "    rope_query /= (query.shape[-1] + rope_query.shape[-1]) ** 0.5\n    packed = ",
            ),
            ("(queries.shape[-1] / meant) ** 0.5", "queries.shape[-1] ** 0.5"),
        ],
    ),
    # rope_frequencies ---------------------------------------------------------------------------
    Mistake(
        name="linear makes it faster",
        function="rope_frequencies",
        cell="rope_frequencies_values",
        means="With linear, all pairs turn faster by the factor. They should turn slower.",
        hint="Position 100 of the longer text should look like position 25, if the factor is 4.",
        section="ch8-longer",
        edits=[("return theta / factor\n", "return theta * factor\n")],
    ),
    Mistake(
        name="linear changes the base",
        function="rope_frequencies",
        cell="rope_frequencies_values",
        means="With linear, the base was multiplied by the factor. So the fastest pair didn't change at all.",
        hint="By how much should the fastest pair change with linear?",
        section="ch8-longer",
        edits=[("return theta / factor\n", "return (base * factor) ** exponents\n")],
    ),
    Mistake(
        name="ntk without an exponent",
        function="rope_frequencies",
        cell="rope_frequencies_values",
        means="The base is multiplied by the factor itself. Then the slowest pair isn't slowed down quite enough.",
        hint="The slowest pair should turn exactly factor times slower. Does it?",
        section="ch8-longer",
        edits=[("factor ** (d / (d - 2))", "factor")],
    ),
    Mistake(
        name="ntk with the exponent upside down",
        function="rope_frequencies",
        cell="rope_frequencies_values",
        means="The exponent of the factor is (d - 2) / d. It should be a little more than 1.",
        hint="The slowest pair should turn exactly factor times slower. Does it?",
        section="ch8-longer",
        edits=[("(d / (d - 2))", "((d - 2) / d)")],
    ),
    Mistake(
        name="ntk and linear together",
        function="rope_frequencies",
        cell="rope_frequencies_values",
        means="With ntk, the base grew and the result was divided by the factor, too.",
        hint="By how much should the fastest pair change with ntk?",
        section="ch8-longer",
        edits=[("(d / (d - 2))) ** exponents", "(d / (d - 2))) ** exponents / factor")],
    ),
    Mistake(
        name="ntk makes the base smaller",
        function="rope_frequencies",
        cell="rope_frequencies_values",
        means="With ntk, the base was divided, so that pairs turn faster.",
        hint="Does a larger base make the pairs turn faster or slower?",
        section="ch8-longer",
        edits=[("base * factor **", "base / factor **")],
    ),
    Mistake(
        name="yarn's ramp upside down",
        function="rope_frequencies",
        cell="rope_frequencies_values",
        means="The fast pairs are slowed down and the slow ones stay. It should be the other way round.",
        hint="Which pairs have shown a whole turn in training, the fast ones or the slow ones?",
        section="ch8-longer",
        edits=[(MIXTURE, "unchanged * theta / factor + (1 - unchanged) * theta")],
    ),
    Mistake(
        name="yarn's fast pairs from the larger base",
        function="rope_frequencies",
        cell="rope_frequencies_values",
        means="The pairs that should stay as they are come from the base of ntk.",
        hint="By how much should the fastest pair change with yarn?",
        section="ch8-longer",
        edits=[
            (
                "+ unchanged * theta",
                "+ unchanged * (base * factor ** (d / (d - 2.0))) ** exponents",
            )
        ],
    ),
    Mistake(
        name="yarn's ramp by the index",
        function="rope_frequencies",
        cell="rope_frequencies_values",
        means="The mixture changes evenly with the index of the pair, as in some libraries. Here it changes evenly with the number of turns.",
        hint="What stands in the numerator of the ramp: i, or the turns of pair i?",
        section="ch8-conventions",
        edits=[
            (
                f"unchanged = {RAMP}",
                "low, high = (\n"
                "            d * math.log(original_length / (n * 2 * math.pi)) / (2 * math.log(base)) for n in (32, 1)\n"
                "        )\n"
                "        low, high = max(math.floor(low), 0), min(math.ceil(high), d - 1)\n"
                "        ramp = (torch.arange(d // 2) - low) / max(high - low, 0.001)\n"
                "        unchanged = 1 - ramp.clamp(0, 1)",
            )
        ],
    ),
    Mistake(
        name="angles counted as turns",
        function="rope_frequencies",
        cell="rope_frequencies_values",
        means="The number of turns is too large by 2 pi: an angle in radians was taken for a number of turns.",
        hint="How many radians has a whole turn?",
        section="ch8-longer",
        edits=[(" / (2 * math.pi)", "")],
    ),
    Mistake(
        name="turns counted in the longer text",
        function="rope_frequencies",
        cell="rope_frequencies_values",
        means="The turns were counted in a text that is factor times as long. What counts is the training.",
        hint="In which length did the model see these turns?",
        section="ch8-longer",
        edits=[("original_length * theta", "original_length * factor * theta")],
    ),
    Mistake(
        name="ramp not limited",
        function="rope_frequencies",
        cell="rope_frequencies_values",
        means="Outside of the ramp the share goes below 0 and beyond 1, so some pairs get faster than ever.",
        hint="Between which two numbers does a share lie?",
        section="ch8-longer",
        edits=[(".clamp(0, 1)", "")],
    ),
    Mistake(
        name="no ramp: 32 turns or nothing",
        function="rope_frequencies",
        cell="rope_frequencies_values",
        means="Pairs with more than 32 turns stay and all others are slowed down. There should be a ramp between.",
        hint="What happens to a pair with 16 turns?",
        section="ch8-longer",
        edits=[(RAMP, "(turns > 32).double()")],
    ),
    Mistake(
        name="no ramp: one turn is enough",
        function="rope_frequencies",
        cell="rope_frequencies_values",
        means="Pairs with more than one turn stay and all others are slowed down. There should be a ramp between.",
        hint="What happens to a pair with 16 turns?",
        section="ch8-longer",
        edits=[(RAMP, "(turns > 1).double()")],
    ),
    Mistake(
        name="ramp from 1 to 4 turns",
        function="rope_frequencies",
        cell="rope_frequencies_values",
        means="The ramp ends at 4 turns, as with Llama 3.1. Here it ends at 32.",
        hint="Which two numbers of turns limit the ramp?",
        section="ch8-conventions",
        edits=[("(32 - 1)", "(4 - 1)")],
    ),
    Mistake(
        name="wavelengths mixed",
        function="rope_frequencies",
        cell="rope_frequencies_values",
        means="The mixture was made of wavelengths. It should be made of angles per position.",
        hint="The mean of two speeds isn't one over the mean of two times. Which of them does the formula mix?",
        section="ch8-longer",
        edits=[(MIXTURE, "1 / ((1 - unchanged) * factor / theta + unchanged / theta)")],
    ),
    Mistake(
        name="a fixed training length",
        function="rope_frequencies",
        cell="rope_frequencies_values",
        means="The turns are counted in 2048 positions, whatever original_length is.",
        hint="Where in your code does original_length occur?",
        section="ch8-longer",
        edits=[("original_length * theta", "2048 * theta")],
    ),
    Mistake(
        name="frequencies times the factor on scores",
        function="rope_frequencies",
        cell="rope_frequencies_values",
        means="With yarn, all angles are multiplied by 0.1 ln(factor) + 1. That number belongs to the scores, and is no part of this task.",
        hint="By how much should the fastest pair change with yarn?",
        section="ch8-longer",
        edits=[(MIXTURE, f"(0.1 * math.log(factor) + 1) * ({MIXTURE})")],
    ),
    Mistake(
        name="exponents from 0 to 1/2",
        function="rope_frequencies",
        cell="rope_frequencies_values",
        means="Pair i has the exponent i/d. It should be 2i/d, so the slow pairs are far too fast.",
        hint="Which exponent does the last pair have? It should be nearly 1.",
        section="ch8-longer",
        edits=[("-2 * torch.arange", "-1 * torch.arange")],
    ),
    Mistake(
        name="factor 2 applied twice in the exponents",
        function="rope_frequencies",
        cell="rope_frequencies_values",
        means="The exponents run to almost 2. They should run to almost 1.",
        hint="Which exponent does the last pair have? It should be nearly 1.",
        section="ch8-longer",
        edits=[("-2 * torch.arange", "-4 * torch.arange")],
    ),
    Mistake(
        name="each angle twice",
        function="rope_frequencies",
        cell="rope_frequencies_values",
        means="Each angle stands there twice, once for each entry of its pair. There should be one for each pair.",
        hint="Which shape does the docstring give?",
        section="ch8-longer",
        edits=[
            (
                "    theta = base**exponents",
                "    exponents = exponents.repeat_interleave(2)\n    theta = base**exponents",
            )
        ],
    ),
    Mistake(
        name="slowest pair first",
        function="rope_frequencies",
        cell="rope_frequencies_values",
        means="The angles stand in the wrong order, the slowest pair first.",
        hint="What is base to the power 0, and in which place does it belong?",
        section="ch8-longer",
        edits=[
            ("torch.arange(d // 2, dtype=torch.float64)", "torch.arange(d // 2).double().flip(0)")
        ],
    ),
    Mistake(
        name="unknown methods pass",
        function="rope_frequencies",
        cell="rope_frequencies_values",
        means="A method that doesn't exist gives the old angles, as if nothing had been asked for.",
        hint="What should happen when somebody types a name wrongly?",
        section="ch8-longer",
        edits=[
            (
                "raise ValueError(f\"method={method!r}: there are 'linear', 'ntk' and 'yarn'\")",
                "return theta",
            )
        ],
    ),
    Mistake(
        name="KeyError for unknown methods",
        function="rope_frequencies",
        cell="rope_frequencies_values",
        means="A method that doesn't exist raises a KeyError, as a dictionary does.",
        hint="Which class does the task name?",
        section="ch8-longer",
        edits=[("raise ValueError(", "raise KeyError(")],
    ),
    # speculative_step ---------------------------------------------------------------------------
    Mistake(
        name="every guess accepted",
        function="speculative_step",
        cell="speculative_values",
        means="All guesses stay. The text is then the draft's, and the target might as well not have been asked.",
        hint="Which line of your code can turn a guess down?",
        section="ch8-speculative",
        edits=[(REFUSED, "False")],
    ),
    Mistake(
        name="accepted only if it is the target's favourite",
        function="speculative_step",
        cell="speculative_values",
        means="A guess stays if and only if it is the most likely token for the target. That is greedy decoding, not sampling.",
        hint="Where does chance come in? Compare a uniform number with a ratio.",
        section="ch8-speculative",
        edits=[(REFUSED, "token != p_target[accepted].argmax()")],
    ),
    Mistake(
        name="accepted without chance",
        function="speculative_step",
        cell="speculative_values",
        means="A guess stays exactly when the target finds it as likely as the draft does, or more likely. No uniform number is used.",
        hint="A guess is half as likely for the target as for the draft. How often should it stay?",
        section="ch8-speculative",
        edits=[(REFUSED, "p_draft[accepted, token] > p_target[accepted, token]")],
    ),
    Mistake(
        name="ratio upside down",
        function="speculative_step",
        cell="speculative_values",
        means="The uniform number is compared with the draft's probability divided by the target's.",
        hint="A token is very unlikely for the target. Is your ratio large or small then?",
        section="ch8-mistake-residual",
        edits=[
            (
                REFUSED,
                "uniforms[2 * accepted] * p_target[accepted, token] >= p_draft[accepted, token]",
            )
        ],
    ),
    Mistake(
        name="accepted when the number is large",
        function="speculative_step",
        cell="speculative_values",
        means="A guess stays when the uniform number is above the ratio. It should be below.",
        hint="The ratio is 0.9. How often should the guess stay?",
        section="ch8-mistake-residual",
        edits=[(REFUSED, REFUSED.replace(">=", "<"))],
    ),
    Mistake(
        name="compared with the target's probability alone",
        function="speculative_step",
        cell="speculative_values",
        means="The uniform number is compared with the target's probability, without the draft's. So good guesses are turned down too often.",
        hint="Draft and target agree, and the token has probability 0.1. How often should the guess stay?",
        section="ch8-mistake-residual",
        edits=[(REFUSED, "uniforms[2 * accepted] >= p_target[accepted, token]")],
    ),
    Mistake(
        name="judged by the target's next row",
        function="speculative_step",
        cell="speculative_values",
        means="Each guess is judged by the row that belongs to the next place.",
        hint="Which row of p_target says what the target wants at the place of guess 0?",
        section="ch8-speculative",
        edits=[(REFUSED, REFUSED.replace("p_target[accepted,", "p_target[accepted + 1,"))],
    ),
    Mistake(
        name="replaced from the target",
        function="speculative_step",
        cell="speculative_values",
        means="The token in place of a guess is drawn from the target itself. So tokens that the draft likes come out too often.",
        hint="Tokens that the draft likes have had their share by being accepted. What is still missing?",
        section="ch8-mistake-residual",
        edits=[(RESIDUAL, "p")],
    ),
    Mistake(
        name="replaced from the draft",
        function="speculative_step",
        cell="speculative_values",
        means="The token in place of a guess is drawn from the draft.",
        hint="Which of the two models should the text come from in the end?",
        section="ch8-mistake-residual",
        edits=[(RESIDUAL, "p_draft[accepted]")],
    ),
    Mistake(
        name="absolute difference as residual",
        function="speculative_step",
        cell="speculative_values",
        means="The residual is the absolute difference. Tokens that the draft finds too likely must not come out at all here.",
        hint="What is the residual of a token that the draft finds more likely than the target does?",
        section="ch8-mistake-residual",
        edits=[(RESIDUAL, "(p - p_draft[accepted]).abs()")],
    ),
    Mistake(
        name="residual of the draft",
        function="speculative_step",
        cell="speculative_values",
        means="The residual is what the draft has too much of. It should be what the draft has too little of.",
        hint="Which tokens have come out too seldom so far?",
        section="ch8-mistake-residual",
        edits=[(RESIDUAL, "(p_draft[accepted] - p).clamp(min=0)")],
    ),
    Mistake(
        name="residual not divided by its sum",
        function="speculative_step",
        cell="speculative_values",
        means="The residual was not divided by its sum. Large uniform numbers then lie beyond its end, and a token comes out that doesn't exist.",
        hint="What does the residual add up to?",
        section="ch8-mistake-residual",
        edits=[(" / p.sum()", "")],
    ),
    Mistake(
        name="most likely token in place of a draw",
        function="speculative_step",
        cell="speculative_values",
        means="The last token is always the most likely one. It should be drawn with a uniform number.",
        hint="Which uniform number decides about the last token?",
        section="ch8-speculative",
        edits=[("(cumulative <= uniforms[2 * accepted + 1]).sum()", "p.argmax()")],
    ),
    Mistake(
        name="no token after the guesses",
        function="speculative_step",
        cell="speculative_values",
        means="Where all guesses stay, nothing follows them. The target's last row gives one more token for free.",
        hint="p_target has one more row than there are guesses. What is it for?",
        section="ch8-speculative",
        edits=[
            (
                "    p = p_target[accepted]\n",
                "    if accepted == n:\n        return draft\n    p = p_target[accepted]\n",
            )
        ],
    ),
    Mistake(
        name="last token from the last guess's row",
        function="speculative_step",
        cell="speculative_values",
        means="The token after the guesses is drawn from the row of the last guess.",
        hint="p_target has one more row than there are guesses. What is it for?",
        section="ch8-speculative",
        edits=[
            ("    p = p_target[accepted]\n", "    p = p_target[min(accepted, max(n - 1, 0))]\n")
        ],
    ),
    Mistake(
        name="nothing in place of the rejected guess",
        function="speculative_step",
        cell="speculative_values",
        means="After a guess was turned down, nothing comes in its place. With bad luck the text does not grow at all.",
        hint="How many tokens does a step give at least?",
        section="ch8-speculative",
        edits=[
            (
                "    if accepted < n:\n",
                "    if accepted < n:\n        return draft[:accepted]\n    if accepted < n:\n",
            )
        ],
    ),
    Mistake(
        name="rejected guess stays",
        function="speculative_step",
        cell="speculative_values",
        means="The guess that was turned down is still there, and the token in its place follows it.",
        hint="How many guesses come before the one that was turned down?",
        section="ch8-speculative",
        edits=[("draft[:accepted], last", "draft[: accepted + 1], last")],
    ),
    Mistake(
        name="goes on after a rejection",
        function="speculative_step",
        cell="speculative_values",
        means="After a guess was replaced, the later guesses are judged as well. But they were made for another text.",
        hint="What did guess 2 assume about guess 1?",
        section="ch8-speculative",
        source="""
def speculative_step(draft, p_draft, p_target, uniforms):
    found = []
    for i in range(len(draft)):
        token = draft[i]
        p = (p_target[i] - p_draft[i]).clamp(min=0)
        if uniforms[2 * i] * p_draft[i, token] >= p_target[i, token]:
            token = (p.cumsum(dim=0) / p.sum() <= uniforms[2 * i + 1]).sum()
        found.append(token)
    p = p_target[len(draft)]
    found.append((p.cumsum(dim=0) / p.sum() <= uniforms[-1]).sum())
    return torch.stack(found)
""",
    ),
    Mistake(
        name="uniform numbers used one after the other",
        function="speculative_step",
        cell="speculative_values",
        means="Guess i is judged with number i. Each place has two numbers of its own: 2i to judge and 2i + 1 to draw.",
        hint="Which number judges guess 1?",
        section="ch8-speculative",
        edits=[
            ("uniforms[2 * accepted] *", "uniforms[accepted] *"),
            ("uniforms[2 * accepted + 1]", "uniforms[accepted + 1]"),
        ],
    ),
    Mistake(
        name="the same number judges and draws",
        function="speculative_step",
        cell="speculative_values",
        means="The number that turned down the guess also draws the token in its place. It is large then, so that late tokens come out too often.",
        hint="Which number draws the token at place i?",
        section="ch8-mistake-residual",
        edits=[("uniforms[2 * accepted + 1]", "uniforms[2 * accepted]")],
    ),
    Mistake(
        name="one token too far",
        function="speculative_step",
        cell="speculative_values",
        means="The drawn token is the one after the right one.",
        hint="The number is 0. Which token has to come out?",
        section="ch8-speculative",
        edits=[("[2 * accepted + 1]).sum()", "[2 * accepted + 1]).sum() + 1")],
    ),
    Mistake(
        name="drawn in the order of probability",
        function="speculative_step",
        cell="speculative_values",
        means="The tokens were sorted by probability before one was drawn. The distribution is right, but the token isn't the one asked for.",
        hint="In which order does the task add up the probabilities?",
        section="ch8-speculative",
        edits=[
            (
                "    cumulative = p.cumsum(dim=0) / p.sum()",
                "    p, order = p.sort(descending=True, stable=True)\n"
                "    cumulative = p.cumsum(dim=0) / p.sum()",
            ),
            (
                "last = (cumulative <= uniforms[2 * accepted + 1]).sum()",
                "last = order[(cumulative <= uniforms[2 * accepted + 1]).sum()]",
            ),
        ],
    ),
    Mistake(
        name="a list of tokens",
        function="speculative_step",
        cell="speculative_values",
        means="The result is a list of numbers. It should be a tensor of integers.",
        hint="Which shape does the docstring give?",
        section="ch8-speculative",
        edits=[
            (
                "torch.cat([draft[:accepted], last[None]])",
                "[*draft[:accepted].tolist(), last.item()]",
            )
        ],
    ),
    Mistake(
        name="tokens as floats",
        function="speculative_step",
        cell="speculative_values",
        means="The tokens came back as floats. Nothing can be looked up with those.",
        hint="Which data type do indices have?",
        section="ch8-speculative",
        edits=[
            (
                "torch.cat([draft[:accepted], last[None]])",
                "torch.cat([draft[:accepted], last[None]]).float()",
            )
        ],
    ),
    Mistake(
        name="target changed in place",
        function="speculative_step",
        cell="speculative_edges",
        means="The caller's p_target is no longer what it was: the draft's probabilities were subtracted in it.",
        hint="Which of your lines writes into a tensor that came in? `-=` and `clamp_` do.",
        section="ch8-speculative",
        edits=[(RESIDUAL, "p.sub_(p_draft[accepted]).clamp_(min=0)")],
    ),
    Mistake(
        name="a token of probability 0 for the number 0",
        function="speculative_step",
        cell="speculative_edges",
        means="Where the uniform number is 0, token 0 comes out, even if its probability is 0. The sum has to be larger than the number, not just "
        "as large.",
        hint="The probabilities are 0 and 1, and the number is 0. Which token comes out?",
        section="ch8-speculative",
        edits=[("(cumulative <= uniforms", "(cumulative < uniforms")],
    ),
    Mistake(
        name="an excluded guess accepted for the number 0",
        function="speculative_step",
        cell="speculative_edges",
        means="Where the uniform number is 0, a guess stays although the target gives it probability 0.",
        hint="The ratio is 0, and so is the number. Is the number smaller than the ratio?",
        section="ch8-speculative",
        edits=[(REFUSED, REFUSED.replace(">=", ">"))],
    ),
]

ALTERNATIVES = [
    Alternative(
        name="number by number",
        cost=(
            "Each rule stands there as the task states it, so that it is easy to check. Python runs every "
            "step, which is far too slow for a vocabulary of a hundred thousand tokens."
        ),
        source="""
def token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    if top_p is not None and (top_p <= 0 or top_p > 1):
        raise ValueError("top_p")
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.to(torch.float32)
    V = logits.shape[-1]
    rows = []
    for row in logits.reshape(-1, V).double().tolist():
        ranking = sorted(range(V), key=lambda v: (-row[v], v))
        if temperature == 0:
            kept, mass = [ranking[0]], {ranking[0]: 1.0}
        else:
            mass = {v: math.exp((row[v] - row[ranking[0]]) / temperature) for v in ranking}
            kept = ranking if top_k is None else ranking[:top_k]
            total = math.fsum(mass[v] for v in kept)
            if top_p is not None and top_p < 1:
                found, nucleus = 0.0, []
                for v in kept:
                    if found >= top_p:
                        break
                    nucleus.append(v)
                    found += mass[v] / total
                kept = nucleus
        total = math.fsum(mass[v] for v in kept)
        rows.append([mass[v] / total if v in kept else 0.0 for v in range(V)])
    return torch.tensor(rows, dtype=logits.dtype).reshape(logits.shape)


def window_mask(T, S, window, sinks=0):
    if T > S:
        raise ValueError("more queries than keys")
    if window < 1 or sinks < 0:
        raise ValueError("no such window")
    mask = torch.zeros(T, S, dtype=torch.bool)
    for t in range(T):
        for s in range(S):
            distance = S - T + t - s
            mask[t, s] = distance >= 0 and (distance < window or s < sinks)
    return mask


class RollingCache:
    def __init__(self, sinks, window):
        self.sinks, self.window = sinks, window
        self.columns = {}

    def update(self, key, value, positions):
        first = int(positions[0])
        if first == 0:
            self.columns = {}
        for t, p in enumerate(positions.tolist()):
            self.columns[p] = (key[:, :, t], value[:, :, t])
        for p in list(self.columns):
            if p >= self.sinks and p <= first - self.window:
                del self.columns[p]
        chosen = sorted(self.columns)
        keys = torch.stack([self.columns[p][0] for p in chosen], dim=2)
        values = torch.stack([self.columns[p][1] for p in chosen], dim=2)
        last = int(positions[-1])
        self.columns = {
            p: pair
            for p, pair in self.columns.items()
            if p < self.sinks or p > last - self.window
        }
        return keys, values, torch.tensor(chosen)


def cache_bytes(
    n_layers, n_kv_heads, d_head, n_tokens, *, batch=1, bytes_per_value=2, window=None, latent=None
):
    total = 0
    for _ in range(n_layers):
        tokens = n_tokens
        if window is not None and window < tokens:
            tokens = window
        if latent is not None:
            numbers = latent
        else:
            numbers = n_kv_heads * d_head + n_kv_heads * d_head
        total += batch * tokens * numbers * bytes_per_value
    return total


def latent_attention(query, rope_query, latent, rope_key, w_uk, w_uv, mask=None):
    B, H, T, dn = query.shape
    S = latent.shape[1]
    if mask is None:
        mask = torch.ones(T, S, dtype=torch.bool)
    mask = mask.expand(B, H, T, S)
    root = math.sqrt(dn + rope_query.shape[-1])
    examples = []
    for b in range(B):
        heads = []
        for h in range(H):
            keys = latent[b] @ w_uk[h].T
            values = latent[b] @ w_uv[h].T
            outputs = []
            for t in range(T):
                seen = mask[b, h, t]
                if not seen.any():
                    outputs.append(0 * query[b, h, t].sum() + torch.zeros_like(values[0]))
                    continue
                scores = keys[seen] @ query[b, h, t] + rope_key[b][seen] @ rope_query[b, h, t]
                outputs.append(torch.softmax(scores / root, dim=0) @ values[seen])
            heads.append(torch.stack(outputs))
        examples.append(torch.stack(heads))
    return torch.stack(examples)


def rope_frequencies(d, base, factor, original_length, method):
    if method not in ("linear", "ntk", "yarn"):
        raise ValueError(method)
    found = []
    for i in range(d // 2):
        angle = base ** (-2 * i / d)
        if method == "linear":
            found.append(angle / factor)
        elif method == "ntk":
            found.append((base * factor ** (d / (d - 2))) ** (-2 * i / d))
        else:
            turns = original_length * angle / math.tau
            if turns < 1:
                share = 0.0
            elif turns > 32:
                share = 1.0
            else:
                share = (turns - 1) / 31
            found.append((1 - share) * angle / factor + share * angle)
    return torch.tensor(found, dtype=torch.float64)


def speculative_step(draft, p_draft, p_target, uniforms):
    def drawn(p, u):
        total = sum(p)
        reached = 0.0
        for token, share in enumerate(p):
            reached += share / total
            if u < reached:
                return token
        return max(token for token, share in enumerate(p) if share > 0)

    u = uniforms.tolist()
    found = []
    for i, guess in enumerate(draft.tolist()):
        q, p = p_draft[i].tolist(), p_target[i].tolist()
        if u[2 * i] < p[guess] / q[guess]:
            found.append(guess)
        else:
            residual = [max(a - b, 0.0) for a, b in zip(p, q)]
            found.append(drawn(residual, u[2 * i + 1]))
            return torch.tensor(found)
    found.append(drawn(p_target[-1].tolist(), u[-1]))
    return torch.tensor(found)
""",
    ),
    Alternative(
        name="logits masked with minus infinity",
        cost=(
            "Each filter only replaces logits, so that filters can be put in any order, as libraries do. The "
            "softmax is computed three times."
        ),
        source="""
def token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature < 0 or (top_k is not None and top_k <= 0):
        raise ValueError("temperature must not be negative, top_k must be positive")
    if top_p is not None and not (0.0 < top_p <= 1.0):
        raise ValueError("top_p must be in (0, 1]")
    dtype = torch.float64 if logits.dtype == torch.float64 else torch.float32
    x = logits.to(dtype)
    if temperature == 0:
        return torch.nn.functional.one_hot(x.argmax(dim=-1), x.shape[-1]).to(dtype)
    x = x / temperature
    # how many tokens come before each one
    rank = torch.argsort(torch.argsort(-x, dim=-1, stable=True), dim=-1)
    if top_k is not None:
        x = x.masked_fill(rank >= top_k, float("-inf"))
    if top_p is not None:
        p = x.softmax(-1)
        order = torch.argsort(-x, dim=-1, stable=True)
        cumulative = p.gather(-1, order).cumsum(-1)
        remove = cumulative >= top_p
        remove = torch.cat([torch.zeros_like(remove[..., :1]), remove[..., :-1]], dim=-1)
        x = x.masked_fill(remove.gather(-1, rank), float("-inf"))
    return x.softmax(-1)


def window_mask(T, S, window, sinks=0):
    if not (T <= S and window >= 1 and sinks >= 0):
        raise ValueError("impossible sizes")
    everything = torch.ones(T, S, dtype=torch.bool)
    causal = everything.tril(diagonal=S - T)
    recent = everything.triu(diagonal=S - T - window + 1)
    first = torch.zeros(T, S, dtype=torch.bool)
    first[:, :sinks] = True
    return causal & (recent | first)


def latent_attention(query, rope_query, latent, rope_key, w_uk, w_uv, mask=None):
    key = torch.einsum("bsr,hnr->bhsn", latent, w_uk)
    value = torch.einsum("bsr,hvr->bhsv", latent, w_uv)
    shared = rope_key.unsqueeze(1).expand(-1, key.shape[1], -1, -1)
    query = torch.cat([query, rope_query], dim=-1)
    key = torch.cat([key, shared], dim=-1)
    return attention(query, key, value, mask)[0]


def speculative_step(draft, p_draft, p_target, uniforms):
    n = draft.shape[0]
    pairs = uniforms.reshape(n + 1, 2)
    index = torch.arange(n)
    ratio = p_target[index, draft] / p_draft[index, draft]
    accepted = int((pairs[:n, 0] < ratio).long().cumprod(0).sum())
    padded = torch.cat([p_draft, torch.zeros_like(p_target[:1])])
    residual = torch.relu(p_target[accepted] - padded[accepted])
    residual = residual / residual.sum()
    token = torch.searchsorted(residual.cumsum(0), pairs[accepted, 1], right=True)
    return torch.cat([draft[:accepted], token.reshape(1)])
""",
    ),
    Alternative(
        name="topk and scatter",
        cost=(
            "`topk` does not sort what it throws away, which is fast for large vocabularies. It promises nothing about the order of "
            "equal logits, so that ties need a step of their own."
        ),
        source="""
def token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    for wrong in (
        temperature < 0,
        top_k is not None and top_k < 1,
        top_p is not None and not 0 < top_p <= 1,
    ):
        if wrong:
            raise ValueError("an argument is out of range")
    if torch.finfo(logits.dtype).bits == 16:
        logits = logits.float()
    V = logits.shape[-1]
    k = 1 if temperature == 0 else min(top_k or V, V)
    threshold = logits.topk(k, dim=-1).values[..., -1:]
    above, equal = logits > threshold, logits == threshold
    # of the equal ones, the first until there are k
    missing = k - above.sum(-1, keepdim=True)
    stays = above | (equal & (equal.cumsum(-1) <= missing))
    if temperature == 0:
        return stays.to(logits.dtype)
    p = torch.softmax((logits / temperature).where(stays, -torch.inf), dim=-1)
    if top_p is not None and top_p < 1:
        ordered, tokens = p.sort(dim=-1, descending=True, stable=True)
        count = (ordered.cumsum(-1) < top_p).sum(-1, keepdim=True) + 1
        inside = torch.arange(V) < count
        p = torch.where(torch.zeros_like(stays).scatter(-1, tokens, inside), p, 0.0)
        p = p / p.sum(-1, keepdim=True)
    return p


class RollingCache:
    def __init__(self, sinks: int, window: int):
        self.sinks = sinks
        self.window = window
        self.first = None
        self.recent = None

    def update(self, key, value, positions):
        new = [key, value, positions]
        if positions[0].item() == 0:
            self.first = self.recent = None
        old = [] if self.first is None else [self.first, self.recent]
        joined = [
            torch.cat([part[i] for part in (*old, new)], dim=2 if i < 2 else 0) for i in range(3)
        ]
        n = joined[2].shape[0]
        s = min(self.sinks, n)
        r = max(s, n - self.window + 1)
        self.first = [joined[0][:, :, :s], joined[1][:, :, :s], joined[2][:s]]
        self.recent = [joined[0][:, :, r:], joined[1][:, :, r:], joined[2][r:]]
        return tuple(joined)


def rope_frequencies(d, base, factor, original_length, method):
    i = torch.arange(0, d, 2).double() / d
    plain = torch.exp(-i * math.log(base))
    squeezed = plain / factor
    match method:
        case "linear":
            return squeezed
        case "ntk":
            return torch.exp(-i * (math.log(base) + d / (d - 2) * math.log(factor)))
        case "yarn":
            wavelength = 2 * math.pi / plain
            return torch.lerp(
                squeezed, plain, ((original_length / wavelength - 1) / 31).clamp(0.0, 1.0)
            )
        case _:
            raise ValueError(f"unknown method {method}")
""",
    ),
    Alternative(
        name="ready-made attention with a scale",
        cost=(
            "`scaled_dot_product_attention` takes the scale as an argument, so that no query has to be corrected. "
            "How fast it is depends on the machine and on the mask."
        ),
        source="""
def latent_attention(query, rope_query, latent, rope_key, w_uk, w_uv, mask=None):
    from torch.nn import functional as F

    H = query.shape[1]
    scale = 1 / math.sqrt(query.shape[-1] + rope_query.shape[-1])
    q = torch.cat([query @ w_uk, rope_query], dim=-1)
    k = torch.cat([latent, rope_key], dim=-1).unsqueeze(1).expand(-1, H, -1, -1)
    v = latent.unsqueeze(1).expand(-1, H, -1, -1)
    found = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)
    return found @ w_uv.mT


def window_mask(T, S, window, sinks=0):
    if T > S or window <= 0 or sinks < 0:
        raise ValueError((T, S, window, sinks))
    distance = torch.arange(S - T, S).unsqueeze(1) - torch.arange(S).unsqueeze(0)
    near = torch.logical_and(distance >= 0, distance < window)
    sink = torch.logical_and(distance >= 0, torch.arange(S) < sinks)
    return torch.logical_or(near, sink)


def cache_bytes(
    n_layers, n_kv_heads, d_head, n_tokens, *, batch=1, bytes_per_value=2, window=None, latent=None
):
    tokens = min(n_tokens, n_tokens if window is None else window)
    width = latent if latent is not None else n_kv_heads * (d_head + d_head)
    return math.prod([n_layers, batch, tokens, width, bytes_per_value])


def rope_frequencies(d, base, factor, original_length, method):
    theta = 1.0 / base ** (torch.arange(0, d, 2, dtype=torch.float32) / d)
    if method == "linear":
        return theta / factor
    if method == "ntk":
        return 1.0 / (base * factor ** (d / (d - 2))) ** (torch.arange(0, d, 2).float() / d)
    if method != "yarn":
        raise ValueError(f"method {method} is unknown")
    turns = original_length * theta / (2 * math.pi)
    slow, fast = turns < 1, turns > 32
    gamma = (turns - 1) / 31
    mixed = (1 - gamma) * theta / factor + gamma * theta
    return torch.where(slow, theta / factor, torch.where(fast, theta, mixed))
""",
    ),
    Alternative(
        name="ring of slots",
        cost=(
            "Memory is reserved once and never moves: a new key takes the slot of the oldest. To give keys in order, "
            "they have to be collected from the ring in each call."
        ),
        source="""
class RollingCache:
    def __init__(self, sinks, window):
        self.sinks, self.window = sinks, window
        self.keys = self.values = None
        self.slots = torch.full((sinks + window,), -1)

    def slot(self, position):
        if position < self.sinks:
            return position
        return self.sinks + (position - self.sinks) % self.window

    def update(self, key, value, positions):
        B, H, t, d = key.shape
        first = int(positions[0])
        if first == 0:
            size = self.sinks + self.window
            self.keys = key.new_zeros(B, H, size, d)
            self.values = value.new_zeros(B, H, size, value.shape[-1])
            self.slots = torch.full((size,), -1)
        held = self.slots[self.slots >= 0]
        held = held[(held < self.sinks) | (held > first - self.window)].sort().values
        places = [self.slot(p) for p in held.tolist()]
        found = (
            torch.cat([self.keys[:, :, places], key], dim=2),
            torch.cat([self.values[:, :, places], value], dim=2),
            torch.cat([held, positions]),
        )
        for i, p in enumerate(positions.tolist()):
            self.keys[:, :, self.slot(p)] = key[:, :, i]
            self.values[:, :, self.slot(p)] = value[:, :, i]
            self.slots[self.slot(p)] = p
        return found


def speculative_step(draft, p_draft, p_target, uniforms):
    n = draft.numel()
    judge, draws = uniforms[0::2], uniforms[1::2]
    for i in range(n):
        x = draft[i].item()
        if judge[i] >= min(1.0, (p_target[i, x] / p_draft[i, x]).item()):
            left = torch.maximum(p_target[i] - p_draft[i], torch.zeros_like(p_target[i]))
            left = left / left.sum()
            token = torch.nonzero(draws[i] < left.cumsum(0))[0]
            return torch.cat((draft[:i], token))
    token = torch.nonzero(draws[n] < p_target[n].cumsum(0))[:1, 0]
    return torch.cat((draft, token))
""",
    ),
    Alternative(
        name="NumPy inside",
        cost=(
            "Outside of training no gradient is needed, and NumPy has the same functions. Each call moves numbers from torch and back, "
            "and from a GPU that would be slow."
        ),
        source="""
import numpy as np


def token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature < 0:
        raise ValueError(temperature)
    if top_k is not None and top_k < 1:
        raise ValueError(top_k)
    if top_p is not None and not (top_p > 0 and top_p <= 1):
        raise ValueError(top_p)
    dtype = torch.promote_types(logits.dtype, torch.float32)
    x = logits.double().numpy()
    order = np.argsort(-x, axis=-1, kind="stable")
    x = np.take_along_axis(x, order, axis=-1)
    if temperature == 0:
        p = np.zeros(x.shape)
        p[..., 0] = 1
    else:
        p = np.exp((x - x[..., :1]) / temperature)
        if top_k is not None:
            p[..., top_k:] = 0
        p /= p.sum(axis=-1, keepdims=True)
        if top_p is not None and top_p < 1:
            reached = np.cumsum(p, axis=-1) >= top_p
            p[..., 1:][reached[..., :-1]] = 0
            p /= p.sum(axis=-1, keepdims=True)
    result = np.empty_like(p)
    np.put_along_axis(result, order, p, axis=-1)
    return torch.from_numpy(result).to(dtype)


def window_mask(T, S, window, sinks=0):
    if T > S or window < 1 or sinks < 0:
        raise ValueError("sizes")
    rows = np.tri(S, S, 0, dtype=bool) & ~np.tri(S, S, -window, dtype=bool)
    rows[:, :sinks] |= np.tri(S, S, 0, dtype=bool)[:, :sinks]
    return torch.from_numpy(rows[S - T :])


def rope_frequencies(d, base, factor, original_length, method):
    exponents = np.arange(0, d, 2) / d
    theta = 1 / np.power(base, exponents)
    if method == "linear":
        new = theta / factor
    elif method == "ntk":
        new = theta / factor ** (np.arange(d // 2) / (d / 2 - 1))
    elif method == "yarn":
        turns = original_length * theta / (2 * np.pi)
        gamma = np.interp(turns, [1, 32], [0, 1])
        new = theta * ((1 - gamma) / factor + gamma)
    else:
        raise ValueError(f"no method {method!r}")
    return torch.from_numpy(new)


def speculative_step(draft, p_draft, p_target, uniforms):
    q, p, u = p_draft.numpy(), p_target.numpy(), uniforms.numpy()
    n = len(draft)
    guesses = draft.numpy()
    kept = u[0 : 2 * n : 2] * q[np.arange(n), guesses] < p[np.arange(n), guesses]
    m = n if kept.all() else int(np.argmin(kept))
    rest = p[m] if m == n else np.maximum(p[m] - q[m], 0)
    token = np.searchsorted(np.cumsum(rest / rest.sum()), u[2 * m + 1], side="right")
    return torch.from_numpy(np.append(guesses[:m], token))
""",
    ),
    Alternative(
        name="query and key in two products",
        cost=(
            "The scores are a sum of two products, so that nothing has to be put side by side. Two products of "
            "narrow matrices take longer than one of wide ones."
        ),
        source="""
def latent_attention(query, rope_query, latent, rope_key, w_uk, w_uv, mask=None):
    content = torch.matmul(torch.matmul(query, w_uk), latent.unsqueeze(1).transpose(-1, -2))
    position = torch.einsum("bhtd,bsd->bhts", rope_query, rope_key)
    scores = (content + position) * (query.size(-1) + rope_query.size(-1)) ** -0.5
    if mask is None:
        weights = scores.softmax(-1)
    else:
        some = mask.any(-1, keepdim=True)
        scores = scores.masked_fill(~(mask | ~some), float("-inf"))
        weights = torch.where(some, scores.softmax(-1), torch.zeros_like(scores))
    packed = torch.matmul(weights, latent.unsqueeze(1))
    return torch.matmul(packed, w_uv.transpose(-1, -2))


class RollingCache:
    def __init__(self, sinks, window):
        self.sinks, self.window = sinks, window

    def update(self, key, value, positions):
        if int(positions[0]) == 0:
            self.key, self.value = key[:, :, :0], value[:, :, :0]
            self.positions = positions[:0]
        key = torch.cat((self.key, key), dim=-2)
        value = torch.cat((self.value, value), dim=-2)
        positions = torch.cat((self.positions, positions))
        n = positions.numel()
        keep = torch.arange(n)
        keep = keep[(keep < self.sinks) | (keep >= n - self.window + 1)]
        self.key = key.index_select(2, keep)
        self.value = value.index_select(2, keep)
        self.positions = positions.index_select(0, keep)
        return key, value, positions


def cache_bytes(
    n_layers, n_kv_heads, d_head, n_tokens, *, batch=1, bytes_per_value=2, window=None, latent=None
):
    if window is None:
        window = n_tokens
    if latent is None:
        latent = 2 * n_kv_heads * d_head
    return bytes_per_value * latent * n_layers * sum(min(n_tokens, window) for _ in range(batch))


def speculative_step(draft, p_draft, p_target, uniforms):
    n = len(draft)
    # a row of zeros after the guesses: the residual is then the target itself
    q = torch.cat([p_draft, p_target.new_zeros(1, p_target.shape[-1])])
    stays = [
        bool(uniforms[2 * i] < p_target[i, x] / p_draft[i, x]) for i, x in enumerate(draft.tolist())
    ]
    m = stays.index(False) if False in stays else n
    residual = (p_target - q).relu()[m]
    cumulative = torch.cumsum(residual, 0)
    token = int((uniforms[2 * m + 1] * cumulative[-1] >= cumulative).sum())
    return torch.tensor([*draft[:m].tolist(), token], dtype=draft.dtype)
""",
    ),
]

# shown after a task is passed
DISCUSSIONS = [
    Discussion(
        "token_probabilities",
        (
            Way(
                "With a rank for each token, in the order of the vocabulary.",
                "order = logits.argsort(dim=-1, descending=True, stable=True)\n"
                "rank = order.argsort(dim=-1)  # how many tokens are more likely\n"
                "p = p * (rank < top_k)",
                "Nothing has to be put back into its place. It sorts twice, which takes longer than `scatter`.",
            ),
            Way(
                "A draw without any probabilities: add noise to the logits and take the largest.",
                "noise = -torch.log(-torch.log(torch.rand_like(logits)))\n"
                "token = (logits / temperature + noise).argmax(dim=-1)",
                "There is no softmax and no sum. The token has the right distribution, but you never see how likely it was.",
            ),
        ),
    ),
    Discussion(
        "window_mask",
        (
            Way(
                "With two triangles.",
                "causal = torch.ones(T, S, dtype=torch.bool).tril(S - T)\n"
                "near = causal.triu(S - T - window + 1)",
                "No position is written down, so that it is short. The two diagonals are easy to get wrong by one.",
            ),
            Way(
                "From a table of distances.",
                "distance = torch.arange(S - T, S)[:, None] - torch.arange(S)\n"
                "near = (distance >= 0) & (distance < window)",
                "The same table serves for a penalty on distance, as in ALiBi. It holds a number where the mask needs one bit.",
            ),
        ),
    ),
    Discussion(
        "RollingCache",
        (
            Way(
                "With a ring: a new key takes the slot of the one that leaves the window.",
                "slots = sinks + (positions - sinks) % window\nring[:, :, slots] = key",
                "Memory is reserved once, and nothing moves. The keys no longer stand in order, so that you "
                "have to keep their positions, too.",
            ),
            Way(
                "With keys that are rotated when they are used, by the number of their slot.",
                "slots = torch.arange(held_key.shape[2])\nrotated = rope(held_key, slots)",
                "No angle is ever larger than in training, however long the text is. All held keys are rotated "
                "anew in each call.",
            ),
        ),
    ),
    Discussion(
        "cache_bytes",
        (
            Way(
                "By asking the tensors of one layer.",
                "per_layer = sum(x.numel() * x.element_size() for x in (key, value))",
                "It counts what is really there, also where the formula forgets something. You have to make the tensors first.",
            ),
            Way(
                "The other way round, to see how many tokens fit.",
                "per_token = cache_bytes(n_layers, n_kv_heads, d_head, 1)\n"
                "longest = free_bytes // per_token",
                "This is the question that you have in practice. It is not right with a window, where bytes stop growing.",
            ),
        ),
    ),
    Discussion(
        "latent_attention",
        (
            Way(
                "With both matrices of the query made into one, before any text comes.",
                'w_packed = torch.einsum("hnm,hnr->hrm", w_q, w_uk)\n'
                'packed = torch.einsum("btm,hrm->bhtr", x, w_packed)',
                "There is one product less for each token. The new matrix can be larger than both old ones together.",
            ),
            Way(
                "With keys and values unpacked.",
                'key = torch.einsum("bsr,hnr->bhsn", latent, w_uk)\n'
                'value = torch.einsum("bsr,hvr->bhsv", latent, w_uv)',
                "With many queries at once this takes fewer steps, because keys are narrower than latents. With one query at a time, "
                "all keys would be unpacked for it alone.",
            ),
        ),
    ),
    Discussion(
        "rope_frequencies",
        (
            Way(
                "`ntk` without a new base: each pair is slowed down by a power of the factor.",
                "i = torch.arange(d // 2)\nslower = theta / factor ** (i / (d / 2 - 1))",
                "You see at once what happens to the first pair and to the last. It is the same number, but libraries "
                "speak of a base.",
            ),
            Way(
                "The mixture as a line between two points.",
                "mixed = torch.lerp(theta / factor, theta, unchanged)",
                "It can't happen that the two shares don't add up to 1. One has to know which end belongs to 0.",
            ),
        ),
    ),
    Discussion(
        "speculative_step",
        (
            Way(
                "All guesses at once: the product of ones ends at the first zero.",
                "places = torch.arange(len(draft))\n"
                "ratios = p_target[places, draft] / p_draft[places, draft]\n"
                "accepted = (uniforms[:-2:2] < ratios).long().cumprod(dim=0).sum()",
                "There is no loop, so that it is fast on a GPU. Ratios are computed that nobody needs.",
            ),
            Way(
                "With one more row of zeros for the draft, so that both endings are one.",
                "q = torch.cat([p_draft, torch.zeros_like(p_target[:1])])\n"
                "p = (p_target[accepted] - q[accepted]).clamp(min=0)",
                "The last row of the target minus nothing is the row itself: no case is left. The draft's table is copied for it.",
            ),
        ),
    ),
]
