"""Rows of a Parquet file; class labels that its metadata names are read as their names."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue, canonical_json
from evolve.data.rows import BadRow, Row, RowsRead


def read_parquet(path: Path, max_line_bytes: int) -> RowsRead:
    """Every row, numbered from 1. UserError for a file that is not Parquet; a row that JSON cannot hold is bad."""
    import pyarrow as pa  # slow to import
    import pyarrow.parquet as pq

    read = RowsRead()
    try:
        with pq.ParquetFile(path) as file:
            names = _label_names(file.schema_arrow.metadata or {})
            for batch in file.iter_batches():
                for values in _readable(batch).to_pylist():
                    _add(read, values, names, max_line_bytes)
    except (pa.ArrowException, ValueError, OverflowError) as error:
        raise UserError(f"not a Parquet file: {error}", place=str(path), fix="name a .parquet file") from error
    return read


def _readable(batch: Any) -> Any:
    """Times in nanoseconds as texts: Python has no value for them."""
    import pyarrow as pa

    exact = [
        n for n, f in enumerate(batch.schema) if pa.types.is_temporal(f.type) and getattr(f.type, "unit", "") == "ns"
    ]
    for number in exact:
        batch = batch.set_column(number, batch.schema.field(number).name, batch.column(number).cast(pa.string()))
    return batch


def _add(read: RowsRead, values: Mapping[str, Any], names: Mapping[str, list[str]], max_line_bytes: int) -> None:
    number = len(read.rows) + len(read.bad) + 1
    try:
        row = {column: _named(_plain(value), names.get(column)) for column, value in values.items()}
        size = len(canonical_json(row))
    except (ValueError, TypeError) as error:
        read.bad.append(BadRow(number, str(error)))
        return
    if size > max_line_bytes:
        read.bad.append(BadRow(number, f"longer than {max_line_bytes:,} bytes (max_line_bytes)"))
    else:
        read.rows.append(Row(number, row))


def _label_names(metadata: Mapping[bytes, bytes]) -> dict[str, list[str]]:
    """Column → names of its classes, from the `huggingface` entry that its libraries write."""
    try:
        features = json.loads(metadata[b"huggingface"])["info"]["features"]
        return {
            column: list(feature["names"])
            for column, feature in features.items()
            if isinstance(feature, dict) and feature.get("_type") == "ClassLabel" and feature.get("names")
        }
    except (LookupError, ValueError, TypeError, AttributeError):
        return {}


def _named(value: JSONValue, names: list[str] | None) -> JSONValue:
    """ValueError for a number without a name: by custom -1 stands for a row that nobody has labelled."""
    if names is None or not isinstance(value, int):
        return value
    if not 0 <= value < len(names):
        raise ValueError(f"{value} is none of its {len(names)} class labels: not labelled")
    return names[value]


def _plain(value: Any) -> JSONValue:
    """The value as JSON. Dates are ISO texts, bytes base64; ValueError for what JSON has no form for."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise ValueError(f"{value} is not JSON")
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Decimal):
        return str(value)
    raise ValueError(f"a {type(value).__name__} is not JSON")
