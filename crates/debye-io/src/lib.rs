//! Molecular file formats.
