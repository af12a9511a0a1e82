# SPDX-License-Identifier: MIT OR Apache-2.0
"""Files of tables, whose bytes depend on the tables alone."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl

# Fixed, so that the same flows give the same bytes whatever polars thinks best for the machine.
_ROW_GROUP = 1 << 18


def write_table(path: Path, table: pl.DataFrame) -> None:
    """Write a Parquet file whose bytes depend on the table alone."""
    # By way of memory: what polars cannot write it reports as an error of its own kind.
    path.write_bytes(to_parquet(table))


def to_parquet(table: pl.DataFrame) -> bytes:
    """The bytes of a Parquet file, which depend on the table alone."""
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression="zstd", compression_level=3, statistics=True, row_group_size=_ROW_GROUP)
    return buffer.getvalue()
