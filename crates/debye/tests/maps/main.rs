//! Maps of the potential, and pictures of them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod pages;
mod potentials;
