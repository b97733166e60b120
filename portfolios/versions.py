"""From a chosen router to the content of a version, and from a version back to the same router."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue, sha256_hex, short
from evolve.core.protocols import Embedder
from portfolios.choose import RouterChoice
from portfolios.edges import Edges
from portfolios.matchers import open_matcher
from portfolios.portfolio import PortfolioContent, PortfolioMember, single_content
from portfolios.recipe import RouterRecipe
from portfolios.router import Router
