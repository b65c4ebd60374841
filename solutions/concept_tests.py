"""The answers to the concept tests of book/teaching_questions.md, which students don't get.

A test in tests/test_teaching.py compares them with the questions.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    """The answer to one question.

    right: the letter of the right option; section: label of the section that teaches it; reason: why it is
    right, and what the wrong options come from.
    """

    right: str
    section: str
    reason: str


FIRST = (
    Answer(
        "A",
        "ch1-bottleneck",
        "The vector has a fixed width, whatever it has to hold. Attention hands over one vector for each position, so that what the decoder can look at grows with the source. Whoever answers B describes attention.",
    ),
    Answer(
        "C",
        "ch1-softmax",
        "All exponentials are multiplied by the same factor, which the division by their sum removes. This is also why the largest score may be subtracted first. Answers A and D forget the division.",
    ),
    Answer(
        "B",
        "ch2-temperature",
        "Differences between scores decide, and they have become larger. Multiplying scores is dividing by a smaller temperature. D takes the softmax for a division of the scores by their sum.",
    ),
    Answer(
        "D",
        "ch1-padding",
        "The exponential of 0 is 1. Where the other scores are negative, the hidden position wins. Only minus infinity, or leaving the position out of the sum, gives no weight.",
    ),
    Answer(
        "A",
        "ch1-mistake-padding",
        "The padding took its share of the sum before it was removed, so the context is too short by that share, which depends on what stands in the padding. C is wrong because a weight of 0 adds nothing.",
    ),
    Answer(
        "B",
        "ch1-mistake-tanh",
        "Without the tanh the query's part is one number that is added to all scores, and the softmax removes it. Scores could be negative before, too. D is the usual guess; what is lost is not speed but the query.",
    ),
    Answer(
        "C",
        "ch1-soft-lookup",
        "A score is made of the query and the key. Equal keys give equal scores, and equal scores equal weights. The values have no part in choosing.",
    ),
    Answer(
        "D",
        "ch2-mistake-axis",
        "Each query distributes a weight of 1 over the keys. A softmax over the queries makes columns that sum to one: keys would share out which query may have them.",
    ),
    Answer(
        "B",
        "ch2-variance",
        "The dot product is a sum of 64 independent products, each with variance 1. Variances add up to 64, and the standard deviation is the root of it. Whoever answers C has taken the variance.",
    ),
    Answer(
        "A",
        "ch2-saturation",
        "The scores are far apart, and the softmax is saturated. Overflow would need scores near 88 in float32, and the usual softmax subtracts the maximum anyway. C would be the result of dividing by too much.",
    ),
    Answer(
        "D",
        "ch2-limits",
        "Each output is a weighted sum over all words, and a sum doesn't know an order. Each word takes its output along. Chapter 5 starts from this.",
    ),
    Answer(
        "C",
        "ch2-quadratic",
        "Every query is compared with every key: both numbers have doubled. The projections, which are computed for each word alone, only double.",
    ),
    Answer(
        "B",
        "ch3-cost",
        "The matrices are cut into pieces, and no entry is added. D is wrong because there are now eight softmaxes: each head has weights of its own, and one head has one set for all features.",
    ),
    Answer(
        "A",
        "ch3-layout",
        "`view` reads the memory row by row, and in memory all features of position 1 come before those of position 2. It needs `view(B, T, H, d)` and then a transpose. C would be interleaved heads, another mistake.",
    ),
    Answer(
        "D",
        "ch3-by-hand",
        "A head's queries and keys have 16 entries, and the variance of their dot product is 16. The model's width plays no part in that sum.",
    ),
    Answer(
        "C",
        "ch3-sum",
        "Without it the heads' outputs lie side by side, and each feature belongs to one head. W_O is also what makes the layer a sum of terms, one for each head.",
    ),
    Answer(
        "A",
        "ch4-shift",
        "Input and target are shifted against each other by one. The diagonal is allowed, and the first position would have nothing to attend to without it. B would be right if input and target were the same.",
    ),
    Answer(
        "D",
        "ch4-conventions",
        "There, True means *ignore*. The shapes fit, nothing complains, and the model attends to padding alone. Tests with no padding in them even give NaN and no hint why.",
    ),
    Answer(
        "B",
        "ch4-empty",
        "It computes zero divided by zero. This course defines the result as zeros; equal weights would let the query read exactly what it must not see. C happens when a large negative number is used for minus infinity.",
    ),
    Answer(
        "C",
        "ch4-leaks",
        "Output 3 may depend on words 1 to 3 only. A leak needn't make a number better, so a good or a bad accuracy proves nothing; the test by changing inputs does.",
    ),
)

SECOND = (
    Answer(
        "B",
        "ch5-equivariance",
        "The output at a word is a weighted sum over the same set of words. More layers don't help: each of them hands the same vectors to the next.",
    ),
    Answer(
        "C",
        "ch5-clock",
        "A single clock shows the same time again after one turn. Several clocks of different speeds together name a position, like the hands for seconds, minutes and hours.",
    ),
    Answer(
        "A",
        "ch5-shift",
        "Each pair of columns is a point on a circle that moves at constant speed. Five steps are the same turn from anywhere, so one matrix does it for all p. It is a turn and not an addition, which would leave the circle.",
    ),
    Answer(
        "D",
        "ch5-rope",
        "Both vectors are turned by the same further angle, and a dot product depends on the angle between them. So the score depends on the distance of the positions.",
    ),
    Answer(
        "B",
        "ch5-mistake-offset",
        "Differences count indeed, and these are wrong now: every new token seems to stand at the beginning, as do the keys that it adds. The new token needs its own position, the length of the cache.",
    ),
    Answer(
        "C",
        "ch5-alibi",
        "The slope is what a step of distance costs. Where it costs more, far keys lose more. The cost is taken off the score, before the softmax.",
    ),
    Answer(
        "A",
        "ch5-learned",
        "A learned table has nothing beyond its last row, and nothing to continue: its rows follow no formula. With sines it could be computed, which isn't the same as working well.",
    ),
    Answer(
        "D",
        "ch5-extrapolation",
        "That something is defined at any length doesn't mean that it works at any length. The slow clocks reach angles in the second half that never occurred in training.",
    ),
    Answer(
        "B",
        "ch6-residual",
        "Through a stack of such layers there is a path along which the gradient is multiplied by one everywhere. Without the sum it is a product of all the layers' derivatives.",
    ),
    Answer(
        "C",
        "ch6-norm-order",
        "In pre-norm, only what goes into a sublayer is normalised. The stream itself grows from layer to layer, and the output layer would get it as it is.",
    ),
    Answer(
        "A",
        "ch6-feed-forward",
        "The same two layers run at each position, and no information passes between them. All exchange between positions happens in attention.",
    ),
    Answer(
        "D",
        "ch6-cross-attention",
        "Queries come from the target and keys from the memory: one row for each target position, one column for each source position. In (7, 5) the memory would be asking.",
    ),
    Answer(
        "B",
        "ch6-mistake-masks",
        "Its keys are those of the source, so what is to be hidden among them is the source's padding. The future of the target doesn't occur among these keys. D forgets that sources in a batch have different lengths.",
    ),
    Answer(
        "C",
        "ch6-mistake-shift",
        "At each position the right answer stands in the input, and the diagonal of the mask is allowed. The model learns to copy. When it writes, the word to copy isn't there yet.",
    ),
    Answer(
        "A",
        "ch7-smoothing",
        "The best that it can do is to give exactly the smoothed target, and then the loss is that target's entropy. Being surer of the right word makes this loss larger again. So a loss that has stopped falling may be as good as possible.",
    ),
    Answer(
        "D",
        "ch7-warmup",
        "The branches do meet there, but before it the falling one is the larger and after it the rising one. Training begins with its largest rates and ends with growing ones.",
    ),
    Answer(
        "B",
        "ch7-beam",
        "What has left the beam doesn't come back. With more prefixes the search finds more probable sentences, which needn't be better translations.",
    ),
    Answer(
        "C",
        "ch7-length-penalty",
        "A logarithm of a probability is at most 0, so each token makes the sum smaller. Dividing by a function of the length makes up for it.",
    ),
    Answer(
        "A",
        "ch7-cache",
        "Keys and values of earlier positions don't change under a causal mask, so they are kept. The new query still attends to all of them. The cache takes memory, it doesn't save any.",
    ),
    Answer(
        "D",
        "ch7-bleu",
        "The reference has two *the*, so two of the four words count. Without clipping it would be all of them, and repeating a word that is surely right would be rewarded.",
    ),
)
