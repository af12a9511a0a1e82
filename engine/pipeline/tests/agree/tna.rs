// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs of Tofino's architecture.

use marklab_p4::ir::RegisterId;
use marklab_pipeline::{DropSettings, FilterSettings, Stage, csum16, hash};
use marklab_units::Time;
use proptest::prelude::*;

use crate::twins::Twins;

/// Bytes in front of a packet at the ingress parser: intrinsic header and port metadata.
const IN_FRONT: [u8; 16] = [0; 16];

/// The parts of a program that a test supplies. [`source`] declares the names that they use.
#[derive(Clone, Copy)]
struct Parts<'a> {
    /// Statements after the extraction of `hdr.h` in the ingress parser.
    parser: &'a str,
    /// Declarations of the ingress control.
    locals: &'a str,
    /// The `apply` block of the ingress control.
    apply: &'a str,
    /// Declarations of the ingress deparser, and its first statements.
    deparser: [&'a str; 2],
}

const NOTHING: Parts<'_> = Parts { parser: "transition accept; }", locals: "", apply: "", deparser: ["", ""] };

/// A program with these parts. `hdr.h` has `a`, `b` and `result` of 32 bits, `index` and `kind` of 8, `sum` of 16.
fn source(parts: Parts<'_>) -> String {
    let Parts { parser, locals, apply, deparser: [objects, calls] } = parts;
    format!(
        "#include <core.p4>
        #include <tna.p4>
        header h_t {{ bit<32> a; bit<32> b; bit<32> result; bit<8> index; bit<8> kind; bit<16> sum; }}
        header mirror_t {{ bit<4> x; bit<12> y; }}
        struct headers_t {{ h_t h; }}
        struct pair_t {{ bit<32> lo; bit<32> hi; }}
        struct metadata_t {{ bit<16> rest; bool wrong; mirror_t mirror; }}
        parser IgP(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig_intr_md) {{
            Checksum() sum;
            state start {{
                pkt.extract(ig_intr_md); pkt.advance(PORT_METADATA_SIZE); pkt.extract(hdr.h); {parser}
        }}
        control Ig(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig_intr_md,
                   in ingress_intrinsic_metadata_from_parser_t from_prsr,
                   inout ingress_intrinsic_metadata_for_deparser_t for_dprsr,
                   inout ingress_intrinsic_metadata_for_tm_t for_tm) {{
            {locals}
            apply {{ {apply} }}
        }}
        control IgD(packet_out pkt, inout headers_t hdr, in metadata_t md,
                    in ingress_intrinsic_metadata_for_deparser_t for_dprsr) {{
            {objects}
            apply {{ {calls} pkt.emit(hdr); }}
        }}
        parser EgP(packet_in pkt, out headers_t hdr, out metadata_t md, out egress_intrinsic_metadata_t eg_intr_md) {{
            state start {{ pkt.extract(eg_intr_md); pkt.extract(hdr.h); transition accept; }}
        }}
        control Eg(inout headers_t hdr, inout metadata_t md, in egress_intrinsic_metadata_t eg_intr_md,
                   in egress_intrinsic_metadata_from_parser_t from_prsr,
                   inout egress_intrinsic_metadata_for_deparser_t for_dprsr,
                   inout egress_intrinsic_metadata_for_output_port_t for_oport) {{
            apply {{ hdr.h.result = (bit<32>) eg_intr_md.deq_qdepth; }}
        }}
        control EgD(packet_out pkt, inout headers_t hdr, in metadata_t md) {{ apply {{ pkt.emit(hdr); }} }}
        Pipeline(IgP(), Ig(), IgD(), EgP(), Eg(), EgD()) pipe;
        Switch(pipe) main;"
    )
}

/// A packet with one `hdr.h` and a byte behind it.
fn packet(a: u32, b: u32, index: u8, kind: u8, sum: u16) -> Vec<u8> {
    let fields = [&a.to_be_bytes()[..], &b.to_be_bytes(), &[0; 4], &[index, kind], &sum.to_be_bytes(), &[0xee]];
    fields.concat()
}

fn ingress(twins: &mut Twins, packet: &[u8]) -> (Vec<u8>, marklab_pipeline::Effects) {
    twins.run(&[Stage::Ingress], Time::ZERO, &[&IN_FRONT, packet].concat())
}

/// `hdr.h.result` after ingress.
fn result(twins: &mut Twins, a: u32, b: u32, index: u8) -> u32 {
    let (bytes, _) = ingress(twins, &packet(a, b, index, 0, 0));
    u32::from_be_bytes(bytes[8..12].try_into().unwrap())
}

fn cell(twins: &mut Twins, index: u64) -> u64 {
    let found = twins.control(|state| state.register(RegisterId(0), index));
    found.and_then(|value| u64::try_from(value).ok()).expect("a cell of the register")
}

#[test]
fn a_register_action_moves_a_pair_with_its_first_field_low() {
    let locals = "Register<pair_t, bit<8>>(2, {3, 5}) r;
        RegisterAction<pair_t, bit<8>, bit<32>>(r) act = {
            void apply(inout pair_t v, out bit<32> rv) {
                if (v.hi < hdr.h.a) { v.hi = hdr.h.a; rv = v.lo; }
                v.lo = v.lo + 1;
            }
        };";
    let mut twins =
        Twins::from_source(&source(Parts { locals, apply: "hdr.h.result = act.execute(hdr.h.index);", ..NOTHING }));
    assert_eq!(cell(&mut twins, 1), 5 << 32 | 3, "as declared");
    assert_eq!(result(&mut twins, 5, 0, 1), 0, "not driven");
    assert_eq!(result(&mut twins, 6, 0, 1), 4);
    assert_eq!(result(&mut twins, 9, 0, 2), 0, "beyond the array");
    assert_eq!([0, 1].map(|index| cell(&mut twins, index)), [5 << 32 | 3, 6 << 32 | 5]);
}

#[test]
fn narrow_signed_and_wide_cells() {
    for (ty, step, expected) in [
        ("bit<8>", "v = v + 200;", [200, 144, 88]),
        ("int<16>", "v = v - 1;", [0xffff, 0xfffe, 0xfffd]),
        ("bit<64>", "v = v + 0x180000000;", [0x1_8000_0000, 0x3_0000_0000, 0x4_8000_0000]),
        ("bit<1>", "v = ~v;", [1, 0, 1]),
    ] {
        let locals = format!(
            "Register<{ty}, bit<8>>(4) r;
            RegisterAction<{ty}, bit<8>, {ty}>(r) act = {{ void apply(inout {ty} v, out {ty} rv) {{ {step} rv = v; }} }};"
        );
        let apply = "if (hdr.h.a == 1) { act.execute(hdr.h.index); }";
        let mut twins = Twins::from_source(&source(Parts { locals: &locals, apply, ..NOTHING }));
        for expected in expected {
            result(&mut twins, 1, 0, 3);
            result(&mut twins, 0, 0, 3);
            assert_eq!(cell(&mut twins, 3), expected, "{ty}");
        }
    }
}

/// The body of a register action on a pair, chosen by numbers.
struct Body<'a> {
    choices: &'a mut dyn Iterator<Item = u32>,
}

impl Body<'_> {
    fn choose<'t>(&mut self, among: &[&'t str]) -> &'t str {
        among[self.choices.next().unwrap_or(0) as usize % among.len()]
    }

    fn expr(&mut self, depth: u32) -> String {
        if depth == 0 {
            let leaf = self.choose(&["v.lo", "v.hi", "hdr.h.a", "hdr.h.b", "number"]).to_string();
            return if leaf == "number" { format!("32w{}", self.choices.next().unwrap_or(0)) } else { leaf };
        }
        let op = self.choose(&["+", "-", "|+|", "|-|", "&", "|", "^", "math", "max", "min"]);
        let (left, right) = (self.expr(depth - 1), self.expr(0));
        match op {
            "math" => format!("math.execute({right})"),
            "max" | "min" => format!("{op}<bit<32>>({left}, {right})"),
            op => format!("({left} {op} {right})"),
        }
    }

    fn statement(&mut self, depth: u32) -> String {
        let kind = self.choose(&["v.lo", "v.hi", "rv", "if", "return"]);
        match kind {
            "if" if depth > 0 => {
                let relation = self.choose(&["<", "==", ">=", "!="]);
                let (left, right) = (self.expr(1), self.expr(1));
                let (then, otherwise) = (self.statement(depth - 1), self.statement(depth - 1));
                format!("if ({left} {relation} {right}) {{ {then} }} else {{ {otherwise} }}")
            }
            "return" if depth < 2 => "return;".into(),
            "if" | "return" => "v.lo = v.hi;".into(),
            target => format!("{target} = {};", self.expr(1)),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn random_register_actions(
        choices in prop::collection::vec(any::<u32>(), 80),
        math in ("MUL|SQR|SQRT|DIV|RSQRT", 1..4000u32),
        packets in prop::collection::vec((any::<u32>(), 0..20u32, 0..3u8), 1..12),
    ) {
        let mut body = Body { choices: &mut choices.into_iter() };
        let statements: Vec<String> = (0..4).map(|_| body.statement(2)).collect();
        let locals = format!(
            "Register<pair_t, bit<8>>(2, {{1, 2}}) r;
            MathUnit<bit<32>>(MathOp_t.{}, {}) math;
            RegisterAction<pair_t, bit<8>, bit<32>>(r) act = {{
                void apply(inout pair_t v, out bit<32> rv) {{ {} }}
            }};",
            math.0, math.1, statements.join(" ")
        );
        let apply = "if (hdr.h.b > 3) { hdr.h.result = act.execute(hdr.h.index); } else { act.execute(0); }";
        let mut twins = Twins::from_source(&source(Parts { locals: &locals, apply, ..NOTHING }));
        for (a, b, index) in packets {
            result(&mut twins, a, b, index);
            cell(&mut twins, 0);
            cell(&mut twins, 1);
        }
    }
}

#[test]
fn a_hash_by_any_polynomial() {
    let locals = "CRCPolynomial<bit<16>>(0x1021, false, false, false, 0xffff, 0) poly;
        Hash<bit<16>>(HashAlgorithm_t.CUSTOM, poly) custom;
        Hash<bit<32>>(HashAlgorithm_t.XOR32) xor;
        Hash<bit<8>>(HashAlgorithm_t.CRC8) crc8;";
    let apply = "hdr.h.result = (bit<32>) custom.get({hdr.h.a, hdr.h.b}); hdr.h.index = crc8.get({hdr.h.a});
        hdr.h.b = xor.get({hdr.h.a, hdr.h.b});";
    let mut twins = Twins::from_source(&source(Parts { locals, apply, ..NOTHING }));
    let (bytes, _) = ingress(&mut twins, &packet(0x3132_3334, 0x3536_3738, 0, 0, 0));
    let custom = marklab_p4::ir::Crc { width: 16, poly: 0x1021, init: 0xffff, xor_out: 0, reflected: false };
    let expected = hash(marklab_p4::ir::HashAlgorithm::Crc(custom), b"12345678").unwrap();
    assert_eq!(bytes[8..12], (expected as u32).to_be_bytes());
    assert_eq!(bytes[4..8], (0x3132_3334u32 ^ 0x3536_3738).to_be_bytes());
}

#[test]
fn a_parser_verifies_and_a_deparser_updates_a_checksum() {
    let parts = Parts {
        parser: "sum.add(hdr.h); md.wrong = sum.verify(); transition accept; }",
        locals: "",
        apply: "hdr.h.kind = md.wrong ? 8w1 : 0; hdr.h.a = hdr.h.a + 1;",
        deparser: [
            "Checksum() sum;",
            "hdr.h.sum = sum.update({hdr.h.a, hdr.h.b, hdr.h.result, hdr.h.index, hdr.h.kind});",
        ],
    };
    let mut twins = Twins::from_source(&source(parts));
    let right = csum16(&packet(7, 0x1234_5678, 1, 0, 0)[..16]);
    for (sum, wrong) in [(right, 0), (right + 1, 1)] {
        let (bytes, _) = ingress(&mut twins, &packet(7, 0x1234_5678, 1, 0, sum));
        assert_eq!(bytes[13], wrong);
        assert_eq!(csum16(&bytes[..16]), 0, "what the deparser wrote is right");
        assert_eq!(bytes.len(), 17);
    }
}

#[test]
fn what_a_parser_subtracts_is_left_out_of_the_rest() {
    let parts = Parts {
        parser: "sum.subtract({hdr.h.sum}); sum.subtract({hdr.h.a}); md.rest = sum.get(); transition accept; }",
        locals: "",
        apply: "hdr.h.a = hdr.h.a + 99;",
        deparser: ["Checksum() sum;", "hdr.h.sum = sum.update({hdr.h.a, md.rest});"],
    };
    let mut twins = Twins::from_source(&source(parts));
    for a in [0, 7, 0xffff_ffff, 0x8000_fffe] {
        let sum = csum16(&packet(a, 0xdead_beef, 3, 4, 0)[..16]);
        let (bytes, _) = ingress(&mut twins, &packet(a, 0xdead_beef, 3, 4, sum));
        assert_eq!(csum16(&bytes[..16]), 0, "{a:#x}");
    }
}

#[test]
fn ingress_refuses_what_its_parser_does_not_take() {
    let parser = "transition select(hdr.h.kind) { 0: accept; 1: reject; 3: more; } }
        state more { pkt.advance(64); transition accept; }";
    let mut twins = Twins::from_source(&source(Parts { parser, apply: "hdr.h.b = 1;", ..NOTHING }));
    for kind in 0..4 {
        let sent = packet(1, 2, 3, kind, 0);
        let (bytes, effects) = ingress(&mut twins, &sent);
        assert_eq!(effects.refused, kind > 0, "kind {kind}");
        assert_eq!(bytes == [&IN_FRONT, &sent[..]].concat(), kind > 0, "a refused packet stays as it is");
    }
    let (_, effects) = ingress(&mut twins, &packet(1, 2, 3, 0, 0)[..16]);
    assert!(!effects.refused);
    let (_, effects) = ingress(&mut twins, &packet(1, 2, 3, 0, 0)[..15]);
    assert!(effects.refused, "a byte short");
}

#[test]
fn ingress_goes_on_after_an_error_that_it_looks_at() {
    let parser = "transition select(hdr.h.kind) { 0: accept; 1: reject; 3: more; } }
        state more { pkt.advance(64); transition accept; }";
    let apply = "hdr.h.result = (bit<32>) from_prsr.parser_err;";
    let mut twins = Twins::from_source(&source(Parts { parser, apply, ..NOTHING }));
    for (kind, error) in [(0, 0), (1, 1), (2, 1), (3, 2)] {
        let (bytes, effects) = ingress(&mut twins, &packet(1, 2, 3, kind, 0));
        assert_eq!((bytes[11], effects.refused), (error, false), "kind {kind}");
    }
}

#[test]
fn egress_reads_what_is_in_front_and_takes_short_packets() {
    let mut twins = Twins::from_source(&source(NOTHING));
    let mut in_front = [0; 27];
    // deq_qdepth: bits 85 to 103.
    in_front[10..13].copy_from_slice(&[0x01, 0x23, 0x45]);
    let (bytes, _) = twins.run(&[Stage::Egress], Time::ZERO, &[&in_front, &packet(1, 2, 3, 4, 5)[..]].concat());
    assert_eq!(bytes[8..12], [0, 1, 0x23, 0x45]);
    let (bytes, effects) = twins.run(&[Stage::Egress], Time::ZERO, &[&in_front[..], &[1, 2, 3]].concat());
    assert_eq!((bytes, effects.refused), (vec![1, 2, 3], false));
}

#[test]
fn copies_carry_the_header_that_the_deparser_gives_them() {
    let parts = Parts {
        apply: "for_dprsr.mirror_type = hdr.h.kind[2:0]; for_dprsr.resubmit_type = hdr.h.index[2:0];",
        deparser: [
            "Mirror(1) mirror; Resubmit(2) resubmit;",
            "if (for_dprsr.mirror_type == 1) { mirror.emit<mirror_t>((bit<10>) hdr.h.a[9:0], {4w0xa, hdr.h.b[11:0]}); }
             if (for_dprsr.resubmit_type == 2) { resubmit.emit<h_t>(hdr.h); }",
        ],
        ..NOTHING
    };
    let mut twins = Twins::from_source(&source(parts));
    let (_, effects) = ingress(&mut twins, &packet(1029, 0x345, 0, 0, 0));
    assert!(!effects.any);
    let (_, effects) = ingress(&mut twins, &packet(1029, 0x345, 2, 1, 0));
    let mirror = effects.mirror.expect("it asked for a copy");
    assert_eq!((mirror.session, mirror.header), (5, vec![0xa3, 0x45]));
    assert_eq!(effects.resubmit_header.expect("and to come again"), packet(1029, 0x345, 2, 1, 0)[..16]);
}

#[test]
fn filters_and_their_random_drops() {
    let locals = "Lpf<bit<32>, bit<8>>(2) lpf; Wred<bit<32>, bit<8>>(2, 9, 4) wred; Random<bit<8>>() random;";
    let apply = "hdr.h.result = lpf.execute(hdr.h.a, hdr.h.index); hdr.h.b = random.get() ++ 24w0;
        hdr.h.kind = wred.execute(hdr.h.result, hdr.h.index);";
    let mut twins = Twins::from_source(&source(Parts { locals, apply, ..NOTHING }));
    let average = FilterSettings { gain_ns: 1000.0, decay_ns: 500.0, scale_down: 0, drops: None };
    let drops = Some(DropSettings { min: 100, max: 1000, max_probability: 0.7 });
    let set = twins.control(|state| {
        let (lpf, wred) = (state.find_filter("lpf").unwrap(), state.find_filter("Ig.wred").unwrap());
        let at_once = FilterSettings { gain_ns: 0.0, decay_ns: 0.0, drops, ..average };
        (state.set_filter(lpf, None, Some(average)), state.set_filter(wred, Some(1), Some(at_once)))
    });
    assert_eq!(set, (Ok(()), Ok(())));
    let mut outcomes = [0; 3];
    for number in 0..300u32 {
        let sample = packet(number * 37 % 1500, 0, 1, 0, 0);
        let now = Time::from_nanos(u64::from(number) * 90);
        let (bytes, _) = twins.run(&[Stage::Ingress], now, &[&IN_FRONT, &sample[..]].concat());
        outcomes[match bytes[13] {
            9 => 0,
            4 => 1,
            _ => 2,
        }] += 1;
    }
    assert!(outcomes[0] > 30 && outcomes[1] > 30 && outcomes[2] == 0, "{outcomes:?}");
    let (bytes, _) = ingress(&mut twins, &packet(5000, 0, 2, 1, 0));
    assert_eq!((&bytes[8..12], bytes[13]), (&[0; 4][..], 0), "beyond the arrays");
}
