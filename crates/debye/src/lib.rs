//! Debye: a molecular dynamics and electrostatics engine.
