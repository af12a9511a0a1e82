# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes THIRD-PARTY-NOTICES: the third-party code in the wheel, and its licences (`make notices`).

Cargo names the Rust crates that are linked into the engine for the wheel's target; their licence texts come from their
packages in Cargo's registry. All other code is listed in this file by hand. tests/test_licences.py compares the written
file with the output of this program.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TREE = Path(__file__).resolve().parents[1]
NOTICES = TREE / "THIRD-PARTY-NOTICES"
LICENCES = TREE / "LICENSES"

_ENGINE, _TARGET = "marklab-engine", "x86_64-unknown-linux-gnu"

# If a crate offers several licences, we use the first one of this list. The values are possible file names of its text.
# All of these licences permit linking and redistribution together with their text.
_TAKEN: Mapping[str, tuple[str, ...]] = {
    "MIT": ("LICENSE-MIT*", "LICENSES/MIT.txt", "LICENSE", "LICENSE.txt", "LICENSE.md"),
    "BSD-2-Clause": ("LICENSE", "LICENSE.txt"),
    "BSD-3-Clause": ("LICENSE", "LICENSE.txt"),
    "Zlib": ("LICENSE", "LICENSE.txt"),
    "ISC": ("LICENSE", "LICENSE.txt"),
    "Unicode-3.0": ("LICENSE", "LICENSE-UNICODE"),
    "Apache-2.0": ("LICENSE-APACHE*", "LICENSES/Apache-2.0.txt", "LICENSE"),
    "Apache-2.0 WITH LLVM-exception": ("LICENSE-Apache-2.0_WITH_LLVM-exception", "LICENSE"),
}

_RULE = "=" * 80

_HEAD = """\
Third-party notices of Marklab
{rule}

Marklab itself is licensed under MIT or Apache-2.0, whichever you prefer
(LICENSE-MIT, LICENSE-APACHE). Its wheel carries the works of others that are
listed here, with the licence under which it does so; the texts of the licences
are at the end. Python packages that the lab uses are installed beside it and
are no part of it.

`make notices` writes this file. Do not edit it.

1. Files
{rule}

plotly.js 4.1.1, basic bundle (in marklab/report/plotly, and in each report.html)
    MIT; Copyright (c) 2012-2026 Plotly, Inc.

P4 library headers core.p4, v1model.p4, tna.p4, t2na.p4, tofino.p4 (in the engine)
    Apache-2.0; Copyright 2013 Barefoot Networks, Inc.
    and Copyright (C) 2024 Intel Corporation (tofino.p4)
    The declarations are those of p4c (https://github.com/p4lang/p4c), so that
    programs compile with both. Their arrangement and the comments are Marklab's.

Flow-size distributions and thresholds (marklab/data/traffic)
    Numbers that others have measured and published, which are facts;
    docs/workloads.md says whose.

BPF programs (marklab/lab/*.bpf.c)
    Marklab's own, but under GPL-2.0-only or MIT: the kernel lends its functions
    to GPL code only.

2. Linked into the engine beside its crates
{rule}

The standard library of Rust, with the crates that it contains
    MIT or Apache-2.0; Copyright (c) The Rust Project Contributors
    (https://github.com/rust-lang/rust)

libunwind of LLVM, which Zig links into the wheel
    Apache-2.0 WITH LLVM-exception; the LLVM Project (https://llvm.org)

compiler_rt of Zig, as far as the linker takes of it
    MIT; Copyright (c) Zig contributors (https://ziglang.org)

3. Crates in the engine
{rule}

"""


@dataclass(frozen=True)
class Crate:
    """A crate in the engine, the licences that it offers, the one that we use, and its text."""

    name: str
    version: str
    offered: str
    taken: str
    text: str

    @property
    def label(self) -> str:
        """Its name in lists."""
        return f"{self.name} {self.version}"


def crates() -> list[Crate]:
    """The third-party crates that are linked into the engine, by name and version.

    Raises SystemExit for a crate without a licence that is known to permit this.
    """
    metadata = json.loads(_cargo("metadata", "--format-version", "1", "--filter-platform", _TARGET))
    packages = {(package["name"], package["version"]): package for package in metadata["packages"]}
    tree = _cargo(
        *("tree", "--package", _ENGINE, "--edges", "normal,no-proc-macro", "--target", _TARGET),
        *("--prefix", "none", "--format", "{p}"),
    )
    linked = sorted({(name, version) for name, version in re.findall(r"^(\S+) v(\S+)", tree, re.MULTILINE)})
    return [_crate(packages[key]) for key in linked if packages[key]["source"] is not None]


