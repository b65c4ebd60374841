"""Known mistakes and accepted alternatives of exercise 6."""

from autograder.catalogue import Alternative, Discussion, Mistake
from autograder.runtime.guide import Way

# the section of the book to read again, by grade cell
SECTIONS = {
    "feed_forward_values": "ch6-feed-forward",
    "encoder_layer_values": "ch6-encoder-layer",
    "encoder_layer_edges": "ch6-norm-order",
    "decoder_layer_values": "ch6-cross-attention",
    "decoder_layer_edges": "ch6-cross-attention",
    "transformer_values": "ch6-whole-model",
    "transformer_masks": "ch6-mistake-masks",
    "transformer_training": "ch6-initialisation",
    "shift_values": "ch6-mistake-shift",
}

# what is one idea in several answers, beside mistakes that mean the same word for word
IDEAS = [
    ("mask not passed on", "target mask not passed on", "memory mask not passed on"),
    ("mask inverted", "both masks inverted"),
    ("the two orders swapped", "the two orders swapped in the decoder"),
    ("one norm for both sublayers", "one norm for all three sublayers"),
    ("no residuals at all", "no residuals in the decoder layer"),
    ("no residual around the attention", "no residual around the self-attention"),
    (
        "no residual around the feed-forward network",
        "no residual around the decoder's feed-forward network",
    ),
    (
        "residual from the normed input in both sublayers",
        "residuals from the normed targets in all sublayers",
    ),
    ("residual from the normed input around the attention", "residual from the normed targets"),
    ("norm1 and norm2 exchanged", "norm1 and norm2 of the decoder exchanged"),
    ("only the query normed", "only the query of the self-attention normed"),
    (
        "mask passed on with norm_first only",
        "target mask passed on with norm_first only",
        "memory mask passed on with norm_first only",
    ),
    ("no mask taken for a causal one", "no target mask taken for a causal one"),
    (
        "attention argument ignored in the encoder",
        "attention argument ignored in the decoder",
        "attention argument ignored in the cross-attention",
    ),
    ("dropout on the sum", "dropout on the sums in the decoder"),
]

