"""What lasts: a home with a database, git trees and the stores over them."""

from evolve.store.alpha import AlphaStore
from evolve.store.artifacts import Artifacts
from evolve.store.calls import CallEnd, CallRow, CallStart
from evolve.store.campaigns import CampaignLock, CampaignRow, CampaignStore
from evolve.store.database import Database
from evolve.store.home import Home, open_home
from evolve.store.journal import JournalStore
from evolve.store.leases import Lease, LeaseStore
from evolve.store.ledger import Ledger, LedgerRow
from evolve.store.pointers import PointerMove
from evolve.store.results import ResultStore, StoredResult
from evolve.store.trees import GitTrees
from evolve.store.versions import NewVersion, VersionRow, VersionStore

__all__ = [
    "AlphaStore",
    "Artifacts",
    "CallEnd",
    "CallRow",
    "CallStart",
    "CampaignLock",
    "CampaignRow",
    "CampaignStore",
    "Database",
    "GitTrees",
    "Home",
    "JournalStore",
    "Lease",
    "LeaseStore",
    "Ledger",
    "LedgerRow",
    "NewVersion",
    "PointerMove",
    "ResultStore",
    "StoredResult",
    "VersionRow",
    "VersionStore",
    "open_home",
]
