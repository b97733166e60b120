"""Writes cases.jsonl from the templates in wordings/: same templates, same bytes. Run `python generate.py`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import yaml

HERE = Path(__file__).parent
FILLED = 5
"""Cases per template where slots alone make the difference; reviews and queries are used once each."""

Template = Mapping[str, Any]
Values = Mapping[str, list[str]]


@dataclass(frozen=True)
class Draft:
    """A text whose {slots} are not filled yet, what fills them, and the answer."""

    text: str
    slots: Mapping[str, str]
    expected: Mapping[str, Any]


def read_wordings(name: str) -> Any:
    """The content of one file of wordings/."""
    return yaml.safe_load((HERE / "wordings" / f"{name}.yaml").read_text(encoding="utf-8"))


def common_slots(values: Values, rng: Random) -> dict[str, str]:
    """People, places and numbers that any template may mention."""
    slots = {name: rng.choice(options) for name, options in values.items()}
    letters = "".join(rng.choice("ABCDEFGHJKLMNPRSTUVWXYZ") for _ in range(2))
    slots["n"] = str(rng.randint(6, 60))
    slots["ref"] = f"{letters}-{rng.randint(1000, 9999)}"
    slots["number"] = f"{letters}{rng.randint(10**8, 10**9 - 1)}{rng.choice(['NL', 'PT', 'JP', 'GB', 'PL'])}"
    slots["amount"] = money_text(Decimal(rng.randint(10, 99)), rng.choice(MONEY_STYLES))
    return slots


# Money and dates -----------------------------------------------------------------------------------------------------

MONEY_STYLES = ("€E", "EUR E", "E €", "$A", "$A", "£A", "USD A", "CHF A", "¥W")
"""E: 1.240,50; A: 1,240.50; W: 124,000."""
DATE_STYLES = ("%d/%m/%Y", "%Y-%m-%d", "D B Y", "B Dth Y", "B D, Y")


def money_text(amount: Decimal, style: str) -> str:
    """An amount as its sender would write it."""
    english = f"{amount:,.2f}"
    european = english.translate(str.maketrans(",.", ".,"))
    return style.replace("E", european) if style in ("€E", "E €") else _coded(style, english, european, amount)


def _coded(style: str, english: str, european: str, amount: Decimal) -> str:
    symbol, form = style[:-1], style[-1]
    return symbol + {"E": european, "A": english, "W": f"{amount:,.0f}"}[form]


def date_text(day: date, style: str) -> str:
    """A date as its sender would write it."""
    if "%" in style:
        return day.strftime(style)
    ending = "th" if 10 < day.day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
    parts = {"Dth": f"{day.day}{ending}", "D,": f"{day.day},", "D": str(day.day), "B": f"{day:%B}", "Y": str(day.year)}
    return " ".join(parts[word] for word in style.split())


def draw_amount(style: str, rng: Random) -> Decimal:
    """Cents that occur in life; none in yen."""
    if style.endswith("W"):
        return Decimal(rng.randint(30, 2500) * 100)
    whole = rng.choice([rng.randint(20, 999), rng.randint(1000, 9800)])
    return Decimal(whole) + Decimal(rng.choice(["0", "0.50", "0.99", "0.25", "0.80"]))


def draw_date(style: str, rng: Random) -> date:
    """A due date; with day and month as numbers the day is above 12, so that there is one reading."""
    return date(2026, rng.randint(2, 12), rng.randint(13 if style == "%d/%m/%Y" else 1, 28))


def plain(number: Decimal) -> int | float:
    """The JSON number of an exact decimal."""
    return int(number) if number == number.to_integral_value() else float(number)


VERDICTS: Mapping[str, list[str]] = read_wordings("verdicts")


def ended(sentence: str) -> str:
    """The sentence with a full stop where it has no end."""
    return sentence if sentence[-1] in ".!?)" or not sentence[-1].isascii() else f"{sentence}."


# The five kinds ------------------------------------------------------------------------------------------------------


def draft_sentiment(template: Template, index: int, values: Values, rng: Random) -> Draft:
    """Reviews alternate between the two labels; a verdict says plainly what a review may leave between its lines."""
    label = ("positive", "negative")[index % 2]
    parts = [ended(template[label][index // 2]), rng.choice(VERDICTS[label])]
    review = " ".join(parts if rng.random() < 0.7 else reversed(parts))
    return Draft(template["ask"].replace("{review}", review), common_slots(values, rng), {"sentiment": label})


def draft_routing(template: Template, index: int, values: Values, rng: Random) -> Draft:
    """One query after the other."""
    team, query = template["queries"][index]
    return Draft(template["ask"].replace("{query}", query), common_slots(values, rng), {"team": team})


OPERATIONS: Mapping[str, Callable[[Decimal, Decimal], Decimal]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}


def compute(expression: str, numbers: Mapping[str, Decimal]) -> Decimal:
    """The value of `left operation right`, exactly."""
    left, operation, right = expression.split()
    return OPERATIONS[operation](numbers[left], numbers[right])


def draft_arithmetic(template: Template, index: int, values: Values, rng: Random) -> Draft:
    """Draws the numbers in the order of the template, then computes the answer."""
    numbers: dict[str, Decimal] = {}
    for slot, rule in template["numbers"].items():
        if isinstance(rule, str):
            numbers[slot] = compute(rule, numbers)
            continue
        low, high, step = (Decimal(str(part)) for part in [*rule, 1][:3])
        numbers[slot] = low + step * rng.randint(0, int((high - low) / step))
    grouped = rng.random() < 0.3
    slots = common_slots(values, rng) | {name: number_text(value, grouped) for name, value in numbers.items()}
    if "y" in slots:
        slots["y"] = str(numbers["y"])
    return Draft(template["text"], slots, {"answer": plain(compute(template["answer"], numbers))})


def number_text(number: Decimal, grouped: bool) -> str:
    """Two decimals only where there are any."""
    pattern = ",.0f" if number == number.to_integral_value() else ",.2f"
    return format(number, pattern if grouped else pattern[1:])


def draft_tools(template: Template, index: int, values: Values, rng: Random) -> Draft:
    """The slots named like arguments of the tool are the gold; they stand in the text as they are."""
    source, target = rng.sample(values["currency"], 2)
    name = f"{rng.choice(values['person'])} {rng.choice(values['surname'])}"
    amount = Decimal(rng.randint(4, 380) * 5) + Decimal(rng.choice(["0", "0", "0.50", "0.75"]))
    customer = rng.choice([rng.choice(values["company"]), name])
    typed: dict[str, Any] = {"amount": plain(amount), "percent": rng.choice([5, 8, 10, 12, 15, 20, 25, 30, 35, 40, 50])}
    texts = {"source": source, "target": target, "person": name, "customer": customer}
    shown = {"amount": number_text(amount, grouped=False), "percent": str(typed["percent"])}
    slots = common_slots(values, rng) | texts | shown
    args = {argument: typed.get(argument, slots[argument]) for argument in TOOL_ARGUMENTS[template["tool"]]}
    return Draft(template["text"], slots, {"tool": template["tool"], "args": args})


def read_tool_arguments() -> dict[str, list[str]]:
    """Argument names of the harness's tools."""
    tools = yaml.safe_load((HERE / "harness" / "tools.yaml").read_text(encoding="utf-8"))["tools"]
    return {tool["name"]: [parameter["name"] for parameter in tool["parameters"]] for tool in tools}


