"""What a version's routed queries looked like: shares of members, failures, drift. Rows hold no text."""

from __future__ import annotations

from evolve.report.references import Reference
from evolve.run.answer import Answer
from evolve.store import Home
from portfolios.drift import Routed, Traffic, read_traffic

KIND = "routed"


def record_routed(home: Home, version: str, query: str, answer: Answer) -> None:
    """Appends who answered the query of this id, by which rule, and who failed before."""
    detail = {"member": answer.member, "rule": str(answer.decision.rule), "failed": list(answer.failed)}
    home.ledger.append(f"traffic:{version}", KIND, version, detail, key=query)


def version_traffic(home: Home, found: Reference) -> Traffic:
    """The traffic of a version, members by their labels."""
    assert found.content is not None
    rows = home.ledger.rows(f"traffic:{found.label}", KIND)
    routed = [
        Routed(
            found.members.get(str(row.detail["member"]), str(row.detail["member"])),
            str(row.detail["rule"]),
            tuple(found.members.get(str(name), str(name)) for name in row.detail["failed"]),
        )
        for row in rows
    ]
    return read_traffic(routed, found.content.policy.far_quantile)
