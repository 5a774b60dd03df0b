//! Who is near whom: prefix sums, the sort made of them, cells, images and neighbor lists.

pub mod counting_sort;
mod grid;
mod images;
mod list;
pub mod scan;

pub use counting_sort::CountingSort;
pub use grid::Grid;
pub use images::{Image, images};
pub use list::{
    Candidates, ListBlock, ListRow, MOST_GROUPS, NeighborList, PairExclusions, SHARED, Sharing, block_of,
};
