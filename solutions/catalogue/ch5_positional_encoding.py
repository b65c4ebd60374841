"""Known mistakes and accepted alternatives of exercise 5."""

from autograder.catalogue import Alternative, Discussion, Mistake
from autograder.runtime.guide import Way

# the section of the book to read again, by grade cell
SECTIONS = {
    "sinusoidal_values": "ch5-clock",
    "sinusoidal_odd": "ch5-layouts",
    "shift_matrix_values": "ch5-shift",
    "encoding_values": "ch5-adding",
    "encoding_module": "ch5-adding",
    "rope_values": "ch5-rope",
    "rope_edges": "ch5-rope",
    "alibi_values": "ch5-alibi",
}

MISTAKES = [
    # sinusoidal ---------------------------------------------------------------------------------
    Mistake(
        name="factor 2 applied twice",
        function="sinusoidal",
        cell="sinusoidal_values",
        means="The exponents run to almost 2 instead of almost 1: a counter that already went 0, 2, 4, ... was "
        "doubled once more, so the slow pairs are far too slow.",
        hint="Which exponent does the last pair have? It should be 2 (D/2 - 1) / D, a little less than 1.",
        section="ch5-mistake-exponent",
        edits=[("(-2 * i / d_model)", "(-4 * i / d_model)")],
    ),
    Mistake(
        name="factor 2 left out",
        function="sinusoidal",
        cell="sinusoidal_values",
        means="The exponents run only to almost 1/2: pair i has the exponent i/D instead of 2i/D, so the slowest "
        "hand is far too fast.",
        hint="Which exponent does the last pair have? It should be 2 (D/2 - 1) / D, a little less than 1.",
        section="ch5-mistake-exponent",
        edits=[("(-2 * i / d_model)", "(-i / d_model)")],
    ),
    Mistake(
        name="cosine at the exponent of its column",
        function="sinusoidal",
        cell="sinusoidal_values",
        means="The sines are right. Each cosine has the exponent (2i+1)/D, so it no longer shares the angle of its sine "
        "and the pair is no longer a clock hand.",
        hint="How many different angles are there at one position: D, or D/2?",
        section="ch5-mistake-exponent",
        edits=[
            (
                "[angles.sin(), angles.cos()]",
                "[angles.sin(), (positions[:, None] * base ** (-(2 * i + 1) / d_model)).cos()]",
            )
        ],
    ),
    Mistake(
        name="cosine one pair ahead",
        function="sinusoidal",
        cell="sinusoidal_values",
        means="The sines are right. Each cosine has the exponent 2(i+1)/D, the one of the next pair.",
        hint="Compare sin² + cos² within a pair with 1.",
        section="ch5-mistake-exponent",
        edits=[
            (
                "[angles.sin(), angles.cos()]",
                "[angles.sin(), (positions[:, None] * base ** (-2 * (i + 1) / d_model)).cos()]",
            )
        ],
    ),
    Mistake(
        name="all sines first, then all cosines",
        function="sinusoidal",
        cell="sinusoidal_values",
        means="The numbers are right, their columns are not: all sines stand in the left half and all cosines in the "
        "right half.",
        hint="Columns 0 and 1 are the sine and the cosine of the same angle.",
        section="ch5-layouts",
        edits=[
            (
                "torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)",
                "torch.cat([angles.sin(), angles.cos()], dim=1)",
            )
        ],
    ),
    Mistake(
        name="cosine before sine",
        function="sinusoidal",
        cell="sinusoidal_values",
        means="The cosines stand in the even columns and the sines in the odd ones.",
        hint="What is the first row, at position 0? Begin with sin 0.",
        section="ch5-layouts",
        edits=[("[angles.sin(), angles.cos()]", "[angles.cos(), angles.sin()]")],
    ),
    Mistake(
        name="positions counted from 1",
        function="sinusoidal",
        cell="sinusoidal_values",
        means="Row p holds the encoding of position p + 1.",
        hint="Every sine of the first row should be 0.",
        section="ch5-clock",
        edits=[
            ("positions = torch.arange(n_positions,", "positions = 1 + torch.arange(n_positions,")
        ],
    ),
    Mistake(
        name="base ignored",
        function="sinusoidal",
        cell="sinusoidal_values",
        means="The base is 10000, whichever base was asked for.",
        hint="Where in your code does the argument base occur?",
        section="ch5-clock",
        edits=[("base ** (-2 * i", "10000.0 ** (-2 * i")],
    ),
    Mistake(
        name="default base is 1000",
        function="sinusoidal",
        cell="sinusoidal_values",
        means="With a base given your table is right. Without one, yours uses 1000.",
        hint="Count the zeros of the default value in the signature.",
        section="ch5-clock",
        edits=[("base: float = 10000.0", "base: float = 1000.0")],
    ),
    Mistake(
        name="exponent divided by D/2 - 1",
        function="sinusoidal",
        cell="sinusoidal_values",
        means="The exponents run from 0 to exactly 1, because i was divided by D/2 - 1. Some libraries do this; the formula "
        "here divides 2i by D.",
        hint="The slowest pair turns a little faster than 1/base. What do you divide by?",
        section="ch5-mistake-exponent",
        edits=[("(-2 * i / d_model)", "(-i / max(d_model // 2 - 1, 1))")],
    ),
    Mistake(
        name="multiplied by the power of the base",
        function="sinusoidal",
        cell="sinusoidal_values",
        means="The position is multiplied by base^(2i/D) instead of divided by it, so later pairs turn faster instead of "
        "slower.",
        hint="Should the second pair turn faster or slower than the first?",
        section="ch5-clock",
        edits=[("(-2 * i / d_model)", "(2 * i / d_model)")],
    ),
    Mistake(
        name="sine and cosine by position",
        function="sinusoidal",
        cell="sinusoidal_values",
        means="Even positions got sines everywhere and odd positions cosines. What alternates between sine and cosine "
        "is the column, not the position.",
        hint="Along which axis does the formula count 2i and 2i + 1?",
        section="ch5-clock",
        edits=[
            (
                "return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)",
                "angles = angles.repeat_interleave(2, dim=1)\n"
                "    return torch.where(positions[:, None] % 2 == 0, angles.sin(), angles.cos())",
            )
        ],
    ),
    Mistake(
        name="sines only",
        function="sinusoidal",
        cell="sinusoidal_values",
        means="Both columns of a pair hold the sine.",
        hint="Which function stands in the odd columns?",
        section="ch5-clock",
        edits=[("[angles.sin(), angles.cos()]", "[angles.sin(), angles.sin()]")],
    ),
    Mistake(
        name="power taken before dividing by D",
        function="sinusoidal",
        cell="sinusoidal_values",
        means="The base was raised to 2i first and then divided by D. The division belongs into the exponent.",
        hint="Which brackets does your exponent need?",
        section="ch5-mistake-exponent",
        edits=[
            (
                "positions[:, None] * base ** (-2 * i / d_model)",
                "positions[:, None] / (base ** (2 * i) / d_model)",
            )
        ],
    ),
    Mistake(
        name="positions divided by their number",
        function="sinusoidal",
        cell="sinusoidal_values",
        means="The positions were squeezed into the range from 0 to 1. They count in whole steps.",
        hint="By which angle does pair 0 turn from one position to the next?",
        section="ch5-clock",
        edits=[("positions[:, None] *", "positions[:, None] / n_positions *")],
    ),
    Mistake(
        name="odd width accepted",
        function="sinusoidal",
        cell="sinusoidal_odd",
        means="An odd d_model went through. The table had room for one more sine, or lost a column.",
        hint="Which check does the docstring promise under Raises?",
        section="ch5-layouts",
        edits=[("if d_model % 2:", "if False:")],
    ),
    Mistake(
        name="odd width fails by accident",
        function="sinusoidal",
        cell="sinusoidal_odd",
        means="An odd d_model ends in a RuntimeError about shapes from inside torch, not in a ValueError that says what is "
        "wrong with the argument.",
        hint="Check d_model before you compute anything.",
        section="ch5-layouts",
        source="""
def sinusoidal(n_positions, d_model, base=10000.0):
    angles = torch.arange(n_positions)[:, None] / base ** (torch.arange(0, d_model, 2) / d_model)
    table = torch.zeros(n_positions, d_model)
    table[:, 0::2] = angles.sin()
    table[:, 1::2] = angles.cos()
    return table
""",
    ),
    Mistake(
        name="even widths refused",
        function="sinusoidal",
        cell="sinusoidal_odd",
        means="The check is the wrong way round: it refuses even widths and lets odd ones pass.",
        hint="What is 7 % 2, and when does an `if` run?",
        section="ch5-layouts",
        edits=[("if d_model % 2:", "if d_model % 2 == 0:")],
    ),
    Mistake(
        name="another exception than ValueError",
        function="sinusoidal",
        cell="sinusoidal_odd",
        means="An odd width is refused, but with an exception of another class.",
        hint="Which class does the task name?",
        section="ch5-layouts",
        edits=[("raise ValueError(", "raise Exception(")],
    ),
    Mistake(
        name="assert for an odd width",
        function="sinusoidal",
        cell="sinusoidal_odd",
        means="An assert raises an AssertionError, and `python -O` switches it off.",
        hint="Which class does the task name?",
        section="ch5-layouts",
        edits=[
            ("    if d_model % 2:\n        raise ValueError(", "    assert d_model % 2 == 0, (")
        ],
    ),
    Mistake(
        name="table transposed",
        function="sinusoidal",
        cell="sinusoidal_values",
        means="The table has one column for each position. It should have one row.",
        hint="Which axis of your table belongs to the positions?",
        section="ch5-layouts",
        edits=[(".flatten(1)", ".flatten(1).T")],
    ),
    Mistake(
        name="angles times 2 pi",
        function="sinusoidal",
        cell="sinusoidal_values",
        means="The angles were multiplied by 2 pi. The formula has no pi.",
        hint="After how many positions has pair 0 gone round once?",
        section="ch5-clock",
        edits=[
            ("    return torch.stack", "    angles = 2 * torch.pi * angles\n    return torch.stack")
        ],
    ),
    Mistake(
        name="angles in degrees",
        function="sinusoidal",
        cell="sinusoidal_values",
        means="The angles were taken for degrees and changed to radians.",
        hint="Which unit does `torch.sin` expect, and which one has p?",
        section="ch5-clock",
        edits=[("    return torch.stack", "    angles = angles.deg2rad()\n    return torch.stack")],
    ),
    Mistake(
        name="positions in reverse",
        function="sinusoidal",
        cell="sinusoidal_values",
        means="The last position stands in the first row.",
        hint="Every sine of the first row should be 0.",
        section="ch5-clock",
        edits=[("positions[:, None]", "positions.flip(0)[:, None]")],
    ),
    Mistake(
        name="exponent cut to a whole number",
        function="sinusoidal",
        cell="sinusoidal_values",
        means="The exponent was divided with `//`, so it is 0 for every pair. All pairs turn alike.",
        hint="What is `2 // 8`, and what is `2 / 8`?",
        section="ch5-mistake-exponent",
        edits=[("base ** (-2 * i / d_model)", "base ** -(2 * i // d_model)")],
    ),
    Mistake(
        name="all sines first, and base ignored",
        function="sinusoidal",
        cell="sinusoidal_values",
        means="All sines stand in the left half and all cosines in the right half. Besides, the base is always 10000.",
        hint="Columns 0 and 1 are the sine and the cosine of the same angle. And where do you use `base`?",
        section="ch5-layouts",
        edits=[
            (
                "torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)",
                "torch.cat([angles.sin(), angles.cos()], dim=1)",
            ),
            ("base ** (-2 * i / d_model)", "10000.0 ** (-2 * i / d_model)"),
        ],
    ),
    # shift_matrix -------------------------------------------------------------------------------
    Mistake(
        name="shifted the wrong way",
        function="shift_matrix",
        cell="shift_matrix_values",
        means="Your matrix is the transpose of the right one: it takes each row back by delta instead of "
        "forward.",
        hint="Try one pair at p = 0: the matrix must take (0, 1) to (sin(delta), cos(delta)).",
        section="ch5-shift",
        edits=[("[-sin, cos]", "[sin, cos]"), ("[cos, sin]", "[cos, -sin]")],
    ),
    Mistake(
        name="direction of the shift ignored",
        function="shift_matrix",
        cell="shift_matrix_values",
        means="Positive shifts are right. Negative ones give the same matrix as positive ones.",
        hint="What does cos say about the sign of an angle, and what does sin say?",
        section="ch5-shift",
        edits=[("angles = delta *", "angles = abs(delta) *")],
    ),
    Mistake(
        name="blocks for separate halves",
        function="shift_matrix",
        cell="shift_matrix_values",
        means="Your matrix mixes column i with column i + D/2. That fits a table with all sines first; here each sine stands "
        "next to its cosine.",
        hint="Which two columns hold the sine and the cosine of the same angle?",
        section="ch5-layouts",
        edits=[
            (
                "return torch.block_diag(*torch.stack(rows, dim=1))",
                "return torch.cat([torch.cat([torch.diag(cos), torch.diag(sin)], 1), "
                "torch.cat([torch.diag(-sin), torch.diag(cos)], 1)])",
            )
        ],
    ),
    Mistake(
        name="reflection instead of rotation",
        function="shift_matrix",
        cell="shift_matrix_values",
        means="A minus sign is missing: each block is [[cos, sin], [sin, cos]], which is no rotation.",
        hint="Write out cos(a + b). Which sign has the product of the sines?",
        section="ch5-shift",
        edits=[("[-sin, cos]", "[sin, cos]")],
    ),
    Mistake(
        name="all pairs turned alike",
        function="shift_matrix",
        cell="shift_matrix_values",
        means="Every block turns by delta. Only the first pair turns by 1 per position, each later pair is slower.",
        hint="By which angle does pair i turn from one position to the next?",
        section="ch5-shift",
        edits=[("delta * base ** (-2 * i / d_model)", "delta * base ** (0 * i)")],
    ),
    Mistake(
        name="base of the shift ignored",
        function="shift_matrix",
        cell="shift_matrix_values",
        means="The matrix fits a table with base 10000, whichever base was asked for.",
        hint="Where in your code does the argument base occur?",
        section="ch5-shift",
        edits=[("base ** (-2 * i", "10000.0 ** (-2 * i")],
    ),
    Mistake(
        name="wrong frequencies in the shift",
        function="shift_matrix",
        cell="shift_matrix_values",
        means="The blocks are rotations, but pair i turns by base^(-i/D) per position instead of base^(-2i/D).",
        hint="Compare your exponents with those of the table, pair by pair.",
        section="ch5-mistake-exponent",
        edits=[("(-2 * i / d_model)", "(-i / d_model)")],
    ),
    Mistake(
        name="a list of blocks",
        function="shift_matrix",
        cell="shift_matrix_values",
        means="The result has one small matrix for each pair. They belong on the diagonal of one large matrix.",
        hint="Which shape does the docstring give?",
        section="ch5-shift",
        edits=[("torch.block_diag(*torch.stack(rows, dim=1))", "torch.stack(rows, dim=1)")],
    ),
    Mistake(
        name="sine and cosine exchanged in the shift",
        function="shift_matrix",
        cell="shift_matrix_values",
        means="Sine and cosine have changed places in the blocks.",
        hint="For no step at all, the matrix should change nothing. What are the sine and the cosine of 0?",
        section="ch5-shift",
        edits=[("angles.cos(), angles.sin()", "angles.sin(), angles.cos()")],
    ),
    Mistake(
        name="only one step",
        function="shift_matrix",
        cell="shift_matrix_values",
        means="The matrix moves by one position, whatever delta is.",
        hint="Where does delta enter your angles?",
        section="ch5-shift",
        edits=[("angles = delta * base", "angles = 1.0 * base")],
    ),
    Mistake(
        name="entries raised to a power",
        function="shift_matrix",
        cell="shift_matrix_values",
        means="`**` raises each entry to a power. That is not the power of the matrix, and it fails for steps back.",
        hint="What does a matrix to the power 2 mean: squared entries, or two steps?",
        section="ch5-shift",
        source="""
def shift_matrix(delta, d_model, base=10000.0):
    blocks = []
    for i in range(d_model // 2):
        angle = torch.tensor(base ** (-2 * i / d_model))
        c, s = torch.cos(angle), torch.sin(angle)
        blocks.append(torch.stack([torch.stack([c, s]), torch.stack([-s, c])]))
    return torch.block_diag(*blocks) ** delta
""",
    ),
    # PositionalEncoding -------------------------------------------------------------------------
    Mistake(
        name="rows by batch index",
        function="PositionalEncoding",
        cell="encoding_values",
        means="Every vector of an example got the same row, and each example another one: rows were dealt out along "
        "the batch axis. Code for inputs of shape (T, B, D) does this to a batch-first input.",
        hint="Which axis of x is time?",
        section="ch5-mistake-axis",
        edits=[
            ("offset + x.shape[1]", "offset + x.shape[0]"),
            ("rows.to(x.dtype)", "rows[:, None].to(x.dtype)"),
        ],
    ),
    Mistake(
        name="offset ignored",
        function="PositionalEncoding",
        cell="encoding_values",
        means="Each call starts at position 0 again, whatever the offset. In a decoder that gets one word at a time, every word "
        "would then stand at position 0.",
        hint="Which row belongs to x[:, 0] when offset is 7?",
        section="ch5-mistake-offset",
        edits=[("offset : offset + x.shape[1]", ": x.shape[1]")],
    ),
    Mistake(
        name="one row for the whole sequence",
        function="PositionalEncoding",
        cell="encoding_values",
        means="Only the row at offset was added, to every position.",
        hint="How many rows does a sequence of length T need?",
        section="ch5-adding",
        edits=[("offset + x.shape[1]", "offset + 1")],
    ),
    Mistake(
        name="position 1 first",
        function="PositionalEncoding",
        cell="encoding_values",
        means="The first vector got row offset + 1.",
        hint="Positions are counted from 0.",
        section="ch5-adding",
        edits=[("offset : offset + x.shape[1]", "offset + 1 : offset + 1 + x.shape[1]")],
    ),
    Mistake(
        name="encoding returned without x",
        function="PositionalEncoding",
        cell="encoding_values",
        means="These are the rows of the table alone. The vectors themselves are gone.",
        hint="What is the sum that the task speaks of?",
        section="ch5-adding",
        edits=[("x + rows", "0 * x + rows")],
    ),
    Mistake(
        name="multiplied instead of added",
        function="PositionalEncoding",
        cell="encoding_values",
        means="The vectors were multiplied by the rows of the table.",
        hint="What would become of a vector at an entry whose sine is 0?",
        section="ch5-adding",
        edits=[("x + rows", "x * rows")],
    ),
    Mistake(
        name="scaled by the root of D as well",
        function="PositionalEncoding",
        cell="encoding_values",
        means="The vectors were multiplied by the square root of D first. That belongs to the embedding layer; this "
        "module only adds.",
        hint="Is the scaling part of this module's task?",
        section="ch5-scaled-embeddings",
        edits=[("x + rows", "x * x.shape[-1] ** 0.5 + rows")],
    ),
    Mistake(
        name="added in place",
        function="PositionalEncoding",
        cell="encoding_values",
        means="The tensor that was passed in has changed: `x += ...` works on the caller's tensor.",
        hint="What is the difference between `x += y` and `x = x + y` for a tensor?",
        section="ch5-adding",
        edits=[("self.dropout(x + rows.to(x.dtype))", "self.dropout(x.add_(rows.to(x.dtype)))")],
    ),
    Mistake(
        name="dropout while evaluating",
        function="PositionalEncoding",
        cell="encoding_values",
        means="Entries are dropped in evaluation mode, too.",
        hint="How does F.dropout know whether the module is being trained?",
        section="ch5-adding",
        edits=[
            (
                "self.dropout(x + rows.to(x.dtype))",
                "torch.nn.functional.dropout(x + rows.to(x.dtype), self.dropout.p)",
            )
        ],
    ),
    Mistake(
        name="offsets added up",
        function="PositionalEncoding",
        cell="encoding_values",
        means="The module remembers where its last call ended and goes on from there. The offset is told anew in each call.",
        hint="What does your module keep in `self` during `forward`?",
        section="ch5-mistake-offset",
        edits=[
            (
                "        rows = self.encoding[offset : offset + x.shape[1]]",
                '        offset += getattr(self, "seen", 0)\n        self.seen = offset\n        rows = self.encoding[offset : offset + x.shape[1]]',
            )
        ],
    ),
    Mistake(
        name="offset counted backwards",
        function="PositionalEncoding",
        cell="encoding_values",
        means="The offset was subtracted, or the rows end at it. It is the row of the first vector.",
        hint="Which row belongs to x[:, 0]?",
        section="ch5-mistake-offset",
        edits=[
            (
                "self.encoding[offset : offset + x.shape[1]]",
                "self.encoding.roll(offset, dims=0)[: x.shape[1]]",
            )
        ],
    ),
    Mistake(
        name="table as a parameter",
        function="PositionalEncoding",
        cell="encoding_module",
        means="The table is an nn.Parameter: the optimiser would train it, and it counts as one.",
        hint="How do you register a tensor that belongs to a module and is not trained?",
        section="ch5-adding",
        edits=[
            ('self.register_buffer("encoding", encoding)', "self.encoding = nn.Parameter(encoding)")
        ],
    ),
    Mistake(
        name="table as a plain attribute",
        function="PositionalEncoding",
        cell="encoding_module",
        means="The table is an ordinary attribute. The module doesn't know it, so it stays behind when the module is moved to "
        "another device.",
        hint="Which method of nn.Module registers a tensor under a name?",
        section="ch5-adding",
        edits=[('self.register_buffer("encoding", encoding)', "self.encoding = encoding")],
    ),
    Mistake(
        name="max_len ignored",
        function="PositionalEncoding",
        cell="encoding_module",
        means="The table has 5000 rows, whatever max_len says.",
        hint="How many rows should the table have?",
        section="ch5-adding",
        edits=[("sinusoidal(max_len, d_model)", "sinusoidal(5000, d_model)")],
    ),
    Mistake(
        name="no dropout at all",
        function="PositionalEncoding",
        cell="encoding_module",
        means="In training mode nothing is dropped.",
        hint="Where does your forward use the probability that the constructor got?",
        section="ch5-adding",
        edits=[("self.dropout(x + rows.to(x.dtype))", "x + rows.to(x.dtype)")],
    ),
    Mistake(
        name="dropout on the encoding only",
        function="PositionalEncoding",
        cell="encoding_module",
        means="Dropout acts on the rows of the table before they are added, not on the sum.",
        hint="In which order do adding and dropping happen?",
        section="ch5-adding",
        edits=[
            (
                "self.dropout(x + rows.to(x.dtype))",
                "x + self.dropout(rows.to(x.dtype).expand_as(x))",
            )
        ],
    ),
    Mistake(
        name="dropout before adding",
        function="PositionalEncoding",
        cell="encoding_module",
        means="Dropout acts on x before the rows are added, not on the sum.",
        hint="In which order do adding and dropping happen?",
        section="ch5-adding",
        edits=[("self.dropout(x + rows.to(x.dtype))", "self.dropout(x) + rows.to(x.dtype)")],
    ),
    Mistake(
        name="dropped without rescaling",
        function="PositionalEncoding",
        cell="encoding_module",
        means="Entries are set to 0, but those that stay are not divided by 1 - dropout.",
        hint="Why does dropout make the entries that stay larger?",
        section="ch5-adding",
        edits=[
            (
                "self.dropout(x + rows.to(x.dtype))",
                "(x + rows.to(x.dtype)) * (torch.rand_like(x) >= self.dropout.p * self.training)",
            )
        ],
    ),
    Mistake(
        name="dropout rate the wrong way round",
        function="PositionalEncoding",
        cell="encoding_module",
        means="The rate is the share that is dropped. Here it is the share that stays.",
        hint="With dropout=0.1, how many of ten entries stay?",
        section="ch5-adding",
        edits=[
            ("nn.Dropout(dropout)", "nn.Dropout(1 - dropout)"),
            ("self.dropout(x", "self.dropout(1 * x"),
        ],
    ),
    Mistake(
        name="no gradient to x",
        function="PositionalEncoding",
        cell="encoding_module",
        means="The values are right, but x receives no gradient: the embeddings before it could not learn.",
        hint="Which of `detach`, `no_grad` or `.data` stands in your `forward`?",
        section="ch5-adding",
        edits=[("self.dropout(x + rows", "self.dropout(x.detach() + rows")],
    ),
    Mistake(
        name="table with a batch axis",
        function="PositionalEncoding",
        cell="encoding_module",
        means="The buffer has the shape (1, max_len, D). The task asks for (max_len, D).",
        hint="What happens when you add (T, D) to (B, T, D) without that axis?",
        section="ch5-adding",
        edits=[
            ('("encoding", encoding)', '("encoding", encoding[None])'),
            ("self.encoding[offset", "self.encoding[0, offset"),
        ],
    ),
    Mistake(
        name="data type of the table",
        function="PositionalEncoding",
        cell="encoding_module",
        means="The result has the data type of the table and not that of x.",
        hint="What is the sum of a float32 and a float64 tensor?",
        section="ch5-adding",
        edits=[
            (
                "sinusoidal(max_len, d_model).to(torch.get_default_dtype())",
                "sinusoidal(max_len, d_model).double()",
            ),
            ("rows.to(x.dtype)", "rows"),
        ],
    ),
    Mistake(
        name="x replaced by float32",
        function="PositionalEncoding",
        cell="encoding_module",
        means="The result is always float32.",
        hint="Which data type does the result have if x is float64 or bfloat16?",
        section="ch5-adding",
        edits=[("self.dropout(x + rows.to(x.dtype))", "self.dropout((x + rows).float())")],
    ),
    Mistake(
        name="encoding subtracted",
        function="PositionalEncoding",
        cell="encoding_values",
        means="The rows were subtracted from x.",
        hint="Which sign stands between x and the rows?",
        section="ch5-adding",
        edits=[("x + rows", "x - rows")],
    ),
    Mistake(
        name="position taken from the batch and the offset",
        function="PositionalEncoding",
        cell="encoding_values",
        means="The offset counts whole sequences: the rows begin at offset times T.",
        hint="With offset 2 and T = 5, which row belongs to the first vector?",
        section="ch5-mistake-offset",
        edits=[
            (
                "        rows = self.encoding[offset : offset + x.shape[1]]",
                "        offset = offset * x.shape[1]\n        rows = self.encoding[offset : offset + x.shape[1]]",
            )
        ],
    ),
    Mistake(
        name="last row of the table never reached",
        function="PositionalEncoding",
        cell="encoding_values",
        means="A sequence that ends with the last row of the table was cut off or moved.",
        hint="With 10 rows, what is the number of the last one?",
        section="ch5-adding",
        edits=[
            (
                "        rows = self.encoding[offset : offset + x.shape[1]]",
                "        offset = min(offset, self.encoding.shape[0] - x.shape[1] - 1)\n        rows = self.encoding[offset : offset + x.shape[1]]",
            )
        ],
    ),
    Mistake(
        name="table cut by a call",
        function="PositionalEncoding",
        cell="encoding_values",
        means="A call cuts the table to the rows that it needs, and later calls find no more.",
        hint="Which of your lines writes to `self` in `forward`?",
        section="ch5-adding",
        edits=[
            (
                "        rows = self.encoding[offset : offset + x.shape[1]]",
                "        self.encoding = self.encoding[: offset + x.shape[1]]\n        rows = self.encoding[offset:]",
            )
        ],
    ),
    # rope ---------------------------------------------------------------------------------------
    Mistake(
        name="positions ignored",
        function="rope",
        cell="rope_values",
        means="The vectors were turned as if they stood at 0, 1, 2, ..., whatever positions says.",
        hint="Where in your code does the argument positions occur?",
        section="ch5-rope",
        edits=[("angles = positions[..., None]", "angles = torch.arange(x.shape[-2])[:, None]")],
    ),
    Mistake(
        name="positions of the first sequence for all",
        function="rope",
        cell="rope_values",
        means="Where each sequence has positions of its own, all were turned by those of the first.",
        hint="Which shape has `positions` when it has leading axes, and which shape have your angles?",
        section="ch5-rope",
        edits=[
            (
                "angles = positions[..., None]",
                "angles = positions.reshape(-1, x.shape[-2])[0][:, None]",
            )
        ],
    ),
    Mistake(
        name="halves paired",
        function="rope",
        cell="rope_values",
        means="Entry i was paired with entry i + d/2. Some libraries do so; here a pair is two adjacent entries.",
        hint="Which entries are turned together with entry 0?",
        section="ch5-layouts",
        edits=[
            (
                "first, second = x[..., 0::2], x[..., 1::2]",
                "first, second = x.chunk(2, dim=-1)",
            ),
            (
                "torch.stack([first * cos - second * sin, first * sin + second * cos], dim=-1).flatten(-2)",
                "torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)",
            ),
        ],
    ),
    Mistake(
        name="turned the wrong way",
        function="rope",
        cell="rope_values",
        means="The pairs were turned by minus the angle. Among themselves such queries and keys work as well; mixed with "
        "anybody else's, they don't.",
        hint="At position 1 the pair (1, 0) must become (cos 1, sin 1), not (cos 1, -sin 1).",
        section="ch5-rope",
        edits=[
            (
                "first * cos - second * sin, first * sin + second * cos",
                "first * cos + second * sin, second * cos - first * sin",
            )
        ],
    ),
    Mistake(
        name="theta ignored",
        function="rope",
        cell="rope_values",
        means="theta is 10000, whichever was asked for.",
        hint="Where in your code does the argument theta occur?",
        section="ch5-rope",
        edits=[("theta ** (-2 * i / d)", "10000.0 ** (-2 * i / d)")],
    ),
    Mistake(
        name="factor 2 left out of the angles",
        function="rope",
        cell="rope_values",
        means="Pair i turns by theta^(-i/d) per position instead of theta^(-2i/d).",
        hint="Which exponent does the last pair have? It should be a little less than 1.",
        section="ch5-mistake-exponent",
        edits=[("(-2 * i / d)", "(-i / d)")],
    ),
    Mistake(
        name="factor 2 twice in the angles",
        function="rope",
        cell="rope_values",
        means="Pair i turns by theta^(-4i/d) per position: a counter that already went 0, 2, 4, ... was doubled once "
        "more.",
        hint="Which exponent does the last pair have? It should be a little less than 1.",
        section="ch5-mistake-exponent",
        edits=[("(-2 * i / d)", "(-4 * i / d)")],
    ),
    Mistake(
        name="all pairs at one speed",
        function="rope",
        cell="rope_values",
        means="Every pair was turned by the position itself. Only the first pair turns that fast.",
        hint="By which angle does pair i turn from one position to the next?",
        section="ch5-rope",
        edits=[("theta ** (-2 * i / d)", "theta ** (0 * i)")],
    ),
    Mistake(
        name="sign missing",
        function="rope",
        cell="rope_values",
        means="The first entry of a pair became x cos + y sin: with this sign the pair is not rotated, and its length changes.",
        hint="Does your result have the length of x?",
        section="ch5-rope",
        edits=[("first * cos - second * sin", "first * cos + second * sin")],
    ),
    Mistake(
        name="table added instead of rotation",
        function="rope",
        cell="rope_values",
        means="Cosines and sines were added to x. RoPE multiplies: it turns the vectors and keeps their length.",
        hint="Does your result have the length of x?",
        section="ch5-rope",
        edits=[
            ("first * cos - second * sin, first * sin + second * cos", "first + sin, second + cos")
        ],
    ),
    Mistake(
        name="sine and cosine exchanged",
        function="rope",
        cell="rope_values",
        means="Sine and cosine have changed places in the rotation. At position 0 nothing should move.",
        hint="What are the sine and the cosine of 0?",
        section="ch5-rope",
        edits=[
            (
                "first * cos - second * sin, first * sin + second * cos",
                "first * sin - second * cos, first * cos + second * sin",
            )
        ],
    ),
    Mistake(
        name="turned pairs not interleaved again",
        function="rope",
        cell="rope_values",
        means="The pairs were turned rightly, but then all first entries stand before all second ones.",
        hint="In which column does the second entry of pair 0 belong?",
        section="ch5-layouts",
        edits=[
            (
                "torch.stack([first * cos - second * sin, first * sin + second * cos], dim=-1).flatten(-2)",
                "torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)",
            )
        ],
    ),
    Mistake(
        name="angles in halves, entries in pairs",
        function="rope",
        cell="rope_values",
        means="Each angle stands twice, but as for halves: angle i at the entries i and i + d/2. Neighbours are then "
        "turned by different angles.",
        hint="At which two entries of the vector do you need the angle of pair 0?",
        section="ch5-layouts",
        source="""
def rope(x, positions, theta=10000.0):
    d = x.shape[-1]
    angles = positions[..., None] * theta ** (-2 * torch.arange(d // 2, dtype=torch.float64) / d)
    angles = angles.repeat((1,) * positions.ndim + (2,))
    turned = torch.stack([-x[..., 1::2], x[..., ::2]], dim=-1).flatten(-2)
    return x * angles.cos().to(x.dtype) + turned * angles.sin().to(x.dtype)
""",
    ),
    Mistake(
        name="positions along the heads",
        function="rope",
        cell="rope_values",
        means="The positions were lined up with the axis before the last two. There the heads stand.",
        hint="With which axis of x should the axis of the positions line up?",
        section="ch5-mistake-axis",
        edits=[
            (
                "cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)",
                "angles = angles if positions.dim() > 1 or x.dim() < 3 else angles[:, None]\n    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)",
            )
        ],
    ),
    Mistake(
        name="memory taken to be contiguous",
        function="rope",
        cell="rope_values",
        means="`view` only works where the numbers lie in memory in the order of the axes. A transposed tensor doesn't.",
        hint="What does `reshape` do where `view` gives up?",
        section="ch5-rope",
        edits=[
            (
                "first, second = x[..., 0::2], x[..., 1::2]",
                "flat = x.view(-1, d)\n    first, second = flat.reshape(x.shape)[..., 0::2], flat.reshape(x.shape)[..., 1::2]",
            )
        ],
    ),
    Mistake(
        name="only the first pair turned",
        function="rope",
        cell="rope_values",
        means="Only pair 0 was turned. Each pair turns at a speed of its own.",
        hint="How many pairs does a vector of width d have?",
        section="ch5-rope",
        edits=[("theta ** (-2 * i / d)", "(i == 0)")],
    ),
    Mistake(
        name="second entry from the turned first",
        function="rope",
        cell="rope_values",
        means="The second entry of each pair was computed from the first one after that had been turned already. A slice of x is a view: it changes when you write into x.",
        hint="What does `x[..., 0::2]` hold when you compute the second entry, and whose tensor do you write into?",
        section="ch5-mistake-in-place",
        source="""
def rope(x, positions, theta=10000.0):
    d = x.shape[-1]
    i = torch.arange(d // 2, dtype=torch.float64)
    angles = positions[..., None] * theta ** (-2 * i / d)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x[..., 0::2], x[..., 1::2]
    x[..., 0::2] = first * cos - second * sin
    x[..., 1::2] = first * sin + second * cos
    return x
""",
    ),
    Mistake(
        name="turned in place",
        function="rope",
        cell="rope_edges",
        means="The tensor that was passed in was overwritten with the result.",
        hint="Which tensor do your assignments to x[..., 0::2] write to?",
        section="ch5-mistake-in-place",
        edits=[
            (
                "return torch.stack([first * cos - second * sin, first * sin + second * cos], dim=-1).flatten(-2)",
                "pair = torch.stack([first * cos - second * sin, first * sin + second * cos], dim=-1)\n"
                "    x.data.copy_(pair.flatten(-2))\n"
                "    return pair.flatten(-2)",
            )
        ],
    ),
    Mistake(
        name="gradient cut off",
        function="rope",
        cell="rope_edges",
        means="The values are right, but no gradient reaches x, so nothing that made the queries and keys can learn.",
        hint="Is anything computed under no_grad, detached, or turned into NumPy on the way?",
        section="ch5-rope",
        edits=[
            (
                "first, second = x[..., 0::2], x[..., 1::2]",
                "first, second = x.detach()[..., 0::2], x.detach()[..., 1::2]",
            )
        ],
    ),
    Mistake(
        name="data type of the angles",
        function="rope",
        cell="rope_edges",
        means="The result has the data type of the angles and not that of x.",
        hint="What is the product of a float32 and a float64 tensor?",
        section="ch5-rope",
        edits=[
            ("angles.cos().to(x.dtype), angles.sin().to(x.dtype)", "angles.cos(), angles.sin()")
        ],
    ),
    Mistake(
        name="angles in half precision",
        function="rope",
        cell="rope_values",
        means="The angles were computed in float16 or so. It has 11 binary digits, too few for an angle of 40.",
        hint="In which data type are your angles? Compute them in float32 or float64 and convert the cosines.",
        section="ch5-precision",
        edits=[
            (
                "angles.cos().to(x.dtype), angles.sin().to(x.dtype)",
                "angles.half().cos().to(x.dtype), angles.half().sin().to(x.dtype)",
            )
        ],
    ),
    Mistake(
        name="angles in the type of x",
        function="rope",
        cell="rope_edges",
        means="The angles were computed in the data type of x. In half precision, late positions are rounded, and so are their angles.",
        hint="Which data type do your positions have when they are multiplied?",
        section="ch5-precision",
        source="""
def rope(x, positions, theta=10000.0):
    d = x.shape[-1]
    speed = theta ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)
    angles = positions.to(x.dtype).unsqueeze(-1) * speed
    cos, sin = torch.cos(angles), torch.sin(angles)
    y = torch.empty_like(x)
    y[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
    y[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
    return y
""",
    ),
    Mistake(
        name="positions subtracted from the first one",
        function="rope",
        cell="rope_values",
        means="The positions were counted from the first one of the sequence.",
        hint="Should a sequence that starts at position 5 be turned like one that starts at 0?",
        section="ch5-rope",
        edits=[
            (
                "angles = positions[..., None]",
                "angles = (positions - positions[..., :1])[..., None]",
            )
        ],
    ),
    Mistake(
        name="both entries turned by the sine alone",
        function="rope",
        cell="rope_values",
        means="One of the two entries of a pair lacks its cosine.",
        hint="How many products does each row of the matrix make?",
        section="ch5-rope",
        edits=[("first * sin + second * cos", "first * sin + second")],
    ),
    Mistake(
        name="positions along one axis only",
        function="rope",
        cell="rope_values",
        means="`torch.outer` takes positions with one axis only. Each sequence may have positions of its own.",
        hint="Which product works for positions of any shape?",
        section="ch5-rope",
        source="""
def rope(x, positions, theta=10000.0):
    d = x.size(-1)
    speed = 1.0 / theta ** (torch.arange(0, d, 2).double() / d)
    angles = torch.outer(positions.double(), speed)
    cos = angles.cos().repeat_interleave(2, dim=-1).to(x.dtype)
    sin = angles.sin().repeat_interleave(2, dim=-1).to(x.dtype)
    turned = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).reshape(x.shape)
    return x * cos + turned * sin
""",
    ),
    # alibi_bias ---------------------------------------------------------------------------------
    Mistake(
        name="first slope is 1",
        function="alibi_bias",
        cell="alibi_values",
        means="Head h has the slope 2^(-8h/H), beginning with 1. It should be 2^(-8(h+1)/H).",
        hint="With two heads the first slope is 1/16.",
        section="ch5-alibi",
        edits=[("torch.arange(1, n_heads + 1)", "torch.arange(n_heads)")],
    ),
    Mistake(
        name="slopes as for eight heads",
        function="alibi_bias",
        cell="alibi_values",
        means="The slopes are 1/2, 1/4, 1/8, ... for any number of heads. That is right for eight heads only.",
        hint="Which slope does the last head have? It should be 1/256 for every H.",
        section="ch5-alibi",
        edits=[(" / n_heads)", " / 8)")],
    ),
    Mistake(
        name="far keys preferred",
        function="alibi_bias",
        cell="alibi_values",
        means="The sign is wrong: the bias grows with distance, so the farthest key wins.",
        hint="Should a distant key get a larger or a smaller score?",
        section="ch5-alibi",
        edits=[("-slopes", "slopes")],
    ),
    Mistake(
        name="distance with a sign, i - j",
        function="alibi_bias",
        cell="alibi_values",
        means="The bias is -m (i - j) without the absolute value: keys behind the query are punished, keys ahead of it are "
        "rewarded.",
        hint="What is the distance between positions 2 and 5, seen from either?",
        section="ch5-alibi",
        edits=[(".abs()", "")],
    ),
    Mistake(
        name="distance with a sign, j - i",
        function="alibi_bias",
        cell="alibi_values",
        means="The bias is m (i - j) without the absolute value: keys behind the query are rewarded.",
        hint="What is the distance between positions 2 and 5, seen from either?",
        section="ch5-alibi",
        edits=[("(positions[:, None] - positions).abs()", "positions - positions[:, None]")],
    ),
    Mistake(
        name="keys ahead not counted",
        function="alibi_bias",
        cell="alibi_values",
        means="The bias is 0 for keys ahead of the query. With a causal mask nobody would notice; here both directions "
        "count.",
        hint="What is the entry for i = 2 and j = 5?",
        section="ch5-alibi",
        edits=[(".abs()", ".clamp(min=0)")],
    ),
    Mistake(
        name="a causal mask built in",
        function="alibi_bias",
        cell="alibi_values",
        means="Keys ahead of the query have the bias -inf. Masks are a matter of their own; here both directions count.",
        hint="What is the entry for i = 2 and j = 5?",
        section="ch5-alibi",
        edits=[
            (
                "return -slopes[:, None, None] * distance",
                "ahead = positions > positions[:, None]\n"
                "    return (-slopes[:, None, None] * distance).masked_fill(ahead, float('-inf'))",
            )
        ],
    ),
    Mistake(
        name="slopes in reverse",
        function="alibi_bias",
        cell="alibi_values",
        means="The slopes are right, but head 0 has the smallest instead of the largest.",
        hint="Which head forgets fastest, the first or the last?",
        section="ch5-alibi",
        edits=[("torch.arange(1, n_heads + 1)", "torch.arange(n_heads, 0, -1)")],
    ),
    Mistake(
        name="power of e",
        function="alibi_bias",
        cell="alibi_values",
        means="The slopes are e^(-8(h+1)/H) instead of 2^(-8(h+1)/H).",
        hint="What is your slope for the last head? It should be 1/256.",
        section="ch5-alibi",
        edits=[
            (
                "2.0 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)",
                "(-8 * torch.arange(1, n_heads + 1) / n_heads).exp()",
            )
        ],
    ),
    Mistake(
        name="one slope for all heads",
        function="alibi_bias",
        cell="alibi_values",
        means="All heads have the slope 1/256, that of the last one.",
        hint="How do the heads differ?",
        section="ch5-alibi",
        edits=[
            (
                "slopes = 2.0 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)",
                "slopes = torch.full((n_heads,), 2.0**-8)",
            )
        ],
    ),
    Mistake(
        name="heads on the last axis",
        function="alibi_bias",
        cell="alibi_values",
        means="The numbers are right, but the heads lie on the last axis. The scores have shape (B, H, T, T), so they belong in "
        "front.",
        hint="What shape must the bias have, so that it can be added to scores of shape (B, H, T, T)?",
        section="ch5-alibi",
        edits=[("-slopes[:, None, None] * distance", "-slopes * distance[:, :, None]")],
    ),
    Mistake(
        name="first slope is 1, and a sign",
        function="alibi_bias",
        cell="alibi_values",
        means="There are two mistakes here. The slopes begin at 1, and the distance has a sign.",
        hint="What is the slope of head 0 with two heads, and can a distance be negative?",
        section="ch5-alibi",
        edits=[("torch.arange(1, n_heads + 1)", "torch.arange(n_heads)"), (".abs()", "")],
    ),
    Mistake(
        name="distance squared",
        function="alibi_bias",
        cell="alibi_values",
        means="The distance was squared.",
        hint="How much more does ALiBi subtract at distance 4 than at distance 2?",
        section="ch5-alibi",
        edits=[(".abs()", ".square()")],
    ),
    Mistake(
        name="slopes in equal steps",
        function="alibi_bias",
        cell="alibi_values",
        means="The slopes grow in equal steps. Each should be the one before, times the same factor.",
        hint="Where does the number of the head stand: in the exponent, or beside the power?",
        section="ch5-alibi",
        edits=[
            (
                "2.0 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)",
                "2.0 ** (-8 / n_heads) * torch.arange(1, n_heads + 1)",
            )
        ],
    ),
    Mistake(
        name="slopes with whole exponents",
        function="alibi_bias",
        cell="alibi_values",
        means="The exponents were rounded to whole numbers by `//`. With 3 heads they are fractions.",
        hint="What is the exponent of head 0 with three heads?",
        section="ch5-alibi",
        edits=[
            (
                "-8 * torch.arange(1, n_heads + 1) / n_heads",
                "-8 * torch.arange(1, n_heads + 1) // n_heads",
            )
        ],
    ),
    Mistake(
        name="slopes of the authors' program",
        function="alibi_bias",
        cell="alibi_values",
        means="For a number of heads that is no power of 2, these are the slopes of the authors' program, which "
        "mixes those of two powers. The task asks for one formula for every number.",
        hint="What is the exponent of head 0 with three heads?",
        section="ch5-alibi",
        source="""
def alibi_bias(n_heads, T):
    below = 2 ** (n_heads.bit_length() - 1)
    slopes = [2.0 ** (-8 * (h + 1) / below) for h in range(below)]
    slopes += [2.0 ** (-4 * (2 * h + 1) / below) for h in range(n_heads - below)]
    positions = torch.arange(T)
    distance = (positions[:, None] - positions).abs()
    return -torch.tensor(slopes)[:, None, None] * distance
""",
    ),
    Mistake(
        name="slope added to the distance",
        function="alibi_bias",
        cell="alibi_values",
        means="The slope was subtracted from the distance. The two are multiplied.",
        hint="What does a head with the slope 1/16 add at distance 3?",
        section="ch5-alibi",
        edits=[
            ("return -slopes[:, None, None] * distance", "return -slopes[:, None, None] - distance")
        ],
    ),
    Mistake(
        name="distance 1 at most",
        function="alibi_bias",
        cell="alibi_values",
        means="Every other position has the distance 1, however far it is.",
        hint="What is |i - j| for i = 0 and j = 3?",
        section="ch5-alibi",
        edits=[("- positions).abs()", "- positions).abs().clamp(max=1)")],
    ),
    Mistake(
        name="distance counted from 1",
        function="alibi_bias",
        cell="alibi_values",
        means="A position has the distance 1 from itself, and each other one is 1 too far.",
        hint="What should stand on the diagonal?",
        section="ch5-alibi",
        edits=[("- positions).abs()", "- positions).abs() + 1")],
    ),
    Mistake(
        name="8 divided by the heads without its rest",
        function="alibi_bias",
        cell="alibi_values",
        means="`8 // H` leaves out the rest of the division. It is right only where H divides 8.",
        hint="What is `8 // 3`, and what is `8 / 3`?",
        section="ch5-alibi",
        source="""
def alibi_bias(n_heads, T):
    ratio = 2.0 ** -(8 // n_heads)
    slopes = torch.tensor([ratio ** (h + 1) for h in range(n_heads)])
    positions = torch.arange(T)
    distance = (positions.view(1, T) - positions.view(T, 1)).abs()
    return -slopes.view(n_heads, 1, 1) * distance
""",
    ),
]

