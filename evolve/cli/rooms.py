"""Whether the packages beside `evolve` are its own: another distribution may ship one of the same name."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from evolve.core.errors import UserError

ROOMS = ("harnesses", "workflows", "tool_forge", "portfolios")


def check_rooms() -> None:
    """UserError when another distribution's package of the same name hides one of our rooms."""
    home = Path(__file__).resolve().parents[2]
    for room in ROOMS:
        spec = importlib.util.find_spec(room)
        places = list(spec.submodule_search_locations or []) if spec else []
        if not places or Path(places[0]).resolve().parent != home:
            found = places[0] if places else "nowhere"
            raise UserError(
                f"the package {room!r} is found at {found}, not beside evolve",
                place="installation",
                fix="give evolve-portfolio an environment of its own",
            )
