# SPDX-License-Identifier: MIT OR Apache-2.0
"""How tables are written: Parquet for programs, Markdown for people.

`parquet` writes data frames, `markdown` rows of text. Uses nothing of the lab. Neither knows what is in a table; that a
number has its unit and its digits is for those who have the number.
"""
