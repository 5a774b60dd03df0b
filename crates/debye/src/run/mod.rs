//! A simulation from beginning to end.

pub mod codec;
pub mod report;
