// SPDX-License-Identifier: MIT OR Apache-2.0
//! The control plane's view: objects are chosen and ordered as in p4c, values are those of the instance.

use marklab_p4::control_plane::{Action, ControlPlane, KeySet, TypeRef, Value};

use crate::compile_text;

/// A program around the locals and the body of an ingress control, with declarations before it.
#[track_caller]
fn describe(before: &str, locals: &str, body: &str) -> ControlPlane {
    let text = format!(
        "#include <core.p4>\n#include <v1model.p4>\n\
         header h_t {{ bit<8> a; bit<16> b; }} struct headers_t {{ h_t h; }} struct meta_t {{}}\n\
         parser P(packet_in p, out headers_t hdr, inout meta_t m, inout standard_metadata_t s) {{\n\
             state start {{ p.extract(hdr.h); transition accept; }} }}\n\
         control V(inout headers_t hdr, inout meta_t m) {{ apply {{}} }}\n\
         control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t s) {{ apply {{}} }}\n\
         control D(packet_out p, in headers_t hdr) {{ apply {{ p.emit(hdr); }} }}\n\
         {before}\n\
         control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t s) {{ {locals} apply {{ {body} }} }}\n\
         V1Switch(P(), V(), I(), E(), V(), D()) main;"
    );
    let compilation = compile_text(&text);
    assert!(!compilation.has_errors(), "{}", compilation.render(false));
    compilation.control_plane.expect("a program without errors is described")
}

fn table_names(described: &ControlPlane) -> Vec<&str> {
    described.tables.iter().map(|table| &*table.name).collect()
}

fn action_names(described: &ControlPlane) -> Vec<&str> {
    described.actions.iter().map(|action| &*action.name).collect()
}

fn number(value: i32) -> Value {
    Value::Number(value.to_string())
}

#[test]
fn what_no_packet_can_reach_is_not_there() {
    let locals = "
        action used() {} action listed_in_unused() {} action never() {}
        table applied { actions = { used; } default_action = used; }
        table unused { actions = { listed_in_unused; } default_action = listed_in_unused; }
        table behind_return { actions = { used; } default_action = used; }
        register<bit<8>>(4) idle;";
    let described =
        describe("", locals, "if (1 < 2) { applied.apply(); } else { unused.apply(); } return; behind_return.apply();");
    assert_eq!(table_names(&described), ["I.applied"]);
    assert_eq!(action_names(&described), ["I.used"]);
    // Objects with state always stay.
    assert_eq!(described.objects[0].name, "I.idle");
}

#[test]
fn an_action_that_code_runs_has_no_parameters_for_a_table() {
    let locals = "
        action both(bit<8> x) { hdr.h.a = x; } action direct(in bit<8> x) { hdr.h.a = x; }
        table t { actions = { both; } default_action = both(1); }";
    let described = describe("", locals, "t.apply(); both(2); direct(3);");
    let params = |action: &Action| action.params.iter().map(|param| param.name.clone()).collect::<Vec<_>>();
    assert_eq!(action_names(&described), ["I.both", "I.direct"]);
    assert_eq!(params(&described.actions[0]), ["x"]);
    assert!(params(&described.actions[1]).is_empty());
    assert_eq!(described.tables[0].default_action.args, [("x".to_string(), number(1))]);
}