TOOL_ARGUMENTS = read_tool_arguments()


def draft_extraction(template: Template, index: int, values: Values, rng: Random) -> Draft:
    """One message has one way of writing dates and one of writing money."""
    money, dates = rng.choice(MONEY_STYLES), rng.choice(DATE_STYLES)
    amount = draw_amount(money, rng)
    other = (amount * rng.randint(55, 95) / 100).quantize(Decimal(10 if money == "¥W" else "0.01"))
    due = draw_date(dates, rng)
    issued = due.replace(month=due.month - 1) if dates == "%d/%m/%Y" else due - timedelta(days=rng.randint(10, 40))
    slots = common_slots(values, rng) | {
        "amount": money_text(amount, money),
        "other": money_text(other, money),
        "due": date_text(due, dates),
        "issued": date_text(issued, dates),
    }
    return Draft(template["text"], slots, {"due_date": due.isoformat(), "amount": plain(amount)})


KINDS: Mapping[str, Callable[[Template, int, Values, Random], Draft]] = {
    "sentiment": draft_sentiment,
    "arithmetic": draft_arithmetic,
    "tools": draft_tools,
    "extraction": draft_extraction,
    "routing": draft_routing,
}


# Noise and output ----------------------------------------------------------------------------------------------------


def add_noise(text: str, rng: Random) -> str:
    """One text in eight in lower case, one in eight with a slip of the finger; what fills the slots stays untouched."""
    chance = rng.random()
    if chance < 0.125:
        return text.lower()
    words = [match for match in re.finditer(r"(?<![{\w])[a-z]{5,}(?![}\w])", text)]
    if chance > 0.25 or not words:
        return text
    word = rng.choice(words)
    at = word.start() + rng.randint(1, len(word.group()) - 3)
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]


def fill(text: str, slots: Mapping[str, str]) -> str:
    """Puts values in place of {slots}. KeyError for a slot that nothing fills."""
    return re.sub(r"\{(\w+)\}", lambda match: slots[match.group(1)], text)


def build_cases() -> Iterator[dict[str, Any]]:
    """All cases, kind by kind, in the order of the wordings."""
    values: Values = read_wordings("values")
    seen: set[str] = set()
    for kind, draft in KINDS.items():
        for template in read_wordings(kind):
            for index in range(case_count(template)):
                yield build_case(kind, draft, template, index, values, seen)


def case_count(template: Template) -> int:
    """How many cases a template makes."""
    if "positive" in template:
        return 2 * min(len(template["positive"]), len(template["negative"]))
    return len(template["queries"]) if "queries" in template else FILLED


def build_case(
    kind: str, draft: Callable[..., Draft], template: Template, index: int, values: Values, seen: set[str]
) -> dict[str, Any]:
    """One case; drawn again while its text exists already."""
    group = f"{kind}/{template['id']}"
    for attempt in range(100):
        rng = Random(f"{group}/{index}/{attempt}")
        made = draft(template, index, values, rng)
        text = fill(add_noise(made.text, rng), made.slots)
        if text.casefold() not in seen:
            seen.add(text.casefold())
            row = {"id": f"{group}/{index + 1}", "input": text, "expected": dict(made.expected)}
            return row | {"tags": {"kind": kind}, "template": group}
    raise ValueError(f"{group}: no new text in 100 draws")


def main() -> None:
    """Writes cases.jsonl."""
    lines = [json.dumps(case, ensure_ascii=False) + "\n" for case in build_cases()]
    (HERE / "cases.jsonl").write_text("".join(lines), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
