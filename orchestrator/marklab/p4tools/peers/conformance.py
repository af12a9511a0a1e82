# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests the lab with p4c's own corpus: `make conformance P4C_CHECKOUT=...` writes docs/conformance.md.

Three conditions must hold. Packet tests of v1model programs pass on both engines. Programs that p4c refuses are refused
with a place, either p4c's or another one for a stated reason. v1model programs without a packet test compile.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from marklab.engine.binding import compile_program
from marklab.errors import BadInput, MarklabError, SetupError
from marklab.p4tools.peers import verdicts
from marklab.p4tools.stf.messages import Agreement, Messages, compare
from marklab.p4tools.stf.runner import Verdict, run_pair
from marklab.paths import REPOSITORY, require_tree
from marklab.tables import markdown

PAGE = REPOSITORY / "docs" / "conformance.md"

# Fraction of the packet tests that must pass.
SHARE = 0.95

# Samples for p4c's front end that p4c-bm2-ss 1.2.5.16 refuses, with its reason. The lab must refuse them too. Other
# samples that p4c-bm2-ss refuses run here, with a warning.
REFUSED_BY_P4C = {
    "issue3225.p4": "BMv2 target only supports headers with fields totaling a multiple of 8 bits",
    "issue3394.p4": "header_t: expected type to be a struct",
    "issue907-bmv2.p4": "Only registers with bit or int types are currently supported",
    "parser-unroll-test3.p4": "headers: the type should be a struct of headers, stacks, or unions",
    "parser-unroll-test4.p4": "headers: the type should be a struct of headers, stacks, or unions",
    "parser-unroll-test5.p4": "headers: the type should be a struct of headers, stacks, or unions",
}

# About a program of ours that is not in the corpus (test_differential.py tries it).
_WITHOUT_P4INFO = (
    "P4_16 has value sets of tuples (`valueSetDeclaration` of its grammar). P4Runtime does not, and requires compilers "
    "to refuse them when they write P4Info (P4Runtime 1.4, section `ValueSet`). So p4c-bm2-ss 1.2.5.16 refuses "
    "`tests/p4/value_sets.p4` with `--p4runtime-files` and compiles it without. The lab does the same with and without "
    "`--p4info`."
)

# The place in messages of the lab's compiler.
_PLACE = re.compile(r"--> .+:\d+:\d+")


@dataclass(frozen=True)
class SampleResult:
    """The result of one program."""

    name: str
    verdict: Verdict
    message: str = ""


@dataclass(frozen=True)
class Conformance:
    """The results of a corpus."""

    commit: str
    packet_tests: Sequence[SampleResult]
    refusals: Sequence[SampleResult]
    compilations: Sequence[SampleResult]
    messages: Messages = field(default_factory=Messages)

    @property
    def enough(self) -> bool:
        """Whether enough packet tests pass, none gives other packets, and each message is in the right place."""
        counts = Counter(finding.verdict for finding in self.packet_tests)
        packets = counts[Verdict.FAILED] == 0 and counts[Verdict.PASSED] >= SHARE * len(self.packet_tests)
        return packets and not self.messages.unargued and not self.messages.stale


def check(checkout: Path) -> Conformance:
    """Run p4c's corpus."""
    samples, errors = (checkout / "testdata" / folder for folder in ("p4_16_samples", "p4_16_errors"))
    if not samples.is_dir() or not errors.is_dir():
        raise SetupError(f"{checkout} is not a checkout of p4c", "P4C_CHECKOUT=<folder of github.com/p4lang/p4c>")
    programs = [path for path in sorted(samples.rglob("*.p4")) if path.is_file() and "v1model.p4" in _text(path)]
    tested = [path for path in programs if path.with_suffix(".stf").exists()]
    untested = [path for path in programs if path not in tested and _is_whole(path)]
    errors_of_p4c = sorted(errors.glob("*.p4"))
    accepted = [path for path in untested if path.name not in REFUSED_BY_P4C]
    refused = [path for path in untested if path.name in REFUSED_BY_P4C]
    return Conformance(
        _commit(checkout),
        [_packet_test(path, samples) for path in tested],
        [_refusal(path) for path in [*errors_of_p4c, *refused]],
        [_compilation(path, samples) for path in accepted],
        compare(errors_of_p4c, errors.with_name("p4_16_errors_outputs")),
    )


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _is_whole(path: Path) -> bool:
    """Whether a sample instantiates the switch. Some are only for inclusion, or only for p4c's front end."""
    return re.search(r"\bV1Switch\b", _text(path)) is not None


