//! Writing native structures.

use super::{ENVELOPE, NativeLinks, NativeStructure};
use crate::codec::Writer;

/// Bytes of a particle in the sections that are always there: position, velocity, species.
const PER_PARTICLE: usize = 52;

impl NativeStructure {
    /// The bytes of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let content = self.sections();
        let mut file = Vec::with_capacity(content.len() + 28);
        // A vector takes everything.
        let _ = ENVELOPE.write(&[&content], &mut file);
        file
    }

    fn sections(&self) -> Vec<u8> {
        let n = self.positions.len();
        let mut all = Sections(Writer::with_room_for(PER_PARTICLE * n + 4096));
        all.put("title", |w| w.text(&self.title));
        all.put("units", |w| w.text(if self.reduced { "lj" } else { "md" }));
        all.put("step", |w| w.u64(self.step));
        all.put("time", |w| w.f64(self.time));
        all.put("cell", |w| w.vectors(&self.cell));
        all.put("periodic", |w| w.u32s(&self.periodic.map(u32::from)));
        all.put("species", |w| {
            w.u64(self.species.len() as u64);
            for species in &self.species {
                w.text(&species.name);
                w.f64(species.mass);
                w.f64(species.charge);
            }
        });
        all.put("species of particles", |w| w.u32s(&self.species_of));
        all.put("positions", |w| w.vectors(&self.positions));
        all.put("velocities", |w| w.vectors(&self.velocities));
        if self.images.iter().flatten().any(|&k| k != 0) {
            all.put("images", |w| w.i32s(self.images.as_flattened().iter().copied()));
        }
        if self.masses != self.of_species(|s| s.mass) {
            all.put("masses", |w| w.f64s(&self.masses));
        }
        if self.charges != self.of_species(|s| s.charge) {
            all.put("charges", |w| w.f64s(&self.charges));
        }
        if !(0..n as u32).eq(self.molecules.iter().copied()) {
            all.put("molecules", |w| w.u32s(&self.molecules));
        }
        let of_species: Vec<f64> = self.species.iter().flat_map(|s| s.rotor).collect();
        if of_species.iter().any(|&x| x != 0.0) {
            all.put("rotors of species", |w| w.f64s(&of_species));
        }
        if self.rotors != self.rotors_of_species() {
            all.put("rotors", |w| w.f64s(self.rotors.as_flattened()));
        }
        if !self.orientations.is_empty() {
            all.put("orientations", |w| w.f64s(self.orientations.as_flattened()));
            all.put("angular momenta", |w| w.vectors(&self.angular_momenta));
        }
        if !self.labels.is_empty() {
            all.put("labels", |w| self.labels.encode(w));
        }
        all.links("bonds", &self.bonds);
        all.links("angles", &self.angles);
        all.links("dihedrals", &self.dihedrals);
        all.links("impropers", &self.impropers);
        all.links("axes", &self.axes);
        all.0.finish()
    }
}

/// Named sections one after another.
struct Sections(Writer);

impl Sections {
    fn put(&mut self, name: &str, content: impl FnOnce(&mut Writer)) {
        self.0.text(name);
        self.0.section(content);
    }

    fn links<const N: usize>(&mut self, name: &str, links: &NativeLinks<N>) {
        if links.kinds.is_empty() && links.links.is_empty() {
            return;
        }
        self.put(name, |w| {
            w.u64(links.kinds.len() as u64);
            links.kinds.iter().for_each(|kind| w.text(kind));
            let flat: Vec<u32> = (links.links.iter())
                .flat_map(|(kind, atoms)| std::iter::once(*kind).chain(*atoms))
                .collect();
            w.u32s(&flat);
        });
    }
}
