// SPDX-License-Identifier: MIT OR Apache-2.0
//! A pruned program does the same to packets and state as the whole program.

use std::path::Path;
use std::sync::Arc;

use marklab_p4::ir::*;
use marklab_pipeline::{ActionSpec, EntrySpec, Interpreter, KeyMatch, Layout, Packet, Stage, State, prune};
use num_bigint::BigUint;
use proptest::prelude::*;

use crate::support::*;

const SCHEMES: [&str; 6] = ["droptail", "dctcp-red", "red", "tcn", "codel", "ecn-sharp"];
const SIGNALS: [&str; 5] =
    ["deq_timedelta", "enq_qdepth", "deq_qdepth", "egress_global_timestamp", "ingress_global_timestamp"];

fn scheme(name: &str) -> Program {
    let path = Path::new("../../p4src/v1model").join(format!("{name}.p4"));
    let compilation = marklab_p4::compile(&path, &marklab_p4::Options::default());
    let messages = compilation.render(false);
    compilation.program.unwrap_or_else(|| panic!("{messages}"))
}

/// Ethernet, IPv4 to 10.0.0.1 with this ECN field, ports. The checksum is correct.
fn frame(ecn: u8, ttl: u8, payload: usize) -> Packet {
    let mut bytes = vec![0; 38];
    bytes[12] = 8;
    bytes[14] = 0x45;
    bytes[15] = ecn;
    bytes[22] = ttl;
    bytes[23] = 6;
    bytes[26..34].copy_from_slice(&[10, 0, 0, 2, 10, 0, 0, 1]);
    let checksum = marklab_pipeline::csum16(&bytes[14..34]);
    bytes[24..26].copy_from_slice(&checksum.to_be_bytes());
    Packet::new(&bytes, payload)
}

fn outcome(program: &Arc<Program>, packet: &Packet, signals: [u64; 5]) -> Outcome {
    let layout = Arc::new(Layout::new(program));
    let interpreter = Interpreter::new(program, &layout);
    let stages = [Stage::Ingress, Stage::Egress, Stage::Deparse];
    run_with(&interpreter, program, &layout, &stages, packet, &|phv, state| {
        for (name, value) in SIGNALS.iter().zip(signals) {
            let slot = program.intrinsic(&format!("standard_metadata.{name}"));
            if let Some(field) = slot.and_then(|slot| layout.field(slot)) {
                let width = program.slots[slot.expect("it has a field").index()].ty.width;
                phv.set_wide(field, &(BigUint::from(value) & mask(width)));
            }
        }
        let to_all = KeyMatch::Lpm { value: BigUint::ZERO, prefix_len: 0 };
        let params = vec![("port".to_owned(), BigUint::from(3u32)), ("dst_addr".to_owned(), BigUint::from(7u32))];
        let call = ActionSpec { action: "forward".to_owned(), params };
        let entry = EntrySpec { matches: vec![("dst_addr".to_owned(), to_all)], call, priority: 0 };
        state.insert_entry("ipv4_lpm", &entry).expect("a valid entry");
        fill_registers(program, state);
    })
}

/// Stores a value in the first cells of each register, so that the scheme does not start from its initial state.
fn fill_registers(program: &Program, state: &mut State) {
    for (number, register) in program.registers.iter().enumerate() {
        for cell in 0..register.size.min(8) {
            state.set_register(RegisterId(number as u32), cell, &BigUint::from(cell * 3 + number as u64));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Oracle: the program before pruning.
    #[test]
    fn packets_registers_and_counters_are_as_before(
        (ecn, ttl, payload) in (0..4u8, prop_oneof![0..3u8, Just(64)], prop_oneof![0..3usize, Just(1000)]),
        signals in prop::array::uniform5(prop_oneof![0..300u64, any::<u64>()]),
    ) {
        for name in SCHEMES {
            let program = Arc::new(scheme(name));
            let pruned = Arc::new(prune(&program));
            let (whole, less) = (outcome(&program, &frame(ecn, ttl, payload), signals),
                outcome(&pruned, &frame(ecn, ttl, payload), signals));
            prop_assert_eq!(&whole.packet, &less.packet, "{}", name);
            prop_assert_eq!(
                (&whole.registers, &whole.counters, whole.faults),
                (&less.registers, &less.counters, less.faults),
                "{}", name
            );
        }
    }
}

#[test]
fn a_scheme_has_no_place_for_signals_that_it_does_not_read() {
    let has =
        |name: &str, signal: &str| prune(&scheme(name)).intrinsic(&format!("standard_metadata.{signal}")).is_some();
    let read = |name: &str| SIGNALS.map(|signal| has(name, signal));
    assert_eq!(read("droptail"), [false; 5]);
    assert_eq!(read("dctcp-red"), [false, true, false, false, false]);
    assert_eq!(read("tcn"), [true, false, false, false, false]);
    assert_eq!(read("ecn-sharp"), [true, true, false, true, false]);
    assert!(["egress_spec", "mcast_grp", "egress_port"].iter().all(|field| has("droptail", field)));
}
