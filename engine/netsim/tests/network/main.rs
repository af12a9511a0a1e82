// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs of the whole simulator, with real P4 programs in its switches, against closed forms.

mod capture;
mod completion;
mod congestion;
mod conservation;
mod copies;
mod delays;
mod determinism;
mod echo;
mod followers;
mod gro;
mod hosts;
mod interference;
mod joins;
mod l4s;
mod loss;
mod parts;
mod pauses;
mod pcap;
mod pias;
mod probes;
mod queue_pairs;
mod queues;
mod refusals;
mod requested;
mod samples;
mod sessions;
mod support;
mod threads;
mod traces;
mod twins;
mod windows;
