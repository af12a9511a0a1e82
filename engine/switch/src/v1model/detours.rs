// SPDX-License-Identifier: MIT OR Apache-2.0
//! Paths through a switch beside the straight one, in simple_switch's order.
//!
//! After ingress: clone, digest, then resubmit, else multicast, else drop, else enqueue. After egress: clone, then
//! drop, else deparse, then recirculate, else send. A packet that starts again or is cloned loses all metadata except a
//! field list, including ingress port, timestamps and priority. Copies of a multicast group keep their metadata.
//! `truncate` applies to the present packet, not to packets made from it.

use marklab_p4::ir::{Expr, ExprKind, Program, Stmt, StmtKind, visit};
use marklab_pipeline::{CloneRequest, DROP_PORT, Effects, Layout, Phv, Stage};
use marklab_units::Time;

use super::intrinsics::standard;
use super::metadata::Metadata;
use super::{History, V1Model};
use crate::intrinsic::Intrinsic;
use crate::replication::{MAX_SESSION, Mirror};
use crate::{Fate, Frame, Loss, MAX_ROUNDS};

/// `standard_metadata.instance_type`, as simple_switch numbers them.
#[derive(Clone, Copy, Debug)]
enum Instance {
    Normal = 0,
    IngressClone = 1,
    EgressClone = 2,
    Recirculated = 4,
    Replica = 5,
    Resubmitted = 6,
}

/// Data that only programs with detours need.
#[derive(Debug)]
pub(crate) struct Detours {
    instance_type: Intrinsic,
    mcast_grp: Intrinsic,
    egress_rid: Intrinsic,
    metadata: Metadata,
}

impl Detours {
    /// `None` for a program without detours.
    pub(crate) fn new(program: &Program, layout: &Layout) -> Option<Detours> {
        let set = |name: &str| may_set(program, &format!("standard_metadata.{name}"));
        let needed = Effects::possible(program) || set("mcast_grp") || set("instance_type");
        let field = |name| standard(program, layout, name);
        needed.then(|| Detours {
            instance_type: field("instance_type"),
            mcast_grp: field("mcast_grp"),
            egress_rid: field("egress_rid"),
            metadata: Metadata::new(program, layout),
        })
    }

    fn set_instance(&self, phv: &mut Phv, instance: Instance) {
        self.instance_type.set(phv, instance as u64);
    }
}

/// Whether a program may set a field of intrinsic metadata to something other than 0.
pub(crate) fn may_set(program: &Program, name: &str) -> bool {
    let Some(slot) = program.intrinsic(name) else { return false };
    let zero = |expr: &Expr| matches!(&expr.kind, ExprKind::Const(value) if value.bits() == 0);
    let sets = |stmt: &Stmt| match &stmt.kind {
        StmtKind::Assign { dst, src } => dst.slot == slot && !zero(src),
        _ => visit::written(stmt).contains(&slot),
    };
    let mut found = false;
    for body in visit::bodies(&program.blocks, &program.actions, &program.register_actions) {
        visit::statements(body, &mut |stmt| found |= sets(stmt));
    }
    found
}

impl<F: Frame> V1Model<F> {
    /// The operations after ingress.
    #[cold]
    pub(crate) fn after_ingress(&mut self, now: Time, mut frame: F, mut phv: Phv, mut history: History) -> Fate<F> {
        loop {
            let effects = self.common.effects();
            if self.common.failure.is_some() {
                return self.lose(Loss::Assertion, None, frame, phv);
            }
            if let Some(clone) = &effects.clone {
                self.clone_in_ingress(now, &frame, &phv, history, clone);
            }
            history.max_bytes = effects.truncate.unwrap_or(u32::MAX);
            let Some(list) = effects.resubmit else { break };
            history.rounds += 1;
            if history.rounds > MAX_ROUNDS {
                return self.lose(Loss::Endless, None, frame, phv);
            }
            phv = self.start_again(&mut frame, phv, Instance::Resubmitted, list);
        }
        let detours = self.detours();
        let group = detours.mcast_grp.get(&phv) as u32;
        if group != 0 {
            detours.set_instance(&mut phv, Instance::Replica);
            return self.replicate(now, group, frame, phv, history);
        }
        detours.set_instance(&mut phv, Instance::Normal);
        self.forward(now, frame, phv, history)
    }

    /// Egress and the operations after it; metadata is set already.
    #[cold]
    pub(crate) fn egress_and_after(
        &mut self,
        now: Time,
        port: usize,
        mut frame: F,
        mut phv: Phv,
        mut history: History,
    ) -> Result<F, Fate<F>> {
        self.common.engine.run(Stage::Egress, &mut self.common.state, frame.packet(), &mut phv);
        let effects = self.common.effects();
        if self.common.failure.is_some() {
            return Err(self.lose(Loss::Assertion, Some(port), frame, phv));
        }
        if let Some(clone) = &effects.clone {
            self.clone_in_egress(now, &frame, &phv, history, clone);
        }
        if phv.get(self.intrinsics.egress_spec) == DROP_PORT {
            return Err(self.lose(Loss::Egress, Some(port), frame, phv));
        }
        self.common.engine.run(Stage::Deparse, &mut self.common.state, frame.packet(), &mut phv);
        self.common.effects();
        if self.common.failure.is_some() {
            return Err(self.lose(Loss::Assertion, Some(port), frame, phv));
        }
        if let Some(list) = effects.recirculate {
            history.rounds += 1;
            if history.rounds > MAX_ROUNDS {
                return Err(self.lose(Loss::Endless, Some(port), frame, phv));
            }
            let phv = self.start_again(&mut frame, phv, Instance::Recirculated, list);
            return Err(self.after_ingress(now, frame, phv, history));
        }
        frame.packet().truncate(history.max_bytes.min(effects.truncate.unwrap_or(u32::MAX)) as usize);
        self.common.spare.push(phv);
        Ok(frame)
    }

