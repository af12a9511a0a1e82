// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interpreter and JIT leave the same packet state, packet and switch state on random programs and inputs. So does a
//! pruned program.

mod beyond_bmv2;
mod expressions;
mod meters;
mod mixing;
mod packets;
mod profiles;
mod prune;
mod statements;
mod support;
mod tables;
mod tna;
mod twins;
mod value_sets;
mod wide;