def _cargo(command: str, *options: str) -> str:
    # The folder where rustup puts cargo, even if it is not on the shell's PATH.
    path = os.pathsep.join([os.environ.get("PATH", ""), str(Path.home() / ".cargo" / "bin")])
    cargo = shutil.which("cargo", path=path)
    if cargo is None:
        sys.exit("error: the notices need Rust (cargo)\n  try: https://rustup.rs")
    manifest = TREE / "engine" / "Cargo.toml"
    words = [cargo, command, "--locked", "--manifest-path", str(manifest), *options]
    answer = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603
    if answer.returncode:
        sys.exit(f"error: {' '.join(words)}\n{answer.stderr}")
    return answer.stdout


def _crate(package: Mapping[str, Any]) -> Crate:
    name, offered = package["name"], package["license"] or ""
    taken = choose(offered)
    if taken is None:
        sys.exit(
            f"error: the licence of the crate {name}, `{offered}`, is none of those that the engine may carry\n"
            f"  try: another crate; or, if this licence permits it, add it to {Path(__file__).name}"
        )
    return Crate(name, package["version"], offered, taken, _text(package, taken))


def choose(offered: str) -> str | None:
    """The licence of an SPDX expression that we use; None if none of its licences is known."""
    licences = {each.strip() for each in re.split(r" OR |/", offered.strip("()"))}
    return next((known for known in _TAKEN if known in licences), None)


def _text(package: Mapping[str, Any], taken: str) -> str:
    folder = Path(package["manifest_path"]).parent
    found = (path for pattern in _TAKEN[taken] for path in sorted(folder.glob(pattern)) if path.is_file())
    path = next(found, None)
    if path is not None:
        return path.read_text(encoding="utf-8").strip("\n")
    # Some packages name their licence and leave out its text.
    authors = ", ".join(re.sub(r" <.*>", "", author) for author in package["authors"])
    return _mit(authors or f"the authors of {package['name']}") if taken == "MIT" else taken


def _mit(holders: str) -> str:
    return _standard("MIT").replace("<year> <copyright holders>", holders)


def _standard(licence: str) -> str:
    return (LICENCES / f"{licence}.txt").read_text(encoding="utf-8").strip("\n")


def _texts(listed: Sequence[Crate]) -> Iterator[tuple[list[str], str]]:
    """Each licence text once, with the works that it covers; texts that differ only in line breaks count as one."""
    plotly = TREE / "orchestrator" / "marklab" / "report" / "plotly" / "LICENSE"
    llvm = next(crate.text for crate in listed if crate.name == "cranelift-codegen")
    works = [
        ("plotly.js", plotly.read_text(encoding="utf-8").strip("\n")),
        ("P4 library headers", _standard("Apache-2.0")),
        ("standard library of Rust", _mit("The Rust Project Contributors")),
        ("libunwind", llvm),
        ("compiler_rt of Zig", _mit("Zig contributors")),
    ]
    # A crate without a text gets the text of the others under the same licence.
    works += [(crate.label, llvm if crate.text == "Apache-2.0 WITH LLVM-exception" else crate.text) for crate in listed]
    by_text: dict[str, tuple[list[str], str]] = {}
    for name, text in works:
        by_text.setdefault(" ".join(text.split()), ([], text))[0].append(name)
    yield from by_text.values()


def render(listed: Sequence[Crate]) -> str:
    """The whole file."""
    width = max(len(crate.label) for crate in listed)
    lines = [
        f"{crate.label:<{width}}  {crate.taken}" + (f"  (of: {crate.offered})" if crate.offered != crate.taken else "")
        for crate in listed
    ]
    texts = [f"{_RULE}\n{', '.join(names)}\n{_RULE}\n\n{text}\n" for names, text in _texts(listed)]
    rest = "\n".join(["\n".join(lines), "", "4. Licence texts", *texts])
    # Line breaks and tabs of the texts differ between packages.
    return "\n".join(line.rstrip() for line in (_HEAD.format(rule=_RULE) + rest).splitlines()) + "\n"


if __name__ == "__main__":
    NOTICES.write_text(render(crates()), encoding="utf-8")
