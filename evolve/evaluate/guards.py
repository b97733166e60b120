"""Guards: what a challenger must not make worse, as non-inferiority tests beside the primary one.

A promotion needs the primary proof *and* every guard, each at level alpha (an intersection-union test, R. Berger 1982,
"Multiparameter hypothesis testing and acceptance sampling"), so guards can only lower the rate of false promotions.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from evolve.core.verdicts import GuardOutcome
from evolve.evaluate.betting import Bettor, LowerTest
from evolve.evaluate.units import PairedUnit

RELATIVE_SPAN = 99.0
"""A relative increase is bracketed at one hundred times the baseline."""


class GuardSettings(BaseModel):
    """One guard.

    `measure: score` bounds the score difference on the cases with tag `slice` ("tag=value"); `margin` is a fraction of
    the scale (0.05 = 5 points). `usd`, `tokens` and `seconds` bound the relative increase per case (0.2 = 20 % more);
    what is compared is then the mean of min(x, `cap`) over units, because without a cap no finite number of cases can
    bound a mean. `harm_only` refuses shown harm and does not ask for a proof of none: for slices too small for that.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    measure: Literal["score", "usd", "tokens", "seconds"] = "score"
    slice: str | None = None
    margin: float = Field(gt=0, le=10)
    mode: Literal["non_inferiority", "harm_only"] = "non_inferiority"
    cap: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _fits_measure(self) -> GuardSettings:
        if self.measure == "score":
            if self.slice is None or "=" not in self.slice:
                raise ValueError("a score guard names its slice as tag=value")
            if self.margin >= 1 or self.cap is not None:
                raise ValueError("a score guard has a margin below 1 and no cap")
        elif self.slice is not None:
            raise ValueError(f"a {self.measure} guard covers all cases: remove slice")
        elif self.cap is None:
            raise ValueError(f"a {self.measure} guard needs a cap: the most that one case may count")
        return self

    @property
    def name(self) -> str:
        """What reports call it: `score[lang=de]`, `usd`."""
        return f"score[{self.slice}]" if self.slice else self.measure


class Guard:
    """One running guard. `units` is how many units it expects by the horizon."""

    def __init__(self, settings: GuardSettings, alpha: float, units: int, discordance: float) -> None:
        self.settings = settings
        self._expected = units
        self._seen = 0
        self._known = 0
        self._total = 0.0
        bettor = Bettor(alpha, max(units, 1), discordance)
        most = 1.0 if settings.measure == "score" else RELATIVE_SPAN
        self._fine = LowerTest(bettor, null=-settings.margin, span=(-most, 1.0))
        self._harm = LowerTest(bettor, null=settings.margin, span=(-1.0, most))

    def observe(self, unit: PairedUnit) -> None:
        """Reads a unit; one outside the slice is not part of this guard."""
        if self.settings.measure == "score":
            reading = unit.slices.get(self.settings.slice or "")
            if reading is None:
                return
            self._known += reading.worst == reading.best
            self._total += 1.0
            self._fine.observe(reading.worst)
            self._harm.observe(-reading.best)
        else:
            self._observe_cost(unit)
        self._seen += 1

    def _observe_cost(self, unit: PairedUnit) -> None:
        """An unknown cost counts cap against nothing when passing, and nothing against cap when harm is to be shown."""
        pair = unit.measures.get(self.settings.measure)
        if pair is None:
            self._fine.observe(-1.0, 0.0)
            self._harm.observe(-1.0, 1.0)
            return
        cap = self.settings.cap or 1.0
        base, chal = (min(x, cap) / cap for x in pair)
        self._known += 1
        self._total += base + chal
        self._fine.observe(base - chal, base)
        self._harm.observe(chal - base, base)

    @property
    def state(self) -> Literal["passed", "harmed", "open", "off"]:
        """See GuardOutcome."""
        if self._off_reason():
            return "off"
        if self._harm.proven:
            return "harmed"
        return "passed" if self._fine.proven or self.settings.mode == "harm_only" else "open"

    def _off_reason(self) -> str:
        if self._expected == 0:
            return f"no heldout case has {self.settings.slice}" if self.settings.slice else "no units"
        if self.settings.measure == "score" or self._seen == 0:
            return ""
        if self._known == 0:
            return f"{self.settings.measure} is not known on any of {self._seen} units"
        return f"both sides use 0 {self.settings.measure} on every unit" if self._total == 0.0 else ""

    def outcome(self) -> GuardOutcome:
        """What it saw. For costs `low` and `high` bound the relative saving: -0.2 is an increase of 20 %."""
        state = self.state
        shown = state != "off" and self._seen > 0
        return GuardOutcome(
            name=self.settings.name,
            mode=self.settings.mode,
            margin=self.settings.margin,
            low=self._fine.bound() if shown else None,
            high=-self._harm.bound() if shown else None,
            units=self._seen,
            state=state,
            reason=self._off_reason() or self._reason(state),
        )

    def _reason(self, state: str) -> str:
        limit = f"{100 * self.settings.margin:g} {'points' if self.settings.measure == 'score' else '%'}"
        unknown = self._seen - self._known
        missing = f"; {unknown} units not known, counted against the challenger" if unknown else ""
        if state == "harmed":
            return f"worse by more than {limit} on {self._seen} units{missing}"
        if self.settings.mode == "harm_only":
            return f"harm_only: no harm above {limit} shown on {self._seen} units; that there is none was not tested"
        words = "not worse by more than" if state == "passed" else "not yet shown to be no worse than"
        return f"{words} {limit} on {self._seen} of {self._expected} units{missing}"
