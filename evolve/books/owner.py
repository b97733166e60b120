"""Who a call is made for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Owner:
    """One run of one candidate on one case. `role` names the model role that is asked."""

    campaign: str
    loop: str
    candidate: str
    case: str
    repetition: int
    role: str