MISTAKES = [
    # FeedForward --------------------------------------------------------------------------------
    Mistake(
        name="no ReLU",
        function="FeedForward",
        cell="feed_forward_values",
        means="The two linear layers follow each other with nothing in between. Two matrices in a row "
        "are one matrix, so the width F buys nothing.",
        hint="What happens to the negative numbers between the two layers?",
        section="ch6-feed-forward",
        edits=[("self.linear1(x).relu()", "self.linear1(x)")],
    ),
    Mistake(
        name="residual inside the feed-forward network",
        function="FeedForward",
        cell="feed_forward_values",
        means="The input was added to the result. The layer around it adds it too, so it would count "
        "twice.",
        hint="Who adds the residual: the sublayer, or the layer that it is a part of?",
        section="ch6-feed-forward",
        edits=[("return self.linear2(", "return x + self.linear2(")],
    ),
    Mistake(
        name="GELU in place of ReLU",
        function="FeedForward",
        cell="feed_forward_values",
        means="Many later models use GELU. This course asks for ReLU, as the paper has it.",
        hint="Which function of a single number does the formula name?",
        section="ch6-feed-forward",
        edits=[("self.linear1(x).relu()", "nn.functional.gelu(self.linear1(x))")],
    ),
    Mistake(
        name="ReLU behind the second layer",
        function="FeedForward",
        cell="feed_forward_values",
        means="The ReLU cuts what comes out, and between the two layers there is nothing. No result can be negative.",
        hint="Where does the max stand in the formula: before W2 or after it?",
        section="ch6-feed-forward",
        edits=[
            (
                "self.linear2(self.dropout(self.linear1(x).relu()))",
                "self.linear2(self.dropout(self.linear1(x))).relu()",
            )
        ],
    ),
    Mistake(
        name="ReLU behind both layers",
        function="FeedForward",
        cell="feed_forward_values",
        means="There is one ReLU too many: the result is cut at zero, too. A sublayer must be able to subtract.",
        hint="Can your result be negative? Should it be?",
        section="ch6-feed-forward",
        edits=[
            (
                "self.linear2(self.dropout(self.linear1(x).relu()))",
                "self.linear2(self.dropout(self.linear1(x).relu())).relu()",
            )
        ],
    ),
    Mistake(
        name="ReLU before the first layer",
        function="FeedForward",
        cell="feed_forward_values",
        means="The ReLU was applied to what comes in.",
        hint="Which of the two linear layers comes before the max?",
        section="ch6-feed-forward",
        edits=[("self.linear1(x).relu()", "self.linear1(x.relu())")],
    ),
    Mistake(
        name="linear layers without bias",
        function="FeedForward",
        cell="feed_forward_values",
        means="The linear layers were made with bias=False, so b1 and b2 are missing.",
        hint="How many letters b does the formula have?",
        section="ch6-feed-forward",
        edits=[
            ("nn.Linear(d_model, d_ff)", "nn.Linear(d_model, d_ff, bias=False)"),
            ("nn.Linear(d_ff, d_model)", "nn.Linear(d_ff, d_model, bias=False)"),
        ],
    ),
    Mistake(
        name="no dropout inside",
        function="FeedForward",
        cell="feed_forward_values",
        means="In training mode nothing is dropped between the two layers.",
        hint="What becomes of the argument `dropout`?",
        section="ch6-feed-forward",
        edits=[
            (
                "self.linear2(self.dropout(self.linear1(x).relu()))",
                "self.linear2(self.linear1(x).relu())",
            )
        ],
    ),
    Mistake(
        name="dropout on the result",
        function="FeedForward",
        cell="feed_forward_values",
        means="Dropout acts on what the second layer gives. With a rate of 1 the bias of that layer is lost, too.",
        hint="Which numbers may be dropped: the F in the middle, or the D at the end?",
        section="ch6-feed-forward",
        edits=[
            (
                "self.linear2(self.dropout(self.linear1(x).relu()))",
                "self.dropout(self.linear2(self.linear1(x).relu()))",
            )
        ],
    ),
    Mistake(
        name="dropout on the input",
        function="FeedForward",
        cell="feed_forward_values",
        means="Dropout acts on what comes in, before the first layer.",
        hint="Which numbers may be dropped: the D at the beginning, or the F in the middle?",
        section="ch6-feed-forward",
        edits=[("self.dropout(self.linear1(x).relu())", "self.linear1(self.dropout(x)).relu()")],
    ),
    Mistake(
        name="dropout in evaluation mode too",
        function="FeedForward",
        cell="feed_forward_values",
        means="Numbers are dropped in evaluation mode as well, so the same input gives another result each time.",
        hint="How does a function learn whether the module is in training mode?",
        section="ch6-feed-forward",
        edits=[
            (
                "self.dropout = nn.Dropout(dropout)",
                "self.dropout = lambda hidden: nn.functional.dropout(hidden, dropout)",
            )
        ],
    ),
    Mistake(
        name="what remains is not scaled up",
        function="FeedForward",
        cell="feed_forward_values",
        means="Some numbers are dropped, and the others stay as they are. The sum is smaller in training than afterwards.",
        hint="nn.Dropout divides what remains by 1 - p. What for?",
        section="ch6-feed-forward",
        edits=[
            (
                "self.dropout = nn.Dropout(dropout)",
                "self.dropout = lambda hidden: hidden * (torch.rand_like(hidden) >= dropout) if self.training else hidden",
            )
        ],
    ),
    Mistake(
        name="three axes only",
        function="FeedForward",
        cell="feed_forward_values",
        means="The sizes were taken from exactly three axes, so that an input with fewer or more is an error.",
        hint="What does nn.Linear do with the axes in front of the last one?",
        section="ch6-feed-forward",
        edits=[("return self.linear2(", "B, T, D = x.shape\n        return self.linear2(")],
    ),
    Mistake(
        name="leaky ReLU in place of ReLU",
        function="FeedForward",
        cell="feed_forward_values",
        means="Negative numbers are made small and not cut off. The formula has the larger of 0 and the number.",
        hint="What should become of -1 between the two layers?",
        section="ch6-feed-forward",
        edits=[(".relu()", ".where(self.linear1(x) > 0, 0.01 * self.linear1(x))")],
    ),
    Mistake(
        name="dropout is the share that is kept",
        function="FeedForward",
        cell="feed_forward_values",
        means="The argument was taken for the probability of keeping a number. It is that of dropping one.",
        hint="At dropout=1.0, what should be left of the numbers in the middle?",
        section="ch6-feed-forward",
        edits=[("nn.Dropout(dropout)", "nn.Dropout(1 - dropout)")],
    ),
    # EncoderLayer -------------------------------------------------------------------------------
    Mistake(
        name="residual from the normed input around the attention",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="With norm_first, the result of the attention was added to the normed x. The x that came "
        "in is lost, and with it the straight way from the last layer to the first.",
        hint="In x + f(norm(x)), what stands on the left of the plus?",
        section="ch6-norm-order",
        edits=[
            (
                "x = x + self.dropout(self.self_attention(normed,",
                "x = normed + self.dropout(self.self_attention(normed,",
            )
        ],
    ),
    Mistake(
        name="the two orders swapped",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="These are the values of the other order: norm after the sum where norm_first is True, "
        "and before the sublayer where it is False.",
        hint="Which of the two orders is that of the paper's figure?",
        section="ch6-norm-order",
        edits=[("if self.norm_first:", "if not self.norm_first:")],
    ),
    Mistake(
        name="one norm for both sublayers",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="norm1 was used in both places. norm2 is never trained.",
        hint="Each sublayer has a norm of its own. Is every parameter of your layer used?",
        section="ch6-encoder-layer",
        edits=[
            ("self.feed_forward(self.norm2(x))", "self.feed_forward(self.norm1(x))"),
            (
                "return self.norm2(x + self.dropout(self.feed_forward(x)))",
                "return self.norm1(x + self.dropout(self.feed_forward(x)))",
            ),
        ],
    ),
    Mistake(
        name="no residual around the attention",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="What came in was not added to what the attention gave. A position keeps nothing of "
        "itself but what it attends to.",
        hint="How many sums does an encoder layer have?",
        section="ch6-residual",
        edits=[
            (
                "x = x + self.dropout(self.self_attention(normed,",
                "x = self.dropout(self.self_attention(normed,",
            ),
            (
                "x = self.norm1(x + self.dropout(self.self_attention(",
                "x = self.norm1(self.dropout(self.self_attention(",
            ),
        ],
    ),
    Mistake(
        name="both sublayers read the same input",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="The feed-forward network worked on what came into the layer, beside the attention. It "
        "should work on what the attention has left. (Some later models do put them side by side.)",
        hint="Which x goes into the second sublayer?",
        section="ch6-encoder-layer",
        edits=[
            ("normed = self.norm1(x)", "start, normed = x, self.norm1(x)"),
            ("self.feed_forward(self.norm2(x))", "self.feed_forward(self.norm2(start))"),
            ("x = self.norm1(x + ", "start, x = x, self.norm1(x + "),
            ("self.feed_forward(x)", "self.feed_forward(start)"),
        ],
    ),
    Mistake(
        name="mask not passed on",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="These are the values without the mask.",
        hint="Does the self-attention get the mask, in both orders?",
        section="ch6-mistake-masks",
        edits=[
            ("normed, normed, normed, mask", "normed, normed, normed"),
            ("x, x, x, mask", "x, x, x"),
        ],
    ),
    Mistake(
        name="residual from the normed input in both sublayers",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="With norm_first, both results were added to the normed x. The x that came in is lost.",
        hint="In x + f(norm(x)), what stands on the left of the plus? Is it the same in both sublayers?",
        section="ch6-norm-order",
        edits=[
            (
                "x = x + self.dropout(self.self_attention(normed, normed, normed, mask)[0])",
                "x = normed + self.dropout(self.self_attention(normed, normed, normed, mask)[0])",
            ),
            (
                "return x + self.dropout(self.feed_forward(self.norm2(x)))",
                "x = self.norm2(x)\n            return x + self.dropout(self.feed_forward(x))",
            ),
        ],
    ),
    Mistake(
        name="residual from the normed input around the feed-forward network",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="With norm_first, the result of the feed-forward network was added to the normed x.",
        hint="In x + f(norm(x)), what stands on the left of the plus?",
        section="ch6-norm-order",
        edits=[
            (
                "return x + self.dropout(self.feed_forward(self.norm2(x)))",
                "x = self.norm2(x)\n            return x + self.dropout(self.feed_forward(x))",
            )
        ],
    ),
    Mistake(
        name="always norm first",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="norm_first=False gives the values of norm_first=True.",
        hint="Where does your layer look at `norm_first`?",
        section="ch6-norm-order",
        edits=[("if self.norm_first:", "if True:")],
    ),
    Mistake(
        name="always norm last",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="norm_first=True gives the values of norm_first=False.",
        hint="Where does your layer look at `norm_first`?",
        section="ch6-norm-order",
        edits=[("if self.norm_first:", "if False:")],
    ),
    Mistake(
        name="norm1 and norm2 exchanged",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="norm2 was used for the attention and norm1 for the feed-forward network.",
        hint="Which norm belongs to which sublayer? The list of parts says it.",
        section="ch6-encoder-layer",
        edits=[
            ("normed = self.norm1(x)", "normed = self.norm2(x)"),
            ("self.feed_forward(self.norm2(x))", "self.feed_forward(self.norm1(x))"),
            (
                "x = self.norm1(x + self.dropout(self.self_attention(x, x, x, mask)[0]))",
                "x = self.norm2(x + self.dropout(self.self_attention(x, x, x, mask)[0]))",
            ),
            (
                "return self.norm2(x + self.dropout(self.feed_forward(x)))",
                "return self.norm1(x + self.dropout(self.feed_forward(x)))",
            ),
        ],
    ),
    Mistake(
        name="no residual around the feed-forward network",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="The result of the feed-forward network was returned without what went in.",
        hint="How many sums does an encoder layer have?",
        section="ch6-residual",
        edits=[
            (
                "return x + self.dropout(self.feed_forward(self.norm2(x)))",
                "return self.dropout(self.feed_forward(self.norm2(x)))",
            ),
            (
                "return self.norm2(x + self.dropout(self.feed_forward(x)))",
                "return self.norm2(self.dropout(self.feed_forward(x)))",
            ),
        ],
    ),
    Mistake(
        name="no residuals at all",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="Neither sublayer's input was added to its result.",
        hint="How many sums does an encoder layer have?",
        section="ch6-residual",
        edits=[
            (
                "x = x + self.dropout(self.self_attention(normed, normed, normed, mask)[0])",
                "x = self.dropout(self.self_attention(normed, normed, normed, mask)[0])",
            ),
            (
                "return x + self.dropout(self.feed_forward(self.norm2(x)))",
                "return self.dropout(self.feed_forward(self.norm2(x)))",
            ),
            (
                "x = self.norm1(x + self.dropout(self.self_attention(x, x, x, mask)[0]))",
                "x = self.norm1(self.dropout(self.self_attention(x, x, x, mask)[0]))",
            ),
            (
                "return self.norm2(x + self.dropout(self.feed_forward(x)))",
                "return self.norm2(self.dropout(self.feed_forward(x)))",
            ),
        ],
    ),
    Mistake(
        name="mask inverted",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="The mask was turned round: positions that may be attended to are hidden, and the others are seen.",
        hint="In this course, does True mean *may attend* or *ignore*?",
        section="ch6-mistake-masks",
        edits=[
            (
                "normed, normed, normed, mask",
                "normed, normed, normed, None if mask is None else ~mask",
            ),
            ("x, x, x, mask", "x, x, x, None if mask is None else ~mask"),
        ],
    ),
    Mistake(
        name="mask passed on with norm_first only",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="With norm_first=False the attention runs without the mask.",
        hint="Does the self-attention get the mask in both orders?",
        section="ch6-mistake-masks",
        edits=[("x, x, x, mask", "x, x, x")],
    ),
    Mistake(
        name="mask passed on without norm_first only",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="With norm_first=True the attention runs without the mask.",
        hint="Does the self-attention get the mask in both orders?",
        section="ch6-mistake-masks",
        edits=[("normed, normed, normed, mask", "normed, normed, normed")],
    ),
    Mistake(
        name="only the query normed",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="With norm_first, the attention got the normed x as query, and the plain x as key and value.",
        hint="In self-attention, how many different tensors go in?",
        section="ch6-encoder-layer",
        edits=[("normed, normed, normed, mask", "normed, x, x, mask")],
    ),
    Mistake(
        name="the value not normed",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="With norm_first, query and key were normed, and the value was the plain x.",
        hint="In self-attention, how many different tensors go in?",
        section="ch6-encoder-layer",
        edits=[("normed, normed, normed, mask", "normed, normed, x, mask")],
    ),
    Mistake(
        name="norm on the sublayer's result",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="With norm_first, the norm acts on what a sublayer gives, and not on what goes into it.",
        hint="In x + f(norm(x)), which is inside: f or the norm?",
        section="ch6-norm-order",
        edits=[
            ("normed = self.norm1(x)", "normed = x"),
            (
                "x = x + self.dropout(self.self_attention(normed, normed, normed, mask)[0])",
                "x = x + self.norm1(self.dropout(self.self_attention(normed, normed, normed, mask)[0]))",
            ),
            (
                "return x + self.dropout(self.feed_forward(self.norm2(x)))",
                "return x + self.norm2(self.dropout(self.feed_forward(x)))",
            ),
        ],
    ),
    Mistake(
        name="norm before the sum",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="Without norm_first, the sublayer's result was normed and then added. The sum itself should be normed.",
        hint="In norm(x + f(x)), where does the bracket of the norm open?",
        section="ch6-norm-order",
        edits=[
            (
                "x = self.norm1(x + self.dropout(self.self_attention(x, x, x, mask)[0]))",
                "x = x + self.norm1(self.dropout(self.self_attention(x, x, x, mask)[0]))",
            ),
            (
                "return self.norm2(x + self.dropout(self.feed_forward(x)))",
                "return x + self.norm2(self.dropout(self.feed_forward(x)))",
            ),
        ],
    ),
    Mistake(
        name="no norm with norm_first",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="With norm_first, nothing was normed at all.",
        hint="What does the first row of the table do to x before f gets it?",
        section="ch6-norm-order",
        edits=[
            ("normed = self.norm1(x)", "normed = x"),
            ("self.feed_forward(self.norm2(x))", "self.feed_forward(x)"),
        ],
    ),
    Mistake(
        name="no norm before the feed-forward network",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="With norm_first, the feed-forward network got x as it was.",
        hint="Is norm2 used when norm_first is True?",
        section="ch6-norm-order",
        edits=[("self.feed_forward(self.norm2(x))", "self.feed_forward(x)")],
    ),
    Mistake(
        name="no norm at the end of the layer",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="Without norm_first, the last sum was returned without its norm.",
        hint="Is norm2 used when norm_first is False?",
        section="ch6-norm-order",
        edits=[
            (
                "return self.norm2(x + self.dropout(self.feed_forward(x)))",
                "return x + self.dropout(self.feed_forward(x))",
            )
        ],
    ),
    Mistake(
        name="feed-forward network before the attention",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="The two sublayers came in the wrong order.",
        hint="Which sublayer does the text name first?",
        section="ch6-encoder-layer",
        edits=[
            (
                "normed = self.norm1(x)",
                "x = x + self.dropout(self.feed_forward(self.norm2(x)))\n            normed = self.norm1(x)",
            ),
            (
                "x = x + self.dropout(self.self_attention(normed, normed, normed, mask)[0])\n            return x + self.dropout(self.feed_forward(self.norm2(x)))",
                "return x + self.dropout(self.self_attention(normed, normed, normed, mask)[0])",
            ),
            (
                "x = self.norm1(x + self.dropout(self.self_attention(x, x, x, mask)[0]))\n        return self.norm2(x + self.dropout(self.feed_forward(x)))",
                "x = self.norm2(x + self.dropout(self.feed_forward(x)))\n        return self.norm1(x + self.dropout(self.self_attention(x, x, x, mask)[0]))",
            ),
        ],
    ),
    Mistake(
        name="the pair that attention returns",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="MultiHeadAttention returns two things, the output and the weights. Both together were used as the output.",
        hint="What does `MultiHeadAttention` return, and which part of it do you need?",
        section="ch6-encoder-layer",
        edits=[
            ("normed, normed, normed, mask)[0]", "normed, normed, normed, mask)"),
            ("x, x, x, mask)[0]", "x, x, x, mask)"),
        ],
    ),
    Mistake(
        name="attention without bias in the encoder",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="The attention was made without bias, so w_q, w_k, w_v and w_o have no bias.",
        hint="What does the list of parts say about the bias?",
        section="ch6-encoder-layer",
        edits=[
            (
                "MultiHeadAttention(d_model, n_heads, attention)",
                "MultiHeadAttention(d_model, n_heads, attention, bias=False)",
            )
        ],
    ),
    Mistake(
        name="no dropout around the sublayers",
        function="EncoderLayer",
        cell="encoder_layer_edges",
        means="In training mode, the sublayers' results were added whole.",
        hint="What becomes of the argument `dropout` in the layer itself?",
        section="ch6-encoder-layer",
        edits=[("self.dropout = nn.Dropout(dropout)", "self.dropout = nn.Identity()")],
    ),
    Mistake(
        name="no dropout on the attention's result",
        function="EncoderLayer",
        cell="encoder_layer_edges",
        means="In training mode, the attention's result was added whole.",
        hint="The table has one dropout for each sublayer. How many do you have?",
        section="ch6-encoder-layer",
        edits=[
            (
                "x = x + self.dropout(self.self_attention(normed, normed, normed, mask)[0])",
                "x = x + self.self_attention(normed, normed, normed, mask)[0]",
            ),
            (
                "x = self.norm1(x + self.dropout(self.self_attention(x, x, x, mask)[0]))",
                "x = self.norm1(x + self.self_attention(x, x, x, mask)[0])",
            ),
        ],
    ),
    Mistake(
        name="no dropout on the feed-forward network's result",
        function="EncoderLayer",
        cell="encoder_layer_edges",
        means="In training mode, the feed-forward network's result was added whole. The dropout inside that network is another one.",
        hint="The table has one dropout for each sublayer. How many do you have?",
        section="ch6-encoder-layer",
        edits=[
            (
                "return x + self.dropout(self.feed_forward(self.norm2(x)))",
                "return x + self.feed_forward(self.norm2(x))",
            ),
            (
                "return self.norm2(x + self.dropout(self.feed_forward(x)))",
                "return self.norm2(x + self.feed_forward(x))",
            ),
        ],
    ),
    Mistake(
        name="dropout on the sum",
        function="EncoderLayer",
        cell="encoder_layer_edges",
        means="Dropout acts on the sum, so that it also drops what came in.",
        hint="In x + dropout(f(norm(x))), is the first x inside the dropout?",
        section="ch6-encoder-layer",
        edits=[
            (
                "x = x + self.dropout(self.self_attention(normed, normed, normed, mask)[0])",
                "x = self.dropout(x + self.self_attention(normed, normed, normed, mask)[0])",
            ),
            (
                "return x + self.dropout(self.feed_forward(self.norm2(x)))",
                "return self.dropout(x + self.feed_forward(self.norm2(x)))",
            ),
            (
                "x = self.norm1(x + self.dropout(self.self_attention(x, x, x, mask)[0]))",
                "x = self.norm1(self.dropout(x + self.self_attention(x, x, x, mask)[0]))",
            ),
            (
                "return self.norm2(x + self.dropout(self.feed_forward(x)))",
                "return self.norm2(self.dropout(x + self.feed_forward(x)))",
            ),
        ],
    ),
    Mistake(
        name="dropout in the layer in evaluation mode too",
        function="EncoderLayer",
        cell="encoder_layer_edges",
        means="The layer drops numbers in evaluation mode as well.",
        hint="How does a function learn whether the module is in training mode?",
        section="ch6-encoder-layer",
        edits=[
            (
                "self.dropout = nn.Dropout(dropout)",
                "self.dropout = lambda z: nn.functional.dropout(z, dropout)",
            )
        ],
    ),
    Mistake(
        name="feed-forward network of the encoder without its dropout",
        function="EncoderLayer",
        cell="encoder_layer_edges",
        means="The feed-forward network was made without the rate, so that it drops nothing inside.",
        hint="FeedForward takes three arguments. Which of them does your layer hand over?",
        section="ch6-encoder-layer",
        edits=[("FeedForward(d_model, d_ff, dropout)", "FeedForward(d_model, d_ff)")],
    ),
    Mistake(
        name="attention argument ignored in the encoder",
        function="EncoderLayer",
        cell="encoder_layer_edges",
        means="The heads always use the attention of the notebook, whatever is handed to the layer.",
        hint="Who uses the argument `attention`?",
        section="ch6-encoder-layer",
        edits=[
            (
                "MultiHeadAttention(d_model, n_heads, attention)",
                "MultiHeadAttention(d_model, n_heads)",
            )
        ],
    ),
    Mistake(
        name="the key not normed",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="With norm_first, query and value were normed, and the key was the plain x.",
        hint="In self-attention, how many different tensors go in?",
        section="ch6-encoder-layer",
        edits=[("normed, normed, normed, mask", "normed, x, normed, mask")],
    ),
    Mistake(
        name="mask kept from an earlier call",
        function="EncoderLayer",
        cell="encoder_layer_edges",
        means="Without a mask, the layer uses the one of an earlier call.",
        hint="What does your layer remember after a call, and who asked for it?",
        section="ch6-mistake-masks",
        edits=[
            (
                "        if self.norm_first:\n",
                '        if mask is not None:\n            self.mask = mask\n        elif getattr(self, "mask", None) is not None and self.mask.shape[-1] == x.shape[1]:\n            mask = self.mask[: len(x)]\n        if self.norm_first:\n',
            )
        ],
    ),
    Mistake(
        name="no mask taken for a causal one",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="Without a mask the future was hidden. None means that everything may be attended to.",
        hint="Which of the two layers needs a causal mask, and who makes it?",
        section="ch6-mistake-masks",
        edits=[
            (
                "        if self.norm_first:\n",
                "        mask = causal_mask(x.shape[1]) if mask is None else mask\n        if self.norm_first:\n",
            )
        ],
    ),
    # DecoderLayer -------------------------------------------------------------------------------
    Mistake(
        name="cross-attention that reads the targets",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="The cross-attention took its keys and values from the targets. The memory is never "
        "read, so this is a language model that ignores its source.",
        hint="What happens to your output when the memory changes?",
        section="ch6-mistake-memory",
        edits=[
            (
                "self.cross_attention(normed, memory, memory,",
                "self.cross_attention(normed, normed, normed,",
            ),
            ("self.cross_attention(y, memory, memory,", "self.cross_attention(y, y, y,"),
        ],
    ),
    Mistake(
        name="the memory asks",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="The memory was the query and the targets were keys and values. The result has one row "
        "for each source token, and there should be one for each target.",
        hint="Whose question is it: what in the source matters for this target?",
        section="ch6-cross-attention",
        edits=[
            (
                "self.cross_attention(normed, memory, memory,",
                "self.cross_attention(memory, normed, normed,",
            ),
            ("self.cross_attention(y, memory, memory,", "self.cross_attention(memory, y, y,"),
        ],
    ),
    Mistake(
        name="target mask in the cross-attention",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="The cross-attention got the mask of the targets. It hides keys, and its keys are the "
        "source. With as many targets as sources it would run and be wrong.",
        hint="Which sequence do the keys of the cross-attention come from?",
        section="ch6-mistake-masks",
        edits=[
            ("(normed, memory, memory, memory_mask)", "(normed, memory, memory, target_mask)"),
            ("(y, memory, memory, memory_mask)", "(y, memory, memory, target_mask)"),
        ],
    ),
    Mistake(
        name="memory normalised again",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="With norm_first, the memory went through norm2 as well. The encoder has done that "
        "already with a norm of its own.",
        hint="Which of the two inputs of the cross-attention belongs to this layer's own stream?",
        section="ch6-cross-attention",
        edits=[
            (
                "self.cross_attention(normed, memory, memory,",
                "self.cross_attention(normed, self.norm2(memory), self.norm2(memory),",
            )
        ],
    ),
    Mistake(
        name="target mask not passed on",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="The self-attention ran without a mask: the targets see the future. In training the loss "
        "gets wonderfully small, and what the model writes is nonsense.",
        hint="Which of the two masks does the self-attention get?",
        section="ch6-mistake-masks",
        edits=[
            ("normed, normed, normed, target_mask", "normed, normed, normed"),
            ("y, y, y, target_mask", "y, y, y"),
        ],
    ),
    Mistake(
        name="memory mask not passed on",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="The cross-attention ran without its mask, so the targets see padding in the memory.",
        hint="Which of the two masks does the cross-attention get, in both orders?",
        section="ch6-mistake-masks",
        edits=[
            (
                "memory, memory, memory_mask)[0])\n            return",
                "memory, memory)[0])\n            return",
            ),
            ("(y, memory, memory, memory_mask)", "(y, memory, memory)"),
        ],
    ),
    Mistake(
        name="the two masks exchanged",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="The self-attention got memory_mask, and the cross-attention target_mask.",
        hint="Each mask hides keys. Whose keys does each attention read?",
        section="ch6-mistake-masks",
        edits=[
            (
                "y = y + self.dropout(self.self_attention(normed, normed, normed, target_mask)[0])",
                "y = y + self.dropout(self.self_attention(normed, normed, normed, memory_mask)[0])",
            ),
            (
                "y = y + self.dropout(self.cross_attention(normed, memory, memory, memory_mask)[0])",
                "y = y + self.dropout(self.cross_attention(normed, memory, memory, target_mask)[0])",
            ),
            (
                "y = self.norm1(y + self.dropout(self.self_attention(y, y, y, target_mask)[0]))",
                "y = self.norm1(y + self.dropout(self.self_attention(y, y, y, memory_mask)[0]))",
            ),
            (
                "y = self.norm2(y + self.dropout(self.cross_attention(y, memory, memory, memory_mask)[0]))",
                "y = self.norm2(y + self.dropout(self.cross_attention(y, memory, memory, target_mask)[0]))",
            ),
        ],
    ),
    Mistake(
        name="memory mask in both attentions",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="The self-attention got the mask of the memory. Its keys are the targets.",
        hint="Each mask hides keys. Whose keys does the self-attention read?",
        section="ch6-mistake-masks",
        edits=[
            (
                "y = y + self.dropout(self.self_attention(normed, normed, normed, target_mask)[0])",
                "y = y + self.dropout(self.self_attention(normed, normed, normed, memory_mask)[0])",
            ),
            (
                "y = self.norm1(y + self.dropout(self.self_attention(y, y, y, target_mask)[0]))",
                "y = self.norm1(y + self.dropout(self.self_attention(y, y, y, memory_mask)[0]))",
            ),
        ],
    ),
    Mistake(
        name="both masks inverted",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="Both masks were turned round: what may be attended to is hidden.",
        hint="In this course, does True mean *may attend* or *ignore*?",
        section="ch6-mistake-masks",
        edits=[
            (
                "if self.norm_first:",
                "target_mask = None if target_mask is None else ~target_mask\n        memory_mask = None if memory_mask is None else ~memory_mask\n        if self.norm_first:",
            )
        ],
    ),
    Mistake(
        name="cross-attention before self-attention",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="The targets read the memory first, and only then each other.",
        hint="In which order does the text name the three sublayers?",
        section="ch6-cross-attention",
        edits=[
            (
                "normed = self.norm1(y)\n            y = y + self.dropout(self.self_attention(normed, normed, normed, target_mask)[0])\n            normed = self.norm2(y)\n            y = y + self.dropout(self.cross_attention(normed, memory, memory, memory_mask)[0])",
                "normed = self.norm2(y)\n            y = y + self.dropout(self.cross_attention(normed, memory, memory, memory_mask)[0])\n            normed = self.norm1(y)\n            y = y + self.dropout(self.self_attention(normed, normed, normed, target_mask)[0])",
            ),
            (
                "y = self.norm1(y + self.dropout(self.self_attention(y, y, y, target_mask)[0]))\n        y = self.norm2(y + self.dropout(self.cross_attention(y, memory, memory, memory_mask)[0]))",
                "y = self.norm2(y + self.dropout(self.cross_attention(y, memory, memory, memory_mask)[0]))\n        y = self.norm1(y + self.dropout(self.self_attention(y, y, y, target_mask)[0]))",
            ),
        ],
    ),
    Mistake(
        name="norm1 and norm2 of the decoder exchanged",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="norm2 was used for the self-attention and norm1 for the cross-attention.",
        hint="Which norm belongs to which sublayer?",
        section="ch6-cross-attention",
        edits=[
            ("normed = self.norm1(y)", "normed = self.norm2(y)  #"),
            ("            normed = self.norm2(y)\n", "            normed = self.norm1(y)\n"),
            (
                "y = self.norm1(y + self.dropout(self.self_attention(y, y, y, target_mask)[0]))",
                "y = self.norm2(y + self.dropout(self.self_attention(y, y, y, target_mask)[0]))",
            ),
            (
                "y = self.norm2(y + self.dropout(self.cross_attention(y, memory, memory, memory_mask)[0]))",
                "y = self.norm1(y + self.dropout(self.cross_attention(y, memory, memory, memory_mask)[0]))",
            ),
        ],
    ),
    Mistake(
        name="norm2 and norm3 exchanged",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="norm3 was used for the cross-attention and norm2 for the feed-forward network.",
        hint="Which norm belongs to which sublayer?",
        section="ch6-cross-attention",
        edits=[
            ("normed = self.norm2(y)", "normed = self.norm3(y)"),
            ("self.feed_forward(self.norm3(y))", "self.feed_forward(self.norm2(y))"),
            (
                "y = self.norm2(y + self.dropout(self.cross_attention(y, memory, memory, memory_mask)[0]))",
                "y = self.norm3(y + self.dropout(self.cross_attention(y, memory, memory, memory_mask)[0]))",
            ),
            (
                "return self.norm3(y + self.dropout(self.feed_forward(y)))",
                "return self.norm2(y + self.dropout(self.feed_forward(y)))",
            ),
        ],
    ),
    Mistake(
        name="one norm for all three sublayers",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="norm1 was used in all three places. norm2 and norm3 are never trained.",
        hint="Each sublayer has a norm of its own. Is every parameter of your layer used?",
        section="ch6-cross-attention",
        edits=[
            ("normed = self.norm2(y)", "normed = self.norm1(y)  #"),
            ("self.feed_forward(self.norm3(y))", "self.feed_forward(self.norm1(y))"),
            (
                "y = self.norm2(y + self.dropout(self.cross_attention(y, memory, memory, memory_mask)[0]))",
                "y = self.norm1(y + self.dropout(self.cross_attention(y, memory, memory, memory_mask)[0]))",
            ),
            (
                "return self.norm3(y + self.dropout(self.feed_forward(y)))",
                "return self.norm1(y + self.dropout(self.feed_forward(y)))",
            ),
        ],
    ),
    Mistake(
        name="residual from the normed targets",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="With norm_first, the self-attention's result was added to the normed y.",
        hint="In x + f(norm(x)), what stands on the left of the plus?",
        section="ch6-norm-order",
        edits=[
            (
                "y = y + self.dropout(self.self_attention(normed, normed, normed, target_mask)[0])",
                "y = normed + self.dropout(self.self_attention(normed, normed, normed, target_mask)[0])",
            )
        ],
    ),
    Mistake(
        name="residuals from the normed targets in all sublayers",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="With norm_first, every result was added to the normed y. The y that came in is lost.",
        hint="In x + f(norm(x)), what stands on the left of the plus?",
        section="ch6-norm-order",
        edits=[
            (
                "y = y + self.dropout(self.self_attention(normed, normed, normed, target_mask)[0])",
                "y = normed + self.dropout(self.self_attention(normed, normed, normed, target_mask)[0])",
            ),
            (
                "y = y + self.dropout(self.cross_attention(normed, memory, memory, memory_mask)[0])",
                "y = normed + self.dropout(self.cross_attention(normed, memory, memory, memory_mask)[0])",
            ),
            (
                "return y + self.dropout(self.feed_forward(self.norm3(y)))",
                "normed = self.norm3(y)\n            return normed + self.dropout(self.feed_forward(normed))",
            ),
        ],
    ),
    Mistake(
        name="no residual around the self-attention",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="The self-attention's result was used without what went in.",
        hint="How many sums does a decoder layer have?",
        section="ch6-residual",
        edits=[
            (
                "y = y + self.dropout(self.self_attention(normed, normed, normed, target_mask)[0])",
                "y = self.dropout(self.self_attention(normed, normed, normed, target_mask)[0])",
            ),
            (
                "y = self.norm1(y + self.dropout(self.self_attention(y, y, y, target_mask)[0]))",
                "y = self.norm1(self.dropout(self.self_attention(y, y, y, target_mask)[0]))",
            ),
        ],
    ),
    Mistake(
        name="no residual around the cross-attention",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="The cross-attention's result was used without what went in. A target keeps nothing but what it reads in the memory.",
        hint="How many sums does a decoder layer have?",
        section="ch6-residual",
        edits=[
            (
                "y = y + self.dropout(self.cross_attention(normed, memory, memory, memory_mask)[0])",
                "y = self.dropout(self.cross_attention(normed, memory, memory, memory_mask)[0])",
            ),
            (
                "y = self.norm2(y + self.dropout(self.cross_attention(y, memory, memory, memory_mask)[0]))",
                "y = self.norm2(self.dropout(self.cross_attention(y, memory, memory, memory_mask)[0]))",
            ),
        ],
    ),
    Mistake(
        name="no residual around the decoder's feed-forward network",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="The feed-forward network's result was returned without what went in.",
        hint="How many sums does a decoder layer have?",
        section="ch6-residual",
        edits=[
            (
                "return y + self.dropout(self.feed_forward(self.norm3(y)))",
                "return self.dropout(self.feed_forward(self.norm3(y)))",
            ),
            (
                "return self.norm3(y + self.dropout(self.feed_forward(y)))",
                "return self.norm3(self.dropout(self.feed_forward(y)))",
            ),
        ],
    ),
    Mistake(
        name="no residuals in the decoder layer",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="No sublayer's input was added to its result.",
        hint="How many sums does a decoder layer have?",
        section="ch6-residual",
        edits=[
            (
                "y = y + self.dropout(self.self_attention(normed, normed, normed, target_mask)[0])",
                "y = self.dropout(self.self_attention(normed, normed, normed, target_mask)[0])",
            ),
            (
                "y = self.norm1(y + self.dropout(self.self_attention(y, y, y, target_mask)[0]))",
                "y = self.norm1(self.dropout(self.self_attention(y, y, y, target_mask)[0]))",
            ),
            (
                "y = y + self.dropout(self.cross_attention(normed, memory, memory, memory_mask)[0])",
                "y = self.dropout(self.cross_attention(normed, memory, memory, memory_mask)[0])",
            ),
            (
                "y = self.norm2(y + self.dropout(self.cross_attention(y, memory, memory, memory_mask)[0]))",
                "y = self.norm2(self.dropout(self.cross_attention(y, memory, memory, memory_mask)[0]))",
            ),
            (
                "return y + self.dropout(self.feed_forward(self.norm3(y)))",
                "return self.dropout(self.feed_forward(self.norm3(y)))",
            ),
            (
                "return self.norm3(y + self.dropout(self.feed_forward(y)))",
                "return self.norm3(self.dropout(self.feed_forward(y)))",
            ),
        ],
    ),
    Mistake(
        name="the two orders swapped in the decoder",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="These are the values of the other order: norm after the sum where norm_first is True.",
        hint="Which of the two orders is that of the paper's figure?",
        section="ch6-norm-order",
        edits=[("if self.norm_first:", "if not self.norm_first:")],
    ),
    Mistake(
        name="the decoder layer is always norm first",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="norm_first=False gives the values of norm_first=True.",
        hint="Where does your layer look at `norm_first`?",
        section="ch6-norm-order",
        edits=[("if self.norm_first:", "if True:")],
    ),
    Mistake(
        name="the decoder layer is always norm last",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="norm_first=True gives the values of norm_first=False.",
        hint="Where does your layer look at `norm_first`?",
        section="ch6-norm-order",
        edits=[("if self.norm_first:", "if False:")],
    ),
    Mistake(
        name="only the query of the self-attention normed",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="With norm_first, the self-attention got the normed y as query, and the plain y as key and value.",
        hint="In self-attention, how many different tensors go in?",
        section="ch6-cross-attention",
        edits=[("normed, normed, normed, target_mask", "normed, y, y, target_mask")],
    ),
    Mistake(
        name="the query of the cross-attention not normed",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="With norm_first, the cross-attention got y as it was. norm2 is not used.",
        hint="Each sublayer has a norm of its own. What goes through norm2?",
        section="ch6-cross-attention",
        edits=[("self.cross_attention(normed, memory", "self.cross_attention(y, memory")],
    ),
    Mistake(
        name="no norm at the end of the decoder layer",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="Without norm_first, the last sum was returned without its norm.",
        hint="Is norm3 used when norm_first is False?",
        section="ch6-norm-order",
        edits=[
            (
                "return self.norm3(y + self.dropout(self.feed_forward(y)))",
                "return y + self.dropout(self.feed_forward(y))",
            )
        ],
    ),
    Mistake(
        name="cross-attention beside the self-attention",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="Both attentions worked on what came into the layer. The cross-attention should ask with what the self-attention has left.",
        hint="Which y goes into the second sublayer?",
        section="ch6-cross-attention",
        edits=[
            ("normed = self.norm1(y)", "start, normed = y, self.norm1(y)"),
            ("normed = self.norm2(y)", "normed = self.norm2(start)"),
            ("y = self.norm1(y +", "start, y = y, self.norm1(y +"),
            ("self.cross_attention(y, memory", "self.cross_attention(start, memory"),
        ],
    ),
    Mistake(
        name="self-attention that reads the memory",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="The self-attention got the memory as key and value. The targets never see each other.",
        hint="Who is query, key and value in self-attention?",
        section="ch6-cross-attention",
        edits=[
            ("normed, normed, normed, target_mask", "normed, memory, memory, memory_mask"),
            ("y, y, y, target_mask", "y, memory, memory, memory_mask"),
        ],
    ),
    Mistake(
        name="one attention for both purposes",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="Self-attention and cross-attention are the same object, so they share their weights.",
        hint="How many attentions with weights of their own does a decoder layer have?",
        section="ch6-cross-attention",
        edits=[
            (
                "self.cross_attention = MultiHeadAttention(d_model, n_heads, attention)",
                "self.cross_attention = self.self_attention",
            )
        ],
    ),
    Mistake(
        name="no feed-forward network in the decoder layer",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="The layer ends after the cross-attention.",
        hint="A decoder layer has three sublayers. How many does yours have?",
        section="ch6-cross-attention",
        edits=[
            ("return y + self.dropout(self.feed_forward(self.norm3(y)))", "return y"),
            ("return self.norm3(y + self.dropout(self.feed_forward(y)))", "return y"),
        ],
    ),
    Mistake(
        name="no dropout around the decoder's sublayers",
        function="DecoderLayer",
        cell="decoder_layer_edges",
        means="In training mode, the sublayers' results were added whole.",
        hint="What becomes of the argument `dropout` in the layer itself?",
        section="ch6-cross-attention",
        edits=[("self.dropout = nn.Dropout(dropout)", "self.dropout = nn.Identity()")],
    ),
    Mistake(
        name="no dropout on the cross-attention's result",
        function="DecoderLayer",
        cell="decoder_layer_edges",
        means="In training mode, the cross-attention's result was added whole.",
        hint="There is one dropout for each sublayer. How many do you have?",
        section="ch6-cross-attention",
        edits=[
            (
                "y = y + self.dropout(self.cross_attention(normed, memory, memory, memory_mask)[0])",
                "y = y + self.cross_attention(normed, memory, memory, memory_mask)[0]",
            ),
            (
                "y = self.norm2(y + self.dropout(self.cross_attention(y, memory, memory, memory_mask)[0]))",
                "y = self.norm2(y + self.cross_attention(y, memory, memory, memory_mask)[0])",
            ),
        ],
    ),
    Mistake(
        name="dropout on the sums in the decoder",
        function="DecoderLayer",
        cell="decoder_layer_edges",
        means="Dropout acts on the sums, so that it also drops what came in.",
        hint="In x + dropout(f(norm(x))), is the first x inside the dropout?",
        section="ch6-cross-attention",
        edits=[
            (
                "y = y + self.dropout(self.self_attention(normed, normed, normed, target_mask)[0])",
                "y = self.dropout(y + self.self_attention(normed, normed, normed, target_mask)[0])",
            ),
            (
                "y = y + self.dropout(self.cross_attention(normed, memory, memory, memory_mask)[0])",
                "y = self.dropout(y + self.cross_attention(normed, memory, memory, memory_mask)[0])",
            ),
            (
                "return y + self.dropout(self.feed_forward(self.norm3(y)))",
                "return self.dropout(y + self.feed_forward(self.norm3(y)))",
            ),
            (
                "y = self.norm1(y + self.dropout(self.self_attention(y, y, y, target_mask)[0]))",
                "y = self.norm1(self.dropout(y + self.self_attention(y, y, y, target_mask)[0]))",
            ),
            (
                "y = self.norm2(y + self.dropout(self.cross_attention(y, memory, memory, memory_mask)[0]))",
                "y = self.norm2(self.dropout(y + self.cross_attention(y, memory, memory, memory_mask)[0]))",
            ),
            (
                "return self.norm3(y + self.dropout(self.feed_forward(y)))",
                "return self.norm3(self.dropout(y + self.feed_forward(y)))",
            ),
        ],
    ),
    Mistake(
        name="feed-forward network of the decoder without its dropout",
        function="DecoderLayer",
        cell="decoder_layer_edges",
        means="The feed-forward network was made without the rate, so that it drops nothing inside.",
        hint="FeedForward takes three arguments. Which of them does your layer hand over?",
        section="ch6-cross-attention",
        edits=[("FeedForward(d_model, d_ff, dropout)", "FeedForward(d_model, d_ff)")],
    ),
    Mistake(
        name="attention argument ignored in the decoder",
        function="DecoderLayer",
        cell="decoder_layer_edges",
        means="Both attentions always use the attention of the notebook, whatever is handed to the layer.",
        hint="Who uses the argument `attention`?",
        section="ch6-cross-attention",
        edits=[
            (
                "self.self_attention = MultiHeadAttention(d_model, n_heads, attention)",
                "self.self_attention = MultiHeadAttention(d_model, n_heads)",
            ),
            (
                "self.cross_attention = MultiHeadAttention(d_model, n_heads, attention)",
                "self.cross_attention = MultiHeadAttention(d_model, n_heads)",
            ),
        ],
    ),
    Mistake(
        name="attention argument ignored in the cross-attention",
        function="DecoderLayer",
        cell="decoder_layer_edges",
        means="Only the self-attention uses the attention that is handed to the layer.",
        hint="Who uses the argument `attention`?",
        section="ch6-cross-attention",
        edits=[
            (
                "self.cross_attention = MultiHeadAttention(d_model, n_heads, attention)",
                "self.cross_attention = MultiHeadAttention(d_model, n_heads)",
            )
        ],
    ),
    Mistake(
        name="no target mask taken for a causal one",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="Without a target mask the future was hidden. None means that everything may be attended to; the causal mask is made by the whole model.",
        hint="What does None mean for a mask, and who makes the causal one?",
        section="ch6-mistake-masks",
        edits=[
            (
                "        if self.norm_first:\n",
                "        target_mask = causal_mask(y.shape[1]) if target_mask is None else target_mask\n        if self.norm_first:\n",
            )
        ],
    ),
    Mistake(
        name="no dropout on the self-attention's result",
        function="DecoderLayer",
        cell="decoder_layer_edges",
        means="In training mode, the self-attention's result was added whole.",
        hint="There is one dropout for each sublayer. How many do you have?",
        section="ch6-cross-attention",
        edits=[
            (
                "y = y + self.dropout(self.self_attention(normed, normed, normed, target_mask)[0])",
                "y = y + self.self_attention(normed, normed, normed, target_mask)[0]",
            ),
            (
                "self.norm1(y + self.dropout(self.self_attention(y, y, y, target_mask)[0]))",
                "self.norm1(y + self.self_attention(y, y, y, target_mask)[0])",
            ),
        ],
    ),
    Mistake(
        name="no dropout on the decoder's feed-forward result",
        function="DecoderLayer",
        cell="decoder_layer_edges",
        means="In training mode, the feed-forward network's result was added whole.",
        hint="There is one dropout for each sublayer. How many do you have?",
        section="ch6-cross-attention",
        edits=[
            (
                "y + self.dropout(self.feed_forward(self.norm3(y)))",
                "y + self.feed_forward(self.norm3(y))",
            ),
            (
                "self.norm3(y + self.dropout(self.feed_forward(y)))",
                "self.norm3(y + self.feed_forward(y))",
            ),
        ],
    ),
    Mistake(
        name="target mask passed on with norm_first only",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="With norm_first=False the self-attention runs without the target mask.",
        hint="Does the self-attention get the mask in both orders?",
        section="ch6-cross-attention",
        edits=[("self.self_attention(y, y, y, target_mask)", "self.self_attention(y, y, y)")],
    ),
    Mistake(
        name="memory mask passed on with norm_first only",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="With norm_first=False the cross-attention runs without the memory's mask.",
        hint="Does the cross-attention get the mask in both orders?",
        section="ch6-cross-attention",
        edits=[
            (
                "self.cross_attention(y, memory, memory, memory_mask)",
                "self.cross_attention(y, memory, memory)",
            )
        ],
    ),
    # Transformer --------------------------------------------------------------------------------
    Mistake(
        name="embeddings not scaled",
        function="Transformer",
        cell="transformer_values",
        means="The embeddings were not multiplied by the square root of D before the positions were "
        "added.",
        hint="What happens to an embedding between the look-up and the sum?",
        section="ch6-initialisation",
        edits=[("self.scale = d_model**0.5", "self.scale = 1")],
    ),
    Mistake(
        name="scaled after the positions",
        function="Transformer",
        cell="transformer_values",
        means="The sum of embedding and position was multiplied by the square root of D. Only the "
        "embedding should be.",
        hint="Where does the bracket close?",
        section="ch6-initialisation",
        edits=[
            (
                "self.positions(self.source_embedding(source) * self.scale)",
                "self.positions(self.source_embedding(source)) * self.scale",
            ),
            (
                "self.positions(self.target_embedding(target_in) * self.scale)",
                "self.positions(self.target_embedding(target_in)) * self.scale",
            ),
        ],
    ),
    Mistake(
        name="no positions",
        function="Transformer",
        cell="transformer_values",
        means="No positions were added. The encoder takes its sentence for a bag of words.",
        hint="Is anything in your model different for the first and the last word?",
        section="ch6-whole-model",
        edits=[
            (
                "self.positions(self.source_embedding(source) * self.scale)",
                "self.source_embedding(source) * self.scale",
            ),
            (
                "self.positions(self.target_embedding(target_in) * self.scale)",
                "self.target_embedding(target_in) * self.scale",
            ),
        ],
    ),
    Mistake(
        name="no norm at the end",
        function="Transformer",
        cell="transformer_values",
        means="With norm_first, what left the last layer was used as it was. Nobody has normalised this "
        "sum: it grows with every layer.",
        hint="With norm_first, which numbers come out of the last layer's plus, and who has normalised them?",
        section="ch6-norm-order",
        edits=[
            ("return self.encoder_norm(x)", "return x"),
            ("self.project(self.decoder_norm(y))", "self.project(y)"),
        ],
    ),
    Mistake(
        name="one layer used n times",
        function="Transformer",
        cell="transformer_values",
        means="All layers of the encoder are one and the same object, and so are those of the decoder: "
        "they share their weights.",
        hint="What does a list times a number hold: copies, or one thing many times?",
        section="ch6-whole-model",
        edits=[
            (
                "nn.ModuleList(EncoderLayer(*sizes) for _ in range(n_layers))",
                "nn.ModuleList([EncoderLayer(*sizes)] * n_layers)",
            ),
            (
                "nn.ModuleList(DecoderLayer(*sizes) for _ in range(n_layers))",
                "nn.ModuleList([DecoderLayer(*sizes)] * n_layers)",
            ),
        ],
    ),
    Mistake(
        name="padding visible in the encoder",
        function="Transformer",
        cell="transformer_masks",
        means="In the encoder, real words attend to padding: there is no mask, or it hides padding as query "
        "and not as key. A sentence gets another memory in a batch with longer ones.",
        hint="Encode one sentence with and without padding behind it. What should change? Does `encode` "
        "make a mask and hand it over, and does every layer use it? Rows of a mask are queries, columns are keys.",
        section="ch6-mistake-masks",
        edits=[("x = layer(x, mask)", "x = layer(x)")],
    ),
    Mistake(
        name="padding of the source visible in the decoder",
        function="Transformer",
        cell="transformer_masks",
        means="In the cross-attention, targets attend to padding of the source. The encoder hides padding "
        "from words, but the memory still has a row for each padding token.",
        hint="decode gets the source. What for? Does it hand a mask over, and does every decoder layer use "
        "the mask that it gets?",
        section="ch6-mistake-masks",
        edits=[
            ("y = layer(y, memory, target_mask, memory_mask)", "y = layer(y, memory, target_mask)")
        ],
    ),
    Mistake(
        name="padding of the targets in the cross-attention",
        function="Transformer",
        cell="transformer_masks",
        means="The mask of the cross-attention was made from the targets. Its keys are the source.",
        hint="Which sequence do the keys of the cross-attention come from?",
        section="ch6-mistake-masks",
        edits=[
            (
                "memory_mask = from_key_padding(source == self.pad)",
                "memory_mask = from_key_padding(target_in == self.pad)",
            )
        ],
    ),
    Mistake(
        name="causal mask in training only",
        function="Transformer",
        cell="transformer_masks",
        means="In evaluation mode the targets see the future. The reasoning was perhaps that nothing "
        "later exists while the model writes, but a validation loss is computed on whole sentences.",
        hint="Should any mask depend on the mode?",
        section="ch6-mistake-masks",
        edits=[
            (
                "combine(from_key_padding(target_in == self.pad), future)",
                "combine(from_key_padding(target_in == self.pad), future if self.training else None)",
            )
        ],
    ),
    Mistake(
        name="padding taken to be token 0",
        function="Transformer",
        cell="transformer_masks",
        means="Token 0 was hidden, whatever `pad` is.",
        hint="Which argument says what padding is?",
        section="ch6-mistake-masks",
        edits=[("self.pad = pad", "self.pad = 0")],
    ),
    Mistake(
        name="embeddings times D",
        function="Transformer",
        cell="transformer_values",
        means="The embeddings were multiplied by D itself, and not by its square root.",
        hint="By how much are embeddings multiplied: what does the sign over D mean?",
        section="ch6-initialisation",
        edits=[("self.scale = d_model**0.5", "self.scale = d_model")],
    ),
    Mistake(
        name="embeddings divided by the root of D",
        function="Transformer",
        cell="transformer_values",
        means="The embeddings were divided by the square root of D. It is the scores of attention that are divided by such a root.",
        hint="Times or divided by?",
        section="ch6-initialisation",
        edits=[("self.scale = d_model**0.5", "self.scale = d_model**-0.5")],
    ),
    Mistake(
        name="positions in the encoder only",
        function="Transformer",
        cell="transformer_values",
        means="The targets got no positions.",
        hint="Which of the two sentences has an order?",
        section="ch6-whole-model",
        edits=[
            (
                "self.positions(self.target_embedding(target_in) * self.scale)",
                "self.target_embedding(target_in) * self.scale",
            )
        ],
    ),
    Mistake(
        name="positions in the decoder only",
        function="Transformer",
        cell="transformer_values",
        means="The source got no positions. The encoder takes its sentence for a bag of words.",
        hint="Which of the two sentences has an order?",
        section="ch6-whole-model",
        edits=[
            (
                "self.positions(self.source_embedding(source) * self.scale)",
                "self.source_embedding(source) * self.scale",
            )
        ],
    ),
    Mistake(
        name="positions counted from 1",
        function="Transformer",
        cell="transformer_values",
        means="The first token got position 1.",
        hint="Which number does the first position have?",
        section="ch6-whole-model",
        edits=[
            (
                "self.positions(self.source_embedding(source) * self.scale)",
                "self.positions(self.source_embedding(source) * self.scale, 1)",
            ),
            (
                "self.positions(self.target_embedding(target_in) * self.scale)",
                "self.positions(self.target_embedding(target_in) * self.scale, 1)",
            ),
        ],
    ),
    Mistake(
        name="positions along the batch",
        function="Transformer",
        cell="transformer_values",
        means="Every sentence got one position for all of its tokens: the positions run along the batch.",
        hint="What is the order of the axes, and along which of them does a sentence run?",
        section="ch6-whole-model",
        edits=[
            (
                "self.positions(self.source_embedding(source) * self.scale)",
                "self.positions((self.source_embedding(source) * self.scale).transpose(0, 1)).transpose(0, 1)",
            ),
            (
                "self.positions(self.target_embedding(target_in) * self.scale)",
                "self.positions((self.target_embedding(target_in) * self.scale).transpose(0, 1)).transpose(0, 1)",
            ),
        ],
    ),
    Mistake(
        name="no norm at the end of the encoder",
        function="Transformer",
        cell="transformer_values",
        means="With norm_first, the memory is a sum that nobody has normalised. The decoder's norm is there.",
        hint="Is encoder_norm used?",
        section="ch6-norm-order",
        edits=[("return self.encoder_norm(x)", "return x")],
    ),
    Mistake(
        name="no norm at the end of the decoder",
        function="Transformer",
        cell="transformer_values",
        means="With norm_first, the logits come from a sum that nobody has normalised. The encoder's norm is there.",
        hint="Is decoder_norm used?",
        section="ch6-norm-order",
        edits=[("self.project(self.decoder_norm(y))", "self.project(y)")],
    ),
    Mistake(
        name="encoder_norm at the end of the decoder",
        function="Transformer",
        cell="transformer_values",
        means="One norm was used at both ends. decoder_norm is never trained.",
        hint="Each end has a norm of its own. Is every parameter of your model used?",
        section="ch6-whole-model",
        edits=[("self.decoder_norm(y)", "self.encoder_norm(y)")],
    ),
    Mistake(
        name="a norm at the end without norm_first",
        function="Transformer",
        cell="transformer_values",
        means="With norm_first=False, too, a norm stands after the last layer. There the last layer has normed its sum already.",
        hint="In which of the two orders is the last sum still without a norm?",
        section="ch6-norm-order",
        edits=[
            (
                "self.encoder_norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()",
                "self.encoder_norm = nn.LayerNorm(d_model)",
            ),
            (
                "self.decoder_norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()",
                "self.decoder_norm = nn.LayerNorm(d_model)",
            ),
        ],
    ),
    Mistake(
        name="target tokens looked up in the source embedding",
        function="Transformer",
        cell="transformer_values",
        means="decode used the embedding of the source language, or both attributes are the same embedding.",
        hint="Which table holds the words of the target language?",
        section="ch6-whole-model",
        edits=[("self.target_embedding(target_in)", "self.source_embedding(target_in)")],
    ),
    Mistake(
        name="one embedding where the vocabularies are equally large",
        function="Transformer",
        cell="transformer_values",
        means="Where both vocabularies have the same size, source and target share one embedding.",
        hint="Does the same number mean the same word in both languages?",
        section="ch6-whole-model",
        edits=[
            (
                "self.target_embedding = nn.Embedding(target_vocab, d_model)",
                "self.target_embedding = nn.Embedding(target_vocab, d_model) if source_vocab != target_vocab else self.source_embedding",
            )
        ],
    ),
    Mistake(
        name="project tied to the embedding",
        function="Transformer",
        cell="transformer_values",
        means="The weights of project are those of the target embedding.",
        hint="What does the table say about project?",
        section="ch6-whole-model",
        edits=[
            (
                "self.project = nn.Linear(d_model, target_vocab)",
                "self.project = nn.Linear(d_model, target_vocab)\n        self.project.weight = self.target_embedding.weight",
            )
        ],
    ),
    Mistake(
        name="log-softmax in place of logits",
        function="Transformer",
        cell="transformer_values",
        means="The result went through a log-softmax. The loss does that itself.",
        hint="What is a logit?",
        section="ch6-whole-model",
        edits=[
            (
                "return self.project(self.decoder_norm(y))",
                "return self.project(self.decoder_norm(y)).log_softmax(dim=-1)",
            )
        ],
    ),
    Mistake(
        name="probabilities in place of logits",
        function="Transformer",
        cell="transformer_values",
        means="The result went through a softmax. The loss does that itself.",
        hint="What is a logit?",
        section="ch6-whole-model",
        edits=[
            (
                "return self.project(self.decoder_norm(y))",
                "return self.project(self.decoder_norm(y)).softmax(dim=-1)",
            )
        ],
    ),
    Mistake(
        name="only the last layer counts",
        function="Transformer",
        cell="transformer_values",
        means="Every layer got the same input, so that only the last one has an effect.",
        hint="What goes into the second layer: what came into the first, or what came out of it?",
        section="ch6-whole-model",
        edits=[
            (
                "for layer in self.encoder:\n            x = layer(x, mask)",
                "start = x\n        for layer in self.encoder:\n            x = layer(start, mask)",
            ),
            (
                "for layer in self.decoder:\n            y = layer(y, memory",
                "start = y\n        for layer in self.decoder:\n            y = layer(start, memory",
            ),
        ],
    ),
    Mistake(
        name="norm_first not handed to the layers",
        function="Transformer",
        cell="transformer_values",
        means="The layers are always norm first, whatever `norm_first` says.",
        hint="Which arguments do the layers get?",
        section="ch6-whole-model",
        edits=[
            (
                "sizes = d_model, n_heads, d_ff, dropout, norm_first, attention",
                "sizes = d_model, n_heads, d_ff, dropout, True, attention",
            )
        ],
    ),
    Mistake(
        name="attention not handed to the layers",
        function="Transformer",
        cell="transformer_values",
        means="The layers use the attention of the notebook, whatever is handed to the model.",
        hint="Which arguments do the layers get?",
        section="ch6-whole-model",
        edits=[
            (
                "sizes = d_model, n_heads, d_ff, dropout, norm_first, attention",
                "sizes = d_model, n_heads, d_ff, dropout, norm_first",
            )
        ],
    ),
    Mistake(
        name="no causal mask",
        function="Transformer",
        cell="transformer_masks",
        means="The targets see the future. In training the loss gets wonderfully small, and what the model writes is nonsense.",
        hint="Which token may the first target attend to?",
        section="ch6-mistake-masks",
        edits=[
            (
                "combine(from_key_padding(target_in == self.pad), future)",
                "from_key_padding(target_in == self.pad)",
            )
        ],
    ),
    Mistake(
        name="a target hidden from itself",
        function="Transformer",
        cell="transformer_masks",
        means="The diagonal of the causal mask is missing. The first target then has nothing to attend to.",
        hint="May a target attend to itself?",
        section="ch6-mistake-masks",
        edits=[
            (
                "future = causal_mask(target_in.shape[1]).to(target_in.device)",
                "future = causal_mask(target_in.shape[1]).to(target_in.device).tril(-1)",
            )
        ],
    ),
    Mistake(
        name="one position of the future visible",
        function="Transformer",
        cell="transformer_masks",
        means="Each target sees the one after it. That is the very token it has to predict.",
        hint="Which is the last token that target t may attend to?",
        section="ch6-mistake-masks",
        edits=[
            (
                "future = causal_mask(target_in.shape[1]).to(target_in.device)",
                "T = target_in.shape[1]\n        future = torch.ones(T, T, dtype=torch.bool).tril(1)",
            )
        ],
    ),
    Mistake(
        name="the past hidden and the future visible",
        function="Transformer",
        cell="transformer_masks",
        means="The causal mask is upside down: a target sees itself and what comes after it.",
        hint="In row t of the mask, which columns are True?",
        section="ch6-mistake-masks",
        edits=[
            (
                "future = causal_mask(target_in.shape[1]).to(target_in.device)",
                "T = target_in.shape[1]\n        future = torch.ones(T, T, dtype=torch.bool).triu()",
            )
        ],
    ),
    Mistake(
        name="padding among the targets visible",
        function="Transformer",
        cell="transformer_masks",
        means="Targets attend to targets that are padding.",
        hint="Which two things must hold before a target may attend to another?",
        section="ch6-mistake-masks",
        edits=[("combine(from_key_padding(target_in == self.pad), future)", "future")],
    ),
    Mistake(
        name="OR in place of AND",
        function="Transformer",
        cell="transformer_masks",
        means="A target may attend where either mask allows it. Both must allow it.",
        hint="May a target attend to a padding token of the past? And to a word of the future?",
        section="ch6-mistake-masks",
        edits=[
            (
                "combine(from_key_padding(target_in == self.pad), future)",
                "from_key_padding(target_in == self.pad) | future",
            )
        ],
    ),
    Mistake(
        name="padding masks inverted",
        function="Transformer",
        cell="transformer_masks",
        means="Only padding may be attended to, and the words are hidden.",
        hint="In this course, does True mean *may attend* or *ignore*?",
        section="ch6-mistake-masks",
        edits=[
            (
                "mask = from_key_padding(source == self.pad)\n        x",
                "mask = from_key_padding(source != self.pad)\n        x",
            ),
            ("from_key_padding(target_in == self.pad)", "from_key_padding(target_in != self.pad)"),
            (
                "memory_mask = from_key_padding(source == self.pad)",
                "memory_mask = from_key_padding(source != self.pad)",
            ),
        ],
    ),
    Mistake(
        name="padding found by counting words",
        function="Transformer",
        cell="transformer_masks",
        means="The words were counted, and that many tokens from the left were taken for words. Padding can stand anywhere.",
        hint="What does your mask say for a sentence that begins with padding?",
        section="ch6-mistake-masks",
        edits=[
            (
                "mask = from_key_padding(source == self.pad)\n        x",
                "mask = (torch.arange(source.shape[1]) < (source != self.pad).sum(1, keepdim=True))[:, None, None]\n        x",
            ),
            (
                "from_key_padding(target_in == self.pad)",
                "(torch.arange(target_in.shape[1]) < (target_in != self.pad).sum(1, keepdim=True))[:, None, None]",
            ),
            (
                "memory_mask = from_key_padding(source == self.pad)",
                "memory_mask = (torch.arange(source.shape[1]) < (source != self.pad).sum(1, keepdim=True))[:, None, None]",
            ),
        ],
    ),
    Mistake(
        name="causal mask kept from the first call",
        function="Transformer",
        cell="transformer_masks",
        means="The causal mask was made once and is used for later sentences as well, which have other lengths.",
        hint="How large is the mask when decode is called with one token more?",
        section="ch6-mistake-masks",
        edits=[
            (
                "future = causal_mask(target_in.shape[1]).to(target_in.device)",
                "self.future = getattr(self, 'future', causal_mask(target_in.shape[1]))\n        future = self.future",
            )
        ],
    ),
    Mistake(
        name="masks in training only",
        function="Transformer",
        cell="transformer_masks",
        means="In evaluation mode no mask is used.",
        hint="Should any mask depend on the mode?",
        section="ch6-mistake-masks",
        edits=[
            ("x = layer(x, mask)", "x = layer(x, mask if self.training else None)"),
            (
                "y = layer(y, memory, target_mask, memory_mask)",
                "y = layer(y, memory, *([target_mask, memory_mask] if self.training else []))",
            ),
        ],
    ),
    Mistake(
        name="no dropout after the positions",
        function="Transformer",
        cell="transformer_training",
        means="In training mode, the sum of embedding and position goes into the first layer whole.",
        hint="In which places does the model drop numbers? The docstring lists two.",
        section="ch6-whole-model",
        edits=[("PositionalEncoding(d_model, dropout)", "PositionalEncoding(d_model)")],
    ),
    Mistake(
        name="dropout not handed to the layers",
        function="Transformer",
        cell="transformer_training",
        means="The layers drop nothing in training mode.",
        hint="Which arguments do the layers get?",
        section="ch6-whole-model",
        edits=[
            (
                "sizes = d_model, n_heads, d_ff, dropout, norm_first, attention",
                "sizes = d_model, n_heads, d_ff, 0.0, norm_first, attention",
            )
        ],
    ),
    Mistake(
        name="dropout twice after the positions",
        function="Transformer",
        cell="transformer_training",
        means="PositionalEncoding has a dropout of its own, and another one follows.",
        hint="How often is a number in danger before the first layer?",
        section="ch6-whole-model",
        edits=[
            (
                "self.positions(self.source_embedding(source) * self.scale)",
                "nn.functional.dropout(self.positions(self.source_embedding(source) * self.scale), self.positions.dropout.p, self.training)",
            ),
            (
                "self.positions(self.target_embedding(target_in) * self.scale)",
                "nn.functional.dropout(self.positions(self.target_embedding(target_in) * self.scale), self.positions.dropout.p, self.training)",
            ),
        ],
    ),
    Mistake(
        name="dropout on the embedding alone",
        function="Transformer",
        cell="transformer_training",
        means="Dropout acts before the positions are added, so that the positions always get through.",
        hint="Which comes first: adding the positions, or dropout?",
        section="ch6-whole-model",
        edits=[
            (
                "PositionalEncoding(d_model, dropout)",
                "PositionalEncoding(d_model)\n        self.drop = nn.Dropout(dropout)",
            ),
            (
                "self.positions(self.source_embedding(source) * self.scale)",
                "self.positions(self.drop(self.source_embedding(source) * self.scale))",
            ),
            (
                "self.positions(self.target_embedding(target_in) * self.scale)",
                "self.positions(self.drop(self.target_embedding(target_in) * self.scale))",
            ),
        ],
    ),
    Mistake(
        name="layers in a Python list",
        function="Transformer",
        cell="transformer_values",
        means="The layers stand in a plain list, so the model doesn't know them. They are not among its parameters, and `train()` and `eval()` don't reach them.",
        hint="How many parameters does your model report, and are those of the layers among them?",
        section="ch6-whole-model",
        edits=[
            (
                "nn.ModuleList(EncoderLayer(*sizes) for _ in range(n_layers))",
                "[EncoderLayer(*sizes) for _ in range(n_layers)]",
            ),
            (
                "nn.ModuleList(DecoderLayer(*sizes) for _ in range(n_layers))",
                "[DecoderLayer(*sizes) for _ in range(n_layers)]",
            ),
        ],
    ),
    Mistake(
        name="the final norm after every layer",
        function="Transformer",
        cell="transformer_values",
        means="The norm that belongs behind the last layer runs after every layer. With two layers, what the second gets has been normalised once too often.",
        hint="Does the line of the final norm stand inside the loop or behind it?",
        section="ch6-norm-order",
        edits=[
            (
                "            x = layer(x, mask)\n        return self.encoder_norm(x)",
                "            x = self.encoder_norm(layer(x, mask))\n        return x",
            ),
            (
                "            y = layer(y, memory, target_mask, memory_mask)\n        return self.project(self.decoder_norm(y))",
                "            y = self.decoder_norm(layer(y, memory, target_mask, memory_mask))\n        return self.project(y)",
            ),
        ],
    ),
    Mistake(
        name="causal mask of the first call cut to size",
        function="Transformer",
        cell="transformer_masks",
        means="The causal mask was made in the first call and is cut for shorter targets. A later target that is longer doesn't fit.",
        hint="How large is the mask when decode is called with one token more than the first time?",
        section="ch6-mistake-masks",
        edits=[
            (
                "future = causal_mask(target_in.shape[1]).to(target_in.device)",
                'self.future = getattr(self, "future", causal_mask(target_in.shape[1]))\n        future = self.future[: target_in.shape[1], : target_in.shape[1]]',
            ),
            (
                "combine(from_key_padding(target_in == self.pad), future)",
                "combine(future, from_key_padding(target_in == self.pad))",
            ),
        ],
    ),
    Mistake(
        name="padding without a position",
        function="Transformer",
        cell="transformer_masks",
        means="The positions count real tokens only. The task counts padding, too.",
        hint="Which position has a word that stands behind one token of padding?",
        section="ch6-whole-model",
        edits=[
            (
                "x = self.positions(self.source_embedding(source) * self.scale)",
                "rows = ((source != self.pad).cumsum(1) - 1).clamp(min=0)\n        x = self.positions.dropout(self.source_embedding(source) * self.scale + self.positions.encoding[rows])",
            ),
            (
                "y = self.positions(self.target_embedding(target_in) * self.scale)",
                "rows = ((target_in != self.pad).cumsum(1) - 1).clamp(min=0)\n        y = self.positions.dropout(self.target_embedding(target_in) * self.scale + self.positions.encoding[rows])",
            ),
        ],
    ),
    Mistake(
        name="no dropout on the targets",
        function="Transformer",
        cell="transformer_training",
        means="In training mode, the vectors of the source are dropped after the positions, those of the targets are not.",
        hint="Do both embeddings go the same way?",
        section="ch6-whole-model",
        edits=[
            (
                "y = self.positions(self.target_embedding(target_in) * self.scale)",
                "y = self.target_embedding(target_in) * self.scale\n        y = y + self.positions.encoding[: y.shape[1]]",
            )
        ],
    ),
    # shift --------------------------------------------------------------------------------------
    Mistake(
        name="answer not shifted",
        function="shift",
        cell="shift_values",
        means="Input and answer are the same tokens. The model has only to copy what it gets: the loss "
        "falls to zero, and nothing is learned.",
        hint="The answer at a position is the token after it. Which token of the target is nobody's input, "
        "and which is nobody's answer?",
        section="ch6-mistake-shift",
        edits=[("target[:, 1:]", "target[:, :-1]")],
    ),
    Mistake(
        name="input and answer exchanged",
        function="shift",
        cell="shift_values",
        means="The input comes first and the answer second. Yours are the other way round.",
        hint="Which of the two still has the begin token?",
        section="ch6-mistake-shift",
        edits=[("return target[:, :-1], target[:, 1:]", "return target[:, 1:], target[:, :-1]")],
    ),
    Mistake(
        name="shifted along the batch",
        function="shift",
        cell="shift_values",
        means="The first axis was cut. It holds the sentences, and the second holds the tokens.",
        hint="Which axis of target runs along a sentence?",
        section="ch6-mistake-shift",
        edits=[("return target[:, :-1], target[:, 1:]", "return target[:-1], target[1:]")],
    ),
    Mistake(
        name="the whole target as input",
        function="shift",
        cell="shift_values",
        means="The input still has the last token, for which there is no answer.",
        hint="How many tokens have a token after them?",
        section="ch6-mistake-shift",
        edits=[("target[:, :-1]", "target")],
    ),
    Mistake(
        name="shifted by two",
        function="shift",
        cell="shift_values",
        means="The answer is the token after the next one.",
        hint="Which token follows target_in[:, 0]?",
        section="ch6-mistake-shift",
        edits=[("return target[:, :-1], target[:, 1:]", "return target[:, :-2], target[:, 2:]")],
    ),
    Mistake(
        name="shifted in a circle",
        function="shift",
        cell="shift_values",
        means="The tokens were moved in a circle, so that the begin token is the last answer.",
        hint="What follows the last token of a target?",
        section="ch6-mistake-shift",
        edits=[("return target[:, :-1], target[:, 1:]", "return target, target.roll(-1, dims=1)")],
    ),
    Mistake(
        name="the first token missing in both",
        function="shift",
        cell="shift_values",
        means="Input and answer both lack the first token. The input lacks the last one, and begins with BOS.",
        hint="With which token does the decoder begin?",
        section="ch6-mistake-shift",
        edits=[("target[:, :-1]", "target[:, 1:]")],
    ),
    Mistake(
        name="the first and last token cut from the input",
        function="shift",
        cell="shift_values",
        means="The input lacks its first token as well: it should begin with BOS.",
        hint="With which token does the decoder begin?",
        section="ch6-mistake-shift",
        edits=[("target[:, :-1]", "target[:, 1:-1]")],
    ),
]

