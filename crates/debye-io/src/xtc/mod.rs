//! XTC: compressed trajectories of GROMACS, nm, positions rounded to 1/precision.
//!
//! A frame is a header of 14 words (big-endian), then for up to nine atoms their positions in
//! single precision, else a precision, the range of the rounded positions and a bit stream.
//! Frames are encoded by the `molly` crate. They are decoded here ([`decode`]): a damaged file is
//! an everyday input, and a decoder that panics on one could neither be fuzzed nor be used in
//! programs that abort on panics.

mod decode;
mod read;
mod write;

pub use read::XtcReader;
pub use write::XtcWriter;
