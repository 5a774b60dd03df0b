//! Why an engine stopped.

/// A particle that went wrong, and what did it.
#[derive(Clone, Debug, PartialEq)]
pub struct Culprit {
    /// Step at which it was noticed.
    pub step: u64,
    /// The particle, counted from 0; messages count from 1, as input files do.
    pub particle: u32,
    /// Its species.
    pub species: u32,
    /// Where it was before.
    pub position: [f64; 3],
    /// The force on it.
    pub force: [f64; 3],
    /// The term that contributes most.
    pub term: Option<String>,
    /// Whether that is a bonded term.
    pub bonded: bool,
    /// The other particles of the bonded link, nearest first; else the nearest other particle.
    pub partners: Vec<u32>,
    /// How far the first of them is.
    pub distance: Option<f64>,
    /// Particles around it.
    pub neighborhood: Vec<u32>,
    /// What happened.
    pub what: &'static str,
}

impl std::fmt::Display for Culprit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [x, y, z] = self.position;
        write!(
            f,
            "particle {} at ({x:.4}, {y:.4}, {z:.4}) {} in step {}",
            self.particle + 1,
            self.what,
            self.step
        )?;
        let strength = self.force.iter().map(|c| c * c).sum::<f64>().sqrt();
        write!(f, "; the force on it is {strength:.3e}")?;
        if let Some(term) = &self.term {
            write!(f, ", mostly from `{term}`")?;
        }
        let others: Vec<String> = self.partners.iter().map(|id| (id + 1).to_string()).collect();
        match (&others[..], self.distance) {
            ([other], Some(d)) if self.bonded => write!(f, " with particle {other} at a distance of {d:.4}")?,
            ([.., last], Some(d)) if self.bonded => {
                let first = others[..others.len() - 1].join(", ");
                write!(
                    f,
                    " with particles {first} and {last}, the nearest at a distance of {d:.4}"
                )?;
            }
            ([other, ..], Some(d)) => {
                write!(
                    f,
                    "; its nearest neighbor is particle {other} at a distance of {d:.4}"
                )?;
            }
            _ => {}
        }
        let undefined = self.bonded && !strength.is_finite();
        f.write_str(if undefined {
            ". Is it longer than its potential allows? Check the starting structure and its cell"
        } else {
            ". Try a shorter time step, or minimize the energy first"
        })
    }
}

const GIB: f64 = (1_u64 << 30) as f64;

/// Why an engine stopped.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// There is nothing to simulate.
    #[error("the system has no particles")]
    Empty,
    /// A particle has no finite position, or flew across the cell in one step.
    #[error("{0}")]
    Exploded(Box<Culprit>),
    /// A combination that makes no sense.
    #[error("{0}")]
    Unsupported(String),
    /// A cell collapsed or a cut-off became absurd.
    #[error("the cell became unusable at step {step}: {why}")]
    Cell {
        /// The step.
        step: u64,
        /// What is wrong with it.
        why: String,
    },
    /// A particle on a device has no finite position, or flew across the cell in one step.
    #[error("particle {} has no finite position, or flew across the cell, in step {step}; `--device cpu` says why", .particle + 1)]
    Lost {
        /// The step.
        step: u64,
        /// The particle, counted from 0.
        particle: u32,
    },
    /// A fixed distance that could not be held.
    #[error(
        "the constraint between particles {} and {} cannot be held in step {step}: they should be {wanted:.6} apart, and are \
         {found:.6}, off by {:.1e}. Try a shorter time step, or minimize the energy first",
        particles[0] + 1,
        particles[1] + 1,
        (found - wanted).abs()
    )]
    Constraint {
        /// The step.
        step: u64,
        /// The particles, counted from 0.
        particles: [u32; 2],
        /// The length wanted.
        wanted: f64,
        /// The length found.
        found: f64,
    },
    /// A simulation that does not fit into the memory of its device.
    #[error("{0}")]
    DeviceMemory(Box<super::Shortage>),
    /// A device failed.
    #[error("{0}")]
    Device(String),
    /// Lists of neighbors that do not fit into the memory.
    #[error(
        "lists of all neighbors within {radius:.4} would take about {:.3} GiB ({neighbors:.0} neighbors of each \
         particle, {images:.0} images), and {:.3} GiB of memory are free. Use a shorter `cutoff`, a smaller `buffer` in \
         [neighbors] or fewer particles",
        needed / GIB,
        available / GIB
    )]
    Memory {
        /// Cut-off and buffer.
        radius: f64,
        /// Neighbors of each particle.
        neighbors: f64,
        /// Images of particles.
        images: f64,
        /// Bytes needed.
        needed: f64,
        /// Bytes there.
        available: f64,
    },
    /// Particles of an open system too far from one another.
    #[error(
        "particles spread over {spread:.4} along an open axis, which takes {points:.1e} points of the finest grid of \
         multilevel summation. Use a larger `spacing`, a wall or a restraint, or a cell that is periodic"
    )]
    Spread {
        /// How far.
        spread: f64,
        /// Points.
        points: f64,
    },
    /// Saved state that does not belong to this simulation.
    #[error("the saved state does not fit: {0}")]
    Restore(String),
}
