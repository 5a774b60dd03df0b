//! What the host reads of a configuration: energies, virial, sums over velocities.

use super::super::bonded::LinkSums;
use super::super::constraints::ConstraintSums;
use super::super::mesh::Request;
use super::super::watch::Bytes;
use super::Resident;
use crate::engines::EngineError;
use crate::forces::electrostatics::Part;
use debye_gpu::CudaError;

/// Numbers of a virial, xx yy zz xy xz yz, and those of a group: Σ m v⊗v, Σ m v.
pub(in super::super) const VIRIAL_SUMS: usize = 6;
pub(in super::super) const GROUP_SUMS: usize = VIRIAL_SUMS + 3;

/// Sums over all particles.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Sums {
    pub(in super::super) energies: Vec<f64>,
    pub(in super::super) virial: [f64; 6],
    /// Σ m v⊗v and Σ m v of every group.
    pub(in super::super) groups: Vec<([f64; 6], [f64; 3])>,
    /// Σ L·ω of every group: twice the kinetic energy of rotation; empty where nothing turns.
    pub(in super::super) rotations: Vec<f64>,
    /// Virial of what keeps molecules together as they turn, of every group; goes with the square of its velocities.
    pub(in super::super) constraint_virial: Vec<[f64; 6]>,
}

impl Resident {
    /// Forces, energies by term, virial and what velocities sum to. The list must be good.
    pub(in super::super) fn evaluate(&mut self) -> Result<Sums, EngineError> {
        let links = self.bonded_sums()?;
        let mesh = self.mesh_sums()?;
        let shape = self.blocks(self.case().step_shared());
        // Upper halves, what moves, forces and how many rows; stages and lists.
        let bytes: Bytes = |n| n.slots * (16.0 + n.moving + 24.0 + 2.0) + 4.0 * n.staged + n.listed;
        self.launch(&self.stream, &self.kernels.evaluate, shape, bytes)?;
        let (terms, groups) = (self.terms.count, self.rules.groups());
        let width = self.case().sums();
        let used = self.last.blocks as usize * width;
        let parts = self.stream.download_part(self.arrays.partial.part(0..used))?;
        let mut all = vec![0.0; width];
        for block in parts.chunks_exact(width) {
            all.iter_mut().zip(block).for_each(|(sum, x)| *sum += x);
        }
        let of_group = |g: usize| {
            let first = terms + VIRIAL_SUMS + GROUP_SUMS * g;
            let tensor = std::array::from_fn(|k| all[first + k]);
            (tensor, std::array::from_fn(|k| all[first + 6 + k]))
        };
        let mut sums = Sums {
            energies: all[..terms].to_vec(),
            virial: std::array::from_fn(|k| all[terms + k]),
            groups: (0..groups).map(of_group).collect(),
            rotations: all[terms + VIRIAL_SUMS + GROUP_SUMS * groups..].to_vec(),
            constraint_virial: vec![[0.0; 6]; groups],
        };
        if let Some((energies, virial)) = links {
            sums.energies.extend(energies);
            sums.virial.iter_mut().zip(virial).for_each(|(sum, x)| *sum += x);
        }
        for part in mesh {
            sums.energies.push(part.energy);
            sums.virial
                .iter_mut()
                .zip(part.virial)
                .for_each(|(sum, x)| *sum += x);
        }
        self.add_constrained(&mut sums)?;
        Ok(sums)
    }

    /// Forces of the mesh, and what it and the rest of electrostatics sum to, where there are any.
    pub(in super::super) fn mesh_sums(&mut self) -> Result<Vec<Part>, EngineError> {
        if self.mesh.is_none() {
            return Ok(Vec::new());
        }
        let stream = self.device.stream()?;
        let asked = Request {
            sums: true,
            step: false,
        };
        self.queue_mesh(&stream, asked)?;
        stream.synchronize()?;
        let cell = self.region(&self.frame()?).cell;
        let Some(mesh) = &mut self.mesh else {
            return Ok(Vec::new());
        };
        let sums = mesh.read_sums(&stream, &cell)?;
        mesh.check(&self.device, &stream)?;
        Ok(sums)
    }

    /// Velocities of the particles at fixed distances, their sums, and the virial of what holds them.
    fn add_constrained(&mut self, sums: &mut Sums) -> Result<(), EngineError> {
        let Some(constrained) = &self.constrained else {
            return Ok(());
        };
        let more = constrained.look(&self.stream, &self.world, self.setup, self.rules.groups())?;
        let ConstraintSums {
            forces,
            turning,
            groups,
        } = more;
        let add = |to: &mut [f64], from: &[f64]| to.iter_mut().zip(from).for_each(|(sum, x)| *sum += x);
        let pairs = sums.virial;
        add(&mut sums.virial, &forces);
        for ((tensor, momentum), more) in sums.groups.iter_mut().zip(&groups) {
            add(tensor, &more.0);
            add(momentum, &more.1);
        }
        sums.constraint_virial = turning;
        self.read_control()?;
        // Forces that are no numbers are somebody else's fault.
        let sound = sums.energies.iter().chain(&pairs).all(|x| x.is_finite());
        if sound {
            self.check_constraints(self.last.step)?;
        }
        Ok(())
    }

    /// Forces of the bonded terms, and their sums, where there are any.
    pub(in super::super) fn bonded_sums(&self) -> Result<Option<LinkSums>, CudaError> {
        let Some(bonded) = &self.bonded else {
            return Ok(None);
        };
        bonded.queue_sums(&self.stream, &self.world, self.setup)?;
        let sums = bonded.read_sums(&self.stream, self.last.blocks as usize)?;
        Ok(Some(sums))
    }
}
