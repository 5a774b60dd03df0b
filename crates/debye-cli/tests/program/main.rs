//! The program as its users meet it: exit status, messages, files.

// A test may stop at the first surprise.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod averages;
mod bad_checkpoints;
mod bad_files;
mod bad_input;
mod commands;
#[cfg(unix)]
mod comparison;
mod continuation;
mod electrostatics;
mod energy;
mod lab;
mod liquids;
mod manual;
mod maps;
mod membranes;
mod reading;
mod signals;
mod stages;
mod studies;
