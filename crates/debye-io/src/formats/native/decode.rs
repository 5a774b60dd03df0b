//! Reading native structures: nothing in them is believed before it was looked at.

use super::{ENVELOPE, NativeLinks, NativeRotor, NativeSpecies, NativeStructure};
use crate::codec::{CodecError, Reader};
use crate::labels::AtomLabels;

type Result<T> = std::result::Result<T, CodecError>;

impl NativeStructure {
    /// Takes the bytes of a file.
    ///
    /// # Errors
    /// Says what is wrong with them.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut all = Reader::new(ENVELOPE.open(bytes)?);
        let mut s = NativeStructure::default();
        while !all.is_empty() {
            let name = all.text()?;
            let mut r = Reader::new(all.bytes()?);
            s.take(&name, &mut r)?;
            if !r.is_empty() {
                return Err(CodecError(format!("more than `{name}` should hold")));
            }
        }
        s.complete()?;
        Ok(s)
    }

    fn take(&mut self, name: &str, r: &mut Reader) -> Result<()> {
        match name {
            "title" => self.title = r.text()?,
            "units" => {
                self.reduced = match r.text()?.as_str() {
                    "lj" => true,
                    "md" => false,
                    other => return Err(CodecError(format!("units `{other}`, expected md or lj"))),
                }
            }
            "step" => self.step = r.u64()?,
            "time" => self.time = r.f64()?,
            "cell" => self.cell = exactly(r.vectors()?, "cell vectors")?,
            "periodic" => self.periodic = exactly(r.u32s()?, "flags of periodicity")?.map(|flag| flag != 0),
            "species" => {
                for _ in 0..r.u64()? {
                    self.species.push(NativeSpecies {
                        name: r.text()?,
                        mass: r.f64()?,
                        charge: r.f64()?,
                        rotor: [0.0; 4],
                    });
                }
            }
            "species of particles" => self.species_of = r.u32s()?,
            "positions" => self.positions = r.vectors()?,
            "velocities" => self.velocities = r.vectors()?,
            "images" => {
                let flat = r.i32s()?;
                let (rows, left) = flat.as_chunks::<3>();
                if !left.is_empty() {
                    return Err(CodecError("images that are no triples".into()));
                }
                self.images = rows.to_vec();
            }
            "masses" => self.masses = r.f64s()?,
            "charges" => self.charges = r.f64s()?,
            "molecules" => self.molecules = r.u32s()?,
            "rotors of species" => {
                let rows = fours(r.f64s()?, "rotors of species")?;
                if rows.len() != self.species.len() {
                    return Err(CodecError("rotors of other species".into()));
                }
                for (species, row) in self.species.iter_mut().zip(rows) {
                    species.rotor = row;
                }
            }
            "rotors" => self.rotors = fours(r.f64s()?, "rotors")?,
            "orientations" => self.orientations = fours(r.f64s()?, "orientations")?,
            "angular momenta" => self.angular_momenta = r.vectors()?,
            "labels" => self.labels = AtomLabels::decode(r)?,
            "bonds" => self.bonds = links(r)?,
            "angles" => self.angles = links(r)?,
            "dihedrals" => self.dihedrals = links(r)?,
            "impropers" => self.impropers = links(r)?,
            "axes" => self.axes = links(r)?,
            other => {
                return Err(CodecError(format!(
                    "a part `{other}` that this version does not know, so that it would be lost"
                )));
            }
        }
        Ok(())
    }

    /// Puts in what was left out, and refuses lists that do not belong together.
    fn complete(&mut self) -> Result<()> {
        let n = self.positions.len();
        let species = self.species.len();
        if let Some(stranger) = self.species_of.iter().find(|s| **s as usize >= species) {
            return Err(CodecError(format!("species {stranger} of {species}")));
        }
        if self.images.is_empty() {
            self.images = vec![[0; 3]; n];
        }
        if self.species_of.len() != n {
            return Err(CodecError(format!(
                "{n} positions and the species of {} particles",
                self.species_of.len()
            )));
        }
        if self.masses.is_empty() {
            self.masses = self.of_species(|s| s.mass);
        }
        if self.charges.is_empty() {
            self.charges = self.of_species(|s| s.charge);
        }
        if self.molecules.is_empty() {
            self.molecules = (0..n as u32).collect();
        }
        if self.rotors.is_empty() {
            self.rotors = self.rotors_of_species();
        }
        let turning = if self.rotors.is_empty() { 0 } else { n };
        for (what, count) in [
            ("rotors", self.rotors.len()),
            ("orientations", self.orientations.len()),
            ("angular momenta", self.angular_momenta.len()),
        ] {
            if count != turning {
                return Err(CodecError(format!("{n} positions and {count} {what}")));
            }
        }
        let norm = |q: &[f64; 4]| q.iter().map(|x| x * x).sum::<f64>();
        if let Some(q) = self.orientations.iter().find(|q| (norm(q) - 1.0).abs() > 1e-6 || norm(q).is_nan()) {
            return Err(CodecError(format!("an orientation {q:?}, which is no unit quaternion")));
        }
        for (what, count) in [
            ("velocities", self.velocities.len()),
            ("images", self.images.len()),
            ("masses", self.masses.len()),
            ("charges", self.charges.len()),
            ("molecules", self.molecules.len()),
        ] {
            if count != n {
                return Err(CodecError(format!("{n} positions and {count} {what}")));
            }
        }
        let finite = (self.positions.iter().chain(&self.velocities).chain(&self.cell)).flatten();
        let finite = finite.chain(&self.masses).chain(&self.charges);
        let finite = finite.chain(self.rotors.as_flattened());
        let finite = finite.chain(self.angular_momenta.as_flattened());
        if !finite.into_iter().all(|x| x.is_finite()) {
            return Err(CodecError("a number that is not finite".into()));
        }
        self.bonds.check("bond", n)?;
        self.angles.check("angle", n)?;
        self.dihedrals.check("dihedral", n)?;
        self.impropers.check("improper", n)?;
        self.axes.check("axis", n)
    }

    /// The rotor of its species for every particle; nothing where all are points.
    pub(super) fn rotors_of_species(&self) -> Vec<NativeRotor> {
        if self.species.iter().all(|s| s.rotor == [0.0; 4]) {
            return Vec::new();
        }
        let of = |&s: &u32| self.species.get(s as usize).map_or([f64::NAN; 4], |s| s.rotor);
        self.species_of.iter().map(of).collect()
    }

    /// A property of its species for every particle.
    pub(super) fn of_species(&self, property: impl Fn(&NativeSpecies) -> f64) -> Vec<f64> {
        let values: Vec<f64> = self.species.iter().map(property).collect();
        let of = |&s: &u32| values.get(s as usize).copied().unwrap_or(f64::NAN);
        self.species_of.iter().map(of).collect()
    }
}