#[test]
fn instances_stand_where_they_are_declared_with_their_own_values() {
    let before = "
        @name(\".everywhere\") action shared() {}
        control Sub(inout headers_t hdr)(bit<32> size, bool on) {
            counter(size + 1, CounterType.bytes) c;
            table t { key = { hdr.h.a : exact; } actions = { shared; } default_action = shared; size = 7; }
            apply { c.count(0); if (on) { t.apply(); } }
        }";
    let locals = "
        table first { actions = { NoAction; } }
        Sub(4, true) one; @name(\"second\") Sub(8, false) two;
        table last { actions = { shared; } default_action = shared; }";
    let described = describe(before, locals, "last.apply(); first.apply(); two.apply(hdr); one.apply(hdr);");
    assert_eq!(table_names(&described), ["I.first", "I.one.t", "I.last"]);
    assert_eq!(action_names(&described), ["NoAction", "everywhere"]);
    let sizes: Vec<_> = described.objects.iter().map(|object| (&*object.name, &object.args["size"])).collect();
    assert_eq!(sizes, [("I.one.c", &number(5)), ("I.second.c", &number(9))]);
}

#[test]
fn an_implied_action_is_for_the_default_only() {
    let described = describe("", "action a() {} table t { key = { hdr.h.a : exact; } actions = { a; } }", "t.apply();");
    let table = &described.tables[0];
    assert_eq!(table.default_action.action, "NoAction");
    let annotations: Vec<Vec<_>> =
        table.actions.iter().map(|entry| entry.annotations.iter().map(|note| &*note.name).collect()).collect();
    assert_eq!(annotations, [vec![], vec!["defaultonly"]]);
}

#[test]
fn priorities_are_those_of_p4runtime() {
    let table = |property: &str, entries: &str| {
        let locals = format!(
            "action a() {{}} table t {{ key = {{ hdr.h.a : ternary; hdr.h.b : exact; }} actions = {{ a; }}
             default_action = a; {property} entries = {{ {entries} }} }}"
        );
        let described = describe("", &locals.replace("const; entries", "const entries"), "t.apply();");
        described.tables[0].entries.iter().map(|entry| entry.priority).collect::<Vec<_>>()
    };
    let plain = "(1, 1) : a; (2, 2) : a; (3, 3) : a;";
    assert_eq!(table("const;", plain), [Some(3), Some(2), Some(1)]);
    assert_eq!(table("", plain), [Some(3), Some(2), Some(1)]);
    assert_eq!(table("priority_delta = 10;", plain), [Some(21), Some(11), Some(1)]);
    assert_eq!(table("largest_priority_wins = false;", plain), [Some(1), Some(2), Some(3)]);
    let some = "priority = 30: (1, 1) : a; (2, 2) : a; priority = 50: (3, 3) : a;";
    assert_eq!(table("priority_delta = 10;", some), [Some(50), Some(30), Some(20)]);
}

#[test]
fn exact_entries_need_no_priority() {
    let locals = "action a(bit<8> x) {} table t { key = { hdr.h.a : exact; hdr.h.b : lpm; } actions = { a; }
        default_action = a(0); const entries = { (1, 0x1200 &&& 0xff00) : a(255); (2, _) : a(1); } }";
    let entries = &describe("", locals, "t.apply();").tables[0].entries;
    assert_eq!((entries[0].priority, entries[0].is_const), (None, true));
    assert_eq!(entries[0].keys, [KeySet::Exact(number(1)), KeySet::Mask(number(0x1200), number(0xff00))]);
    assert_eq!(entries[1].keys[1], KeySet::Any);
    assert_eq!(entries[0].action.args, [("x".to_string(), number(255))]);
}

#[test]
fn types_keep_the_names_that_the_ir_does_not_have() {
    let before = "
        @p4runtime_translation(\"example.org/port\", string) type bit<9> port_t;
        enum bit<8> kind_t { A = 1, B = 3 } struct pair_t<T> { T one; port_t two; }";
    let locals = "action send(port_t port, kind_t kind) { digest<pair_t<bit<8>>>(1, { 1, port }); }
        table t { key = { hdr.h.a & 0x0f : exact; } actions = { send; } default_action = send((port_t)1, kind_t.B); }";
    let described = describe(before, locals, "t.apply();");
    let types: Vec<_> = described.actions[0].params.iter().map(|param| &param.ty).collect();
    assert_eq!(types, [&TypeRef::New("port_t".into()), &TypeRef::Enum("kind_t".into())]);
    assert_eq!(described.tables[0].default_action.args[1].1, number(3));
    // A mask keeps its base in the source, since it is part of the key's name.
    assert_eq!(described.tables[0].keys[0].field.name, "hdr.h.a & 0xf");
    assert_eq!(described.calls[0].type_args, [TypeRef::Fields("pair_t_bit8".into())]);
    let pair = described.fields.iter().find(|fields| fields.name == "pair_t_bit8").expect("made for the digest");
    assert_eq!(pair.fields[0].ty, TypeRef::Bit(8));
    let translation = &described.new_types.iter().find(|new| new.name == "port_t").expect("declared").annotations[0];
    assert_eq!(translation.values, Some(vec![Value::Text("example.org/port".into()), Value::Member("string".into())]));
}

#[test]
fn annotations_are_data_as_far_as_they_can_be_read() {
    let locals = "const int SIX = 6;
        @free(form of 0x10 , \"words\") @list[1, \"a\" ++ \"b\", 1 == 2, SIX + 1] @pairs[key = true]
        table t { actions = { NoAction; } }";
    let notes = &describe("", locals, "t.apply();").tables[0].annotations;
    assert_eq!((&*notes[0].text, &notes[0].values), ("form of 0x10 , \"words\"", &None));
    let list = [number(1), Value::Text("ab".into()), Value::Bool(false), number(7)];
    assert_eq!(notes[1].values.as_deref(), Some(&list[..]));
    assert_eq!(notes[2].pairs, Some(vec![("key".to_string(), Value::Bool(true))]));
    assert!(notes[1].structured && notes[2].structured && !notes[0].structured);
}
