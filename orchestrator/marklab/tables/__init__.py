# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tables in files: Parquet for programs, Markdown for people.

`parquet` writes data frames, `markdown` rows of text. Uses nothing of the lab. Neither knows the content of a table;
the caller gives numbers their units and digits.
"""
