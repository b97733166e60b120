"""The design matrix of the linear matchers: an embedding, a lexical and a terms block that one penalty is fair to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from portfolios.edges import Edges, Floats, Vectors
from portfolios.features import lexical_features
from portfolios.terms import Terms

_RANK = 200
_ROWS_PER_TERM = 4
"""A terms block has at most one dimension for so many known queries."""
_CUT = 4.0
"""Lexical values are cut at so many standard deviations."""


@dataclass(frozen=True, eq=False)
class Design:
    """Centres and scales of the three blocks, taken from the training queries."""

    centre: Floats
    scale: float
    lexical_centre: Floats
    lexical_scale: Floats
    lexical_limit: float
    terms: Terms
    terms_centre: Floats
    terms_scale: float

    @classmethod
    def of(cls, edges: Edges, *, lexical_weight: float = 1.0, terms_weight: float = 1.0) -> Design:
        """The weights set a block's total variance against that of the embedding block (1); 0 switches it off.

        A lexical column that never varies is switched off.
        """
        lexical = lexical_features(edges.texts)
        sd = lexical.std(axis=0)
        share = float(np.sqrt(lexical_weight / lexical.shape[1]))
        rank = min(_RANK, len(edges.texts) // _ROWS_PER_TERM) if terms_weight else 0
        terms = Terms.of(edges.texts, rank)
        folded = terms.apply(edges.texts)
        wide = edges.embeddings.astype(np.float64)
        return cls(
            wide.mean(axis=0),
            _one_over_spread(wide),
            lexical.mean(axis=0),
            np.where(sd > 1e-9, share / np.maximum(sd, 1e-9), 0.0),
            _CUT * share,
            terms,
            folded.mean(axis=0) if rank else np.zeros(0),
            float(np.sqrt(terms_weight)) * _one_over_spread(folded),
        )

    def matrix(self, embeddings: Vectors, texts: Sequence[str]) -> Floats:
        """(q, embedding dimensions + lexical features + terms)."""
        wide = (embeddings.astype(np.float64) - self.centre) * self.scale
        lexical = (lexical_features(texts) - self.lexical_centre) * self.lexical_scale
        lexical = np.clip(lexical, -self.lexical_limit, self.lexical_limit)
        folded = (self.terms.apply(texts) - self.terms_centre) * self.terms_scale
        return np.concatenate([wide, lexical, folded], axis=1)


def _one_over_spread(block: Floats) -> float:
    """1 over the root of a block's total variance; 0 for a block that does not vary."""
    spread = float(np.sqrt(block.var(axis=0).sum())) if block.size else 0.0
    return 1.0 / spread if spread > 1e-9 else 0.0
