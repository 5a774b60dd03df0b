//! Constraints on one molecule or one cluster, as pure functions: SETTLE for rigid triangles, free rotation for rigid
//! bodies of any shape, SHAKE and RATTLE for anything else; and the groups of a system they are applied to.

mod apply;
mod clusters;
mod rigid;
mod settle;
mod shake;

pub use clusters::{Clusters, Group, Nearest, Scratch};
pub(crate) use rigid::{Motion, Pose};
pub use rigid::{RIGID_BODY, misfit};
pub use settle::{RIGID_WATER, Triangle};
pub use shake::{SHAKE, Unsolved, rattle, shake};

pub use crate::system::constraints::FixedBond;
