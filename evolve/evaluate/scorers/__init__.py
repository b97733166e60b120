"""Scorers: each kind grades one output against what was expected. One file a kind, and one line in the registry."""

from evolve.evaluate.scorers.base import FaultCounter, ScorerFault
from evolve.evaluate.scorers.judge import JUDGE_ROLE
from evolve.evaluate.scorers.registry import Judge, ScorerSettings, open_scorer

__all__ = ["JUDGE_ROLE", "FaultCounter", "Judge", "ScorerFault", "ScorerSettings", "open_scorer"]
