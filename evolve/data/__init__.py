"""Data: reads files of cases, refuses what cannot be trusted, and splits them into train, dev and heldout."""

from evolve.data.load import LoadReport, Origin, load_cases
from evolve.data.rows import BadRow
from evolve.data.settings import DataSettings, Shares, SplitSettings
from evolve.data.split import split_cases

__all__ = [
    "BadRow",
    "DataSettings",
    "LoadReport",
    "Origin",
    "Shares",
    "SplitSettings",
    "load_cases",
    "split_cases",
]
