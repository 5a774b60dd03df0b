//! The machinery of neighbours: prefix sums and the sorts made of them.

pub mod counting_sort;
pub mod scan;
