"""Known mistakes and accepted alternatives of exercise 3."""

from autograder.catalogue import Alternative, Discussion, Mistake
from autograder.runtime.guide import Way

BEFORE = "output, weights = self.attention("

# the section of the book to read again, by grade cell
SECTIONS = {
    "split_heads_values": "ch3-layout",
    "merge_heads_values": "ch3-layout",
    "multi_head_values": "ch3-heads",
    "multi_head_edges": "ch3-heads",
    "to_torch_values": "ch3-torch",
    "count_parameters_values": "ch3-cost",
    "head_contribution_values": "ch3-sum",
    "grouped_query_values": "ch3-grouped",
    "grouped_query_groups": "ch3-grouped",
}

# what is one idea in several answers, beside mistakes that mean the same word for word
IDEAS = [
    ("mask inverted", "grouped heads, mask inverted"),
    ("heads not scaled", "grouped heads not scaled"),
    ("scaled by the whole width", "grouped heads scaled by the whole width"),
    ("keys and values swapped", "grouped keys and values exchanged"),
]

MISTAKES = [
    # split_heads --------------------------------------------------------------------------------
    Mistake(
        name="view without transpose",
        function="split_heads",
        cell="split_heads_values",
        means="The shape is right, but the numbers were taken in the order of memory. Memory holds "
        "position after position, so a head got whole positions, cut into pieces.",
        hint="Which two axes lie next to each other in memory: heads and features, or heads and "
        "positions? Which axis has to move afterwards?",
        section="ch3-layout",
        edits=[
            (
                "(batch, length, n_heads, d_model // n_heads).transpose(1, 2)",
                "(batch, n_heads, length, d_model // n_heads)",
            )
        ],
    ),
    Mistake(
        name="interleaved heads",
        function="split_heads",
        cell="split_heads_values",
        means="Head 0 has every H-th entry of each vector instead of its first d entries.",
        hint="When the last axis becomes two, which of the two changes faster along a vector?",
        section="ch3-layout",
        edits=[
            (
                "(batch, length, n_heads, d_model // n_heads).transpose(1, 2)",
                "(batch, length, d_model // n_heads, n_heads).permute(0, 3, 1, 2)",
            )
        ],
    ),
    Mistake(
        name="heads behind the positions",
        function="split_heads",
        cell="split_heads_values",
        means="The vectors are cut as they should be, but the axis of the heads comes after that of "
        "the positions: (B, T, H, d).",
        hint="Attention works on the last two axes. Which two should they be?",
        section="ch3-layout",
        edits=[(".transpose(1, 2)", "")],
    ),
    Mistake(
        name="number of heads taken for their width",
        function="split_heads",
        cell="split_heads_values",
        means="Each vector was cut into parts of width H. There should be H parts.",
        hint="Into how many parts is each vector cut, and how wide is one?",
        section="ch3-heads",
        edits=[("n_heads, d_model // n_heads", "d_model // n_heads, n_heads")],
    ),
    Mistake(
        name="features and positions mixed",
        function="split_heads",
        cell="split_heads_values",
        means="The positions were moved to the end first. The reshape that followed then cut runs of "
        "positions where it should cut vectors.",
        hint="Cut the last axis while it still holds the features of one position. Move axes after that.",
        section="ch3-layout",
        edits=[
            (
                "x.reshape(batch, length, n_heads, d_model // n_heads).transpose(1, 2)",
                "x.transpose(1, 2).reshape(batch, n_heads, length, d_model // n_heads)",
            )
        ],
    ),
    Mistake(
        name="no gradient through the split",
        function="split_heads",
        cell="split_heads_values",
        means="The values are right, but x receives no gradient: nothing before the split could learn.",
        hint="Which of `detach`, `no_grad`, `.data`, `.numpy()` or `torch.tensor` stands in your code?",
        section="ch3-layout",
        edits=[("return x.reshape", "return x.detach().reshape")],
    ),
    Mistake(
        name="heads in front of the batch",
        function="split_heads",
        cell="split_heads_values",
        means="The axis of the heads stands first. The batch should stay in front.",
        hint="In which order does the docstring name the four axes?",
        section="ch3-layout",
        edits=[(".transpose(1, 2)", ".permute(2, 0, 1, 3)")],
    ),
    Mistake(
        name="a list of heads",
        function="split_heads",
        cell="split_heads_values",
        means="The heads come as a list or tuple of tensors. One tensor with an axis for heads is asked for.",
        hint="Which function puts a list of equal tensors side by side along a new axis?",
        section="ch3-layout",
        edits=[
            (
                "x.reshape(batch, length, n_heads, d_model // n_heads).transpose(1, 2)",
                "list(x.chunk(n_heads, dim=-1))",
            )
        ],
    ),
    Mistake(
        name="heads joined along the batch",
        function="split_heads",
        cell="split_heads_values",
        means="The heads stand one below the other on the batch axis. They should have an axis of their own.",
        hint="What is the difference between `torch.cat` and `torch.stack`?",
        section="ch3-layout",
        edits=[
            (
                "x.reshape(batch, length, n_heads, d_model // n_heads).transpose(1, 2)",
                "torch.cat(x.chunk(n_heads, dim=-1), dim=0)",
            )
        ],
    ),
    Mistake(
        name="integers turned into floats",
        function="split_heads",
        cell="split_heads_values",
        means="The numbers are right, but their data type has changed on the way.",
        hint="Which line of your code makes a new tensor, and of which data type?",
        section="ch3-layout",
        edits=[("return x.reshape", "return x.double().reshape")],
    ),
    Mistake(
        name="positions and width of a head exchanged",
        function="split_heads",
        cell="split_heads_values",
        means="Each head has its width in front of its positions: the last two axes are exchanged.",
        hint="Which axis should come last: the positions, or the width of a head?",
        section="ch3-layout",
        edits=[(".transpose(1, 2)", ".permute(0, 2, 3, 1)")],
    ),
    Mistake(
        name="everything squeezed out of the heads",
        function="split_heads",
        cell="split_heads_values",
        means="A bare `squeeze` has dropped an axis of length 1 that should stay.",
        hint="Which axes have length 1 if there is only one example or one head?",
        section="ch3-layout",
        edits=[(".transpose(1, 2)", ".transpose(1, 2).squeeze()")],
    ),
    # merge_heads --------------------------------------------------------------------------------
    Mistake(
        name="merged without transposing back",
        function="merge_heads",
        cell="merge_heads_values",
        means="The shape is right, but the heads still stood in front of the positions when the numbers "
        "were joined. A vector of the result is made of several positions of one head.",
        hint="Which two axes have to be neighbours, in which order, before they can become one?",
        section="ch3-layout",
        edits=[("x.transpose(1, 2).reshape", "x.reshape")],
    ),
    Mistake(
        name="interleaved on the way back",
        function="merge_heads",
        cell="merge_heads_values",
        means="The heads were joined entry by entry: first entry of every head, second entry of every "
        "head, and so on.",
        hint="The first d entries of a merged vector should all come from head 0.",
        section="ch3-layout",
        edits=[("x.transpose(1, 2).reshape", "x.permute(0, 2, 3, 1).reshape")],
    ),
    Mistake(
        name="view on transposed memory",
        function="merge_heads",
        cell="merge_heads_values",
        means="After a transpose the numbers no longer lie in memory in the order of the axes, and "
        "`view` refuses to join them.",
        hint="Which method copies where it has to? Or which one makes a tensor contiguous first?",
        section="ch3-layout",
        edits=[(".reshape(", ".view(")],
    ),
    Mistake(
        name="heads averaged or added when merged",
        function="merge_heads",
        cell="merge_heads_values",
        means="The heads were averaged, or added. Each head found something different, and that mixes it again.",
        hint="How wide is the result if every head keeps its own place in it?",
        section="ch3-heads",
        source="""
def merge_heads(x):
    return x.mean(dim=1)
""",
    ),
    Mistake(
        name="no gradient through the merge",
        function="merge_heads",
        cell="merge_heads_values",
        means="The values are right, but x receives no gradient: nothing before the merge could learn.",
        hint="Which of `detach`, `no_grad`, `.data`, `.numpy()` or `torch.tensor` stands in your code?",
        section="ch3-layout",
        edits=[("return x.transpose", "return x.detach().transpose")],
    ),
    Mistake(
        name="heads joined along the positions",
        function="merge_heads",
        cell="merge_heads_values",
        means="The heads stand one below the other on the axis of the positions. Their parts should stand side by side in one vector.",
        hint="Which axis should grow when the heads are joined?",
        section="ch3-layout",
        edits=[
            (
                "x.transpose(1, 2).reshape(batch, length, n_heads * d_head)",
                "x.reshape(batch, n_heads * length, d_head)",
            )
        ],
    ),
    Mistake(
        name="everything flattened",
        function="merge_heads",
        cell="merge_heads_values",
        means="Positions, heads and widths were all joined into one axis. The axis of the positions should stay.",
        hint="How many axes should the result have?",
        section="ch3-layout",
        edits=[("reshape(batch, length, n_heads * d_head)", "reshape(batch, -1)")],
    ),
    Mistake(
        name="last two axes exchanged before merging",
        function="merge_heads",
        cell="merge_heads_values",
        means="Positions and widths were exchanged, not heads and positions.",
        hint="Which two axes must stand side by side, so that they can be joined?",
        section="ch3-layout",
        edits=[("x.transpose(1, 2)", "x.transpose(2, 3)")],
    ),
    Mistake(
        name="everything squeezed out of the merged heads",
        function="merge_heads",
        cell="merge_heads_values",
        means="A bare `squeeze` has dropped an axis of length 1 that should stay.",
        hint="Which axes have length 1 if there is only one example or one position?",
        section="ch3-layout",
        edits=[("n_heads * d_head)", "n_heads * d_head).squeeze()")],
    ),
    Mistake(
        name="merged in reverse order",
        function="merge_heads",
        cell="merge_heads_values",
        means="The last head stands first in every vector.",
        hint="Which head's part comes first?",
        section="ch3-layout",
        edits=[("x.transpose(1, 2)", "x.flip(1).transpose(1, 2)")],
    ),
    Mistake(
        name="as many heads as positions",
        function="merge_heads",
        cell="merge_heads_values",
        means="The loop runs over the positions, and takes that many heads.",
        hint="Which axis of x has a place for every head?",
        section="ch3-layout",
        source="""
def merge_heads(x):
    return torch.cat([x[:, h] for h in range(x.shape[2])], dim=-1)
""",
    ),
    Mistake(
        name="as many heads as examples",
        function="merge_heads",
        cell="merge_heads_values",
        means="The loop runs over `len(x)` heads. That is the number of examples, the first axis.",
        hint="Which axis of x has a place for every head?",
        section="ch3-layout",
        source="""
def merge_heads(x):
    return torch.cat([x[:, h] for h in range(len(x))], dim=-1)
""",
    ),
    # MultiHeadAttention -------------------------------------------------------------------------
    Mistake(
        name="views both ways",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="Split and merge both took the numbers in the order of memory. The two undo each other, "
        "yet in between each head attended among pieces of positions.",
        hint="Look at one head's queries before the attention: does row t belong to position t?",
        section="ch3-layout",
        edits=[
            (
                BEFORE,
                "B, D = query.shape[0], query.shape[2]\n"
                "        d = D // self.n_heads\n"
                "        output, weights = self.attention(",
            ),
            (
                "split_heads(self.w_q(query), self.n_heads)",
                "self.w_q(query).reshape(B, self.n_heads, -1, d)",
            ),
            (
                "split_heads(self.w_k(key), self.n_heads)",
                "self.w_k(key).reshape(B, self.n_heads, -1, d)",
            ),
            (
                "split_heads(self.w_v(value), self.n_heads)",
                "self.w_v(value).reshape(B, self.n_heads, -1, d)",
            ),
            ("merge_heads(output)", "output.reshape(B, -1, D)"),
        ],
    ),
    Mistake(
        name="no w_o",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="These are the heads side by side, without the last layer. Nothing mixes what they found.",
        hint="Which of the four layers has not been used?",
        section="ch3-heads",
        edits=[("self.w_o(merge_heads(output))", "merge_heads(output)")],
    ),
    Mistake(
        name="keys and values swapped",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="The keys were made of `value` and the values of `key`. In self-attention the two are the "
        "same, and nobody notices.",
        hint="Which argument should w_k see?",
        section="ch3-mistake-arguments",
        edits=[("self.w_k(key)", "self.w_k(value)"), ("self.w_v(value)", "self.w_v(key)")],
    ),
    Mistake(
        name="layers of keys and values swapped",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="The keys went through w_v and the values through w_k. Trained from scratch that is only "
        "a matter of names; with weights that come from elsewhere it is wrong.",
        hint="Which layer belongs to which argument?",
        section="ch3-mistake-arguments",
        edits=[("self.w_k(key)", "self.w_v(key)"), ("self.w_v(value)", "self.w_k(value)")],
    ),
    Mistake(
        name="one projection for all three",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="Queries, keys and values all went through w_q.",
        hint="Each of the three has a layer of its own.",
        section="ch3-heads",
        edits=[("self.w_k(key)", "self.w_q(key)"), ("self.w_v(value)", "self.w_q(value)")],
    ),
    Mistake(
        name="keys projected with w_q",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="The keys went through the layer of the queries, and `w_k` is not used.",
        hint="Each of the three has a layer of its own. Which of yours is never called?",
        section="ch3-heads",
        edits=[("self.w_k(key)", "self.w_q(key)")],
    ),
    Mistake(
        name="values projected with w_k",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="The values went through the layer of the keys, and `w_v` is not used.",
        hint="Each of the three has a layer of its own. Which of yours is never called?",
        section="ch3-heads",
        edits=[("self.w_v(value)", "self.w_k(value)")],
    ),
    Mistake(
        name="keys and values made of the query",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="All three projections saw `query`, so this is always self-attention. A decoder built "
        "of it would never read its source.",
        hint="What happens to your output when `key` and `value` change?",
        section="ch3-mistake-arguments",
        edits=[("self.w_k(key)", "self.w_k(query)"), ("self.w_v(value)", "self.w_v(query)")],
    ),
    Mistake(
        name="values made of the keys",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="The values were made of `key`. The argument `value` is not used at all.",
        hint="What happens to your output when `value` changes?",
        section="ch3-mistake-arguments",
        edits=[("self.w_v(value)", "self.w_v(key)")],
    ),
    Mistake(
        name="values not projected",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="The values went into the heads without w_v.",
        hint="How many layers stand in front of the attention?",
        section="ch3-heads",
        edits=[("self.w_v(value)", "value")],
    ),
    Mistake(
        name="one wide head",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="These are the values of a single head of width D: the vectors were never split.",
        hint="How many weight matrices does each example have?",
        section="ch3-heads",
        edits=[
            ("split_heads(self.w_q(query), self.n_heads)", "split_heads(self.w_q(query), 1)"),
            ("split_heads(self.w_k(key), self.n_heads)", "split_heads(self.w_k(key), 1)"),
            ("split_heads(self.w_v(value), self.n_heads)", "split_heads(self.w_v(value), 1)"),
        ],
    ),
    Mistake(
        name="the same head everywhere",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="All heads use the projections of head 0, so they all see the same thing.",
        hint="Do two heads of your layer ever have different weights?",
        section="ch3-heads",
        edits=[
            (BEFORE, "H = self.n_heads\n        output, weights = self.attention("),
            (
                "split_heads(self.w_q(query), self.n_heads)",
                "split_heads(self.w_q(query), H)[:, :1].expand(-1, H, -1, -1)",
            ),
            (
                "split_heads(self.w_k(key), self.n_heads)",
                "split_heads(self.w_k(key), H)[:, :1].expand(-1, H, -1, -1)",
            ),
            (
                "split_heads(self.w_v(value), self.n_heads)",
                "split_heads(self.w_v(value), H)[:, :1].expand(-1, H, -1, -1)",
            ),
        ],
    ),
    Mistake(
        name="scaled by the whole width",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="The scores were divided by the square root of D. A head's dot products have d terms.",
        hint="A score of one head is a sum of how many products?",
        section="ch3-heads",
        edits=[
            (
                "split_heads(self.w_q(query), self.n_heads)",
                "split_heads(self.w_q(query), self.n_heads) / self.n_heads**0.5",
            )
        ],
    ),
    Mistake(
        name="scaled twice",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="The scores were divided by the square root of d once in the layer and once more in the "
        "attention.",
        hint="Who scales: the layer or the attention that it was given?",
        section="ch3-heads",
        edits=[
            (
                "split_heads(self.w_q(query), self.n_heads)",
                "split_heads(self.w_q(query) / (query.shape[-1] / self.n_heads) ** 0.5, self.n_heads)",
            )
        ],
    ),
    Mistake(
        name="heads averaged",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="Every head's place was filled with the mean of all heads before w_o. A mean undoes what "
        "several heads are for.",
        hint="Does w_o see each head's own result?",
        section="ch3-heads",
        edits=[("merge_heads(output)", "output.mean(dim=1).repeat(1, 1, self.n_heads)")],
    ),
    Mistake(
        name="weights averaged over the heads",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="The weights are the mean over all heads, as nn.MultiheadAttention gives them unless it is "
        "told otherwise. The output is right.",
        hint="Which shape should the weights have?",
        section="ch3-torch",
        edits=[("merge_heads(output)), weights", "merge_heads(output)), weights.mean(dim=1)")],
    ),
    Mistake(
        name="attention between heads",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="The axis of the heads stood behind that of the positions, so at every position the heads "
        "attended to one another. With T different from S that fails; in self-attention it runs.",
        hint="Which axis do the rows of a head's queries run over?",
        section="ch3-layout",
        edits=[
            (
                "split_heads(self.w_q(query), self.n_heads)",
                "split_heads(self.w_q(query), self.n_heads).transpose(1, 2)",
            ),
            (
                "split_heads(self.w_k(key), self.n_heads)",
                "split_heads(self.w_k(key), self.n_heads).transpose(1, 2)",
            ),
            (
                "split_heads(self.w_v(value), self.n_heads)",
                "split_heads(self.w_v(value), self.n_heads).transpose(1, 2)",
            ),
            ("merge_heads(output)", "output.flatten(2)"),
        ],
    ),
    Mistake(
        name="mask not passed on",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="These are the values without the mask.",
        hint="Does the attention get the mask?",
        section="ch3-mistake-mask",
        edits=[("            mask,\n", "            None,\n")],
    ),
    Mistake(
        name="mask inverted",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="The mask is the wrong way round: what may be attended to is hidden. In "
        "nn.MultiheadAttention True means hidden, in this course it means may attend.",
        hint="What does True in a mask mean here?",
        section="notation-mask",
        edits=[("            mask,\n", "            None if mask is None else ~mask,\n")],
    ),
    Mistake(
        name="mask after the softmax",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="The weights were multiplied by the mask when they were done, so their rows no longer sum "
        "to 1.",
        hint="What do the rows of your weights sum to?",
        section="ch3-mistake-mask",
        edits=[
            (
                "            mask,\n        )\n",
                "            None,\n        )\n"
                "        if mask is not None:\n"
                "            weights = weights * mask\n"
                "            output = weights @ split_heads(self.w_v(value), self.n_heads)  # again\n",
            ),
        ],
    ),
    Mistake(
        name="mask gets another axis",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="An axis for the heads was added to a mask that has one already. The shapes no longer fit, "
        "or they fit by accident.",
        hint="Which shapes may the mask have according to the task?",
        section="ch3-mistake-mask",
        edits=[
            ("            mask,\n", "            None if mask is None else mask.unsqueeze(1),\n")
        ],
    ),
    Mistake(
        name="every head gets the mask of head 0",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="All heads used the mask of the first one.",
        hint="May a mask differ from head to head?",
        section="ch3-mistake-mask",
        edits=[
            (
                "            mask,\n",
                "            mask[:, :1] if mask is not None and mask.dim() == 4 else mask,\n",
            )
        ],
    ),
    Mistake(
        name="mask repeated in the wrong order",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="The heads were folded into the batch, example by example, but the mask was repeated "
        "batch by batch. So an example met the mask of another one.",
        hint="In which order do examples and heads follow each other in the folded batch? What is "
        "the difference between repeat and repeat_interleave?",
        section="ch3-mistake-mask",
        edits=[
            (
                BEFORE,
                "B, T, H, S = *query.shape[:2], self.n_heads, key.shape[1]\n"
                "        if mask is not None:\n"
                "            mask = mask.expand(B, H, T, S).transpose(0, 1).reshape(B * H, T, S)\n"
                "        output, weights = self.attention(",
            ),
            (
                "split_heads(self.w_q(query), self.n_heads)",
                "split_heads(self.w_q(query), self.n_heads).flatten(0, 1)",
            ),
            (
                "split_heads(self.w_k(key), self.n_heads)",
                "split_heads(self.w_k(key), self.n_heads).flatten(0, 1)",
            ),
            (
                "split_heads(self.w_v(value), self.n_heads)",
                "split_heads(self.w_v(value), self.n_heads).flatten(0, 1)",
            ),
            (
                "            mask,\n        )\n",
                "            mask,\n        )\n"
                "        output = output.unflatten(0, (B, H))\n"
                "        weights = None if weights is None else weights.unflatten(0, (B, H))\n",
            ),
        ],
    ),
    Mistake(
        name="always with bias",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="The layers have a bias although `bias=False` was asked for.",
        hint="Where in your constructor does the argument bias occur?",
        section="ch3-heads",
        edits=[
            (
                "self.w_q = nn.Linear(d_model, d_model, bias=bias)",
                "self.w_q = nn.Linear(d_model, d_model)",
            ),
            (
                "self.w_k = nn.Linear(d_model, d_model, bias=bias)",
                "self.w_k = nn.Linear(d_model, d_model)",
            ),
            (
                "self.w_v = nn.Linear(d_model, d_model, bias=bias)",
                "self.w_v = nn.Linear(d_model, d_model)",
            ),
            (
                "self.w_o = nn.Linear(d_model, d_model, bias=bias)",
                "self.w_o = nn.Linear(d_model, d_model)",
            ),
        ],
    ),
    Mistake(
        name="w_o always with bias",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="The last layer has a bias although `bias=False` was asked for.",
        hint="Which of the four layers does bias=False concern?",
        section="ch3-heads",
        edits=[
            (
                "self.w_o = nn.Linear(d_model, d_model, bias=bias)",
                "self.w_o = nn.Linear(d_model, d_model)",
            )
        ],
    ),
    Mistake(
        name="mask ignored in self-attention",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="Where query and key are the same tensor, the mask has no influence. Self-attention needs its mask, too.",
        hint="Is there an `if` in your code that compares query and key?",
        section="ch3-mistake-mask",
        edits=[("            mask,\n", "            None if query is key else mask,\n")],
    ),
    Mistake(
        name="mask loses its axis for heads",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="A mask of shape (B, 1, T, S) was squeezed to (B, T, S). That lines the examples up with the heads.",
        hint="With which axis of the scores does the first axis of your mask line up?",
        section="ch3-mistake-mask",
        edits=[
            (
                "            mask,\n",
                "            mask.squeeze(1) if mask is not None and mask.dim() == 4 else mask,\n",
            )
        ],
    ),
    Mistake(
        name="query added to the output",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="The query was added to the output. Such a shortcut belongs around this layer, in chapter 6, not into it.",
        hint="What does the formula of the task end with?",
        section="ch3-heads",
        edits=[("self.w_o(merge_heads(output))", "query + self.w_o(merge_heads(output))")],
    ),
    Mistake(
        name="results exchanged",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="The two results come in the opposite order: first the weights, then the output.",
        hint="In which order does the docstring name the results?",
        section="ch3-heads",
        edits=[
            (
                "return self.w_o(merge_heads(output)), weights",
                "return weights, self.w_o(merge_heads(output))",
            )
        ],
    ),
    Mistake(
        name="weights not returned",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="Only the output is returned. The weights belong to the result.",
        hint="How many results does the docstring name?",
        section="ch3-heads",
        edits=[
            (
                "return self.w_o(merge_heads(output)), weights",
                "return self.w_o(merge_heads(output))",
            )
        ],
    ),
    Mistake(
        name="weights always None",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="The output is right, but None stands in place of the weights.",
        hint="What does your attention function give back beside the output?",
        section="ch3-heads",
        edits=[("merge_heads(output)), weights", "merge_heads(output)), None")],
    ),
    Mistake(
        name="layers as narrow as one head",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="The layers of queries, keys and values have the width of one head. All heads together need the whole width.",
        hint="How many numbers must `w_q` give for each position, so that every head gets its part?",
        section="ch3-heads",
        edits=[
            (
                "self.w_q = nn.Linear(d_model, d_model, bias=bias)",
                "self.w_q = nn.Linear(d_model, d_model // n_heads, bias=bias)",
            ),
            (
                "self.w_k = nn.Linear(d_model, d_model, bias=bias)",
                "self.w_k = nn.Linear(d_model, d_model // n_heads, bias=bias)",
            ),
            (
                "self.w_v = nn.Linear(d_model, d_model, bias=bias)",
                "self.w_v = nn.Linear(d_model, d_model // n_heads, bias=bias)",
            ),
        ],
    ),
    Mistake(
        name="heads not scaled",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="The scores of the heads are not divided by the root of their width.",
        hint="Which function scales the scores, and do you call it?",
        section="ch2-square-root",
        edits=[
            (
                "split_heads(self.w_q(query), self.n_heads)",
                "split_heads(self.w_q(query), self.n_heads) * (query.shape[-1] / self.n_heads) ** 0.5",
            )
        ],
    ),
    Mistake(
        name="attention argument ignored",
        function="MultiHeadAttention",
        cell="multi_head_edges",
        means="The layer always uses the attention of exercise 2, whichever function it was given.",
        hint="Which name do you call in forward: the function of the notebook or your attribute?",
        section="ch3-torch",
        edits=[("= self.attention(", "= attention(")],
    ),
    Mistake(
        name="crash without weights",
        function="MultiHeadAttention",
        cell="multi_head_edges",
        means="The layer works on the weights, and fails when the attention gives None.",
        hint="What does your last line do with weights that are None?",
        section="ch3-torch",
        edits=[("merge_heads(output)), weights", "merge_heads(output)), weights.contiguous()")],
    ),
    Mistake(
        name="sizes not checked",
        function="MultiHeadAttention",
        cell="multi_head_edges",
        means="A width that the heads do not divide is accepted. It fails much later, in forward, or a "
        "floor division drops some features.",
        hint="What is 10 // 3, and what is 10 % 3?",
        section="ch3-mistake-division",
        edits=[("if d_model % n_heads:", "if False:")],
    ),
    Mistake(
        name="assert in place of ValueError",
        function="MultiHeadAttention",
        cell="multi_head_edges",
        means="The constructor raises an AssertionError. The task asks for a ValueError: asserts "
        "vanish when Python runs with -O.",
        hint="Which statement raises an exception of a class that you choose?",
        section="ch3-mistake-division",
        edits=[
            ("if d_model % n_heads:", "assert d_model % n_heads == 0, ("),
            (
                'raise ValueError(f"n_heads={n_heads} does not divide d_model={d_model}")',
                '    f"n_heads={n_heads} does not divide d_model={d_model}")',
            ),
        ],
    ),
    Mistake(
        name="no gradient",
        function="MultiHeadAttention",
        cell="multi_head_edges",
        means="The values are right, but the attention was computed without a graph, so w_q, w_k and "
        "w_v could never learn.",
        hint="What do no_grad, detach and .data do to the way back?",
        section="ch3-heads",
        edits=[("merge_heads(output)", "merge_heads(output.detach())")],
    ),
    Mistake(
        name="dropout that nobody asked for",
        function="MultiHeadAttention",
        cell="multi_head_edges",
        means="In training mode something is dropped at random. This layer has no dropout.",
        hint="Where does the task speak of dropout?",
        section="ch3-heads",
        edits=[
            (
                "self.w_o(merge_heads(output))",
                "self.w_o(nn.functional.dropout(merge_heads(output), 0.1, self.training))",
            )
        ],
    ),
    Mistake(
        name="another exception than ValueError",
        function="MultiHeadAttention",
        cell="multi_head_edges",
        means="The constructor refuses the sizes, but with an exception of another class. Programs that catch ValueError would miss it.",
        hint="Which class does the task name?",
        section="ch3-mistake-division",
        edits=[("raise ValueError(", "raise Exception(")],
    ),
    Mistake(
        name="a message that names one number only",
        function="MultiHeadAttention",
        cell="multi_head_edges",
        means="The ValueError is raised, but its message names only one of the two numbers.",
        hint="Which two numbers would you want to read if somebody else's program raised this?",
        section="ch3-mistake-division",
        edits=[("does not divide d_model={d_model}", "does not divide the width")],
    ),
    Mistake(
        name="mask in evaluation mode only",
        function="MultiHeadAttention",
        cell="multi_head_edges",
        means="In training mode the mask is not passed on, so that the layer learns from what it should not see.",
        hint="Where does your code ask whether it is training?",
        section="ch3-mistake-mask",
        edits=[("            mask,\n", "            None if self.training else mask,\n")],
    ),
    Mistake(
        name="three axes of a mask taken for (B, T, S)",
        function="MultiHeadAttention",
        cell="multi_head_edges",
        means="A mask with three axes got a further one behind the first. But shapes are lined up from the right: its "
        "first axis is already that of the heads.",
        hint="To which axes of (B, H, T, S) does a mask of shape (H, T, S) belong?",
        section="ch3-mistake-mask",
        edits=[
            (
                "            mask,\n",
                "            mask if mask is None or mask.ndim == 4 else mask.unsqueeze(-3),\n",
            )
        ],
    ),
    Mistake(
        name="keys of the first call kept",
        function="MultiHeadAttention",
        cell="multi_head_edges",
        means="The layer remembers the keys of its first call and uses them again.",
        hint="What does your layer keep in `self` during `forward`?",
        section="ch3-heads",
        edits=[
            (
                "        output, weights = self.attention(",
                '        if not hasattr(self, "kept"):\n            self.kept = self.w_k(key)\n        output, weights = self.attention(',
            ),
            ("split_heads(self.w_k(key), self.n_heads)", "split_heads(self.kept, self.n_heads)"),
        ],
    ),
    Mistake(
        name="bias left out of w_o always",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="`w_o` never has a bias. With `bias=True` all four layers have one.",
        hint="Which of your four layers are given `bias`?",
        section="ch3-heads",
        edits=[
            (
                "self.w_o = nn.Linear(d_model, d_model, bias=bias)",
                "self.w_o = nn.Linear(d_model, d_model, bias=False)",
            )
        ],
    ),
    Mistake(
        name="no gradient through the weights",
        function="MultiHeadAttention",
        cell="multi_head_edges",
        means="The attention sees queries and keys without their history, so `w_q` and `w_k` learn nothing.",
        hint="Which of `detach`, `no_grad` or `.data` stands beside the queries and keys?",
        section="ch3-heads",
        edits=[
            (
                "split_heads(self.w_q(query), self.n_heads)",
                "split_heads(self.w_q(query), self.n_heads).detach()",
            ),
            (
                "split_heads(self.w_k(key), self.n_heads)",
                "split_heads(self.w_k(key), self.n_heads).detach()",
            ),
        ],
    ),
    Mistake(
        name="mask of the first call kept",
        function="MultiHeadAttention",
        cell="multi_head_edges",
        means="The layer keeps the mask of its first call and uses it again, whatever mask it is given.",
        hint="What does your layer keep in `self` during `forward`?",
        section="ch3-mistake-mask",
        edits=[
            (
                "        output, weights = self.attention(",
                '        if mask is not None and not hasattr(self, "mask"):\n            self.mask = mask\n        kept = getattr(self, "mask", None)\n        if kept is not None and kept.shape[-2:] == (query.shape[1], key.shape[1]):\n            mask = kept\n        output, weights = self.attention(',
            )
        ],
    ),
    Mistake(
        name="mask of an earlier call kept",
        function="MultiHeadAttention",
        cell="multi_head_edges",
        means="The layer keeps a mask and uses it in later calls that have none.",
        hint="What should a call without a mask do with a mask that came before?",
        section="ch3-mistake-mask",
        edits=[
            (
                "        output, weights = self.attention(",
                '        if mask is not None:\n            self.mask = mask\n        kept = getattr(self, "mask", None)\n        if kept is not None and kept.shape[-2:] == (query.shape[1], key.shape[1]):\n            mask = kept\n        output, weights = self.attention(',
            )
        ],
    ),
    Mistake(
        name="weights detached",
        function="MultiHeadAttention",
        cell="multi_head_edges",
        means="The weights are returned without their history. No gradient flows through them, and `None` has no `detach`.",
        hint="The task says: pass on what you get. What do you do with the weights?",
        section="ch3-heads",
        edits=[("merge_heads(output)), weights", "merge_heads(output)), weights.detach()")],
    ),
    Mistake(
        name="bias and attention exchanged among the arguments",
        function="MultiHeadAttention",
        cell="multi_head_edges",
        means="The constructor takes `bias` third and `attention` fourth. The task has them the other way round.",
        hint="Compare the first line of your `__init__` with the one that you were given.",
        section="ch3-heads",
        source="""
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, bias=True, attention=attention):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError(f"d_model {d_model} is not divisible by n_heads {n_heads}")
        self.n_heads = n_heads
        self.attention = attention
        self.w_q = nn.Linear(d_model, d_model, bias=bias)
        self.w_k = nn.Linear(d_model, d_model, bias=bias)
        self.w_v = nn.Linear(d_model, d_model, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.w_q(query), self.n_heads)
        k = split_heads(self.w_k(key), self.n_heads)
        v = split_heads(self.w_v(value), self.n_heads)
        output, weights = self.attention(q, k, v, mask)
        return self.w_o(merge_heads(output)), weights
""",
    ),
    Mistake(
        name="no w_o, and the mask not passed on",
        function="MultiHeadAttention",
        cell="multi_head_values",
        means="Two things are missing: the last layer `w_o`, and the mask, which never reaches the attention.",
        hint="Which of your layers and which of the arguments of `forward` have you not used?",
        section="ch3-heads",
        edits=[
            ("            mask,\n        )", "            None,\n        )"),
            ("self.w_o(merge_heads(output)), weights", "merge_heads(output), weights"),
        ],
    ),
    # to_torch -----------------------------------------------------------------------------------
    Mistake(
        name="batch_first forgotten",
        function="to_torch",
        cell="to_torch_values",
        means="Without batch_first=True the first axis is taken for the positions and the second for the "
        "batch. In self-attention that runs, and sentences attend to one another.",
        hint="Which axis comes first in your tensors, and which does PyTorch expect by default?",
        section="ch3-torch",
        edits=[("is not None, batch_first=True", "is not None, batch_first=False")],
    ),
    Mistake(
        name="queries and keys in the wrong order",
        function="to_torch",
        cell="to_torch_values",
        means="In yours, the blocks of in_proj_weight stand in the order keys, queries, values.",
        hint="In which order does PyTorch stack the three?",
        section="ch3-torch",
        edits=[("mha.w_q, mha.w_k, mha.w_v", "mha.w_k, mha.w_q, mha.w_v")],
    ),
    Mistake(
        name="keys and values in the wrong order",
        function="to_torch",
        cell="to_torch_values",
        means="In yours, the blocks of in_proj_weight stand in the order queries, values, keys.",
        hint="In which order does PyTorch stack the three?",
        section="ch3-torch",
        edits=[("mha.w_q, mha.w_k, mha.w_v", "mha.w_q, mha.w_v, mha.w_k")],
    ),
    Mistake(
        name="input weights transposed",
        function="to_torch",
        cell="to_torch_values",
        means="The weights of queries, keys and values were transposed. They are square, so nothing "
        "complains.",
        hint="Both nn.Linear and in_proj_weight keep a weight as (out, in).",
        section="ch3-torch",
        edits=[("torch.cat([layer.weight for", "torch.cat([layer.weight.T for")],
    ),
    Mistake(
        name="output weight transposed",
        function="to_torch",
        cell="to_torch_values",
        means="The weight of the last layer was transposed. It is square, so nothing complains.",
        hint="Both are of type nn.Linear. Is there anything to transpose?",
        section="ch3-torch",
        edits=[("copy_(mha.w_o.weight)", "copy_(mha.w_o.weight.T)")],
    ),
    Mistake(
        name="output layer not copied",
        function="to_torch",
        cell="to_torch_values",
        means="The last layer kept the random weights that it was born with.",
        hint="Compare the outputs of your result twice: make it twice, then call both.",
        section="ch3-torch",
        edits=[
            ("theirs.out_proj.weight.copy_(mha.w_o.weight)", "pass"),
            ("theirs.out_proj.bias.copy_(mha.w_o.bias)", "pass"),
        ],
    ),
    Mistake(
        name="biases not copied",
        function="to_torch",
        cell="to_torch_values",
        means="The biases were left at zero.",
        hint="How many parameters does your layer have, and how many did you copy?",
        section="ch3-torch",
        edits=[("if bias is not None:", "if False:")],
    ),
    Mistake(
        name="bias of the output not copied",
        function="to_torch",
        cell="to_torch_values",
        means="The bias of the last layer was left at zero.",
        hint="How many parameters does your layer have, and how many did you copy?",
        section="ch3-torch",
        edits=[("theirs.out_proj.bias.copy_(mha.w_o.bias)", "pass")],
    ),
    Mistake(
        name="wrong data type",
        function="to_torch",
        cell="to_torch_values",
        means="The new layer has the default data type, float32, and refuses float64.",
        hint="Which data type do your own weights have? nn.MultiheadAttention has an argument for it.",
        section="ch3-torch",
        edits=[(", dtype=weight.dtype", "")],
    ),
    Mistake(
        name="a single head in PyTorch",
        function="to_torch",
        cell="to_torch_values",
        means="The new layer has one head.",
        hint="Can you see the number of heads in the shapes of the parameters?",
        section="ch3-torch",
        edits=[("mha.n_heads", "1")],
    ),
    Mistake(
        name="weights of keys and values exchanged",
        function="to_torch",
        cell="to_torch_values",
        means="The biases stand in the right order, but the weights of keys and values are exchanged.",
        hint="Which three matrices stand in `in_proj_weight`, from top to bottom?",
        section="ch3-torch",
        edits=[
            (
                "torch.cat([layer.weight for layer in projections])",
                "torch.cat([layer.weight for layer in (mha.w_q, mha.w_v, mha.w_k)])",
            )
        ],
    ),
    Mistake(
        name="numbers shared with your layer",
        function="to_torch",
        cell="to_torch_values",
        means="PyTorch's layer uses the very parameters of yours. If one changes, so does the other.",
        hint="What does `copy_` do that an assignment doesn't?",
        section="ch3-torch",
        edits=[
            (
                "theirs.out_proj.weight.copy_(mha.w_o.weight)",
                "theirs.out_proj.weight = mha.w_o.weight",
            )
        ],
    ),
    Mistake(
        name="weights side by side",
        function="to_torch",
        cell="to_torch_values",
        means="The three matrices were joined side by side. `in_proj_weight` has them one below the other.",
        hint="Which axis of the weight must grow from D to 3 D?",
        section="ch3-torch",
        edits=[
            (
                "torch.cat([layer.weight for layer in projections])",
                "torch.cat([layer.weight for layer in projections], dim=1)",
            )
        ],
    ),
    Mistake(
        name="biases of the projections not copied",
        function="to_torch",
        cell="to_torch_values",
        means="The weights and the bias of the output are right, but `in_proj_bias` still has the values it was made with.",
        hint="How many biases does your layer have, and how many do you copy?",
        section="ch3-torch",
        edits=[
            ("theirs.in_proj_bias.copy_(torch.cat([layer.bias for layer in projections]))", "pass")
        ],
    ),
    Mistake(
        name="your layer returned",
        function="to_torch",
        cell="to_torch_values",
        means="This is a layer of your own class and not PyTorch's.",
        hint="Which class does the signature promise?",
        section="ch3-torch",
        source="""
def to_torch(mha):
    return mha
""",
    ),
    Mistake(
        name="weight of w_o in place of w_v",
        function="to_torch",
        cell="to_torch_values",
        means="The weight of `w_o` stands in the last third of `in_proj_weight`, where that of `w_v` belongs.",
        hint="Which three layers come before the attention?",
        section="ch3-torch",
        edits=[
            ("projections = mha.w_q, mha.w_k, mha.w_v", "projections = mha.w_q, mha.w_k, mha.w_o")
        ],
    ),
    Mistake(
        name="always float64",
        function="to_torch",
        cell="to_torch_values",
        means="PyTorch's layer is always float64. A layer in float32 should become one in float32.",
        hint="Which data type do the weights of the layer have?",
        section="ch3-torch",
        edits=[("dtype=weight.dtype", "dtype=torch.float64")],
    ),
    Mistake(
        name="your layer switched to evaluation mode",
        function="to_torch",
        cell="to_torch_values",
        means="The numbers are right, but the layer that was passed in is in evaluation mode afterwards.",
        hint="Which call of yours changes the mode, and of whose layer?",
        section="ch3-torch",
        edits=[
            (
                "    weight, bias = mha.w_q.weight, mha.w_q.bias",
                "    mha.eval()\n    weight, bias = mha.w_q.weight, mha.w_q.bias",
            )
        ],
    ),
    Mistake(
        name="your layer frozen",
        function="to_torch",
        cell="to_torch_values",
        means="The numbers are right, but the parameters of the layer that was passed in no longer take gradients.",
        hint="Which call of yours changes `requires_grad`, and of whose parameters?",
        section="ch3-torch",
        edits=[
            (
                "    weight, bias = mha.w_q.weight, mha.w_q.bias",
                "    mha.requires_grad_(False)\n    weight, bias = mha.w_q.weight, mha.w_q.bias",
            )
        ],
    ),
    Mistake(
        name="all weights transposed",
        function="to_torch",
        cell="to_torch_values",
        means="All four weights were transposed. They are square, so nothing complains.",
        hint="Both nn.Linear and PyTorch's layer keep a weight as (out, in). What must be turned round?",
        section="ch3-torch",
        edits=[
            ("torch.cat([layer.weight for", "torch.cat([layer.weight.T for"),
            ("copy_(mha.w_o.weight)", "copy_(mha.w_o.weight.T)"),
        ],
    ),
    # count_parameters ---------------------------------------------------------------------------
    Mistake(
        name="w_o not counted",
        function="count_parameters",
        cell="count_parameters_values",
        means="Only the layers in front of the attention were counted.",
        hint="How many linear layers are there?",
        section="ch3-cost",
        source="""
def count_parameters(d_model, n_heads, bias):
    return 3 * (d_model + bias) * d_model
""",
    ),
    Mistake(
        name="biases not counted",
        function="count_parameters",
        cell="count_parameters_values",
        means="The biases are missing.",
        hint="How many numbers does nn.Linear(4, 4) learn?",
        section="ch3-cost",
        source="""
def count_parameters(d_model, n_heads, bias):
    return 4 * d_model * d_model
""",
    ),
    Mistake(
        name="biases always counted",
        function="count_parameters",
        cell="count_parameters_values",
        means="Biases were counted although `bias` is False.",
        hint="Where in your function does the argument bias occur?",
        section="ch3-cost",
        source="""
def count_parameters(d_model, n_heads, bias):
    return 4 * (d_model + 1) * d_model
""",
    ),
    Mistake(
        name="every head as wide as the model",
        function="count_parameters",
        cell="count_parameters_values",
        means="Each head was given layers of the full width D. A head has the width D / H.",
        hint="Into how many parts is one vector of width D split?",
        section="ch3-cost",
        source="""
def count_parameters(d_model, n_heads, bias):
    return 4 * (d_model + bias) * d_model * n_heads
""",
    ),
    Mistake(
        name="only one head counted",
        function="count_parameters",
        cell="count_parameters_values",
        means="These are the parameters that belong to a single head.",
        hint="How many heads are there?",
        section="ch3-cost",
        edits=[("n_heads * (into_head", "(into_head")],
    ),
    Mistake(
        name="bias of w_o forgotten",
        function="count_parameters",
        cell="count_parameters_values",
        means="The bias of the last layer is missing.",
        hint="How many of the four layers have a bias?",
        section="ch3-cost",
        edits=[(" + bias * d_model", "")],
    ),
    Mistake(
        name="bias of w_o in every head",
        function="count_parameters",
        cell="count_parameters_values",
        means="The bias of the last layer was counted once for every head. It belongs to all of them "
        "together.",
        hint="Over how many heads is the sum in front of that bias?",
        section="ch3-cost",
        edits=[(" + bias * d_model", " + n_heads * bias * d_model")],
    ),
    Mistake(
        name="one layer counted",
        function="count_parameters",
        cell="count_parameters_values",
        means="One layer was counted. There are four of the same size.",
        hint="Which four layers does the module have?",
        section="ch3-cost",
        source="""
def count_parameters(d_model, n_heads, bias):
    return d_model * (d_model + bias)
""",
    ),
    Mistake(
        name="one bias for each layer",
        function="count_parameters",
        cell="count_parameters_values",
        means="Each layer was given a single bias. It has one for each of its outputs.",
        hint="What is the shape of the bias of `nn.Linear(8, 8)`?",
        section="ch3-cost",
        source="""
def count_parameters(d_model, n_heads, bias):
    return 4 * (d_model * d_model + bias)
""",
    ),
    Mistake(
        name="biases of a single head",
        function="count_parameters",
        cell="count_parameters_values",
        means="The weights of all heads were counted, but the biases of one head only.",
        hint="What is the shape of the bias of `w_q`?",
        section="ch3-cost",
        source="""
def count_parameters(d_model, n_heads, bias):
    weights = 4 * d_model**2
    return weights + bias * (3 * (d_model // n_heads) + d_model)
""",
    ),
    Mistake(
        name="five layers counted",
        function="count_parameters",
        cell="count_parameters_values",
        means="One layer too many was counted. The layer has `w_q`, `w_k`, `w_v` and `w_o`.",
        hint="How many linear layers does your constructor make?",
        section="ch3-cost",
        source="""
def count_parameters(d_model, n_heads, bias):
    return 5 * d_model * (d_model + bias)
""",
    ),
    Mistake(
        name="weights counted for every head",
        function="count_parameters",
        cell="count_parameters_values",
        means="Every head was given three whole layers of its own, but `w_o` was counted once.",
        hint="How wide is what one head gets: D or D / H?",
        section="ch3-cost",
        source="""
def count_parameters(d_model, n_heads, bias):
    return n_heads * 3 * d_model * (d_model + bias) + d_model * (d_model + bias)
""",
    ),
    Mistake(
        name="nothing counted without biases",
        function="count_parameters",
        cell="count_parameters_values",
        means="Without biases the result is 0. `a + b if bias else 0` means `(a + b) if bias else 0`.",
        hint="Where would parentheses keep the 0 to the biases?",
        section="ch3-cost",
        source="""
def count_parameters(d_model, n_heads, bias):
    return 4 * d_model * d_model + 4 * d_model if bias else 0
""",
    ),
    # head_contribution --------------------------------------------------------------------------
    Mistake(
        name="rows of w_o in place of columns",
        function="head_contribution",
        cell="head_contribution_values",
        means="The part of w_o was cut along its outputs. With (d, D) its shape even fits.",
        hint="nn.Linear keeps (out, in). Along which of the two do the heads stand side by side?",
        section="ch3-sum",
        edits=[
            (
                "mha.w_o.weight[:, head * d_head : (head + 1) * d_head]",
                "mha.w_o.weight[head * d_head : (head + 1) * d_head]",
            ),
            ("@ part.T", "@ part"),
        ],
    ),
    Mistake(
        name="bias of w_o added",
        function="head_contribution",
        cell="head_contribution_values",
        means="The bias of the last layer is part of the result. With H heads it would be added H times.",
        hint="What do the terms of all heads sum to?",
        section="ch3-sum",
        edits=[("@ part.T", "@ part.T + (0 if mha.w_o.bias is None else mha.w_o.bias)")],
    ),
    Mistake(
        name="output without the head",
        function="head_contribution",
        cell="head_contribution_values",
        means="This is what is left when the head is removed. The task asks for what the head adds.",
        hint="If all heads' terms add up to the output, how large should one of them be?",
        section="ch3-sum",
        edits=[
            (
                "return outputs[:, head] @ part.T",
                "return mha(query, key, value, mask)[0] - outputs[:, head] @ part.T",
            )
        ],
    ),
    Mistake(
        name="interleaved part of w_o",
        function="head_contribution",
        cell="head_contribution_values",
        means="Every H-th column of w_o was taken. The columns of a head stand next to each other.",
        hint="Which entries of a merged vector come from head 0?",
        section="ch3-sum",
        edits=[("head * d_head : (head + 1) * d_head", "head :: mha.n_heads")],
    ),
    Mistake(
        name="part of head 0 for every head",
        function="head_contribution",
        cell="head_contribution_values",
        means="The result of the right head met the part of w_o that belongs to head 0.",
        hint="Where does head number `head` begin in the merged vector?",
        section="ch3-sum",
        edits=[("head * d_head : (head + 1) * d_head", ":d_head")],
    ),
    Mistake(
        name="head without w_o",
        function="head_contribution",
        cell="head_contribution_values",
        means="This is the head's result before the last layer.",
        hint="How wide is the term that a head adds to the output?",
        section="ch3-sum",
        edits=[("outputs[:, head] @ part.T", "outputs[:, head]")],
    ),
    Mistake(
        name="head without its mask",
        function="head_contribution",
        cell="head_contribution_values",
        means="The mask was not passed on to the attention.",
        hint="Do the terms of all heads still add up to the layer's output when there is a mask?",
        section="ch3-sum",
        edits=[("        mask,\n    )", "        None,\n    )")],
    ),
    Mistake(
        name="mask of head 0 for every head",
        function="head_contribution",
        cell="head_contribution_values",
        means="The head that was asked for saw the part of the mask that belongs to head 0.",
        hint="If you take one head out before the attention, which part of the mask goes with it?",
        section="ch3-sum",
        edits=[
            (
                "        mask,\n    )",
                "        mask if mask is None else mask[..., :1, :, :],\n    )",
            )
        ],
    ),
    Mistake(
        name="share of the bias added",
        function="head_contribution",
        cell="head_contribution_values",
        means="A share of the bias of `w_o` was added to the term. The task adds the bias once, outside of all terms.",
        hint="What do your terms and the bias add up to?",
        section="ch3-sum",
        edits=[
            ("@ part.T", "@ part.T + (0 if mha.w_o.bias is None else mha.w_o.bias / mha.n_heads)")
        ],
    ),
    Mistake(
        name="heads counted from 1",
        function="head_contribution",
        cell="head_contribution_values",
        means="This is the term of the head before. Heads are counted from 0.",
        hint="Which columns of `w_o` belong to head 0?",
        section="ch3-sum",
        edits=[
            ("        mask,\n    )\n", "        mask,\n    )\n    head = head - 1\n"),
            (
                "head * d_head : (head + 1) * d_head",
                "(head % mha.n_heads) * d_head : (head % mha.n_heads + 1) * d_head",
            ),
        ],
    ),
    Mistake(
        name="all heads together",
        function="head_contribution",
        cell="head_contribution_values",
        means="These are the terms of all heads together. One is asked for.",
        hint="Where does the argument `head` come into your code?",
        section="ch3-sum",
        edits=[("outputs[:, head] @ part.T", "merge_heads(outputs) @ mha.w_o.weight.T")],
    ),
    Mistake(
        name="weight of w_o not transposed",
        function="head_contribution",
        cell="head_contribution_values",
        means="The head was multiplied by its part of the weight as it stands. `nn.Linear` keeps its weight as (out, in).",
        hint="Which shape does the part have, and which shape does the product need?",
        section="ch3-sum",
        edits=[("@ part.T", "@ part")],
    ),
    Mistake(
        name="other columns of w_o set to 0 in your layer",
        function="head_contribution",
        cell="head_contribution_values",
        means="The term is right once, but the layer is damaged afterwards: its weights were set to 0 in place.",
        hint="On whose tensor do you write?",
        section="ch3-pruning",
        source="""
def head_contribution(mha, query, key, value, head, mask=None):
    d_head = mha.w_o.in_features // mha.n_heads
    for other in range(mha.n_heads):
        if other != head:
            mha.w_o.weight.data[:, other * d_head : (other + 1) * d_head] = 0
    output, _ = mha(query, key, value, mask)
    return output if mha.w_o.bias is None else output - mha.w_o.bias
""",
    ),
    Mistake(
        name="no gradient through the term",
        function="head_contribution",
        cell="head_contribution_values",
        means="The values are right, but no gradient flows through the term.",
        hint="Which of `detach`, `no_grad` or `.data` is on the way from the inputs to the result?",
        section="ch3-sum",
        edits=[("return outputs[:, head]", "return outputs[:, head].detach()")],
    ),
    Mistake(
        name="your layer frozen for its head",
        function="head_contribution",
        cell="head_contribution_values",
        means="The term is right, but the parameters of the layer no longer take gradients.",
        hint="Which call of yours changes `requires_grad`?",
        section="ch3-sum",
        edits=[
            (
                "    outputs, _ = mha.attention(",
                "    mha.requires_grad_(False)\n    outputs, _ = mha.attention(",
            )
        ],
    ),
    Mistake(
        name="your layer switched to evaluation mode for its head",
        function="head_contribution",
        cell="head_contribution_values",
        means="The term is right, but the layer is in evaluation mode afterwards.",
        hint="Which call of yours changes the mode of the layer?",
        section="ch3-sum",
        edits=[
            ("    outputs, _ = mha.attention(", "    mha.eval()\n    outputs, _ = mha.attention(")
        ],
    ),
    # grouped_query_attention --------------------------------------------------------------------
    Mistake(
        name="groups in turn",
        function="grouped_query_attention",
        cell="grouped_query_values",
        means="Head h uses group h % G: the groups follow each other in turn. Heads that share a group "
        "should be neighbours.",
        hint="What is the difference between repeat and repeat_interleave?",
        section="ch3-grouped",
        edits=[
            ("key.repeat_interleave(share, dim=1)", "key.repeat(1, share, 1, 1)"),
            ("value.repeat_interleave(share, dim=1)", "value.repeat(1, share, 1, 1)"),
        ],
    ),
    Mistake(
        name="values in another order than keys",
        function="grouped_query_attention",
        cell="grouped_query_values",
        means="The weights are right, but a head's values come from another group than its keys.",
        hint="Do keys and values go through the same steps?",
        section="ch3-grouped",
        edits=[("value.repeat_interleave(share, dim=1)", "value.repeat(1, share, 1, 1)")],
    ),
    Mistake(
        name="group 0 for every head",
        function="grouped_query_attention",
        cell="grouped_query_values",
        means="All heads use the keys and values of group 0, as if there were one group.",
        hint="Which group should the last head use?",
        section="ch3-grouped",
        edits=[
            ("key.repeat_interleave(share, dim=1)", "key[:, :1]"),
            ("value.repeat_interleave(share, dim=1)", "value[:, :1]"),
        ],
    ),
    Mistake(
        name="group h // G",
        function="grouped_query_attention",
        cell="grouped_query_values",
        means="The number of a head was divided by the number of groups. A group has H / G heads, so divide by that.",
        hint="With six heads and three groups, which heads share group 0?",
        section="ch3-grouped",
        edits=[
            (
                "key.repeat_interleave(share, dim=1)",
                "key[:, [h // n_groups for h in range(n_heads)]]",
            ),
            (
                "value.repeat_interleave(share, dim=1)",
                "value[:, [h // n_groups for h in range(n_heads)]]",
            ),
        ],
    ),
    Mistake(
        name="groups not shared out",
        function="grouped_query_attention",
        cell="grouped_query_values",
        means="Keys or values of G groups met queries of H heads. That works for G = H and G = 1 alone.",
        hint="How many keys does the attention need along the axis of the heads?",
        section="ch3-grouped",
        edits=[
            ("    key = key.repeat_interleave(share, dim=1)\n", ""),
            ("    value = value.repeat_interleave(share, dim=1)\n", ""),
        ],
    ),
    Mistake(
        name="queries averaged within a group",
        function="grouped_query_attention",
        cell="grouped_query_values",
        means="The queries of a group were averaged. Each head keeps its own query; only keys and values are shared.",
        hint="How many heads should the output have?",
        section="ch3-grouped",
        edits=[
            (
                "    key = key.repeat_interleave(share, dim=1)\n",
                "    query = query.unflatten(1, (n_groups, share)).mean(dim=2)\n",
            ),
            ("    value = value.repeat_interleave(share, dim=1)\n", ""),
        ],
    ),
    Mistake(
        name="grouped keys and values exchanged",
        function="grouped_query_attention",
        cell="grouped_query_values",
        means="The values were compared with the queries, and the keys were averaged.",
        hint="In which order does the attention take its arguments?",
        section="ch3-mistake-arguments",
        edits=[("attention(query, key, value, mask)", "attention(query, value, key, mask)")],
    ),
    Mistake(
        name="number of groups not checked",
        function="grouped_query_attention",
        cell="grouped_query_groups",
        means="A number of groups that does not divide the heads raises no ValueError.",
        hint="What should happen with 5 heads and 2 groups?",
        section="ch3-grouped",
        edits=[("if n_heads % n_groups:", "if False:")],
    ),
    Mistake(
        name="assert for the number of groups",
        function="grouped_query_attention",
        cell="grouped_query_groups",
        means="An assert raises an AssertionError, and `python -O` switches it off.",
        hint="Which exception does the task name?",
        section="ch3-mistake-division",
        edits=[
            ("if n_heads % n_groups:", "assert n_heads % n_groups == 0, ("),
            (
                'raise ValueError(f"{n_groups} groups do not divide {n_heads} heads")',
                '    f"{n_groups} groups do not divide {n_heads} heads"\n    )',
            ),
        ],
    ),
    Mistake(
        name="grouped heads without gradient",
        function="grouped_query_attention",
        cell="grouped_query_groups",
        means="The values are right, but keys and values receive no gradient.",
        hint="Which of `detach`, `no_grad`, `.data` or `torch.tensor` is on the way to the results?",
        section="ch3-grouped",
        edits=[
            ("key.repeat_interleave(share, dim=1)", "key.detach().repeat_interleave(share, dim=1)"),
            (
                "value.repeat_interleave(share, dim=1)",
                "value.detach().repeat_interleave(share, dim=1)",
            ),
        ],
    ),
    Mistake(
        name="grouped heads without the mask",
        function="grouped_query_attention",
        cell="grouped_query_values",
        means="These are the values without the mask.",
        hint="Does the attention get the mask?",
        section="ch3-mistake-mask",
        edits=[("value, mask)", "value)")],
    ),
    Mistake(
        name="grouped heads, mask inverted",
        function="grouped_query_attention",
        cell="grouped_query_values",
        means="The mask is the wrong way round: what may be attended to is hidden.",
        hint="What does True in a mask mean here?",
        section="notation-mask",
        edits=[("value, mask)", "value, None if mask is None else ~mask)")],
    ),
    Mistake(
        name="grouped heads not scaled",
        function="grouped_query_attention",
        cell="grouped_query_values",
        means="The scores were not divided by the square root of d.",
        hint="What stands below the fraction line in the formula of attention?",
        section="ch2-square-root",
        edits=[("attention(query, key", "attention(query * query.shape[-1] ** 0.5, key")],
    ),
    Mistake(
        name="grouped heads scaled by the whole width",
        function="grouped_query_attention",
        cell="grouped_query_values",
        means="The scores were divided by the square root of H times d.",
        hint="A score of one head is a sum of how many products?",
        section="ch2-square-root",
        edits=[("attention(query, key", "attention(query / n_heads**0.5, key")],
    ),
    *(
        Mistake(
            name=f"grouped heads, {name}",
            function="grouped_query_attention",
            cell="grouped_query_values",
            means=means,
            hint=hint,
            section=section,
            edits=[
                (
                    "return attention(query, key, value, mask)",
                    "scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5\n"
                    "    if mask is not None:\n"
                    f"        scores = {fill}\n"
                    f"    weights = torch.softmax(scores, dim={dim})\n"
                    "    if mask is not None:\n"
                    f"        weights = {after}\n"
                    "    return weights @ value, weights",
                )
            ],
        )
        for name, fill, dim, after, means, hint, section in [
            (
                "softmax over the heads",
                "scores.masked_fill(~mask, torch.finfo(scores.dtype).min)",
                1,
                "weights * mask",
                "The weights of all heads together sum to 1 for each pair of positions, not those of a "
                "query over its keys.",
                "Along which axis do the weights of one query lie?",
                "ch2-softmax",
            ),
            (
                "softmax over the queries",
                "scores.masked_fill(~mask, torch.finfo(scores.dtype).min)",
                -2,
                "weights * mask",
                "These are the weights when the softmax runs over the queries (axis -2).",
                "Along which axis do the weights of one query lie?",
                "ch2-softmax",
            ),
            (
                "mask after the softmax",
                "scores",
                -1,
                "weights * mask",
                "The weights were multiplied by the mask when they were done, so their rows no longer "
                "sum to 1.",
                "What do the rows of your weights sum to?",
                "ch3-mistake-mask",
            ),
            (
                "masked scores set to 0",
                "scores * mask",
                -1,
                "weights",
                "Masked scores were set to 0. A score of 0 is a score like any other: its weight is not 0.",
                "Which score has an exponential of 0?",
                "ch3-mistake-mask",
            ),
            (
                "masked scores set to -10",
                "scores.masked_fill(~mask, -10.0)",
                -1,
                "weights",
                "Masked scores were set to -10. That is no barrier when the other scores are large.",
                "How small does a score have to be to lose against every other?",
                "ch3-mistake-mask",
            ),
            (
                "NaN where nothing may be attended to",
                'scores.masked_fill(~mask, float("-inf"))',
                -1,
                "weights",
                "A query that may attend to nothing has NaN here: its row holds nothing but minus infinity.",
                "What is 0 divided by 0? And what does this course want there?",
                "notation-empty",
            ),
            (
                "average where nothing may be attended to",
                "scores.masked_fill(~mask, torch.finfo(scores.dtype).min)",
                -1,
                "weights",
                "A query that may attend to nothing has equal weights here.",
                "If all scores of a row are the same, however negative, what does the softmax make of them?",
                "notation-empty",
            ),
        ]
    ),
    Mistake(
        name="one weight matrix for each group",
        function="grouped_query_attention",
        cell="grouped_query_values",
        means="The weights were averaged over the heads of a group. Each head has weights of its own.",
        hint="How many heads should your weights have: H or G?",
        section="ch3-grouped",
        edits=[
            (
                "    return attention(query, key, value, mask)",
                "    output, weights = attention(query, key, value, mask)\n    return output, weights.unflatten(1, (n_groups, share)).mean(2)",
            )
        ],
    ),
    Mistake(
        name="heads folded, but not their mask",
        function="grouped_query_attention",
        cell="grouped_query_values",
        means="The heads of a group were laid behind each other. A mask for all heads has not as many rows.",
        hint="Which shape do your scores have when the mask meets them?",
        section="ch3-grouped",
        source="""
def grouped_query_attention(query, key, value, mask=None):
    B, H, T, d = query.shape
    G, S = key.shape[1], key.shape[2]
    if H % G != 0:
        raise ValueError(f"H={H} is no multiple of G={G}")
    share = H // G
    folded = query.reshape(B, G, share * T, d)
    if mask is not None and mask.dim() == 4 and mask.shape[1] == H:
        mask = mask.expand(B, H, T, S).reshape(B, G, share * T, S)
    output, weights = attention(folded, key, value, mask)
    return output.reshape(B, H, T, -1), weights.reshape(B, H, T, S)
""",
    ),
]

