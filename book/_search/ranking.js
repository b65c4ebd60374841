// What fits a query best: sections of the book and terms of its glossary, all on the reader's machine.
// Reads searchSections from sections.js: pages, each [address, title, entries], an entry being
// [depth, anchor, title, other names, text, code]. MiniSearch says how well one word fits an entry.
"use strict";

(() => {
  // one thing each; the first name stands for all of them
  const SYNONYMS = [
    ["sqrt", "square root", "√"],
    ["nan", "not a number", "isn't a number"],
    ["kv", "key value"],
    ["rope", "rotary position embedding", "rotary positional embedding", "rotary embedding", "rotary"],
    ["gqa", "grouped query attention", "grouped query"],
    ["mqa", "multi query attention", "multi query"],
    ["mha", "multi head attention", "multihead attention"],
    ["mla", "multi head latent attention"],
    ["sdpa", "scaled dot product attention"],
    ["bpe", "byte pair encoding"],
    ["bf16", "bfloat16"],
    ["fp16", "float16", "half precision"],
    ["lr", "learning rate"],
    ["llm", "large language model", "language model", "chatgpt", "chatbot"],
    ["rnn", "recurrent neural network", "recurrent network"],
    ["ffn", "feed forward network", "feed forward", "mlp"],
    ["prenorm", "pre norm", "pre ln"],
    ["postnorm", "post norm", "post ln"],
    ["layernorm", "layer norm", "layer normalisation", "layer normalization"],
    ["posenc", "positional encoding", "position encoding", "positional embedding", "position embedding"],
    ["sinusoidal", "sinusoid", "sinusoidal encoding", "sinusoidal embedding", "sin cos", "sine and cosine"],
    ["inf", "infinity", "∞"],
    ["quadratic", "o(n^2)", "n^2"],
    ["warmup", "warm up"],
    ["idle", "wait", "utilisation"],
    ["empty row", "fully masked", "masked row", "row is masked"],
    ["operation", "flop"],
    ["paged attention", "vllm"],
    ["page table", "block table"],
    ["attention sink", "streaming llm"],
    ["sliding window", "local attention"],
    ["causal mask", "look ahead mask", "subsequent mask"],
    ["residual connection", "skip connection"],
    ["tied embedding", "weight tying", "tied weight", "shared embedding"],
    ["seq2seq", "sequence to sequence", "encoder decoder"],
    ["qkv", "query key value", "query key and value"],
    ["transformer", "attention is all you need"],
    ["backward pass", "backprop", "backpropagation"],
    ["convention", "true false", "true or false", "true mean"],
    ["install", "installation", "set up", "setup"],
    ["tokenizer", "tokenisation", "subword"],
    ["repetition", "repeats itself", "repeat itself", "same word again"],
    // what people see, and what the page on symptoms calls it
    ["stuck", "not go down", "not going down", "not decrease", "not decreasing", "not learn", "n't learn"],
    ["out of memory", "oom"],
    ["too good", "too low", "too small", "almost zero", "near zero", "almost 0", "near 0"],
    ["shape error", "error about shapes", "shape mismatch", "size mismatch", "dimension mismatch"],
  ];
  const SYMPTOMS = new Set(["=nan", "=repetition", "=stuck", "=out of memory", "=too good", "=shape error"]);
  const FOR_TEACHERS = /^book\/(?:teach(?:ers|ing)|on_github|jupyterhub|own_course|grader_right)/;
  const LISTS = /^book\/(?:bibliography|differences|elsewhere|one_sheet)/;
  const TEACHING = new Set("class course deadline grade lesson student teach".split(" ").map(stem));
  const COMMON = new Set(
    ("a about also an and any are as at be been by can could did do does doing each every explain for from " +
      "get give gives had has have how i if in into is isn it its just know like make makes many me more most " +
      "much must my need no not of on one or our part per s should so some such tell than that the their them " +
      "then there these they this to too up use very vs want was we were what when where which while who why " +
      "will with without would you your").split(" "),
  );
  const WORD = /[√∞]|[\p{L}\p{N}²]+(?:[-_^][\p{L}\p{N}²]+)*(?:['’]\p{L}+)?/gu;
  const PIECE = /[√∞]|[\p{Lu}]+(?![\p{Ll}])[\p{N}²]*|\p{Lu}?[\p{Ll}\p{N}²]+|[\p{L}\p{N}²]+/gu;

  // A word without its ending, the same for "divide", "divides", "divided" and "dividing".
  function stem(word) {
    if (word.length < 4 || /\d/.test(word)) return word;
    const singular = word.replace(/ies$/, "y").replace(/([^siu])s$/, "$1").replace(/ional$/, "ion");
    const base = singular
      .replace(/iz(e[ds]?|ing|ations?|er)$/, "is$1")
      .replace(/(?<=[aeiouy].*.)(ing|ed)$/, "");
    return base.length < singular.length && /([bdgmnprt])\1$/.test(base)
      ? base.slice(0, -1)
      : base.replace(/(?<=...)e$/, "");
  }

  // A word in pieces: it can be found by all of it (`whole`) and by each, as `is_causal`, "top-p" and
  // "FlashAttention". "RoPE" isn't cut, since pieces of two letters would say nothing.
  function piecesOf(word) {
    const pieces = word.split(/[-_^]/).flatMap((piece) => piece.match(PIECE) ?? [piece]);
    const isCut = /[-_^]/.test(word) || pieces.every((piece) => piece.length > 2);
    const parts = (isCut ? pieces : [word]).map((piece) => piece.toLowerCase());
    return { whole: parts.length > 1 ? parts.join("") : "", parts, stems: parts.map(stem) };
  }

  const pieces = new Map(); // of words that have been seen

  // The words of a text with their places and pieces.
  function wordsOf(text) {
    return [...text.matchAll(WORD)].map(({ 0: found, index: start }) => {
      const word = found.replace(/['’].*$/, "");
      if (!pieces.has(word)) pieces.set(word, piecesOf(word));
      return { start, end: start + found.length, ...pieces.get(word) };
    });
  }

  const PHRASES = new Map();
  for (const names of SYNONYMS) {
    for (const name of names) {
      const parts = wordsOf(name).flatMap((word) => word.stems);
      const others = PHRASES.get(parts[0]) ?? [];
      PHRASES.set(parts[0], [...others, { parts, meaning: `=${names[0]}` }]);
    }
  }
  for (const phrases of PHRASES.values()) phrases.sort((a, b) => b.parts.length - a.parts.length);

  // What a text says, in order: {term, weight, start, end} for each word, piece and phrase that means
  // something. Those with one number as `idea` are the same thing said in several ways.
  function termsOf(text) {
    const words = wordsOf(text);
    const parts = words.flatMap((word) =>
      word.parts.map((part, at) => ({ word, isCommon: COMMON.has(part), term: word.stems[at] })),
    );
    const terms = [];
    let [idea, phraseEnd] = [0, 0];
    parts.forEach((part, at) => {
      const { word } = part;
      const phrase = at < phraseEnd
        ? null
        : PHRASES.get(part.term)?.find(({ parts: wanted }) =>
            wanted.every((term, step) => parts[at + step]?.term === term),
          );
      if (phrase) {
        phraseEnd = at + phrase.parts.length;
        const end = parts[phraseEnd - 1].word.end;
        terms.push({ term: phrase.meaning, weight: 1, idea: ++idea, start: word.start, end });
      }
      const first = parts[at - 1]?.word !== word;
      const inside = at < phraseEnd;
      if (first && word.whole) {
        if (!inside) idea++;
        terms.push({ term: word.whole, weight: 1, idea, start: word.start, end: word.end });
      } else if (!inside && !word.whole) idea++;
      if (part.isCommon) return;
      const weight = inside || word.whole ? 0.1 : 1;
      terms.push({ term: part.term, weight, idea, start: word.start, end: word.end });
    });
    return terms;
  }

  // The index ---------------------------------------------------------------------------------------

  const entries = [];
  for (const [address, page, found] of searchSections) {
    const above = [];
    for (const [depth, anchor, title, names, text, code] of found) {
      above.length = depth;
      entries.push({
        id: entries.length,
        section: above[1], // of a page, in which it is
        whole: above[0], // the page
        address: `${address}#${anchor}`,
        page: depth ? page : "",
        path: [...(depth ? [page] : []), ...above.slice(1).map((id) => entries[id].title)].join("\n"),
        title: depth ? title : page,
        names,
        text,
        code,
        isTerm: anchor.startsWith("term-"),
        isMistake: anchor.includes("-mistake-"),
        isSymptom: anchor.startsWith("symptom-"),
        isForTeachers: FOR_TEACHERS.test(address),
        isList: LISTS.test(address) && (depth > 0 || found.length === 1),
      });
      above.push(entries.length - 1);
    }
  }
  const titles = new Map();
  for (const { title } of entries) titles.set(title, (titles.get(title) ?? 0) + 1);

  const known = new Set(); // all terms
  const spelling = new Map(); // how often the book has a word
  const index = new MiniSearch({
    fields: ["title", "names", "path", "text", "code"],
    extractField: (entry, field) => (field === "names" ? entry.names.join("\n") : entry[field]),
    tokenize: (text) => {
      for (const word of wordsOf(text).flatMap(({ parts }) => parts)) {
        spelling.set(word, (spelling.get(word) ?? 0) + 1);
      }
      return termsOf(text).map(({ term }) => term);
    },
    processTerm: (term) => {
      known.add(term);
      return term;
    },
  });
  index.addAll(entries);
  // a heading right above another one shows how the text below that one begins
  entries.forEach((entry, at) => (entry.text ||= entries[at + 1]?.text ?? ""));

  // How much an entry counts: less if every page has one like it, such as "Takeaways", or if it's a definition
  // (so short that it would be the first), a list, a mistake with the thing, or for teachers and the query isn't.
  function standing(entry, isTeaching) {
    const isAside = entry.isTerm || entry.isList || (entry.isForTeachers && !isTeaching);
    const kept = isAside ? 0.3 : entry.isMistake ? 0.7 : 1;
    return titles.get(entry.title) > 3 ? kept / 2 : kept;
  }

  // Whether a word becomes another by one slip: a letter too many, too few, another, or two swapped.
  function isSlip(word, other) {
    let start = 0;
    while (start < word.length && word[start] === other[start]) start++;
    const [rest, wanted] = [word.slice(start), other.slice(start)];
    return (
      rest.slice(1) === wanted ||
      rest === wanted.slice(1) ||
      rest.slice(1) === wanted.slice(1) ||
      (rest[0] === wanted[1] && rest[1] === wanted[0] && rest.slice(2) === wanted.slice(2))
    );
  }

  // A word as the book spells it: the most frequent word that is one slip away. A form of a known word may be
  // right, so there only two swapped letters are a slip.
  function spelled(word) {
    if (word.length < 4 || spelling.has(word)) return word;
    const letters = (name) => [...name].sort().join("");
    const isOther = known.has(stem(word)) ? (other) => letters(word) === letters(other) : () => true;
    const others = [...spelling.keys()].filter((other) => isSlip(word, other) && isOther(other));
    return others.sort((a, b) => spelling.get(b) - spelling.get(a))[0] ?? word;
  }

  // A query without TeX's marks, with the book's spelling. The last word may be one that's being typed.
  function corrected(query) {
    const text = query.replace(/[\\{}]/g, " ");
    const words = wordsOf(text);
    return words.reduceRight((line, { start, end, parts }, at) => {
      const isBegun =
        at === words.length - 1 && [...spelling.keys()].some((word) => word.startsWith(parts[0]));
      if (parts.length > 1 || isBegun) return line;
      return line.slice(0, start) + spelled(parts[0]) + line.slice(end);
    }, text);
  }

  // The entries that fit a query, best first: {entry, found, score}, `found` being the terms of the index
  // that fit, each with the idea of the query that it stands for and the weight that it has.
  function search(query) {
    const asked = termsOf(corrected(query));
    const isName = /\w_\w/.test(query);
    const hits = new Map();
    const rarity = new Map();
    asked.forEach(({ term, weight, idea }, at) => {
      const results = index.search(term, {
        tokenize: (whole) => [whole],
        processTerm: (whole) => whole,
        boost: { title: 3, names: 3, path: 1.5, text: 1, code: isName ? 1 : 0.5 },
        prefix: at === asked.length - 1 && term.length > 1,
        weights: { prefix: 0.2, fuzzy: 0 },
      });
      const rare = weight * Math.log(1 + entries.length / (1 + results.length));
      rarity.set(idea, Math.max(rarity.get(idea) ?? 0, rare));
      for (const { id, score, match } of results) {
        if (!hits.has(id)) hits.set(id, { entry: entries[id], ideas: new Map(), found: new Map() });
        const { ideas, found } = hits.get(id);
        improve(ideas, idea, weight * score, weight);
        for (const name of Object.keys(match)) {
          if (!found.has(name)) found.set(name, { idea, weight });
        }
      }
    });
    const ranked = [...hits.values()];
    const seesSymptom = asked.some(({ term }) => SYMPTOMS.has(term));
    const isTeaching = asked.some(({ term }) => TEACHING.has(term));
    rank(ranked, hits, rarity, /^\s*what\s+(?:is|are|does)\b/i.test(query), isTeaching);
    for (const hit of ranked) if (seesSymptom && hit.entry.isSymptom) hit.score *= 1.3;
    ranked.sort((a, b) => b.score - a.score);
    return ranked.filter(({ score }) => score > ranked[0].score / 50);
  }

  function improve(ideas, idea, score, weight) {
    const own = ideas.get(idea) ?? { score: 0, weight: 0 };
    ideas.set(idea, { score: Math.max(own.score, score), weight: Math.max(own.weight, weight) });
  }

  // Give hits their scores. rarity: for each idea of the query, how few entries have it.
  function rank(ranked, hits, rarity, asksMeaning, isTeaching) {
    // a section is also about what the sections in it are about, of which half is counted
    const inSection = ranked.filter(({ entry }) => hits.has(entry.section));
    for (const { entry, ideas } of inSection) {
      const section = hits.get(entry.section);
      for (const [idea, { score, weight }] of ideas) improve(section.ideas, idea, score, weight / 2);
    }
    for (const hit of ranked) Object.assign(hit, rated(hit, rarity, isTeaching), { within: 0 });
    for (const { entry, score } of inSection) {
      const section = hits.get(entry.section);
      section.within = Math.max(section.within, score);
    }
    for (const hit of ranked) hit.score += hit.within / 2;
    // what is around a section and fits nearly alike: the section is nearer to what was asked
    for (const hit of ranked) {
      for (const around of [hits.get(hit.entry.section), hits.get(hit.entry.whole)]) {
        const isNear = around && !around.isExact && hit.score > 0.85 * around.score;
        if (isNear) hit.score = Math.max(hit.score, 1.01 * around.score);
      }
    }
    if (rarity.size > 2) {
      const leading = [...ranked].sort((a, b) => b.score - a.score).slice(0, 30);
      for (const hit of leading) hit.score *= 1 + 0.7 * together(hit, rarity) ** 2;
    }
    // a term comes after the best section, or before it if that isn't called so or only the meaning was asked
    const [best] = ranked.filter(({ entry }) => !entry.isTerm).sort((a, b) => b.score - a.score);
    const ahead = asksMeaning || !best?.isNamed ? 1.01 : 0.99;
    for (const hit of best ? ranked.filter(({ entry }) => entry.isTerm) : []) {
      hit.score = hit.isExact ? best.score * ahead : Math.min(hit.score, best.score * 0.98);
    }
  }

  function rated({ entry, ideas, found }, rarity, isTeaching) {
    const title = entry.title.replace(/^[\d.]+\. /, "");
    let [factor, isNamed, isExact] = [1, false, false];
    for (const name of new Set([title, ...entry.names, title.split(": ")[0]])) {
      const terms = termsOf(name);
      const named = shareOf(saidBy(terms, found), rarity);
      const isSame = named > 0.999 && isAllSaid(terms, found);
      const worth = name === title ? 2 : entry.names.includes(name) ? 0.7 : 1;
      factor = Math.max(factor, 1 + named ** 2 + (isSame ? worth : 0));
      isNamed ||= named > 0.5;
      isExact ||= isSame;
    }
    const share = shareOf(new Map([...ideas].map(([idea, { weight }]) => [idea, weight])), rarity);
    const sum = total([...ideas.values()].map(({ score }) => score));
    return { score: sum * share ** 1.75 * factor * standing(entry, isTeaching), isNamed, isExact };
  }

  // How much of the query some ideas with weights are; rare ones are more of it.
  function shareOf(said, rarity) {
    return total([...said].map(([idea, weight]) => weight * (rarity.get(idea) ?? 0))) / total(rarity.values());
  }

  // How much of the query the best passage of an entry has, of 200 characters.
  function together({ entry, found }, rarity) {
    const places = termsOf(`${entry.title}. ${entry.text}`).filter(({ term }) => found.has(term));
    let first = 0;
    const shares = places.map((place, last) => {
      while (place.end - places[first].start > 200) first++;
      return shareOf(saidBy(places.slice(first, last + 1), found), rarity);
    });
    return Math.max(0, ...shares);
  }

  function total(numbers) {
    return [...numbers].reduce((sum, number) => sum + number, 0);
  }

  // The ideas of the query that some terms stand for, with their weights.
  function saidBy(terms, found) {
    const ideas = new Map();
    for (const { term } of terms) {
      const { idea, weight } = found.get(term) ?? { weight: 0 };
      if (weight > (ideas.get(idea) ?? 0)) ideas.set(idea, weight);
    }
    return ideas;
  }

  // Whether every idea of a name is among what was found: as a whole, or all of its pieces.
  function isAllSaid(terms, found) {
    return terms.every(({ idea }) => {
      const same = terms.filter((term) => term.idea === idea);
      const wholes = same.filter(({ weight }) => weight === 1);
      const pieces = same.filter(({ weight }) => weight < 1);
      return (
        wholes.some(({ term }) => found.has(term)) ||
        (pieces.length > 0 && pieces.every(({ term }) => found.has(term)))
      );
    });
  }

  self.bookSearch = { search, termsOf, saidBy, total };
})();
