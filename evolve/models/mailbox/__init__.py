"""The mailbox: requests are JSON files in a folder, answered by files that a person, an agent or a batch job writes."""

from evolve.models.mailbox.box import Box, check_name
from evolve.models.mailbox.claims import Claim
from evolve.models.mailbox.documents import ReplyDocument, RequestDocument
from evolve.models.mailbox.find import OpenRequest, claim_first, claim_one, find_request, list_requests
from evolve.models.mailbox.model import MailboxLimits, MailboxModel

__all__ = [
    "Box",
    "Claim",
    "MailboxLimits",
    "MailboxModel",
    "OpenRequest",
    "ReplyDocument",
    "RequestDocument",
    "check_name",
    "claim_first",
    "claim_one",
    "find_request",
    "list_requests",
]
