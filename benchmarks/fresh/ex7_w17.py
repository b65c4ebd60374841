# exercise: 7
# task: corpus_bleu
# kind: wrong
# mistake: lengths k for which no hypothesis has a k-gram are left out of the geometric mean (the "effective order" of sacrebleu), instead of making the result 0
# shows: only where all hypotheses are shorter than n
def corpus_bleu(hypotheses: list[list[str]], references: list[list[str]], n: int = 4) -> float:
    matches, totals = [0] * n, [0] * n
    c = r = 0
    for hyp, ref in zip(hypotheses, references):
        c += len(hyp)
        r += len(ref)
        for k in range(1, n + 1):
            h = Counter(tuple(hyp[i : i + k]) for i in range(len(hyp) - k + 1))
            g = Counter(tuple(ref[i : i + k]) for i in range(len(ref) - k + 1))
            matches[k - 1] += sum((h & g).values())
            totals[k - 1] += max(len(hyp) - k + 1, 0)
    logs = []
    for m, t in zip(matches, totals):
        if t == 0:
            continue  # no n-grams of this length
        if m == 0:
            return 0.0
        logs.append(math.log(m / t))
    if not logs:
        return 0.0
    bp = min(1.0, math.exp(1 - r / c))
    return 100 * bp * math.exp(sum(logs) / len(logs))
