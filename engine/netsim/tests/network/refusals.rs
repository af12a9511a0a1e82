// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptions that cannot be run are refused with a message that names the object and its value.

use marklab_netsim::{Config, Control, Flow, Node, QueueLimit};

use crate::support::*;

fn refusal(config: &Config, flow: Flow) -> Option<String> {
    build(config, &Program::of("droptail"), |_| (), vec![flow]).err().map(|error| error.to_string())
}

fn pair() -> Config {
    star(&[(GBPS, US); 2], QueueLimit::Packets(100), Control::Dctcp)
}

/// The DSCP has six bits of its byte; 64 would become 0.
#[test]
fn a_code_point_is_0_to_63() {
    let of = |dscp| refusal(&pair(), Flow { dscp, ..flow(0, 0, 1, 1) });
    assert_eq!([0, 63].map(of), [None, None]);
    for dscp in [64, 255] {
        assert_eq!(of(dscp), Some(format!("flow 0: its code point is {dscp}; a code point is 0..63")));
    }
}

#[test]
fn a_switch_has_no_more_ports_than_a_program_can_name() {
    for (count, refused) in [(512, false), (513, true), (usize::MAX, true)] {
        let mut config = pair();
        let Some(Node::Switch { ports, .. }) = config.nodes.last_mut() else { panic!("the last node is the switch") };
        *ports = count;
        let said = config.check_switches().err().map(|error| error.to_string());
        let expected = format!("switch `s` has {count} ports; a switch has at most 512");
        assert_eq!(said, refused.then_some(expected));
    }
}
