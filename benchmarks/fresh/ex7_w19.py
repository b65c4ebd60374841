# exercise: 7
# task: fit
# kind: wrong
# mistake: translate sorts the sentences by length, to decode batches without padding, and returns the translations in that order
# shows: for every list of sentences that is not sorted by length already: the translations belong to other sentences
def fit(
    pairs: list[list[list[int]]], seconds: float
) -> Callable[[list[list[int]]], list[list[int]]]:
    start = time.process_time()
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
    budget, batch = 0.9 * seconds, 128
    done = False
    while not done:
        for index in torch.randperm(len(pairs)).split(batch):
            used = (time.process_time() - start) / budget
            if used >= 1:
                done = True
                break
            for group in optimizer.param_groups:
                group["lr"] = 4e-3 * min(1, used * 20 + 0.05) * (1 - used)
            target_in, target_out = target[index, :-1], target[index, 1:]
            logits = model(source[index], target_in)
            loss = nn.functional.cross_entropy(
                logits.flatten(0, 1), target_out.flatten(), ignore_index=PAD
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    model.eval()

    @torch.no_grad()
    def translate(sentences: list[list[int]]) -> list[list[int]]:
        if not sentences:
            return []
        sentences = sorted(sentences, key=len)  # similar lengths side by side
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
