"""Queries per processor second of a corpus and of the two libraries that rank, in one run.

    python benchmarks/search.py [--pages 3000] [--queries 1000] [--rounds 3]

Pages and queries are drawn words, common ones far more often than rare ones, so that most queries
meet most pages: the hard case. `bm25s` and `rank_bm25` are the scores of all pages alone; `ranked`
is the 30 best of them in a settled order; `find` is that with titles and snippets, as a model is
answered. Of each the best of the rounds counts. The libraries must agree on the best 30.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections.abc import Callable

import numpy as np
from bm25s import BM25
from rank_bm25 import BM25Plus

from toolmark.core import seeds
from toolmark.environments import page_corpus
from toolmark.environments.page_corpus import BM25_B, BM25_K1, MAX_HITS, MemoryPage, PageCorpus

FIND_BAR_PER_S, RATIO_BAR = 2_000, 10.0
N_WORDS = 4_000


def main() -> None:
    """Measure, print, and exit 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=3000)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3, help="the best of this many")
    asked = parser.parse_args()
    draw = drawer(seeds.make_rng(0, "search", 0, "words"))
    texts = [draw(120) for _ in range(asked.pages)]
    queries = [draw(6) for _ in range(asked.queries)]
    start = time.process_time()
    web = PageCorpus(
        MemoryPage(f"https://a.example/{i}", "", f"<p>{t}</p>") for i, t in enumerate(texts)
    )
    print(f"{asked.pages} pages of HTML read and indexed in {time.process_time() - start:.2f} s")
    sys.exit(0 if compare(web, texts, queries, asked.rounds) else 1)


def drawer(rng: random.Random) -> Callable[[int], str]:
    """Return what draws texts of n words; the k-th word comes with a share of about 1 / k."""
    words = [
        "".join(seeds.draw_one(rng, "bdfglmnprst") + seeds.draw_one(rng, "aeiou") for _ in range(4))
        for _ in range(N_WORDS)
    ]
    weights = [1 / k for k in range(1, N_WORDS + 1)]
    return lambda n: " ".join(rng.choices(words, weights, k=n))


def compare(web: PageCorpus, texts: list[str], queries: list[str], rounds: int) -> bool:
    """Print queries per second; tell whether the bars are met and the libraries agree."""
    split = [text.split() for text in texts]
    sparse = BM25(k1=BM25_K1, b=BM25_B, delta=0.0, method="bm25+", dtype="float64", backend="numpy")
    sparse.index(split, show_progress=False)
    dense = BM25Plus(split, k1=BM25_K1, b=BM25_B)
    few = queries[: max(1, len(queries) // 10)]

    async def find() -> None:
        for query in queries:
            await web.find(query, "")

    found = {
        "rank_bm25": rate(lambda: [dense.get_scores(q.split()) for q in few], len(few), rounds),
        "bm25s": rate(
            lambda: [sparse.get_scores(q.split()) for q in queries], len(queries), rounds
        ),
        "ranked": rate(
            lambda: [web._index.best_matches(page_corpus._split_words(q)) for q in queries],
            len(queries),
            rounds,
        ),
        "find": rate(lambda: asyncio.run(find()), len(queries), rounds),
    }
    for name, per_s in found.items():
        print(f"{name:<10}{per_s:>9,.0f} queries/s")
    agree = all(same(web, dense, query) for query in few)
    ratio = found["bm25s"] / found["rank_bm25"]
    print(
        f"bm25s / rank_bm25 = {ratio:.1f} (bar {RATIO_BAR:g}); find bar {FIND_BAR_PER_S:,}/s; the "
        f"libraries {'agree' if agree else 'DISAGREE'} on {len(few)} queries"
    )
    return agree and ratio >= RATIO_BAR and found["find"] >= FIND_BAR_PER_S


def rate(work: Callable[[], object], n: int, rounds: int) -> float:
    """Return how many of `n` are done in a second of the processor, at best."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return n / best


def same(web: PageCorpus, dense: BM25Plus, query: str) -> bool:
    """Tell whether the best pages have the best scores of the other library."""
    scores = np.asarray(dense.get_scores(query.split()))
    got = scores[web._index.best_matches(query.split())]
    return np.allclose(got, np.sort(scores)[::-1][: min(MAX_HITS, len(got))], atol=1e-6)


if __name__ == "__main__":
    main()
