// SPDX-License-Identifier: MIT OR Apache-2.0
//! Estimates: dependencies, resources of a stage, memories and bits, each on a program whose result can be counted.

use std::path::{Path, PathBuf};

use marklab_p4::loader::{Disk, Loader};
use marklab_p4::{Options, compile_with};
use marklab_tofino::estimate::Estimate;

/// The text of `test.p4`; other files are read from disk.
struct Main(String);

impl Loader for Main {
    fn load(&self, path: &Path) -> std::io::Result<String> {
        if path == Path::new("test.p4") { Ok(self.0.clone()) } else { Disk.load(path) }
    }
}

/// Estimates an egress control with these declarations and statements.
#[track_caller]
fn estimate(locals: &str, body: &str) -> Estimate {
    let text = format!(
        "#include \"before.p4\"\ncontrol Eg(EGRESS) {{ {locals} apply {{ {body} }} }}\n\
         #define HAS_INGRESS\ncontrol Ig(INGRESS) {{ apply {{}} }}\n#include \"after.p4\"\n"
    );
    let options = Options { include_dirs: vec![PathBuf::from("tests/include")], defines: Vec::new() };
    let compilation = compile_with(Path::new("test.p4"), &options, &Main(text));
    let program = compilation.program.as_ref().unwrap_or_else(|| panic!("{}", compilation.render(false)));
    marklab_tofino::examine(program, &compilation.sources).expect("a TNA program").estimate
}

/// A table with one key and one action.
fn table(name: &str, key: &str, size: u64, action: &str) -> String {
    format!(
        "action do_{name}(bit<32> v) {{ {action} }}
         table {name} {{ key = {{ {key}; }} actions = {{ do_{name}; }} default_action = do_{name}(0); size = {size}; }}"
    )
}

/// Number of stages that dependencies require.
#[track_caller]
fn depth(first: &str, second: &str, body: &str) -> usize {
    let found = estimate(&format!("{first}\n{second}"), body);
    assert_eq!(found.stages_used, found.stages_by_dependencies);
    found.stages_by_dependencies
}

#[test]
fn what_a_table_matches_on_has_to_be_there_before() {
    let first = table("one", "hdr.h.a: exact", 16, "md.x = v;");
    assert_eq!(depth(&first, &table("two", "md.x: exact", 16, "md.y = v;"), "one.apply(); two.apply();"), 2);
    assert_eq!(depth(&first, &table("two", "md.y: exact", 16, "hdr.h.b = v;"), "one.apply(); two.apply();"), 1);
    // Not in the other order: then the field is read before it is written.
    assert_eq!(depth(&first, &table("two", "md.x: exact", 16, "md.y = v;"), "two.apply(); one.apply();"), 1);
}

#[test]
fn what_an_action_reads_or_writes_again_has_to_be_there_before() {
    let first = table("one", "hdr.h.a: exact", 16, "md.x = v;");
    assert_eq!(depth(&first, &table("two", "hdr.h.b: exact", 16, "md.y = md.x;"), "one.apply(); two.apply();"), 2);
    assert_eq!(depth(&first, &table("two", "hdr.h.b: exact", 16, "md.x = v;"), "one.apply(); two.apply();"), 2);
}

#[test]
fn bits_of_a_field_are_told_apart() {
    let first = table("one", "hdr.h.a: exact", 16, "md.x[15:0] = v[15:0];");
    let second = |bits: &str| table("two", &format!("md.x[{bits}]: exact @name(\"x\")"), 16, "md.y = v;");
    assert_eq!(depth(&first, &second("31:16"), "one.apply(); two.apply();"), 1);
    assert_eq!(depth(&first, &second("16:15"), "one.apply(); two.apply();"), 2);
    let other = table("two", "hdr.h.b: exact", 16, "md.x[31:16] = v[15:0];");
    assert_eq!(depth(&first, &other, "one.apply(); two.apply();"), 1);
}

