"""What a child process may see of the environment: no keys."""

from __future__ import annotations

import re
from collections.abc import Mapping

_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables whose names do not sound like a secret (key, token, secret, password, credential, auth)."""
    return {name: value for name, value in environment.items() if not _SECRET.search(name)}
