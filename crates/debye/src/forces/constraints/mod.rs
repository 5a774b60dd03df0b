//! Constraints on one molecule or one cluster, as pure functions: SETTLE for rigid triangles, SHAKE and RATTLE for
//! anything else; and the groups of a system they are applied to.

mod apply;
mod clusters;
mod settle;
mod shake;

pub use clusters::{Clusters, Group, Nearest, Scratch};
pub use settle::{RIGID_WATER, Triangle};
pub use shake::{SHAKE, Unsolved, rattle, shake};

pub use crate::system::constraints::FixedBond;
