# exercise: 7
# task: corpus_bleu
# kind: wrong
# mistake: the n-grams of the whole corpus are counted together and clipped once, instead of sentence by sentence
# shows: only with two or more sentences, where an n-gram of one hypothesis is missing in its own reference but left over in that of another sentence
def corpus_bleu(hypotheses: list[list[str]], references: list[list[str]], n: int = 4) -> float:
    def counts(sentences: list[list[str]], k: int) -> Counter:
        total = Counter()
        for tokens in sentences:
            total.update(zip(*(tokens[i:] for i in range(k))))
        return total

    precisions = []
    for k in range(1, n + 1):
        have, want = counts(hypotheses, k), counts(references, k)
        match = sum(min(count, want[gram]) for gram, count in have.items())
        if match == 0:
            return 0.0
        precisions.append(match / sum(have.values()))
    c, r = sum(map(len, hypotheses)), sum(map(len, references))
    bp = 1.0 if c >= r else math.exp(1 - r / c)
    return 100 * bp * math.prod(precisions) ** (1 / n)
