# exercise: 7
# task: corpus_bleu
# kind: wrong
# mistake: the brevity penalty is computed before anything else and divides by the number of hypothesis tokens, which may be 0
# shows: only where all hypotheses are empty: a ZeroDivisionError instead of 0
def corpus_bleu(hypotheses: list[list[str]], references: list[list[str]], n: int = 4) -> float:
    c = sum(len(hyp) for hyp in hypotheses)
    r = sum(len(ref) for ref in references)
    bleu = 100 * math.exp(min(0.0, 1 - r / c))
    for k in range(1, n + 1):
        m, total = 0, 0
        for hyp, ref in zip(hypotheses, references):
            rest = Counter(tuple(ref[i : i + k]) for i in range(len(ref) - k + 1))
            for i in range(len(hyp) - k + 1):
                gram = tuple(hyp[i : i + k])
                total += 1
                if rest[gram] > 0:
                    rest[gram] -= 1
                    m += 1
        bleu *= (m / total) ** (1 / n) if m else 0.0
    return bleu