    fn detours(&self) -> &Detours {
        self.detours.as_ref().expect("only programs with detours come here")
    }

    fn lose(&mut self, loss: Loss, port: Option<usize>, frame: F, phv: Phv) -> Fate<F> {
        self.common.spare.push(phv);
        Fate::Lost(loss, port, frame)
    }

    /// Runs ingress on the frame in its present state, with only the metadata of a field list.
    fn start_again(&mut self, frame: &mut F, old: Phv, instance: Instance, list: u32) -> Phv {
        let mut phv = self.common.blank();
        let bytes = frame.packet().len() as u64;
        let detours = self.detours();
        detours.metadata.keep(Some(list), &old, &mut phv);
        detours.set_instance(&mut phv, instance);
        phv.set_arrival_bytes(bytes);
        self.intrinsics.set_length(&mut phv, bytes);
        self.common.spare.push(old);
        self.common.engine.run(Stage::Ingress, &mut self.common.state, frame.packet(), &mut phv);
        phv
    }

    /// Clones a frame as it came. The clone is parsed again, by a parser that knows its ingress port.
    fn clone_in_ingress(&mut self, now: Time, frame: &F, phv: &Phv, history: History, request: &CloneRequest) {
        let Some(mirror) = self.mirror(request) else { return };
        let mut copy = frame.duplicate();
        let mut copy_phv = self.common.blank();
        copy_phv.set_arrival_bytes(phv.arrival_bytes());
        self.intrinsics.set_ingress_port(&mut copy_phv, history.ingress_port.into());
        self.common.engine.run(Stage::Parse, &mut self.common.state, copy.packet(), &mut copy_phv);
        self.common.effects();
        self.send_clone(now, mirror, copy, copy_phv, phv, history, (Instance::IngressClone, request));
    }

    /// Clones a frame with the headers that egress left.
    fn clone_in_egress(&mut self, now: Time, frame: &F, phv: &Phv, history: History, request: &CloneRequest) {
        let Some(mirror) = self.mirror(request) else { return };
        self.send_clone(now, mirror, frame.duplicate(), phv.clone(), phv, history, (Instance::EgressClone, request));
    }

    /// Where clones go; `None` if the control plane has not set it.
    fn mirror(&self, request: &CloneRequest) -> Option<Mirror> {
        // BMv2 keeps 15 bits of the number.
        self.common.replication.session(request.session & MAX_SESSION)
    }

    #[inline(never)]
    #[expect(clippy::too_many_arguments, reason = "a clone and its original")]
    fn send_clone(
        &mut self,
        now: Time,
        mirror: Mirror,
        frame: F,
        mut phv: Phv,
        original: &Phv,
        history: History,
        (instance, request): (Instance, &CloneRequest),
    ) {
        let detours = self.detours();
        detours.metadata.clear(&mut phv);
        detours.metadata.keep(request.field_list, original, &mut phv);
        detours.set_instance(&mut phv, instance);
        let history = History { rounds: history.rounds + 1, max_bytes: u32::MAX, ..history };
        let fate = if history.rounds > MAX_ROUNDS {
            self.lose(Loss::Endless, None, frame, phv)
        } else {
            match mirror {
                Mirror::Port(port) => self.copy_to(now, port, frame, phv, history),
                Mirror::Group(group) => self.replicate(now, group, frame, phv, history),
            }
        };
        self.common.copies.push(fate);
    }

    /// Sends a frame to all ports of a group. The frame itself is the last of the copies.
    fn replicate(&mut self, now: Time, group: u32, frame: F, mut phv: Phv, history: History) -> Fate<F> {
        let history = History { max_bytes: u32::MAX, ..history };
        let replicas = self.common.replication.replicas(group);
        let Some((last, others)) = replicas.split_last() else {
            return self.lose(Loss::NoGroup, None, frame, phv);
        };
        for replica in others {
            let mut copy_phv = phv.clone();
            self.detours().egress_rid.set(&mut copy_phv, replica.rid.into());
            let fate = self.copy_to(now, replica.port, frame.duplicate(), copy_phv, history);
            self.common.copies.push(fate);
        }
        self.detours().egress_rid.set(&mut phv, last.rid.into());
        self.copy_to(now, last.port, frame, phv, history)
    }

    /// [`V1Model::enqueue`] for copies, not inlined; the inlined one is part of the straight path.
    #[inline(never)]
    fn copy_to(&mut self, now: Time, port: usize, frame: F, phv: Phv, history: History) -> Fate<F> {
        self.enqueue(now, port, frame, phv, history)
    }
}