def _commit(checkout: Path) -> str:
    command = ["git", "-C", str(checkout), "rev-parse", "HEAD"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - no shell
    return found.stdout.strip() if found.returncode == 0 else "an unknown commit"


def _packet_test(program: Path, root: Path) -> SampleResult:
    name = str(program.relative_to(root))
    try:
        outcome = run_pair(program, program.with_suffix(".stf"))
    except BadInput as error:
        return SampleResult(name, Verdict.UNSUPPORTED, _headline(error))
    return SampleResult(name, outcome.verdict, outcome.message)


def _refusal(program: Path) -> SampleResult:
    try:
        compile_program(program, interpret=True)
    except BadInput as error:
        located = _PLACE.search(str(error))
        return SampleResult(program.name, Verdict.PASSED if located else Verdict.FAILED, "refused without a place")
    return SampleResult(program.name, Verdict.FAILED, "accepted")


def _compilation(program: Path, root: Path) -> SampleResult:
    name = str(program.relative_to(root))
    try:
        compile_program(program, interpret=True)
    except BadInput as error:
        return SampleResult(name, Verdict.UNSUPPORTED, _headline(error))
    return SampleResult(name, Verdict.PASSED)


def _headline(error: BadInput) -> str:
    """The first line of a message, without the path of the program and the source that follows."""
    lines = [line for line in str(error).splitlines() if "does not compile" not in line]
    return re.sub(r"(?:/\S+/)+([\w.-]+: )", "", lines[0])


def conformance_page(conformance: Conformance) -> str:
    """The page."""
    parts = {
        "Packet tests": (
            "v1model programs with an .stf, on the interpreter and on the JIT.",
            conformance.packet_tests,
        ),
        "Programs to refuse": (
            "Programs of `p4_16_errors`, and samples that p4c-bm2-ss refuses. The lab must refuse them with file, line "
            "and column.\n\n" + _refused_samples(),
            conformance.refusals,
        ),
        "Programs to accept": ("v1model programs without an .stf must compile and load.", conformance.compilations),
    }
    text = "# Conformance\n\n"
    text += "<!-- Written by `make conformance`. -->\n\n"
    text += (
        "For P4 engineers who ask how much of the language the lab supports. The page shows the results of p4c's "
        f"corpus (`testdata` of p4lang/p4c at `{conformance.commit}`). "
        "To repeat it, with P4C_CHECKOUT as the path of a checkout of p4c:\n\n"
        "<!-- needs: P4C_CHECKOUT -->\n<!-- tested by: tests/stf/test_conformance.py -->\n"
        "```sh\nmake conformance P4C_CHECKOUT=p4c\n```\n\n"
    )
    columns = ("", "programs", *(verdict.value for verdict in Verdict))
    text += _lines(markdown.table(columns, [_counts(title, of) for title, (_, of) in parts.items()], "lrrrr"))
    text += f"\n{_WITHOUT_P4INFO}\n"
    for title, (explanation, findings) in parts.items():
        text += f"\n## {title}\n\n{explanation}\n"
        text += "".join(_section(findings))
    return text + "".join(verdicts.section()) + "".join(_messages(conformance.messages))


def _counts(title: str, findings: Sequence[SampleResult]) -> list[object]:
    counts = Counter(finding.verdict for finding in findings)
    return [title, len(findings), *(counts[verdict] for verdict in Verdict)]


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _messages(messages: Messages) -> Iterator[str]:
    counts = Counter(message.agreement for message in messages.compared)
    yield "\n## Messages\n\n"
    yield "Where the lab's message is, for each error that p4c's golden messages place, if both refuse the program:\n\n"
    rows = [(agreement.value, counts[agreement]) for agreement in Agreement]
    yield _lines(markdown.table(("", "messages"), rows, "lr"))
    yield f"\nIn the right place: {messages.share}.\n"
    yield "\nReasons why the lab's message is elsewhere, with the program and p4c's line:\n\n"
    for reason, names in (messages.reasons or {}).items():
        if names:
            yield f"- {reason.rstrip('.')}. {', '.join(names)}\n"


def _refused_samples() -> str:
    return "\n".join(markdown.table(("sample", "what p4c-bm2-ss says"), REFUSED_BY_P4C.items()))


def _section(findings: Sequence[SampleResult]) -> Iterator[str]:
    others = [finding for finding in findings if finding.verdict is not Verdict.PASSED]
    if others:
        rows = [(finding.name, finding.verdict.value, finding.message) for finding in others]
        yield "\n" + _lines(markdown.table(("program", "", "why"), rows))
    passed = [finding.name for finding in findings if finding.verdict is Verdict.PASSED]
    yield f"\n<details><summary>{len(passed)} passed</summary>\n\n{', '.join(passed)}\n\n</details>\n"


def main() -> int:
    """Check the corpus named on the command line and write the page."""
    if len(sys.argv) != 2 or not sys.argv[1]:
        sys.stdout.write("skipped: P4C_CHECKOUT is not set\n  try: make conformance P4C_CHECKOUT=<folder of p4c>\n")
        return 0
    try:
        require_tree("the page of this comparison")
        conformance = check(Path(sys.argv[1]))
    except MarklabError as error:
        sys.stderr.write(f"error: {error}\n  try: {error.remedy}\n")
        return 2
    for title, findings in (
        ("packet tests", conformance.packet_tests),
        ("programs to refuse", conformance.refusals),
        ("programs to accept", conformance.compilations),
    ):
        counts = Counter(finding.verdict for finding in findings)
        shares = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict)
        sys.stdout.write(f"{title}: {shares}\n")
        for finding in findings:
            if finding.verdict is not Verdict.PASSED:
                sys.stdout.write(f"  {finding.verdict.value} {finding.name}: {finding.message}\n")
    places = Counter(message.agreement for message in conformance.messages.compared)
    sys.stdout.write(f"messages in the right place: {conformance.messages.share}\n")
    sys.stdout.write("".join(f"  {places[agreement]} {agreement.value}\n" for agreement in Agreement))
    for name in conformance.messages.unargued:
        sys.stdout.write(f"  not argued {name}\n")
    for name in conformance.messages.stale:
        sys.stdout.write(f"  argued without need {name}: take it out of messages.yaml\n")
    PAGE.write_text(conformance_page(conformance), encoding="utf-8")
    sys.stdout.write(f"{PAGE.relative_to(REPOSITORY)}\n")
    return 0 if conformance.enough else 1


if __name__ == "__main__":
    sys.exit(main())
