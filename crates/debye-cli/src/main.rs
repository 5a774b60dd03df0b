//! The program `debye`.
fn main() {}
