//! Who is near whom: cells, images and neighbour lists.

mod grid;
mod images;
mod list;

pub use grid::Grid;
pub use images::{Image, images};
pub use list::{BLOCK, Candidates, LeaveOut, ListBlock, NeighborList};
