//! Files: what is written is read back, what other programs write is read, and what is damaged is refused.

mod append;
mod arbitrary_bytes;
mod damaged;
mod files_of_others;
mod orientations;
mod round_trip;
mod samples;
mod samples_read;
mod volumes;
mod whole_structures;
