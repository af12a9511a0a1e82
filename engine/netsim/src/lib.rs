//! Virtual-time network.

pub mod tcp;
