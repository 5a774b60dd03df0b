//! The state of an engine as bytes, and back: a restored engine goes on bit for bit.

use super::engine::CpuEngine;
use crate::engines::EngineError;
use crate::expr::{Quat, Vec3};
use crate::potentials::PairSums;
use crate::system::Cell;
use debye_io::codec::{CodecError, Reader, Writer};

impl CpuEngine {
    /// Everything that is not in the input: positions, velocities and forces in the order of the
    /// list, what the list was made from, and the memory of thermostats.
    pub fn save(&self) -> Vec<u8> {
        let s = &self.state;
        let mut w = Writer::with_room_for(s.len() * (4 * 24 + 12 + 4) + 4096);
        w.u64(s.step);
        write_cell(&mut w, &s.cell);
        w.u32s(&s.ids);
        w.vectors(&s.positions);
        w.vectors(&s.velocities);
        w.vectors(&s.forces);
        w.u32s(&s.images.iter().flatten().map(|&n| n as u32).collect::<Vec<_>>());
        if !s.rotations.is_empty() {
            let turns = s.rotations.turns.iter();
            w.f64s(&turns.flat_map(|q| [q.w, q.v.x, q.v.y, q.v.z]).collect::<Vec<_>>());
            w.vectors(&s.rotations.momenta);
            w.vectors(&s.rotations.torques);
        }
        let v = &self.verlet;
        write_cell(&mut w, &v.reference_cell);
        w.vectors(&v.reference);
        w.vectors(&[v.scale]);
        w.f64(v.radius);
        w.u64(v.step);
        w.u64(v.builds);
        w.u64(self.thermostats.len() as u64);
        for thermostat in &self.thermostats {
            w.f64(thermostat.given);
            w.f64s(&thermostat.chain.iter().flatten().copied().collect::<Vec<_>>());
        }
        w.u64(self.dynamics.barostat.as_ref().map_or(0, |b| b.limited.get()));
        w.u64(self.sums_step.map_or(0, |step| step + 1));
        for sum in &self.sums {
            w.f64(sum.energy);
            sum.virial.iter().for_each(|&x| w.f64(x));
        }
        w.finish()
    }

    /// Puts a saved state into an engine made from the same input.
    pub(super) fn restore(&mut self, bytes: &[u8]) -> Result<(), EngineError> {
        self.read_state(bytes).map_err(|e| EngineError::Restore(e.0))?;
        self.restore_list()
    }

    fn read_state(&mut self, bytes: &[u8]) -> Result<(), CodecError> {
        let mut r = Reader::new(bytes);
        let n = self.state.len();
        let fits = |what: &str, length: usize| {
            if length == n {
                Ok(())
            } else {
                Err(CodecError(format!("{length} {what} for {n} particles")))
            }
        };
        let original = self.original.clone();
        let s = &mut self.state;
        s.step = r.u64()?;
        s.cell = read_cell(&mut r, &s.cell)?;
        s.ids = r.u32s()?;
        fits("particles", s.ids.len())?;
        let mut seen = vec![false; n];
        for &id in &s.ids {
            match seen.get_mut(id as usize) {
                Some(seen) if !*seen => *seen = true,
                _ => return Err(CodecError(format!("particle {id} is out of place"))),
            }
        }
        s.index();
        if let Some(shared_rows) = &self.shared_rows {
            s.sharing = shared_rows.sharing(&s.ids);
        }
        s.positions = r.vectors()?;
        s.velocities = r.vectors()?;
        s.forces = r.vectors()?;
        fits("positions", s.positions.len())?;
        fits("velocities", s.velocities.len())?;
        fits("forces", s.forces.len())?;
        let images = r.u32s()?;
        fits("images", images.len() / 3)?;
        s.images = images
            .chunks_exact(3)
            .map(|c| [c[0] as i32, c[1] as i32, c[2] as i32])
            .collect();
        fits("images", s.images.len())?;
        if !s.rotations.is_empty() {
            let turns = r.f64s()?;
            let turn = |c: &[f64; 4]| Quat {
                w: c[0],
                v: Vec3::new(c[1], c[2], c[3]),
            };
            s.rotations.turns = turns.as_chunks::<4>().0.iter().map(turn).collect();
            s.rotations.momenta = r.vectors()?;
            s.rotations.torques = r.vectors()?;
            fits("orientations", s.rotations.turns.len())?;
            fits("angular momenta", s.rotations.momenta.len())?;
            fits("torques", s.rotations.torques.len())?;
            let rotors = &original.rotors;
            s.rotations.rotors = s.ids.iter().map(|&id| rotors[id as usize]).collect();
        }
        let pick = |values: &[f64]| -> Vec<f64> { s.ids.iter().map(|&id| values[id as usize]).collect() };
        (s.masses, s.charges) = (pick(&original.masses), pick(&original.charges));
        s.species = s.ids.iter().map(|&id| original.species[id as usize]).collect();

        let v = &mut self.verlet;
        v.reference_cell = read_cell(&mut r, &v.reference_cell)?;
        v.reference = r.vectors()?;
        fits("reference positions", v.reference.len())?;
        v.scale = r.vectors()?.first().copied().unwrap_or(Vec3::splat(1.0));
        v.radius = r.f64()?;
        if !(v.radius.is_finite() && v.radius >= v.cutoff) {
            return Err(CodecError(format!(
                "list radius {} below the cut-off {}",
                v.radius, v.cutoff
            )));
        }
        v.step = r.u64()?;
        v.builds = r.u64()?;
        if r.u64()? != self.thermostats.len() as u64 {
            return Err(CodecError("another number of thermostats".into()));
        }
        for thermostat in &mut self.thermostats {
            thermostat.given = r.f64()?;
            let chain = r.f64s()?;
            if chain.len() != 2 * thermostat.chain.len() {
                return Err(CodecError("another length of the Nosé–Hoover chain".into()));
            }
            thermostat.chain = chain.chunks_exact(2).map(|c| [c[0], c[1]]).collect();
        }
        let limited = r.u64()?;
        if let Some(barostat) = &self.dynamics.barostat {
            barostat.limited.set(limited);
        }
        self.sums_step = r.u64()?.checked_sub(1);
        self.sums.clear();
        while !r.is_empty() {
            let mut sum = PairSums {
                energy: r.f64()?,
                virial: [0.0; 6],
            };
            for x in &mut sum.virial {
                *x = r.f64()?;
            }
            self.sums.push(sum);
        }
        Ok(())
    }
}

fn write_cell(w: &mut Writer, cell: &Cell) {
    w.vectors(&cell.to_arrays());
}

fn read_cell(r: &mut Reader, like: &Cell) -> Result<Cell, CodecError> {
    let rows: Vec<[f64; 3]> = r.vectors()?;
    let [a, b, c] = rows[..] else {
        return Err(CodecError("a cell without three vectors".into()));
    };
    let cell = Cell::triclinic([a, b, c]).map_err(|e| CodecError(e.to_string()))?;
    Ok(cell.with_periodicity(like.periodic()))
}