ALTERNATIVES = [
    Alternative(
        name="a wrapper around each sublayer",
        cost=(
            "Residual, dropout and norm are written once, and a layer becomes a list of "
            "sublayers. The functions that are handed around make an error's trace longer."
        ),
        source="""
class SublayerConnection(nn.Module):
    def __init__(self, dropout, norm_first):
        super().__init__()
        self.drop = nn.Dropout(p=dropout)
        self.norm_first = norm_first

    def forward(self, x, norm, sublayer):
        if self.norm_first:
            return x + self.drop(sublayer(norm(x)))
        return norm(x + self.drop(sublayer(x)))


class EncoderLayer(nn.Module):
    def __init__(
        self, d_model, n_heads, d_ff, dropout=0.0, norm_first=True, attention=attention
    ):
        super().__init__()
        self.connect = SublayerConnection(dropout, norm_first)
        self.norm2, self.norm1 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff, dropout=dropout)
        self.self_attention = MultiHeadAttention(d_model, n_heads, attention=attention)

    def forward(self, x, mask=None):
        x = self.connect(x, self.norm1, lambda z: self.self_attention(z, z, z, mask)[0])
        return self.connect(x, self.norm2, self.feed_forward)


class DecoderLayer(nn.Module):
    def __init__(
        self, d_model, n_heads, d_ff, dropout=0.0, norm_first=True, attention=attention
    ):
        super().__init__()
        self.connect = SublayerConnection(dropout, norm_first)
        self.feed_forward = FeedForward(d_model, d_ff, dropout=dropout)
        self.cross_attention = MultiHeadAttention(d_model, n_heads, attention=attention)
        self.self_attention = MultiHeadAttention(d_model, n_heads, attention=attention)
        for number in (1, 2, 3):
            setattr(self, f"norm{number}", nn.LayerNorm(d_model))

    def forward(self, y, memory, target_mask=None, memory_mask=None):
        y = self.connect(y, self.norm1, lambda z: self.self_attention(z, z, z, target_mask)[0])
        y = self.connect(
            y, self.norm2, lambda z: self.cross_attention(z, memory, memory, memory_mask)[0]
        )
        return self.connect(y, self.norm3, self.feed_forward)
""",
    ),
    Alternative(
        name="functions of torch",
        cost=(
            "All that happens stands in `forward`. `training` has to be handed to each dropout "
            "by hand, and a forgotten one works without a word."
        ),
        source="""
from torch.nn import functional as F


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.p = dropout
        self.linear2 = nn.Linear(d_ff, d_model)
        self.linear1 = nn.Linear(d_model, d_ff)

    def forward(self, x):
        hidden = F.relu(F.linear(x, self.linear1.weight, self.linear1.bias))
        hidden = F.dropout(hidden, self.p, training=self.training)
        return F.linear(hidden, self.linear2.weight, self.linear2.bias)


class EncoderLayer(nn.Module):
    def __init__(
        self, d_model, n_heads, d_ff, dropout=0.0, norm_first=True, attention=attention
    ):
        super().__init__()
        self.p, self.before = dropout, norm_first
        self.self_attention = MultiHeadAttention(d_model, n_heads, attention)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)

    def forward(self, x, mask=None):
        query = self.norm1(x) if self.before else x
        attended, _ = self.self_attention(query, query, query, mask=mask)
        x = x + F.dropout(attended, p=self.p, training=self.training)
        if not self.before:
            x = self.norm1(x)
        changed = self.feed_forward(self.norm2(x) if self.before else x)
        x = x + F.dropout(changed, p=self.p, training=self.training)
        return x if self.before else self.norm2(x)


def shift(target):
    n = target.size(1) - 1
    return target.narrow(1, 0, n), target.narrow(1, 1, n)
""",
    ),
    Alternative(
        name="positions without a module",
        cost="One module less, and no largest length. The sines are computed anew in each call.",
        source="""
import math


class Transformer(nn.Module):
    def __init__(
        self,
        source_vocab,
        target_vocab,
        d_model,
        n_heads,
        n_layers,
        d_ff,
        dropout=0.0,
        pad=0,
        norm_first=True,
        attention=attention,
    ):
        super().__init__()
        self.d_model, self.pad, self.norm_first = d_model, pad, norm_first
        self.project = nn.Linear(d_model, target_vocab)
        self.decoder_norm = nn.LayerNorm(d_model)
        self.encoder_norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        options = {"dropout": dropout, "norm_first": norm_first, "attention": attention}
        encoder, decoder = [], []
        for _ in range(n_layers):
            decoder.append(DecoderLayer(d_model, n_heads, d_ff, **options))
            encoder.append(EncoderLayer(d_model, n_heads, d_ff, **options))
        self.encoder, self.decoder = nn.ModuleList(encoder), nn.ModuleList(decoder)
        self.target_embedding = nn.Embedding(target_vocab, d_model, padding_idx=pad)
        self.source_embedding = nn.Embedding(source_vocab, d_model, padding_idx=pad)

    def embed(self, tokens, embedding):
        x = embedding(tokens) * math.sqrt(self.d_model)
        return self.dropout(x + sinusoidal(tokens.shape[1], self.d_model).to(x))

    def encode(self, source):
        x = self.embed(source, self.source_embedding)
        mask = (source != self.pad)[:, None, None, :]
        for n in range(len(self.encoder)):
            x = self.encoder[n](x, mask=mask)
        return self.encoder_norm(x) if self.norm_first else x

    def decode(self, target_in, memory, source):
        y = self.embed(target_in, self.target_embedding)
        order = torch.arange(target_in.shape[1])
        past = (order[:, None] >= order[None, :])[None, None]
        target_mask = (target_in != self.pad)[:, None, None, :] & past
        memory_mask = (source != self.pad).unsqueeze(1).unsqueeze(1)
        for layer in self.decoder:
            y = layer(y, memory, target_mask=target_mask, memory_mask=memory_mask)
        if self.norm_first:
            y = self.decoder_norm(y)
        return self.project(y)

    def forward(self, source, target_in):
        memory = self.encode(source)
        return self.decode(target_in, memory, source)
""",
    ),
    Alternative(
        name="a decoder layer that extends an encoder layer",
        cost=(
            "It says what a decoder layer is: an encoder layer with one sublayer more. Whoever "
            "changes the encoder layer changes both."
        ),
        source="""
class DecoderLayer(EncoderLayer):
    def __init__(
        self, d_model, n_heads, d_ff, dropout=0.0, norm_first=True, attention=attention
    ):
        super().__init__(d_model, n_heads, d_ff, dropout, norm_first, attention)
        self.cross_attention = MultiHeadAttention(d_model, n_heads, attention)
        self.norm3 = nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)
        self.first = norm_first

    def forward(self, y, memory, target_mask=None, memory_mask=None):
        sublayers = [
            (self.norm1, lambda z: self.self_attention(z, z, z, target_mask)[0]),
            (self.norm2, lambda z: self.cross_attention(z, memory, memory, memory_mask)[0]),
            (self.norm3, self.feed_forward),
        ]
        for norm, sublayer in sublayers:
            if self.first:
                y = y + self.drop(sublayer(norm(y)))
            else:
                y = norm(y + self.drop(sublayer(y)))
        return y


def shift(target):
    batch, length = target.shape
    return target[:, : length - 1].clone(), target[:, -(length - 1) :].clone()
""",
    ),
    Alternative(
        name="Sequential and copies",
        cost=(
            "Layers are made once and copied, with one place for their options. All copies "
            "begin with the same numbers unless they are initialised again, which is what the "
            "last lines do."
        ),
        source="""
import copy


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff, bias=True)
        self.linear2 = nn.Linear(d_ff, d_model, bias=True)
        self.between = nn.Sequential(nn.ReLU(inplace=True), nn.Dropout(dropout))

    def forward(self, x):
        x = self.linear1(x)
        x = self.between(x)
        return self.linear2(x)


class Transformer(nn.Module):
    def __init__(
        self,
        source_vocab,
        target_vocab,
        d_model,
        n_heads,
        n_layers,
        d_ff,
        dropout=0.0,
        pad=0,
        norm_first=True,
        attention=attention,
    ):
        super().__init__()
        self.pad = pad
        self.source_embedding = nn.Embedding(source_vocab, d_model)
        self.target_embedding = nn.Embedding(target_vocab, d_model)
        self.register_buffer("table", sinusoidal(200, d_model).float(), persistent=False)
        self.dropout = nn.Dropout(dropout)
        encoder_layer = EncoderLayer(d_model, n_heads, d_ff, dropout, norm_first, attention)
        decoder_layer = DecoderLayer(d_model, n_heads, d_ff, dropout, norm_first, attention)
        self.encoder = nn.ModuleList([copy.deepcopy(encoder_layer) for _ in range(n_layers)])
        self.decoder = nn.ModuleList([copy.deepcopy(decoder_layer) for _ in range(n_layers)])
        if norm_first:
            self.encoder_norm = nn.LayerNorm(d_model)
            self.decoder_norm = nn.LayerNorm(d_model)
        else:
            self.encoder_norm = self.decoder_norm = None
        self.project = nn.Linear(d_model, target_vocab)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)

    def embed(self, embedding, tokens):
        B, T = tokens.shape
        x = embedding.weight[tokens]
        x = x * x.shape[-1] ** 0.5
        return self.dropout(x + self.table[:T].unsqueeze(0).expand(B, -1, -1))

    def encode(self, source):
        x = self.embed(self.source_embedding, source)
        for layer in self.encoder:
            x = layer(x, (source != self.pad)[:, None, None])
        if self.encoder_norm is not None:
            x = self.encoder_norm(x)
        return x

    def decode(self, target_in, memory, source):
        T = target_in.shape[1]
        hidden = torch.triu(torch.ones(1, 1, T, T, dtype=torch.bool), diagonal=1)
        hidden = hidden | (target_in == self.pad)[:, None, None]
        y = self.embed(self.target_embedding, target_in)
        for layer in self.decoder:
            y = layer(y, memory, ~hidden, ~(source == self.pad)[:, None, None])
        if self.decoder_norm is not None:
            y = self.decoder_norm(y)
        return self.project(y)

    def forward(self, source, target_in):
        return self.decode(target_in=target_in, memory=self.encode(source), source=source)
""",
    ),
    Alternative(
        name="einsum and a norm by hand",
        cost=(
            "Nothing is taken on trust, the norm's mean and variance included. PyTorch's own "
            "norm does it in one kernel and with less memory for the gradient."
        ),
        source="""
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x):
        hidden = torch.einsum("...d,fd->...f", x, self.linear1.weight) + self.linear1.bias
        hidden = self.dropout(torch.where(hidden > 0, hidden, torch.zeros_like(hidden)))
        return torch.einsum("...f,df->...d", hidden, self.linear2.weight) + self.linear2.bias


class EncoderLayer(nn.Module):
    def __init__(
        self, d_model, n_heads, d_ff, dropout=0.0, norm_first=True, attention=attention
    ):
        super().__init__()
        self.norm_first = norm_first
        self.self_attention = MultiHeadAttention(d_model, n_heads, attention)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout1, self.dropout2 = nn.Dropout(dropout), nn.Dropout(dropout)

    def normalise(self, x, norm):
        centred = x - x.mean(dim=-1, keepdim=True)
        variance = (centred**2).mean(dim=-1, keepdim=True)
        return centred / (variance + norm.eps).sqrt() * norm.weight + norm.bias

    def forward(self, x, mask=None):
        if self.norm_first:
            y = self.normalise(x, self.norm1)
            y, _ = self.self_attention(y, y, y, mask)
            x = x + self.dropout1(y)
            y = self.feed_forward(self.normalise(x, self.norm2))
            return x + self.dropout2(y)
        y, _ = self.self_attention(x, x, x, mask)
        x = self.normalise(x + self.dropout1(y), self.norm1)
        y = self.feed_forward(x)
        return self.normalise(x + self.dropout2(y), self.norm2)
""",
    ),
    Alternative(
        name="one cell after the other",
        cost=(
            "Both orders are one piece of code, with two helpers that do something or nothing. "
            "It has to be read twice before one believes it."
        ),
        source="""
class DecoderLayer(nn.Module):
    def __init__(
        self, d_model, n_heads, d_ff, dropout=0.0, norm_first=True, attention=attention
    ):
        super().__init__()
        self.norm_first = norm_first
        self.cross_attention = MultiHeadAttention(d_model, n_heads, attention)
        self.self_attention = MultiHeadAttention(d_model, n_heads, attention)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model) for _ in range(3))
        self.drop = nn.ModuleList([nn.Dropout(dropout) for _ in range(3)])

    def before(self, norm, x):
        return norm(x) if self.norm_first else x

    def after(self, norm, x):
        return x if self.norm_first else norm(x)

    def forward(self, y, memory, target_mask=None, memory_mask=None):
        z = self.before(self.norm1, y)
        z = self.self_attention(query=z, key=z, value=z, mask=target_mask)[0]
        y = self.after(self.norm1, y + self.drop[0](z))
        z = self.before(self.norm2, y)
        z = self.cross_attention(query=z, key=memory, value=memory, mask=memory_mask)[0]
        y = self.after(self.norm2, y + self.drop[1](z))
        z = self.feed_forward(self.before(self.norm3, y))
        return self.after(self.norm3, y + self.drop[2](z))


def shift(target):
    target_in = torch.stack(list(target.unbind(dim=1))[:-1], dim=1)
    target_out = torch.stack(list(target.unbind(dim=1))[1:], dim=1)
    return target_in, target_out
""",
    ),
]

