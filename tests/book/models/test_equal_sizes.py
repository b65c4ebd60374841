"""A Transformer that writes, and a recurrent translator of its size."""

import torch

from book.models.encoder_decoder import PAD, START
from book.models.equal_sizes import GreedyTransformer, both, exact


def test_the_transformer_writes_the_likeliest_word_each_time():
    torch.manual_seed(0)
    model = GreedyTransformer(9, 8, 12, 2, 1, 16).eval()
    source = torch.tensor([[3, 4, 5, PAD], [6, 7, 8, 3]])
    words, weights = model.generate(source, 5)
    assert words.shape == (2, 5) and weights is None
    for row, written in zip(source, words, strict=True):
        so_far = [START]
        for word in written.tolist():
            with torch.no_grad():
                logits = model(row[None], torch.tensor([so_far]))
            assert logits[0, -1].argmax() == word
            so_far.append(word)


def test_a_target_is_exact_if_all_its_words_are():
    class Says(torch.nn.Module):
        def generate(self, source, n_steps):
            return torch.tensor([[3, 4, 9], [3, 5, 9], [3, 4, 5]])[:, :n_steps], None

    target = torch.tensor([[3, 4, PAD], [3, 4, PAD], [3, 4, 5]])
    assert abs(exact(Says(), target, target) - 2 / 3) < 1e-6


def test_both_models_have_about_as_many_parameters():
    sizes = [sum(p.numel() for p in model.parameters()) for model in both(6, 6).values()]
    assert max(sizes) < 1.3 * min(sizes)
