# exercise: 3
# task: count_parameters
# kind: wrong
# mistake: counted head by head, the bias of w_o (D numbers) is counted once for every head; it exists once
# shows: with bias=True and n_heads > 1; right without bias and for a single head
def count_parameters(d_model: int, n_heads: int, bias: bool) -> int:
    d = d_model // n_heads
    per_head = 3 * d_model * d  # its rows of w_q, w_k, w_v
    per_head += d * d_model  # its columns of w_o
    if bias:
        per_head += 3 * d + d_model
    return n_heads * per_head
