// SPDX-License-Identifier: MIT OR Apache-2.0
//! A host's NIC: packets of its connections wait for the line, in turn or in the order in which they came.

use marklab_switch::Frame;

use super::env::Env;
use super::event::Event;
use super::hosts::Host;
use super::nic_queue::{NicQueue, Owner};
use crate::frame::NetFrame;
use crate::ledger::Reason;
use crate::wire::stamp;

impl Host {
    fn nic_queue(&mut self, owner: Owner) -> &mut NicQueue {
        match owner {
            Owner::Client(client) => &mut self.client(client).nic,
            Owner::Server(server) => &mut self.server(server).nic,
            Owner::Probe(probe) => &mut self.probes.get_mut(&probe).expect("a probe of this host").nic,
        }
    }

    /// Puts a frame into the NIC.
    pub(super) fn enqueue(&mut self, env: &mut Env, owner: Owner, frame: Box<NetFrame>) {
        if self.nic.waiting >= env.shared.nic.limit_packets {
            return env.lose(self.node, None, Reason::NicFull, frame);
        }
        if self.nic.waiting == 0 && self.line.is_free(env.now) && self.pairs.is_none() {
            return self.send_at_once(env, owner, frame);
        }
        let bytes = frame.packet.len() as u64;
        let fair = env.shared.fair();
        self.nic.waiting += 1;
        let queue = match owner {
            Owner::Client(client) => &mut self.clients[client as usize].as_mut().expect("a client that exists").nic,
            Owner::Server(server) => &mut self.servers[server as usize].as_mut().expect("a server that exists").nic,
            Owner::Probe(probe) => &mut self.probes.get_mut(&probe).expect("a probe of this host").nic,
        };
        queue.bytes += bytes;
        if fair {
            self.nic.queued.push_back(&mut queue.waiting, frame);
            if queue.waiting.len() == 1 {
                self.nic.turns.push_back(owner);
            }
        } else {
            self.nic.queued.push_back(&mut self.nic.fifo, frame);
        }
        self.start(env);
    }

    /// Sends a frame that finds an empty NIC and a free line: what the NIC's queue and [`Host::transmit`] would do.
    // A queue would write the frame's place to memory only to read it again at once, which a processor has to wait for.
    #[inline(never)]
    fn send_at_once(&mut self, env: &mut Env, owner: Owner, mut frame: Box<NetFrame>) {
        self.leave_nic(env, &mut frame);
        self.line.transmit(env, frame);
        if let Owner::Client(client) = owner {
            self.nic_has_room(env, client);
        }
    }

    /// A frame leaves its host.
    #[inline(always)]
    fn leave_nic(&mut self, env: &mut Env, frame: &mut NetFrame) {
        if env.shared.stamps && frame.notes.by_client() {
            stamp(&mut frame.packet, env.now.nanos() as u32);
        }
        self.capture(env, frame);
    }

    /// The next frame that a host sends, its owner, and whether more are waiting.
    fn next_frame(&mut self, env: &mut Env) -> Option<(Box<NetFrame>, Owner, bool)> {
        let (mut frame, owner) = if env.shared.fair() { self.next_in_turn()? } else { self.next_in_order(env)? };
        self.nic.waiting -= 1;
        let more = self.nic.waiting > 0;
        self.leave_nic(env, &mut frame);
        Some((frame, owner, more))
    }

    #[inline(always)]
    fn next_in_turn(&mut self) -> Option<(Box<NetFrame>, Owner)> {
        let nic = &mut self.nic;
        let &owner = nic.turns.front()?;
        let queue = match owner {
            Owner::Client(client) => &mut self.clients[client as usize].as_mut()?.nic,
            Owner::Server(server) => &mut self.servers[server as usize].as_mut()?.nic,
            Owner::Probe(probe) => &mut self.probes.get_mut(&probe)?.nic,
        };
        let frame = nic.queued.pop_front(&mut queue.waiting)?;
        match nic.queued.front(&queue.waiting) {
            None => _ = nic.turns.pop_front(),
            Some(next) => {
                next.prefetch();
                if nic.turns.len() > 1 {
                    nic.turns.rotate_left(1);
                }
            }
        }
        queue.bytes -= frame.packet.len() as u64;
        Some((frame, owner))
    }

    fn next_in_order(&mut self, env: &Env) -> Option<(Box<NetFrame>, Owner)> {
        let frame = self.nic.queued.pop_front(&mut self.nic.fifo)?;
        let owner = match env.shared.opener(frame.connection) {
            None => Owner::Probe(frame.connection),
            Some(flow) if frame.notes.by_client() => Owner::Client(env.shared.plan.client(flow)),
            Some(flow) => Owner::Server(env.shared.plan.server(flow)),
        };
        self.nic_queue(owner).bytes -= frame.packet.len() as u64;
        Some((frame, owner))
    }

    // The line

    /// Begins the next transmission, or schedules it for the end of the present one.
    #[inline]
    pub(super) fn start(&mut self, env: &mut Env) {
        if env.now < self.line.busy_until() {
            self.wake_when_free(env);
        } else if !self.line.paused {
            self.transmit(env);
        }
    }

    /// The transmission has ended.
    pub(super) fn line_is_free(&mut self, env: &mut Env) {
        self.line.free_pending = false;
        self.start(env);
    }

    #[inline(never)]
    fn transmit(&mut self, env: &mut Env) {
        if self.pairs.is_some() {
            return self.transmit_of_pairs(env);
        }
        let Some((frame, owner, more)) = self.next_frame(env) else { return };
        self.line.transmit(env, frame);
        if more {
            self.wake_when_free(env);
        }
        if let Owner::Client(client) = owner {
            self.nic_has_room(env, client);
        }
    }

    /// Sends a frame of a host with queue pairs. Echoes of probes go first.
    #[inline(never)]
    fn transmit_of_pairs(&mut self, env: &mut Env) {
        let next = match self.next_frame(env) {
            Some((frame, _, _)) => Some((frame, true)),
            None => self.queue_pair_next(env),
        };
        let Some((frame, more)) = next else { return };
        self.line.transmit(env, frame);
        if more {
            self.wake_when_free(env);
        }
    }

    #[inline]
    fn wake_when_free(&mut self, env: &mut Env) {
        if let Some(time) = self.line.await_free(env.now) {
            env.push(time, Event::Free { port: 0, node: self.node });
        }
    }
}