ALTERNATIVES = [
    Alternative(
        name="number by number",
        cost=(
            "The formula as it is printed. Python computes every sine, so a table of thousands "
            "of positions takes noticeable time."
        ),
        source="""
def sinusoidal(n_positions, d_model, base=10000.0):
    import math

    if d_model % 2 == 1:
        raise ValueError(f"d_model must be even, not {d_model}")
    table = torch.zeros(n_positions, d_model, dtype=torch.float64)
    for p in range(n_positions):
        for i in range(d_model // 2):
            angle = p / base ** (2 * i / d_model)
            table[p, 2 * i] = math.sin(angle)
            table[p, 2 * i + 1] = math.cos(angle)
    return table


def shift_matrix(delta, d_model, base=10000.0):
    import math

    M = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(0, d_model, 2):
        angle = delta / base ** (i / d_model)
        M[i, i] = M[i + 1, i + 1] = math.cos(angle)
        M[i, i + 1] = math.sin(angle)
        M[i + 1, i] = -math.sin(angle)
    return M


def rope(x, positions, theta=10000.0):
    positions = positions.expand(x.shape[:-1])
    columns = []
    for i in range(0, x.shape[-1], 2):
        angle = positions.double() / theta ** (i / x.shape[-1])
        a, b = x[..., i], x[..., i + 1]
        columns += [a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()]
    return torch.stack(columns, dim=-1).to(x.dtype)


def alibi_bias(n_heads, T):
    return torch.tensor(
        [
            [[-(2 ** (-8 * (h + 1) / n_heads)) * abs(i - j) for j in range(T)] for i in range(T)]
            for h in range(n_heads)
        ]
    )
""",
    ),
    Alternative(
        name="exponential of a logarithm",
        cost=(
            "The form that most libraries have: no power of a large base is computed. A reader "
            "has to see that it is the same number."
        ),
        source="""
def sinusoidal(n_positions, d_model, base=10000.0):
    import math

    if d_model % 2 != 0:
        raise ValueError("d_model must be even")
    position = torch.arange(n_positions).unsqueeze(1).double()
    rates = torch.exp(torch.arange(0, d_model, 2).double() * (-math.log(base) / d_model))
    table = torch.empty(n_positions, d_model, dtype=torch.float64)
    table[:, 0::2] = torch.sin(position * rates)
    table[:, 1::2] = torch.cos(position * rates)
    return table


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.0, max_len=5000):
        super().__init__()
        self.rate = dropout
        self.register_buffer("encoding", sinusoidal(max_len, d_model), persistent=False)

    def forward(self, x, offset=0):
        positions = torch.arange(offset, offset + x.size(1), device=x.device)
        total = x + self.encoding.index_select(0, positions).unsqueeze(0).type_as(x)
        return torch.nn.functional.dropout(total, self.rate, self.training)


def rope(x, positions, theta=10000.0):
    import math

    rates = torch.exp(
        torch.arange(0, x.shape[-1], 2).double() * (-math.log(theta) / x.shape[-1])
    )
    angles = (positions.unsqueeze(-1) * rates).repeat_interleave(2, dim=-1)
    turned = torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).reshape(x.shape)
    return (x * angles.cos() + turned * angles.sin()).to(x.dtype)


def alibi_bias(n_heads, T):
    slopes = torch.tensor([2 ** (-8 * (h + 1) / n_heads) for h in range(n_heads)])
    distance = torch.cdist(torch.arange(T).double()[:, None], torch.arange(T).double()[:, None], p=1)
    return torch.einsum("h,ij->hij", -slopes.double(), distance)
""",
    ),
    Alternative(
        name="complex numbers",
        cost=(
            "A step is one multiplication, and the code is as short as the idea. Complex "
            "numbers need pairs next to each other in memory, and not every device and data "
            "type supports them."
        ),
        source="""
def sinusoidal(n_positions, d_model, base=10000.0):
    if d_model % 2:
        raise ValueError("odd width")
    rates = base ** -(torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angles = torch.outer(torch.arange(n_positions, dtype=torch.float64), rates)
    hands = torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(hands).flip(-1).flatten(1)


def shift_matrix(delta, d_model, base=10000.0):
    rates = base ** -(torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    turn = torch.exp(1j * delta * rates)
    M = torch.diag(turn.real.repeat_interleave(2))
    even = torch.arange(0, d_model, 2)
    M[even, even + 1] = turn.imag
    M[even + 1, even] = -turn.imag
    return M


def rope(x, positions, theta=10000.0):
    d = x.shape[-1]
    rates = theta ** -(torch.arange(0, d, 2, dtype=torch.float64) / d)
    angles = positions[..., None] * rates
    pairs = torch.view_as_complex(x.double().reshape(*x.shape[:-1], d // 2, 2).contiguous())
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).flatten(-2).to(x.dtype)
""",
    ),
    Alternative(
        name="one matrix for each position",
        cost=(
            "It shows that a rotation is a matrix. It multiplies by d · d entries for each "
            "position where d multiplications would do."
        ),
        source="""
def shift_matrix(delta, d_model, base=10000.0):
    rates = base ** -(torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    generator = torch.zeros(d_model, d_model, dtype=torch.float64)
    for number, rate in enumerate(rates):
        generator[2 * number, 2 * number + 1] = rate
        generator[2 * number + 1, 2 * number] = -rate
    return torch.matrix_exp(delta * generator)


def rope(x, positions, theta=10000.0):
    d = x.shape[-1]
    unique = positions.unique()
    turns = torch.stack([shift_matrix(-int(p), d, theta) for p in unique])
    index = torch.searchsorted(unique, positions.contiguous())
    return torch.einsum("...ij,...j->...i", turns[index].to(x.dtype), x)


def alibi_bias(n_heads, T):
    bias = torch.zeros(n_heads, T, T)
    for h in range(n_heads):
        for step in range(1, T):
            side = torch.full((T - step,), -step * 2.0 ** (-8 * (h + 1) / n_heads))
            bias[h] += torch.diag(side, step) + torch.diag(side, -step)
    return bias
""",
    ),
    Alternative(
        name="angles in float32",
        cost=(
            "Half of the memory, and enough digits for short texts. Far positions lose digits, "
            "since a large angle is known less exactly than its sine needs."
        ),
        source="""
def sinusoidal(n_positions, d_model, base=10000.0):
    if d_model % 2:
        raise ValueError(d_model)
    angles = torch.arange(n_positions)[:, None] / base ** (torch.arange(0, d_model, 2) / d_model)
    table = torch.zeros(n_positions, d_model)
    table[:, 0::2] = angles.sin()
    table[:, 1::2] = angles.cos()
    return table


def shift_matrix(delta, d_model, base=10000.0):
    angles = delta / base ** (torch.arange(0, d_model, 2) / d_model)
    blocks = [
        torch.tensor([[a.cos(), a.sin()], [-a.sin(), a.cos()]]) for a in angles
    ]
    return torch.block_diag(*blocks)


def rope(x, positions, theta=10000.0):
    d = x.shape[-1]
    angles = positions.unsqueeze(-1) / theta ** (torch.arange(0, d, 2) / d)
    result = torch.empty_like(x)
    result[..., 0::2] = x[..., 0::2] * angles.cos() - x[..., 1::2] * angles.sin()
    result[..., 1::2] = x[..., 0::2] * angles.sin() + x[..., 1::2] * angles.cos()
    return result
""",
    ),
    Alternative(
        name="sines with a quarter turn",
        cost=(
            "One function instead of two, since a cosine is a sine a quarter turn ahead. Adding "
            "a quarter turn rounds the angle once more."
        ),
        source="""
def sinusoidal(n_positions, d_model, base=10000.0):
    if d_model & 1:
        raise ValueError("an odd width has a sine without a cosine")
    column = torch.arange(d_model)
    rates = base ** -((column - column % 2).double() / d_model)
    quarter = (column % 2).double() * torch.pi / 2
    return torch.sin(torch.arange(n_positions).double()[:, None] * rates + quarter)


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.0, max_len=5000):
        super().__init__()
        self.drop = nn.Dropout(p=dropout)
        self.register_buffer("encoding", sinusoidal(max_len, d_model).float())

    def forward(self, x, offset=0):
        _, T, _ = x.shape
        steps = [self.encoding[offset + t].to(x) for t in range(T)]
        return self.drop(torch.stack([x[:, t] + steps[t] for t in range(T)], dim=1))


def rope(x, positions, theta=10000.0):
    # the table's own sines and cosines, taken row by row
    table = sinusoidal(int(positions.max()) + 1, x.shape[-1], theta)[positions].to(x.dtype)
    sin, cos = table[..., 0::2], table[..., 1::2]
    pairs = x.unflatten(-1, (-1, 2))
    turned = torch.stack([-pairs[..., 1], pairs[..., 0]], dim=-1)
    return (pairs * cos[..., None] + turned * sin[..., None]).flatten(-2)


def alibi_bias(n_heads, T):
    bias = -torch.ones(n_heads, T, T, dtype=torch.float64)
    bias *= (torch.arange(T) - torch.arange(T).unsqueeze(1)).abs()
    ratio = 2 ** (-8 / n_heads)
    for h in range(n_heads):
        bias[h:] *= ratio
    return bias
""",
    ),
    Alternative(
        name="embedding layer as a table",
        cost=(
            "The table is read as an embedding is, so any positions can be asked for. For "
            "consecutive positions a slice does it without an index."
        ),
        source="""
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.0, max_len=5000):
        nn.Module.__init__(self)
        self.max_len = max_len
        self.register_buffer("encoding", sinusoidal(max_len, d_model))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, offset=0):
        positions = offset + torch.arange(x.shape[1], device=x.device)
        rows = nn.functional.embedding(positions.expand(x.shape[:2]), self.encoding)
        return self.dropout(torch.add(x, rows.to(dtype=x.dtype)))
""",
    ),
]

