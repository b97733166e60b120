"""The operators, one file each, and the registry that names them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from workflows.operators.choose import Choose
from workflows.operators.contract import AnyOperator
from workflows.operators.extract import Extract
from workflows.operators.generate import Generate
from workflows.operators.nearest import Nearest
from workflows.operators.program import Program
from workflows.operators.use_tools import UseTools
from workflows.operators.verify import Verify
from workflows.operators.vote import Vote

_ALL: tuple[AnyOperator, ...] = (
    Choose(),
    Extract(),
    Generate(),
    Nearest(),
    Program(),
    UseTools(),
    Verify(),
    Vote(),
)

OPERATORS: Mapping[str, AnyOperator] = MappingProxyType({operator.name: operator for operator in _ALL})
"""Operator name → operator."""