#[test]
fn tables_that_exclude_each_other_share_a_stage() {
    let (first, second) =
        (table("one", "hdr.h.a: exact", 16, "md.x = v;"), table("two", "md.x: exact", 16, "md.y = v;"));
    let both = "if (hdr.h.c == 0) { one.apply(); } else { two.apply(); }";
    assert_eq!(depth(&first, &second, both), 1);
    assert_eq!(depth(&first, &second, "if (hdr.h.c == 0) { one.apply(); return; } two.apply();"), 1);
    assert_eq!(depth(&first, &second, "if (hdr.h.c == 0) { one.apply(); } two.apply();"), 2);
}

#[test]
fn a_condition_is_in_the_stage_of_what_it_decides() {
    let first = table("one", "hdr.h.a: exact", 16, "md.x = v;");
    let found = estimate(&first, "one.apply(); if (md.x == 5) { hdr.h.b = 1; }");
    assert_eq!((found.stages_used, found.total.gateways, found.total.logical_tables), (2, 1, 2));
    assert_eq!(found.by_stage[1].gateways, 1);
    let split = estimate(
        "",
        "if (hdr.h.a == 1 || hdr.h.a == 2 || hdr.h.a == 3 || hdr.h.a == 4 || hdr.h.a == 5) { md.x = 1; hdr.h.b = md.x; }",
    );
    assert_eq!(split.total.gateways, 2);
}

#[test]
fn statements_without_dependencies_are_one_table() {
    let one = estimate("", "hdr.h.a = 1; hdr.h.b = hdr.h.c; hdr.h.a8 = 3;");
    assert_eq!((one.stages_used, one.total.logical_tables), (1, 1));
    let two = estimate("", "hdr.h.a = hdr.h.b + 1; hdr.h.c = hdr.h.a + 1;");
    assert_eq!((two.stages_used, two.total.logical_tables), (2, 2));
    assert_eq!(two.longest_chain, ["test.p4:2", "test.p4:2"]);
}

#[test]
fn what_is_never_read_is_left_out() {
    let overwritten = estimate("", "hdr.h.a = 0; hdr.h.a = hdr.h.b + 1;");
    assert_eq!((overwritten.stages_used, overwritten.total.logical_tables), (1, 1));
    let on_one_way = estimate("", "hdr.h.a = 0; if (hdr.h.c == 0) { hdr.h.a = hdr.h.b + 1; }");
    assert_eq!(on_one_way.stages_used, 2);
    let unread = estimate("", "md.x = hdr.h.a; hdr.h.b = 1;");
    assert_eq!(unread.vector.metadata, 0);
}

/// Register actions, each on its own array with this element and size.
fn registers(count: usize, element: &str, size: u64) -> (String, String) {
    let (mut locals, mut body) = (String::new(), String::new());
    for number in 0..count {
        locals += &format!(
            "Register<{element}, bit<32>>({size}) r{number};
             RegisterAction<{element}, bit<32>, void>(r{number}) a{number} = {{
                 void apply(inout {element} value) {{ value = value + 1; }} }};"
        );
        body += &format!("a{number}.execute(hdr.h.a);");
    }
    (locals, body)
}

#[test]
fn a_hash_and_its_register_take_one_stage() {
    let locals = "Hash<bit<8>>(HashAlgorithm_t.CRC8) h; Register<bit<32>, bit<8>>(256) r;
        RegisterAction<bit<32>, bit<8>, void>(r) a = { void apply(inout bit<32> value) { value = value + 1; } };";
    let found = estimate(locals, "a.execute(h.get({ hdr.h.a }));");
    assert_eq!((found.stages_used, found.total.hash_bits), (1, 8));
}

#[test]
fn a_stage_has_four_stateful_alus() {
    for (count, stages) in [(4, 1), (5, 2), (8, 2), (9, 3)] {
        let (locals, body) = registers(count, "bit<32>", 256);
        let found = estimate(&locals, &body);
        assert_eq!((found.stages_used, found.total.stateful_alus), (stages, count), "{count} registers");
        assert_eq!(found.registers[0].arrays, count);
    }
}