# shown after a task is passed
DISCUSSIONS = [
    Discussion(
        "sinusoidal",
        (
            Way(
                "With slices: the even columns, then the odd ones.",
                "encoding = torch.empty(n_positions, d_model, dtype=torch.float64)\n"
                "encoding[:, 0::2] = angles.sin()\n"
                "encoding[:, 1::2] = angles.cos()",
                "It reads like the statement. The table has to be made first with the data type you "
                "want: what is written into it is converted without a word.",
            ),
            Way(
                "As complex numbers of length 1.",
                "turns = torch.polar(torch.ones_like(angles), angles)  # cos + i sin\n"
                "encoding = torch.view_as_real(turns).flip(-1).flatten(1)",
                "A step to the next position is then a product with one number per pair. The cosine "
                "comes first, so that each pair has to be turned round.",
            ),
        ),
    ),
    Discussion(
        "shift_matrix",
        (
            Way(
                "With four index pairs, into a matrix of zeros.",
                "even = torch.arange(0, d_model, 2)\n"
                "matrix[even, even], matrix[even, even + 1] = angles.cos(), angles.sin()\n"
                "matrix[even + 1, even], matrix[even + 1, even + 1] = -angles.sin(), angles.cos()",
                "There are no blocks and no loop. Four places have to be kept apart, and a wrong sign "
                "raises no error.",
            ),
            Way(
                "Asked from the encoding itself, by least squares.",
                "table = sinusoidal(4 * d_model, d_model, base)\n"
                "matrix = torch.linalg.lstsq(table[:-delta], table[delta:]).solution.T",
                "It uses no formula for the angles, and so it shows that there is such a matrix. Slow "
                "pairs look almost alike in a short table, so digits are lost, and delta has to be positive.",
            ),
        ),
    ),
    Discussion(
        "PositionalEncoding",
        (
            Way(
                "Without a table: the rows are computed when they are needed.",
                "encoding = sinusoidal(x.shape[1], x.shape[2]).to(x)\nresult = self.dropout(x + encoding)",
                "There is no largest length and nothing to save. All sines are computed anew in "
                "every call.",
            ),
            Way(
                "With a table that is not saved.",
                'self.register_buffer("encoding", encoding, persistent=False)',
                "The table still moves with the module to another device, but files of weights "
                "stay smaller. The statement wants it saved, so a check looks for it there.",
            ),
        ),
    ),
    Discussion(
        "rope",
        (
            Way(
                "As complex numbers: to turn is to multiply.",
                "pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))\n"
                "turned = torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles))\n"
                "result = turned.flatten(-2)",
                "One product in place of four. Both numbers of a pair have to lie side by side in memory, and "
                "there is no complex type for bfloat16.",
            ),
            Way(
                "In halves: entry i is turned with entry i + d / 2.",
                "first, second = x.chunk(2, dim=-1)\n"
                "halves = [first * cos - second * sin, first * sin + second * cos]\n"
                "result = torch.cat(halves, dim=-1)",
                "Nothing is interleaved. It is another convention, which many published models use, and the "
                "weights of one do not fit the other.",
            ),
        ),
    ),
    Discussion(
        "alibi_bias",
        (
            Way(
                "As a geometric sequence, which is how the paper describes the slopes.",
                "ratio = 2 ** (-8 / n_heads)  # the first slope, and the step to the next\n"
                "slopes = ratio ** torch.arange(1, n_heads + 1)",
                "You see that each head looks a fixed factor further than the one before. A rounding "
                "error in `ratio` grows with the exponent.",
            ),
            Way(
                "Without an absolute value, for a decoder.",
                "distance = positions[:, None] - positions  # negative for keys in the future\n"
                "bias = -slopes[:, None, None] * distance",
                "It is right wherever a causal mask hides the future, and saves a step. Without such a "
                "mask, the keys of the future would get a bonus.",
            ),
        ),
    ),
]
