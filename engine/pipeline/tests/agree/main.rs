//! Interpreter and JIT leave the same packet state, packet and switch state, on random programs and inputs.

mod expressions;
mod packets;
mod statements;
mod support;
