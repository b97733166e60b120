"""What of the environment is secret: no child process, no store and no log may see it."""

from __future__ import annotations

import re
from collections.abc import Mapping

_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)
_NAMED = re.compile(r"(?:KEY|TOKEN|SECRET|PASSW(?:OR)?D|CREDENTIALS?|AUTH)$", re.IGNORECASE)
_PERSON = re.compile(r"AUTHOR", re.IGNORECASE)


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables whose names do not sound like a secret (key, token, secret, password, credential, auth)."""
    return {name: value for name, value in environment.items() if not _SECRET.search(name)}


def sounds_secret(name: str, value: str) -> bool:
    """Whether a variable holds a secret, so that its value must not stand in any text.

    Its name sounds like one. Where the name does not end so (TOKENIZERS_PARALLELISM, AUTH_MODE), a value of letters
    alone or a number is a setting; and whoever an AUTHOR is, is no secret.
    """
    if not _SECRET.search(_PERSON.sub("", name)):
        return False
    plain = value.strip()
    return bool(_NAMED.search(name)) or not (plain.isalpha() or plain.isdigit())