ALTERNATIVES = [
    Alternative(
        name="einsum, unflatten and flatten",
        cost=(
            "One axis is split or joined, and the others needn't be written down. `flatten` copies "
            "where the memory is in another order, and one does not see it."
        ),
        source="""
def split_heads(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).movedim(-2, 1)


def merge_heads(x):
    return x.movedim(1, 2).flatten(2)


def count_parameters(d_model, n_heads, bias):
    return 4 * d_model * (d_model + int(bias))


def head_contribution(mha, query, key, value, head, mask=None):
    q, k, v = (
        split_heads(layer(x), mha.n_heads)
        for layer, x in ((mha.w_q, query), (mha.w_k, key), (mha.w_v, value))
    )
    output = mha.attention(q, k, v, mask)[0][:, head]
    columns = mha.w_o.weight.unflatten(1, (mha.n_heads, -1))[:, head]
    return torch.einsum("btd,od->bto", output, columns)


def grouped_query_attention(query, key, value, mask=None):
    B, H, T, d = query.shape
    G, S = key.shape[1:3]
    if H % G != 0:
        raise ValueError(f"H={H}, G={G}")
    scores = torch.einsum("bgrtd,bgsd->bgrts", query.reshape(B, G, H // G, T, d), key)
    scores = scores.reshape(B, H, T, S) / d**0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e300)
    weights = scores.softmax(-1)
    if mask is not None:
        weights = weights * mask
    output = torch.einsum("bgrts,bgsd->bgrtd", weights.reshape(B, G, H // G, T, S), value)
    return output.reshape(B, H, T, d), weights
""",
    ),
    Alternative(
        name="chunks, a loop over heads",
        cost=(
            "It says what a head is: a piece of the features. `stack` and `cat` copy "
            "everything, where `view` and `transpose` copy nothing."
        ),
        source="""
def split_heads(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1), dim=1)


def merge_heads(x):
    return torch.cat(x.unbind(dim=1), dim=-1)


def count_parameters(d_model, n_heads, bias):
    per_layer = d_model**2
    if bias:
        per_layer += d_model
    return 4 * per_layer


def grouped_query_attention(query, key, value, mask=None):
    H, G = query.shape[1], key.shape[1]
    if H % G:
        raise ValueError("the groups do not divide the heads")
    if mask is not None:
        mask = mask.expand(*query.shape[:3], key.shape[2])
    found = [
        attention(
            query[:, h],
            key[:, h // (H // G)],
            value[:, h // (H // G)],
            None if mask is None else mask[:, h],
        )
        for h in range(H)
    ]
    outputs, weights = zip(*found)
    return torch.stack(outputs, dim=1), torch.stack(weights, dim=1)
""",
    ),
    Alternative(
        name="heads folded into the batch",
        cost=(
            "The attention function needs no axis for heads at all. The mask has to be copied "
            "for every head, in the right order, which is the usual place for a mistake."
        ),
        source="""
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, attention=attention, bias=True):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError(f"{d_model} cannot be split into {n_heads} heads")
        self.attention = attention
        self.n_heads = n_heads
        self.w_o = nn.Linear(d_model, d_model, bias)
        self.w_v = nn.Linear(d_model, d_model, bias)
        self.w_k = nn.Linear(d_model, d_model, bias)
        self.w_q = nn.Linear(d_model, d_model, bias)

    def fold(self, x):
        B, T, D = x.shape
        x = x.view(B, T, self.n_heads, D // self.n_heads).permute(0, 2, 1, 3)
        return x.reshape(B * self.n_heads, T, D // self.n_heads)

    def forward(self, query, key, value, mask=None):
        B, T, D = query.shape
        S, H = key.size(1), self.n_heads
        if mask is not None:
            mask = torch.broadcast_to(mask, (B, H, T, S)).reshape(B * H, T, S)
        q, k, v = self.fold(self.w_q(query)), self.fold(self.w_k(key)), self.fold(self.w_v(value))
        output, weights = self.attention(q, k, v, mask)
        output = output.view(B, H, T, D // H).transpose(1, 2).contiguous().view(B, T, D)
        if weights is not None:
            weights = weights.view(B, H, T, S)
        return self.w_o(output), weights
""",
    ),
    Alternative(
        name="one head after the other",
        cost=(
            "The easiest to debug: one head can be looked at. There are H small products in "
            "place of one large one, which a GPU computes far below its speed."
        ),
        source="""
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, attention=attention, bias=True):
        super().__init__()
        self.d_head, rest = divmod(d_model, n_heads)
        if rest:
            raise ValueError("%d %% %d is not 0" % (d_model, n_heads))
        self.n_heads, self.attention = n_heads, attention
        for name in ("w_q", "w_k", "w_v", "w_o"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=bias))

    def forward(self, query, key, value, mask=None):
        q, k, v = self.w_q(query), self.w_k(key), self.w_v(value)
        if mask is not None:
            mask = mask.expand(len(q), self.n_heads, q.shape[1], k.shape[1])
        outputs, all_weights = [], []
        for h in range(self.n_heads):
            part = slice(h * self.d_head, (h + 1) * self.d_head)
            one_mask = None if mask is None else mask[:, h : h + 1]
            output, weights = self.attention(
                q[:, None, :, part], k[:, None, :, part], v[:, None, :, part], one_mask
            )
            outputs.append(output[:, 0])
            all_weights.append(weights)
        if all_weights[0] is None:
            all_weights = None
        else:
            all_weights = torch.cat(all_weights, dim=1)
        return self.w_o(torch.cat(outputs, dim=-1)), all_weights


def head_contribution(mha, query, key, value, head, mask=None):
    with_all, _ = mha(query, key, value, mask)
    weight, d_head = mha.w_o.weight, mha.w_o.in_features // mha.n_heads
    without = weight.detach().clone()
    without[:, head * d_head : (head + 1) * d_head] = 0
    parameters = dict(mha.named_parameters()) | {"w_o.weight": without}
    rest, _ = torch.func.functional_call(mha, parameters, (query, key, value, mask))
    return with_all - rest
""",
    ),
    Alternative(
        name="a sum over heads",
        cost=(
            "It shows that the heads' results are added, each through its own columns of W_O. "
            "Projections by `einsum` save the two reshapes, and the code is harder to read."
        ),
        source="""
from torch.nn import functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, attention=attention, bias=True):
        super().__init__()
        if d_model % n_heads > 0:
            raise ValueError(f"d_model {d_model}, n_heads {n_heads}")
        self.n_heads = n_heads
        self.attention = attention
        self.w_q, self.w_k, self.w_v, self.w_o = (
            nn.Linear(d_model, d_model, bias=bias) for _ in range(4)
        )

    def project(self, x, layer):
        weights = layer.weight.unflatten(0, (self.n_heads, -1))
        heads = torch.einsum("btd,hed->bhte", x, weights)
        if layer.bias is not None:
            heads = heads + layer.bias.view(self.n_heads, 1, -1)
        return heads

    def forward(self, query, key, value, mask=None):
        heads, weights = self.attention(
            query=self.project(query, self.w_q),
            key=self.project(key, self.w_k),
            value=self.project(value, self.w_v),
            mask=mask,
        )
        output = torch.einsum(
            "bhte,ohe->bto", heads, self.w_o.weight.unflatten(1, (self.n_heads, -1))
        )
        return output if self.w_o.bias is None else output + self.w_o.bias, weights


def head_contribution(mha, query, key, value, head, mask=None):
    d_head = mha.w_o.in_features // mha.n_heads
    rows = slice(head * d_head, (head + 1) * d_head)

    def project(x, layer):
        bias = None if layer.bias is None else layer.bias[rows]
        return F.linear(x, layer.weight[rows], bias)

    if mask is not None:
        mask = mask.broadcast_to(len(query), mha.n_heads, query.shape[1], key.shape[1])[:, head]
    output, _ = mha.attention(
        project(query, mha.w_q), project(key, mha.w_k), project(value, mha.w_v), mask
    )
    return F.linear(output, mha.w_o.weight[:, rows])
""",
    ),
    Alternative(
        name="load_state_dict",
        cost=(
            "PyTorch checks names and shapes while it loads. One has to know how its layer "
            "names its parameters, and to set its data type before loading."
        ),
        source="""
def to_torch(mha):
    state = {
        "in_proj_weight": torch.cat((mha.w_q.weight, mha.w_k.weight, mha.w_v.weight), dim=0),
        "out_proj.weight": mha.w_o.weight,
    }
    has_bias = mha.w_o.bias is not None
    if has_bias:
        state["in_proj_bias"] = torch.cat((mha.w_q.bias, mha.w_k.bias, mha.w_v.bias))
        state["out_proj.bias"] = mha.w_o.bias
    result = nn.MultiheadAttention(
        mha.w_q.in_features, mha.n_heads, bias=has_bias, batch_first=True
    )
    result = result.to(mha.w_q.weight.dtype)
    result.load_state_dict(state)
    return result.train(mha.training)


def count_parameters(d_model, n_heads, bias):
    layer = MultiHeadAttention(d_model, n_heads, bias=bias)
    return sum(parameter.numel() for parameter in layer.parameters())


def grouped_query_attention(query, key, value, mask=None):
    B, H, T, d = query.shape
    G, S = key.shape[1], key.shape[2]
    if H % G:
        raise ValueError(f"{H} heads, {G} groups")
    key, value = (
        x[:, :, None].expand(B, G, H // G, S, d).reshape(B, H, S, d) for x in (key, value)
    )
    return attention(query, key, value, mask)
""",
    ),
    Alternative(
        name="block by block",
        cost=(
            "Every index is in sight. It writes into the parameters' `data`, behind automatic "
            "differentiation's back, which is right only because nothing is being trained here."
        ),
        source="""
def split_heads(x, n_heads):
    B, T, D = x.shape
    d = D // n_heads
    result = x.new_empty(B, n_heads, T, d)
    for h in range(n_heads):
        result[:, h] = x[:, :, h * d : (h + 1) * d]
    return result


def to_torch(mha):
    D = mha.w_q.in_features
    with_bias = mha.w_q.bias is not None
    layer = nn.MultiheadAttention(D, mha.n_heads, bias=with_bias, batch_first=True).double()
    layer = layer.to(mha.w_q.weight)
    for n, each in enumerate((mha.w_q, mha.w_k, mha.w_v)):
        layer.in_proj_weight.data[n * D : (n + 1) * D] = each.weight.data
        if with_bias:
            layer.in_proj_bias.data[n * D : (n + 1) * D] = each.bias.data
    layer.out_proj.load_state_dict(mha.w_o.state_dict())
    return layer


def grouped_query_attention(query, key, value, mask=None):
    heads, groups = query.shape[1], key.shape[1]
    if heads // groups * groups != heads:
        raise ValueError("groups must divide heads")
    group_of_head = torch.arange(heads) // (heads // groups)
    return attention(query, key[:, group_of_head], value[:, group_of_head], mask)
""",
    ),
]

