"""Scorers: each kind grades one output against what was expected. One file a kind, and one line in the registry."""

from evolve.evaluate.scorers.base import FaultCounter, ScorerFault
from evolve.evaluate.scorers.registry import ScorerSettings, open_scorer

__all__ = ["FaultCounter", "ScorerFault", "ScorerSettings", "open_scorer"]
