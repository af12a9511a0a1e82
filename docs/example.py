# SPDX-License-Identifier: MIT OR Apache-2.0
"""Marking schemes compared over loads: the lab from Python, in cells like those of a notebook.

Editors that know `# %%` run it cell by cell; `.venv/bin/python docs/example.py` runs all of it.
"""

# %% One run: a scheme and its baseline on the same flows
import polars as pl

from marklab import compare, run, sweep

result = run("ecn-sharp", load=0.8, flows=200, seeds=2)
print(result.folder)
print(result.summary.filter(statistic="mean").select("scheme", "size_class", "n", "fct_us", "normalised"))

# %% Reasons to doubt its numbers: two seeds of 200 flows are few
for warning in result.warnings:
    print("!", warning)

# %% Every flow is a row: which short flows were marked, and their slowdown
short = result.flows.filter(pl.col("size_bytes") <= 100_000, pl.col("fct_ns").is_not_null())
print(
    short.group_by("scheme", marked=pl.col("marked_packets") > 0)
    .agg(flows=pl.len(), slowdown=(pl.col("fct_ns") / pl.col("ideal_ns")).mean())
    .sort("scheme", "marked")
)

# %% A change of a parameter: better, worse, or within the noise of the seeds
changed = run("ecn-sharp:pst_target=60us", load=0.8, flows=200, seeds=2)
both = compare(result, changed, fail_on="short.mean > +20%")
print(
    both.table.filter(pl.col("point").is_null()).select("metric", "base", "new", "relative", "low", "high", "verdict")
)
print(both.rules)
assert not both.broken

# %% A grid of loads. Finished cells are kept: the sweep runs once, and is read from then on
grid = sweep(["ecn-sharp", "tcn"], grid={"load": [0.3, 0.6, 0.9]}, flows=200, seeds=2, name="example")
assert grid.failed.is_empty()
means = grid.cells.group_by("scheme", "load").agg(pl.col("short.mean").mean()).sort("scheme", "load")
print(means.pivot("load", index="scheme", values="short.mean"))

# %% The same with intervals, and as a ratio to the baseline on the same flows
table = grid.summary.filter(size_class="short", statistic="mean")
print(table.select("load", "scheme", "normalised", "normalised_low", "normalised_high"))

# %% A picture of it
import matplotlib.pyplot as plt

for (scheme,), rows in table.group_by("scheme", maintain_order=True):
    plt.plot(rows["load"], rows["fct_us"], marker="o", label=scheme)
    plt.fill_between(rows["load"], rows["fct_us_low"], rows["fct_us_high"], alpha=0.2)
plt.xlabel("load")
plt.ylabel("short flows, mean FCT (µs)")
plt.legend()
plt.savefig("example.png")

# %% The page for others: tables, charts and their data in one file
print(grid.report)
