# exercise: 7
# task: fit
# kind: wrong
# mistake: trains for a fixed number of epochs (120) and never looks at seconds or at the processor time
# shows: with 2,000 pairs: it takes several times the 12 seconds; and with a small seconds in any case
def fit(
    pairs: list[list[list[int]]], seconds: float
) -> Callable[[list[list[int]]], list[list[int]]]:
    torch.set_num_threads(1)
    PAD, BOS, EOS, V = 0, 1, 2, 100
    longest = max(len(target) for _, target in pairs)

    def rows(sentences: list[list[int]]) -> torch.Tensor:
        out = torch.full((len(sentences), max(map(len, sentences))), PAD)
        for i, sentence in enumerate(sentences):
            out[i, : len(sentence)] = torch.tensor(sentence)
        return out

    model = Transformer(V, V, 48, 4, 1, 128, dropout=0.0, pad=PAD)
    source = rows([s for s, _ in pairs])
    target = rows([[BOS, *t, EOS] for _, t in pairs])
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3, betas=(0.9, 0.98))
    epochs, batch = 120, 64
    steps = epochs * math.ceil(len(pairs) / batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=4e-3, total_steps=steps)
    for _ in range(epochs):
        for index in torch.randperm(len(pairs)).split(batch):
            target_in, target_out = target[index, :-1], target[index, 1:]
            logits = model(source[index], target_in)
            loss = nn.functional.cross_entropy(
                logits.flatten(0, 1), target_out.flatten(), ignore_index=PAD
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    model.eval()

    @torch.no_grad()
    def translate(sentences: list[list[int]]) -> list[list[int]]:
        if not sentences:
            return []
        tokens = rows(sentences)
        memory = model.encode(tokens)
        prefix = torch.full((len(sentences), 1), BOS)
        ended = torch.zeros(len(sentences), dtype=torch.bool)
        for _ in range(longest + 1):
            token = model.decode(prefix, memory, tokens)[:, -1].argmax(dim=-1)
            token = token.masked_fill(ended, PAD)
            prefix = torch.cat([prefix, token[:, None]], dim=1)
            ended |= token == EOS
            if ended.all():
                break
        return [[t for t in row if t > EOS] for row in prefix.tolist()]

    return translate
