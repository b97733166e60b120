"""The mailbox provider: requests are files in a folder, answered by files."""

from evolve.models.mailbox.box import Box, open_boxes
from evolve.models.mailbox.model import MailboxModel

__all__ = ["Box", "MailboxModel", "open_boxes"]