# shown after a task is passed
DISCUSSIONS = [
    Discussion(
        "split_heads",
        (
            Way(
                "With `unflatten`, which splits one axis and leaves the others alone.",
                "parts = x.unflatten(-1, (n_heads, -1))  # (B, T, H, d)",
                "You name no size but the number of heads, so any number of leading axes is fine. "
                "Only torch has it: in NumPy you need `reshape` and all sizes.",
            ),
            Way(
                "A slice for each head.",
                "slices = x.chunk(n_heads, dim=-1)  # H tensors (B, T, d)\n"
                "heads = torch.stack(slices, dim=1)",
                "It says what is meant: head 0 gets the first d entries. The slices are views, but "
                "`stack` copies all of them.",
            ),
        ),
    ),
    Discussion(
        "merge_heads",
        (
            Way(
                "With `flatten`, from the axis of the heads on.",
                "by_position = x.transpose(1, 2)  # (B, T, H, d)\n"
                "merged = by_position.flatten(start_dim=2)",
                "No size has to be named. Like `reshape` it copies here, because the transposed "
                "numbers do not lie in order.",
            ),
            Way(
                "As the paper writes it: Concat(head 1, ..., head H).",
                "heads = x.unbind(dim=1)  # H tensors (B, T, d)\nmerged = torch.cat(heads, dim=-1)",
                "There is no transpose to forget. It copies once, as the other ways do, but makes a "
                "tensor object for each head.",
            ),
        ),
    ),
    Discussion(
        "MultiHeadAttention",
        (
            Way(
                "One large layer in place of three.",
                "self.w_qkv = nn.Linear(d_model, 3 * d_model, bias=bias)\n"
                "query, key, value = self.w_qkv(x).chunk(3, dim=-1)",
                "One product in place of three, which suits a graphics processor. It serves "
                "self-attention only, where all three come from the same x.",
            ),
            Way(
                "One head after the other.",
                "for parts in zip(*(whole.chunk(n_heads, dim=-1) for whole in (query, key, value))):\n"
                "    outputs.append(attention(*parts, mask)[0])\n"
                "output = torch.cat(outputs, dim=-1)",
                "Nothing is reshaped. But n_heads small products take longer than a large one, and a "
                "mask with an axis for heads has to be taken apart, too.",
            ),
        ),
    ),
    Discussion(
        "to_torch",
        (
            Way(
                "With a dictionary of all weights, here without bias.",
                'state = {"in_proj_weight": joined, "out_proj.weight": mha.w_o.weight}\n'
                "theirs.load_state_dict(state)",
                "It needs no `no_grad`, and it raises an error if a name is missing or unknown. You "
                "have to know all names by heart, or print `theirs.state_dict().keys()`.",
            ),
            Way(
                "With a shared parameter in place of a copy.",
                "theirs.out_proj.weight = mha.w_o.weight",
                "It takes no memory, and when one layer learns, so does the other. It can't be done "
                "for `in_proj_weight`, which joins three matrices.",
            ),
        ),
    ),
    Discussion(
        "count_parameters",
        (
            Way(
                "As four layers from d_model to d_model.",
                "one_layer = d_model * d_model + bias * d_model\ntotal = 4 * one_layer",
                "It shows at once that the number of heads makes no difference. It does not show "
                "which numbers belong to which head.",
            ),
            Way(
                "Let PyTorch count.",
                'with torch.device("meta"):\n'
                "    layer = MultiHeadAttention(d_model, n_heads, bias=bias)\n"
                "total = sum(parameter.numel() for parameter in layer.parameters())",
                "It is right for any layer, also after a change. The layer has to be made, though on "
                "the device `meta` it has shapes and no numbers.",
            ),
        ),
    ),
    Discussion(
        "head_contribution",
        (
            Way(
                "The parts of all heads in one array, of which you take one.",
                "w_o = mha.w_o.weight.unflatten(1, (mha.n_heads, -1))  # (D, H, d)\n"
                'parts = torch.einsum("bhtd,ohd->bhto", outputs, w_o)  # (B, H, T, D)',
                "Their sum over the heads is the whole output without its bias, which is a good "
                "test. For one head it does H times the work.",
            ),
            Way(
                "With zeros in place of all other heads.",
                "alone = torch.zeros_like(outputs)\n"
                "alone[:, head] = outputs[:, head]\n"
                "part = merge_heads(alone) @ mha.w_o.weight.T",
                "You cut no matrix, so there is no slice to get wrong. Nearly all of the product is "
                "with zeros.",
            ),
        ),
    ),
    Discussion(
        "grouped_query_attention",
        (
            Way(
                "With an axis for the groups, and keys that broadcast.",
                "grouped = query.unflatten(1, (n_groups, -1))  # (B, G, H / G, T, d)\n"
                "output, weights = attention(grouped, key.unsqueeze(2), value.unsqueeze(2), mask)\n"
                "output, weights = output.flatten(1, 2), weights.flatten(1, 2)",
                "You repeat no keys and no values. But a mask with an axis for heads has to be split "
                "in the same way, and the results have to be joined again.",
            ),
            Way(
                "With PyTorch's own function, outside of this exercise.",
                "output = F.scaled_dot_product_attention(\n"
                "    query, key, value, attn_mask=mask, enable_gqa=True\n"
                ")",
                "It is fast and keeps no scores. It returns no weights either, so you can't look at "
                "them.",
            ),
        ),
    ),
]
