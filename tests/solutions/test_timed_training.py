"""Chapter 6's race: a Transformer that writes, and training for a given time."""

import torch

from solutions.encoder_decoder import PAD, START
from solutions.timed_training import GreedyTransformer, competitors, exact, train_for


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


def test_training_ends_with_the_time_and_is_scored_on_the_way():
    torch.manual_seed(0)

    def sample():
        strings = torch.randint(3, 6, (4, 3))
        return strings, strings

    sizes = []
    for model, rate in competitors(6, 6).values():
        before = [p.clone() for p in model.parameters()]
        modes = []
        scores = train_for(
            0.2, model, sample, rate, lambda m, modes=modes: modes.append(m.training), 2
        )
        assert modes == [False, False]  # dropout is off while a model is scored
        (first, some, _), (second, more, _) = scores
        assert 0.1 <= first < second and second >= 0.2 and 0 < some < more
        assert all((p != q).any() for p, q in zip(model.parameters(), before, strict=True))
        sizes.append(sum(p.numel() for p in model.parameters()))
    assert max(sizes) < 1.3 * min(sizes)
