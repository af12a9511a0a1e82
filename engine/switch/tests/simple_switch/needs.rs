// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exactly the settings that a program needs are named.

use std::path::Path;

use marklab_p4::loader::Memory;
use marklab_switch::{Need, needs};

/// A program whose ingress and egress contain these statements.
fn program(ingress: &str, egress: &str) -> String {
    format!(
        "#include <core.p4>
#include <v1model.p4>
header h_t {{ bit<8> f; }}
struct headers_t {{ h_t h; }}
struct note_t {{ bit<8> f; }}
struct metadata_t {{ @field_list(1) bit<16> group; }}
parser P(packet_in p, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {{
    state start {{ p.extract(hdr.h); transition accept; }}
}}
control V(inout headers_t hdr, inout metadata_t meta) {{ apply {{ }} }}
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {{
    action act(bit<16> group) {{ {ingress} }}
    table t {{ key = {{ hdr.h.f: exact; }} actions = {{ act; }} default_action = act(0); }}
    apply {{ t.apply(); }}
}}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {{
    apply {{ if (hdr.h.f == 1) {{ {egress} }} }}
}}
control C(inout headers_t hdr, inout metadata_t meta) {{ apply {{ }} }}
control D(packet_out p, in headers_t hdr) {{ apply {{ p.emit(hdr.h); }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"
    )
}

fn needs_of(ingress: &str, egress: &str) -> Vec<Need> {
    let text = program(ingress, egress);
    let compilation = marklab_p4::compile_with(Path::new("x.p4"), &Default::default(), &Memory::single("x.p4", &text));
    let messages = compilation.render(false);
    needs(&compilation.program.unwrap_or_else(|| panic!("{messages}\n{text}")))
}

#[test]
fn each_need_is_named_wherever_it_arises() {
    let clone_i2e = "clone_preserving_field_list(CloneType.I2E, 1, 1);";
    let cases: [(&str, &str, &[Need]); 5] = [
        (clone_i2e, "", &[Need::MirrorSession]),
        ("", "clone(CloneType.E2E, 5);", &[Need::MirrorSession]),
        ("sm.mcast_grp = group;", "", &[Need::MulticastGroup]),
        ("if (hdr.h.f == 2) { sm.mcast_grp = 7; }", "", &[Need::MulticastGroup]),
        (
            "random(sm.mcast_grp, 1, 2);",
            "truncate(64); clone(CloneType.E2E, 5);",
            &[Need::MirrorSession, Need::MulticastGroup],
        ),
    ];
    for (ingress, egress, expected) in cases {
        assert_eq!(needs_of(ingress, egress), expected, "{ingress} {egress}");
    }
}

#[test]
fn what_a_switch_does_without_being_told_is_not_named() {
    for ingress in [
        "mark_to_drop(sm);",
        "sm.mcast_grp = 0;",
        "sm.egress_spec = (bit<9>)group;",
        "meta.group = sm.mcast_grp;",
        "resubmit_preserving_field_list(1);",
        "digest<note_t>(1, { hdr.h.f });",
        "truncate(64); log_msg(\"short\"); assert(hdr.h.f != 1);",
    ] {
        assert_eq!(needs_of(ingress, "recirculate_preserving_field_list(1);"), [], "{ingress}");
    }
}

#[test]
fn the_schemes_of_the_lab_need_nothing_more() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../p4src/v1model");
    let mut schemes = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "p4") {
            let options = marklab_p4::Options { include_dirs: vec![folder.clone()], defines: vec![] };
            let compilation = marklab_p4::compile(&path, &options);
            assert_eq!(compilation.diagnostics.len(), 0, "{}", compilation.render(false));
            assert_eq!(needs(&compilation.program.unwrap()), [], "{}", path.display());
            schemes += 1;
        }
    }
    assert!(schemes >= 6, "{schemes} schemes in {}", folder.display());
}