impl<const N: usize> NativeLinks<N> {
    fn check(&self, what: &str, particles: usize) -> Result<()> {
        let bad = |(kind, atoms): &&(u32, [u32; N])| {
            *kind as usize >= self.kinds.len() || atoms.iter().any(|&i| i as usize >= particles)
        };
        match self.links.iter().find(bad) {
            None => Ok(()),
            Some((kind, atoms)) => Err(CodecError(format!(
                "a {what} of kind {kind} between particles {atoms:?}, of which there are {particles} and {} kinds",
                self.kinds.len()
            ))),
        }
    }
}

fn links<const N: usize>(r: &mut Reader) -> Result<NativeLinks<N>> {
    let mut kinds = Vec::new();
    for _ in 0..r.u64()? {
        kinds.push(r.text()?);
    }
    let flat = r.u32s()?;
    if !flat.len().is_multiple_of(N + 1) {
        return Err(CodecError(format!("links that are not of {N} particles")));
    }
    let link = |row: &[u32]| (row[0], std::array::from_fn(|k| row[k + 1]));
    Ok(NativeLinks {
        kinds,
        links: flat.chunks_exact(N + 1).map(link).collect(),
    })
}

fn fours(flat: Vec<f64>, what: &str) -> Result<Vec<[f64; 4]>> {
    let (rows, left) = flat.as_chunks::<4>();
    match left {
        [] => Ok(rows.to_vec()),
        _ => Err(CodecError(format!("{what} that are not of four numbers"))),
    }
}

fn exactly<T: Copy, const N: usize>(list: Vec<T>, what: &str) -> Result<[T; N]> {
    let found = list.len();
    list.try_into()
        .map_err(|_| CodecError(format!("{found} {what}, expected {N}")))
}
