//! What a program needs and the switch lacks is named, and nothing else is.

use std::path::Path;

use marklab_p4::loader::Memory;
use marklab_switch::{Unmet, unmet_needs};

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

fn unmet(ingress: &str, egress: &str) -> Vec<Unmet> {
    let text = program(ingress, egress);
    let compilation = marklab_p4::compile_with(Path::new("x.p4"), &Default::default(), &Memory::single("x.p4", &text));
    let messages = compilation.render(false);
    unmet_needs(&compilation.program.unwrap_or_else(|| panic!("{messages}\n{text}")))
}

#[test]
fn each_lacking_feature_is_named_wherever_it_is_used() {
    let clone_i2e = "clone_preserving_field_list(CloneType.I2E, 1, 1);";
    let cases: [(&str, &str, &[Unmet]); 10] = [
        (clone_i2e, "", &[Unmet::Clone]),
        ("", "clone(CloneType.E2E, 5);", &[Unmet::Clone]),
        ("resubmit_preserving_field_list(1);", "", &[Unmet::Resubmit]),
        ("", "recirculate_preserving_field_list(1);", &[Unmet::Recirculate]),
        ("digest<note_t>(1, { hdr.h.f });", "", &[Unmet::Digest]),
        ("truncate(64);", "", &[Unmet::Truncate]),
        ("", "truncate(64);", &[Unmet::Truncate]),
        ("sm.mcast_grp = group;", "", &[Unmet::Multicast]),
        ("if (hdr.h.f == 2) { sm.mcast_grp = 7; }", "", &[Unmet::Multicast]),
        (
            clone_i2e,
            "truncate(64); recirculate_preserving_field_list(1);",
            &[Unmet::Clone, Unmet::Recirculate, Unmet::Truncate],
        ),
    ];
    for (ingress, egress, expected) in cases {
        assert_eq!(unmet(ingress, egress), expected, "{ingress} {egress}");
    }
}

#[test]
fn each_message_says_what_the_program_does() {
    let verbs = ["clones", "resubmits", "recirculates", "sends digests", "multicasts", "truncates"];
    let needs = [Unmet::Clone, Unmet::Resubmit, Unmet::Recirculate, Unmet::Digest, Unmet::Multicast, Unmet::Truncate];
    for (need, verb) in needs.iter().zip(verbs) {
        assert!(need.to_string().starts_with(&format!("it {verb}")), "{need}");
    }
}

#[test]
fn what_the_switch_has_is_not_named() {
    for ingress in
        ["mark_to_drop(sm);", "sm.mcast_grp = 0;", "sm.egress_spec = (bit<9>)group;", "meta.group = sm.mcast_grp;"]
    {
        assert_eq!(unmet(ingress, "mark_to_drop(sm);"), [], "{ingress}");
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
            assert_eq!(unmet_needs(&compilation.program.unwrap()), [], "{}", path.display());
            schemes += 1;
        }
    }
    assert!(schemes >= 6, "{schemes} schemes in {}", folder.display());
}
