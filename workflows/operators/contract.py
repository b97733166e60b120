"""The contract of an operator: parameters, named outcomes, and one asynchronous run for each node visit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from evolve.core.hashing import JSONValue
from workflows.asking.calls import Calls
from workflows.kit import View
from workflows.params import OperatorParams

P = TypeVar("P", bound=OperatorParams)

DONE = "done"


@dataclass(frozen=True, slots=True)
class Produced:
    """The output of one visit and which of the operator's named outcomes it was."""

    output: JSONValue
    outcome: str = DONE


class Operator(ABC, Generic[P]):
    """One kind of step. Stateless: one instance serves all workflows.

    `outcomes` are all that `run` can name. `answers` says whether its output can be the workflow's answer.
    """

    name: ClassVar[str]
    params: ClassVar[type[OperatorParams]]
    outcomes: ClassVar[tuple[str, ...]] = (DONE,)
    answers: ClassVar[bool] = True

    @abstractmethod
    async def run(self, params: P, view: View, calls: Calls) -> Produced:
        """One visit. Raises HarnessFault for its own failure; WorldError and BudgetExceeded of a call pass through."""


AnyOperator = Operator[Any]