#[test]
fn a_stage_has_sixteen_logical_tables() {
    for (count, stages) in [(16, 1), (17, 2)] {
        let of = |number: usize| {
            format!(
                "action do_{number}() {{}} table t{number} {{ actions = {{ do_{number}; }} default_action = do_{number}; }}"
            )
        };
        let locals: String = (0..count).map(of).collect();
        let body: String = (0..count).map(|number| format!("t{number}.apply();")).collect();
        assert_eq!(estimate(&locals, &body).stages_used, stages, "{count} tables");
    }
}

#[test]
fn registers_take_words_of_128_bits_and_a_spare_block() {
    for (element, size, blocks) in
        [("bit<32>", 4096, 2), ("bit<32>", 4097, 3), ("bit<8>", 16384, 2), ("bit<8>", 16385, 3), ("bit<16>", 8192, 2)]
    {
        let (locals, body) = registers(1, element, size);
        let found = estimate(&locals, &body);
        assert_eq!((found.total.sram, found.total.map_ram), (blocks, blocks), "{size} of {element}");
    }
    let pair = "Register<pair_t, bit<32>>(2049) r; RegisterAction<pair_t, bit<32>, void>(r) a = {
        void apply(inout pair_t value) { value.low = 1; } };";
    let found = estimate(pair, "a.execute(hdr.h.a);");
    assert_eq!((found.total.sram, found.registers[0].bits, found.registers[0].elements), (3, 64, 2049));
}

#[test]
fn ternary_entries_take_blocks_of_512() {
    for (key, size, blocks) in [
        ("hdr.h.a: ternary", 512, 1),
        ("hdr.h.a: ternary", 513, 2),
        ("hdr.h.a48: ternary", 512, 1),
        ("hdr.h.a48: ternary; hdr.h.a8: ternary", 512, 2),
        ("hdr.h.a48: ternary; hdr.h.a: ternary; hdr.h.a8: ternary", 512, 2),
        ("hdr.h.a48: ternary; hdr.h.a: ternary; hdr.h.a16: ternary", 512, 3),
        ("hdr.h.a: lpm", 1024, 2),
    ] {
        let found = estimate(&table("t", key, size, "md.x = v; hdr.h.b = md.x;"), "t.apply();");
        assert_eq!(found.total.tcam, blocks, "{size} of {key}");
    }
}

#[test]
fn exact_entries_take_as_few_blocks_as_a_packing_allows() {
    for (key, size, data, blocks) in [
        // At least 4 ways of one block each, which hold up to 4096 entries.
        ("hdr.h.a: exact", 16, "", 4),
        ("hdr.h.a: exact", 4096, "", 4),
        // 32 - 10 + 4 + 32 bits of data in the entry: two in a word.
        ("hdr.h.a: exact", 8192, "", 4),
        ("hdr.h.a: exact", 8193, "", 5),
        // 64 bits of data have words of their own, two in each.
        ("hdr.h.a: exact", 4096, ", bit<32> w", 4 + 2),
        // All entries with keys of 8 bits fit in one block.
        ("hdr.h.a8: exact", 256, "", 1),
    ] {
        let locals = format!(
            "action set(bit<32> v{data}) {{ hdr.h.b = v; }}
             table t {{ key = {{ {key}; }} actions = {{ set; }} size = {size}; default_action = set(0{}); }}",
            if data.is_empty() { "" } else { ", 0" }
        );
        assert_eq!(estimate(&locals, "t.apply();").total.sram, blocks, "{size} of {key}, {data}");
    }
}

#[test]
fn a_table_that_is_too_large_for_a_stage_is_spread() {
    let found = estimate(&table("t", "hdr.h.a: ternary", 25 * 512, "hdr.h.b = v;"), "t.apply();");
    let tcam: Vec<usize> = found.by_stage.iter().map(|stage| stage.tcam).collect();
    assert_eq!(tcam, [24, 1]);
}

#[test]
fn metadata_counts_if_it_lives() {
    let found = estimate(
        "bit<5> own = 0;",
        "md.depth = eg_intr_md.deq_qdepth; own = hdr.h.a8[4:0]; if (md.depth == 1) { hdr.h.b8 = (bit<8>)own; }",
    );
    assert_eq!(found.vector.metadata, 19 + 5);
    assert_eq!(found.vector.headers, 2 * 368);
}
