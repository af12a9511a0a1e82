# SPDX-License-Identifier: MIT OR Apache-2.0
"""The corpus covers each feature of the language and each extern: this list names a program for each.

A feature is a name, a program of tests/p4, and a pattern that its text must have. test_programs.py runs the packet
tests of each program on both engines.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "p4"

LANGUAGE = [
    ("headers", "stacks", r"header op_t \{"),
    ("a header as a value", "types", r"data_t copy = d;"),
    ("an invalid header as a value", "values", r"\{#\}"),
    ("setValid, setInvalid, isValid", "unions_varbit", r"setValid\(\)[\s\S]*setInvalid\(\)[\s\S]*isValid\(\)"),
    ("header unions", "unions_varbit", r"header_union either_t"),
    ("header stacks: next, last", "stacks", r"labels\.next[\s\S]*labels\.last"),
    ("header stacks: push_front, pop_front", "stacks", r"push_front\(1\)[\s\S]*pop_front\(1\)"),
    ("header stacks: an index at run time", "stacks", r"labels\[hdr\.op\.index\]"),
    ("varbit", "unions_varbit", r"varbit<32>[\s\S]*extract\(hdr\.options, "),
    ("structs in structs", "values", r"inner_t inner;"),
    ("struct initializers with names and `...`", "values", r"\{ inner = \{[\s\S]*\{ 14, 1, \.\.\. \}"),
    ("comparison of structs and lists", "values", r"state == \(outer_t\)[\s\S]*\{ d\.a, d\.b \} == \{"),
    ("tuples", "types", r"tuple<word_t, word_t> both"),
    ("lists", "hash", r"\{ d\.a, other\.value, d\.b \}"),
    ("enums", "types", r"enum colour_t \{"),
    ("serializable enums", "values", r"enum bit<8> kind_t[\s\S]*kind_t kind;"),
    ("errors", "parser", r"error \{[\s\S]*error\.BadVersion"),
    ("errors as values", "values", r"in error problem"),
    ("typedef", "types", r"typedef bit<16> word_t"),
    ("new types", "types", r"type bit<16> label_t"),
    ("generic structs and functions", "types", r"pair_t<T> \{[\s\S]*T other<T>\("),
    ("casts", "values", r"\(bit<16>\)\(int<16>\)\(int<4>\)d\.a\[3:0\]"),
    ("casts between bool and bit", "values", r"\(bool\)d\.a\[0:0\][\s\S]*\(bit<1>\)\(odd"),
    ("constants of any size", "values", r"const int BIG = 1 << 100"),
    ("slices", "arithmetic", r"d\.a\[7:0\]"),
    ("assignment to slices", "values", r"d\.x\[15:12\] = d\.a\[3:0\]"),
    ("assignment with an operation", "values", r"d\.x \|\+\|= d\.a"),
    ("concatenation", "arithmetic", r"\+\+"),
    ("saturating arithmetic", "arithmetic", r"\|\+\|[\s\S]*\|-\|"),
    ("signed arithmetic", "signed", r"int<16> a[\s\S]*a \|-\| b"),
    ("shifts", "arithmetic", r"d\.a << \(bit<8>\)d\.b[\s\S]*d\.a >> \(bit<8>\)d\.b"),
    ("arithmetic shifts", "signed", r"a >> 4"),
    ("conditional expressions", "values", r"odd \? \(bool\)d\.a\[1:1\] : "),
    ("switch on values", "arithmetic", r"switch \(d\.op\)"),
    ("switch on actions", "tables", r"switch \(chosen\.apply\(\)\.action_run\)"),
    ("switch: cases that fall through, default", "control_flow", r"0:\s+1: \{[\s\S]*default: \{"),
    ("select with masks and ranges", "parser", r"0x10 &&& 0xf0[\s\S]*0x20 \.\. 0x2f"),
    ("select with value sets", "value_sets", r"value_set<bit<9>>[\s\S]*kinds: of_kinds"),
    ("value sets of structs and tuples", "value_sets", r"value_set<pair_t>[\s\S]*value_set<tuple<"),
    ("lookahead", "parser", r"lookahead<pair_t>\(\)"),
    ("advance", "parser", r"advance\(16\)"),
    ("verify", "parser", r"verify\(pair\.first == version, error\.BadVersion\)"),
    ("accept and reject", "parser", r"reject;[\s\S]*accept;"),
    ("parser loops", "stacks", r"0: label;"),
    ("sub-parsers in sub-parsers", "modules", r"parser Both\([\s\S]*Words\(0, 3\) zeros;[\s\S]*Both\(\) both;"),
    ("sub-controls in sub-controls", "modules", r"control Twice\([\s\S]*Counting\(10, start\) tens;"),
    ("constructor parameters", "modules", r"\(bit<16> skipped, bit<8> most\)"),
    ("tables and externs of each instance", "modules", r"register<bit<16>>\(1\) counted;[\s\S]*table giving"),
    ("arguments by name, and not wanted", "modules", r"divide\(hdr\.first\.value, _, [\s\S]*remainder = hdr"),
    ("actions with directions", "modules", r"action next\(in bit<16> by, out bit<16> now\)"),
    ("actions with direction-less parameters", "tables", r"action twice\(bit<8> high, bit<8> low\)"),
    ("actions that call actions", "modules", r"action give\(bit<16> more\) \{\s+bit<16> now;\s+next\("),
    ("const entries", "entries", r"const entries = \{"),
    ("entries with @priority", "tables", r"@priority\(9\)"),
    ("entries with priority, either order", "entries", r"largest_priority_wins = false;[\s\S]*priority_delta = 10;"),
    ("exact", "tables", r": exact;"),
    ("lpm", "tables", r": lpm;"),
    ("ternary", "tables", r": ternary;"),
    ("range", "tables", r": range;"),
    ("optional", "tables", r": optional;"),
    ("selector", "profiles", r": selector;"),
    ("keys of 128 bits", "keys", r"wide: lpm;[\s\S]*wide: ternary;[\s\S]*wide: range;"),
    ("keys of bool, enum and int", "keys", r"kind: exact;\s+hdr\.key\.number: exact;\s+meta\.nested\.flag: exact;"),
    ("actions of which the program gives the first parameters", "keys", r"actions = \{ add\(hdr\.key\.wide\[7:0\], "),
    ("keys that are expressions", "tables", r"d\.isValid\(\): exact"),
    ("default actions, const and not", "tables", r"const default_action = set\(0xdddd\)[\s\S]*default_action = set\("),
    ("hit and miss", "tables", r"\.apply\(\)\.hit"),
    ("action profiles", "profiles", r"action_profile\(16\)"),
    ("action selectors", "profiles", r"action_selector\(HashAlgorithm\.crc16, 16, 16\)"),
    ("annotations: names", "annotations", r'@name\("\.flat"\)'),
    ("annotations: structured and not", "annotations", r"@my_note\[text = [\s\S]*@anything\(goes <in>"),
    (
        "annotations: tableonly, defaultonly, hidden",
        "annotations",
        r"@hidden[\s\S]*@tableonly put;\s+@defaultonly lost;",
    ),
    ("functions", "control_flow", r"bit<16> larger\(in bit<16> left, in bit<16> right\)"),
    ("functions with inout and out parameters", "modules", r"void divide\(in bit<16> value, out bit<16> quotient"),
    ("return", "control_flow", r"return;"),
    ("exit", "control_flow", r"exit;"),
    ("for", "control_flow", r"for \(bit<16> i = 1; i <= 5; i = i \+ 1\)"),
    ("for over a range", "for_in", r"for \(bit<16> i in 1 \.\. 5\)"),
    ("break and continue", "control_flow", r"continue;[\s\S]*break;"),
    ("static_assert", "types", r"static_assert\(MASK == 15"),
    ("fields of no machine word", "wide", r"bit<65>[\s\S]*bit<127>[\s\S]*bit<200>"),
    ("2048 bits", "vast", r"bit<2048>[\s\S]*int<300>"),
    ("macros and conditional sources", "annotations", r"#define BUMP\(field, by\)[\s\S]*#if V1MODEL_VERSION"),
]

EXTERNS = [
    ("counters", "registers", r"counter\(4, CounterType\.packets_and_bytes\)[\s\S]*counter\(1, CounterType\.bytes\)"),
    ("direct counters", "registers", r"direct_counter\(CounterType\.packets\)[\s\S]*counters = hits;"),
    ("meters", "meters", r"meter\(4, MeterType\.packets\)[\s\S]*meter\(2, MeterType\.bytes\)[\s\S]*execute_meter"),
    ("direct meters", "meters", r"direct_meter<bit<16>>[\s\S]*meters = hits;"),
    ("registers", "registers", r"register<bit<16>>\(4\) cells[\s\S]*cells\.read[\s\S]*cells\.write"),
    ("registers outside of controls", "registers", r"register<bit<16>>\(1\) shared;\s+control"),
    ("registers of signed values", "registers", r"register<int<8>>"),
    (
        "the newer API, with types of indices",
        "annotations",
        r"V1MODEL_VERSION 20200408[\s\S]*register<bit<16>, bit<8>>",
    ),
    ("random", "random", r"random\(value, low, high\)"),
    *(
        (f"hash: {algorithm}", "hash", rf"hash\(wide, HashAlgorithm\.{algorithm}, ")
        for algorithm in ("crc32", "crc32_custom", "crc16", "crc16_custom", "csum16", "xor16", "identity")
    ),
    ("verify_checksum", "checksum", r"verify_checksum\("),
    ("verify_checksum_with_payload", "checksum", r"verify_checksum_with_payload\("),
    ("update_checksum", "checksum", r"update_checksum\("),
    ("update_checksum_with_payload", "checksum", r"update_checksum_with_payload\("),
    ("digest", "detours", r"digest<digest_t>\("),
    ("clone", "detours", r"clone\(CloneType\.I2E, "),
    ("clones of ingress with a field list", "field_lists", r"clone_preserving_field_list\(CloneType\.I2E, 5, 2\)"),
    ("clones of egress with a field list", "field_lists", r"clone_preserving_field_list\(CloneType\.E2E, 5, 2\)"),
    ("resubmit with a field list", "field_lists", r"resubmit_preserving_field_list\(2\)"),
    ("recirculate with a field list", "field_lists", r"recirculate_preserving_field_list\(2\)"),
    ("fields of several lists", "field_lists", r"@field_list\(1, 2\)"),
    ("multicast", "detours", r"s\.mcast_grp = "),
    ("truncate", "detours", r"truncate\("),
    ("assert and assume", "detours", r"assert\([\s\S]*assume\("),
    ("log_msg", "detours", r"log_msg\("),
    ("mark_to_drop", "detours", r"mark_to_drop\(s\)"),
    ("queue signals", "queue", r"s\.enq_qdepth[\s\S]*s\.deq_timedelta"),
]

# HashAlgorithm.random is missing above because simple_switch loads no program that has it. These are missing because
# p4c-bm2-ss compiles no program that uses them.
DEPRECATED = {"Checksum16", "clone3", "recirculate", "resubmit"}


@pytest.mark.parametrize(("feature", "program", "text"), [*LANGUAGE, *EXTERNS], ids=lambda value: str(value)[:40])
def test_the_corpus_has(feature: str, program: str, text: str) -> None:
    source = re.sub(r"//.*", "", (FOLDER / f"{program}.p4").read_text())
    assert re.search(text, source), f"{program}.p4 has no longer: {feature}"


def test_every_program_is_there_for_something() -> None:
    programs = {path.stem for path in FOLDER.glob("*.p4")}
    assert programs == {program for _, program, _ in [*LANGUAGE, *EXTERNS]}


def test_every_extern_of_the_model_is_used() -> None:
    model = (FOLDER.parents[1] / "engine/p4/p4include/v1model.p4").read_text()
    model = re.sub(r"//.*|/\*[\s\S]*?\*/", "", model)
    functions = set(re.findall(r"^extern (?:void|bool) (\w+)", model, re.MULTILINE))
    objects = set(re.findall(r"^extern (\w+)\s*(?:<[^>]*>)?\s*\{", model, re.MULTILINE))
    sources = "".join(re.sub(r"//.*", "", path.read_text()) for path in FOLDER.rglob("*.p4"))
    unused = {name for name in functions | objects if not re.search(rf"\b{name}\b", sources)}
    assert len(functions) > 10
    assert len(objects) > 5
    assert unused == DEPRECATED
