"""The books: journal, budget and prices of model calls."""

from evolve.books.books import Books
from evolve.books.budget import Amount, Budget, Caps, Reservation
from evolve.books.documents import JournalMode
from evolve.books.model import BookedModel
from evolve.books.owner import Owner
from evolve.books.prices import PriceBook, PriceOverride
from evolve.books.recorded import NotRecorded, RecordedModel
from evolve.books.slots import UNLIMITED, Slots, SlotUse

__all__ = [
    "UNLIMITED",
    "Amount",
    "BookedModel",
    "Books",
    "Budget",
    "Caps",
    "JournalMode",
    "NotRecorded",
    "Owner",
    "PriceBook",
    "PriceOverride",
    "RecordedModel",
    "Reservation",
    "SlotUse",
    "Slots",
]
