//! Interpreter and JIT leave the same packet state, packet and switch state, on random programs and inputs; and so does
//! a program without its dead parts.

mod expressions;
mod packets;
mod prune;
mod statements;
mod support;
mod wide;
