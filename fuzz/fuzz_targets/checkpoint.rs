//! Checkpoints: any bytes are a sound one or refused. The checksum is made right, so that the
//! fuzzer reaches what lies behind it.
#![no_main]

use std::path::Path;

use debye::checkpoint::{Checkpoint, VERSION};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|content: &[u8]| {
    let mut bytes = b"DEBYECKP".to_vec();
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&(content.len() as u64).to_le_bytes());
    bytes.extend_from_slice(content);
    bytes.extend_from_slice(&crc32fast::hash(content).to_le_bytes());
    let _ = Checkpoint::from_bytes(&bytes, Path::new("fuzz"));
    let _ = Checkpoint::from_bytes(content, Path::new("fuzz"));
});
