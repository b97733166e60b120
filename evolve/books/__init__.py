"""The books: journal, budget and prices of model calls."""

from evolve.books.books import Books
from evolve.books.budget import Amount, Budget, Caps, Reservation
from evolve.books.documents import MODES, REDACTED, JournalMode, JournalModes
from evolve.books.model import BookedModel
from evolve.books.owner import Owner
from evolve.books.prices import PriceBook, PriceOverride
from evolve.books.recorded import NotRecorded, RecordedModel, RecordedStop
from evolve.books.slots import UNLIMITED, Slots, SlotUse

__all__ = [
    "MODES",
    "REDACTED",
    "UNLIMITED",
    "Amount",
    "BookedModel",
    "Books",
    "Budget",
    "Caps",
    "JournalMode",
    "JournalModes",
    "NotRecorded",
    "Owner",
    "PriceBook",
    "PriceOverride",
    "RecordedModel",
    "RecordedStop",
    "Reservation",
    "SlotUse",
    "Slots",
]
