"""What a model proposer is told of the pool: coverage, what nobody solves, and who is strong at what."""

from __future__ import annotations

import json
from collections import defaultdict

from evolve.campaign.context import CampaignContext
from evolve.campaign.loops.workflow.pool import Pool
from evolve.core.hashing import short
from harnesses.excerpts import cut_text
from harnesses.shapes import shape_name

_LONGEST = 500
_STRONG = 3


def pool_words(context: CampaignContext, pool: Pool) -> str:
    """Counts, up to five train queries that few solve (secrets redacted), and the means of the best few by shape."""
    found = pool.coverage
    clean = context.home.redactor
    lines = [f"{found.words()}."]
    texts = [cut_text(clean.text(pool.cases[i].text), _LONGEST)[0] for i in found.least]
    lines += [f"few solve: {json.dumps(text, ensure_ascii=False)}" for text in texts]
    ranked = sorted(range(len(pool.trees)), key=lambda i: (-(pool.cards[i].mean() or 0.0), pool.trees[i]))
    lines += [f"{short(pool.trees[i])} scores {_by_shape(pool, i)}" for i in ranked[:_STRONG]]
    return "\n".join(lines)


def _by_shape(pool: Pool, index: int) -> str:
    values: dict[str, list[float]] = defaultdict(list)
    for case in pool.cases:
        mean = pool.cards[index].case_mean(case.id)
        if mean is not None:
            values[shape_name(case.expected)].append(mean)
    return ", ".join(f"{100 * sum(v) / len(v):.0f} of 100 on {shape}" for shape, v in sorted(values.items()))