# shown after a task is passed
DISCUSSIONS = [
    Discussion(
        "FeedForward",
        (
            Way(
                "As a sequence of layers.",
                "into, out_of = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)\n"
                "self.layers = nn.Sequential(into, nn.ReLU(), nn.Dropout(dropout), out_of)",
                "`forward` is a single call. The parameters are then called `layers.0.weight` and "
                "`layers.3.weight`, and a layer put in between changes these names.",
            ),
            Way(
                "As two convolutions with a kernel of size 1, which the paper mentions.",
                "self.conv1, self.conv2 = nn.Conv1d(d_model, d_ff, 1), nn.Conv1d(d_ff, d_model, 1)\n"
                "hidden = self.conv1(x.transpose(1, 2)).relu()  # (B, F, T)\n"
                "result = self.conv2(hidden).transpose(1, 2)",
                "With a larger kernel, neighbours could take part. The width has to be the second axis, "
                "so two transposes come along.",
            ),
        ),
    ),
    Discussion(
        "EncoderLayer",
        (
            Way(
                "With one function for the frame around a sublayer.",
                "def sublayer(x, norm, function):\n"
                "    inside = norm(x) if self.norm_first else x\n"
                "    return x + self.dropout(function(inside))  # norm_first=False: norm of this",
                "Residual, dropout and norm stand in one place, so they can't differ between the "
                "sublayers. Who reads it has to follow functions that are handed over.",
            ),
            Way(
                "With PyTorch's own layer, outside of this exercise.",
                "layer = nn.TransformerEncoderLayer(\n"
                "    d_model, n_heads, d_ff, dropout, batch_first=True, norm_first=True\n"
                ")",
                "It is tested and fast. You can't exchange its attention, in its masks True means "
                "ignore, and it has one dropout more, on the weights.",
            ),
        ),
    ),
    Discussion(
        "DecoderLayer",
        (
            Way(
                "With the keys and values of the memory computed once for a sentence.",
                "cross = self.cross_attention\n"
                "key = split_heads(cross.w_k(memory), cross.n_heads)\n"
                "value = split_heads(cross.w_v(memory), cross.n_heads)",
                "When a sentence is written word by word, the memory stays the same, and two "
                "projections are saved at every word. The two have to be kept and handed in.",
            ),
            Way(
                "As a loop over three sublayers, here with the norm first.",
                "for norm, sublayer in zip(self.norms, (look_back, look_across, self.feed_forward)):\n"
                "    y = y + self.dropout(sublayer(norm(y)))",
                "What the three have in common stands there once. The attentions need small functions that "
                "bind mask and memory, and the norms become `norms.0` to `norms.2`.",
            ),
        ),
    ),
    Discussion(
        "Transformer",
        (
            Way(
                "With one matrix for the words that go in and those that come out.",
                "self.project.weight = self.target_embedding.weight",
                "The paper does this (section 3.4), and it saves V times D numbers. The matrix then "
                "learns from both sides, so its scale has to suit both.",
            ),
            Way(
                "With a causal mask that is made once.",
                "longest = causal_mask(max_len)\n"
                'self.register_buffer("causal", longest, persistent=False)\n'
                "future = self.causal[:T, :T]",
                "No mask is made in a call, and it moves with the model to another device. It takes "
                "max_len times max_len bytes, and longer sentences need a larger one.",
            ),
        ),
    ),
    Discussion(
        "shift",
        (
            Way(
                "As a window of two tokens that moves along.",
                "pairs = target.unfold(1, 2, 1)  # (B, T, 2)\n"
                "target_in, target_out = pairs[..., 0], pairs[..., 1]",
                "It shows what is learned: pairs of neighbours. Both are views, as slices are, but "
                "`unfold` is hardly known.",
            ),
            Way(
                "With `roll`, which moves everything one place to the front.",
                "rolled = target.roll(-1, dims=1)\ntarget_out = rolled[:, :-1]",
                "The positions stay lined up. It copies, and the first token turns up at the end: it "
                "has to be cut off, or the model learns to say BOS there.",
            ),
        ),
    ),
]
