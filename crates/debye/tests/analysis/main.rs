//! Analyses, and what is drawn and told of them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod closed_forms;
mod membranes;
mod pictures;
mod report;
mod state;
