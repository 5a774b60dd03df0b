//! Copies of a system side by side.

use super::{BuildError, count, reserve};
use crate::system::whole::{Whole, add};
use crate::system::{Cell, Constraints, Exclusions, FixedDistance, Link, ScaledPair, System, Topology};

/// The system repeated along a, b and c this many times, with its bonds, exclusions and velocities.
///
/// Copies follow along a, then b, then c; within a copy the particles keep their order. A bond that
/// crosses the border of the cell joins two copies in the larger cell, and molecules keep numbers of
/// their own: a copy holds whole molecules, wrapped into the new cell, with images that lead back to the
/// whole ones. Bonds and unbonded excluded pairs must be shorter than half the cell, as everywhere.
pub fn replicate(system: &System, copies: [usize; 3]) -> Result<System, BuildError> {
    let n = system.particles.len();
    let molecules = system
        .particles
        .molecules
        .iter()
        .max()
        .map_or(0, |&m| m as usize + 1);
    for each in [1, n, molecules, system.exclusions.partners.len()] {
        count(&[each, copies[0], copies[1], copies[2]])?;
    }
    // Half the range of numbers, so that steps between copies have a sign.
    if let Some(&many) = copies.iter().find(|&&k| i32::try_from(k).is_err()) {
        return Err(BuildError::TooMany { count: many as u128 });
    }
    if copies.contains(&0) {
        return Err(BuildError::Invalid {
            what: "number of copies",
            value: 0.0,
            expected: "at least 1 along each vector",
        });
    }
    let whole = Whole::new(
        &system.cell,
        &system.particles.positions,
        &system.particles.molecules,
        &system.topology.bonds,
    )?;
    let [a, b, c] = system.cell.to_arrays();
    let larger = [(a, copies[0]), (b, copies[1]), (c, copies[2])].map(|(v, k)| v.map(|x| x * k as f64));
    let cell = Cell::triclinic(larger)?.with_periodicity(system.cell.periodic());

    let frame = Copies {
        counts: copies.map(|k| k as i32),
        particles: n,
    };
    let mut made = System {
        cell,
        ..system.clone()
    };
    made.particles = Default::default();
    reserve(&mut made, n * frame.len());
    let source = &system.particles;
    for copy in 0..frame.len() {
        for i in 0..n {
            let (at, image) = frame.wrap(add(frame.place(copy), whole.shift[i]));
            let position = source.positions[i] + system.cell.translation(at);
            let molecule = source.molecules[i] + (molecules * copy) as u32;
            let p = &mut made.particles;
            p.push(
                position,
                source.species[i],
                source.masses[i],
                source.charges[i],
                molecule,
            );
            p.images[copy * n + i] = image;
        }
        let p = &mut made.particles;
        p.velocities[copy * n..].copy_from_slice(&source.velocities);
    }
    made.particles.orientations = source.orientations.repeated(frame.len());
    made.topology = Topology {
        bonds: links(&system.topology.bonds, &whole, &frame),
        angles: links(&system.topology.angles, &whole, &frame),
        dihedrals: links(&system.topology.dihedrals, &whole, &frame),
        impropers: links(&system.topology.impropers, &whole, &frame),
        axes: links(&system.topology.axes, &whole, &frame),
        ..system.topology.clone()
    };
    made.exclusions = exclusions(&system.exclusions, &whole, &frame);
    made.constraints = constraints(&system.constraints, &whole, &frame);
    made.labels = system.labels.repeated(n, frame.len());
    Ok(made)
}

/// The arrangement of the copies.
struct Copies {
    counts: [i32; 3],
    particles: usize,
}

impl Copies {
    fn len(&self) -> usize {
        self.counts.iter().map(|&k| k as usize).product()
    }

    fn place(&self, copy: usize) -> [i32; 3] {
        let [x, y, _] = self.counts.map(|k| k as usize);
        [copy % x, copy / x % y, copy / (x * y)].map(|k| k as i32)
    }

    /// A place inside the larger cell, and how many larger cells away it was.
    fn wrap(&self, place: [i32; 3]) -> ([i32; 3], [i32; 3]) {
        (
            std::array::from_fn(|axis| place[axis].rem_euclid(self.counts[axis])),
            std::array::from_fn(|axis| place[axis].div_euclid(self.counts[axis])),
        )
    }

    /// The number of particle `i` in the copy `shift` away from `copy`.
    fn particle(&self, copy: usize, shift: [i32; 3], i: u32) -> u32 {
        let ([x, y, z], _) = self.wrap(add(self.place(copy), shift));
        let copy = (z * self.counts[1] + y) * self.counts[0] + x;
        copy as u32 * self.particles as u32 + i
    }
}

fn links<const N: usize>(links: &[Link<N>], whole: &Whole, frame: &Copies) -> Vec<Link<N>> {
    // Each atom's copy follows from the one before it.
    let shifts: Vec<[[i32; 3]; N]> = links
        .iter()
        .map(|link| {
            let mut shifts = [[0; 3]; N];
            for k in 1..N {
                shifts[k] = add(shifts[k - 1], whole.between(link.atoms[k - 1], link.atoms[k]));
            }
            shifts
        })
        .collect();
    (0..frame.len())
        .flat_map(|copy| {
            links.iter().zip(&shifts).map(move |(link, shifts)| Link {
                kind: link.kind,
                atoms: std::array::from_fn(|k| frame.particle(copy, shifts[k], link.atoms[k])),
            })
        })
        .collect()
}

fn constraints(source: &Constraints, whole: &Whole, frame: &Copies) -> Constraints {
    let mut made = source.clone();
    for water in &mut made.waters {
        let molecules = water.molecules.iter().map(|&atoms| Link { kind: 0, atoms });
        let molecules: Vec<Link<3>> = molecules.collect();
        water.molecules = links(&molecules, whole, frame)
            .into_iter()
            .map(|l| l.atoms)
            .collect();
    }
    for (body, of) in made.bodies.iter_mut().zip(&source.bodies) {
        let along = |copy: usize, atoms: &[u32]| {
            let first = atoms[0];
            let place = |&i: &u32| frame.particle(copy, whole.between(first, i), i);
            atoms.iter().map(place).collect::<Vec<u32>>()
        };
        let copies = (0..frame.len()).flat_map(|copy| of.molecules().map(move |atoms| (copy, atoms)));
        body.particles = copies.flat_map(|(copy, atoms)| along(copy, atoms)).collect();
    }
    let numbered = (0u32..).zip(&source.distances);
    let pairs: Vec<Link<2>> = numbered.map(|(kind, d)| Link { kind, atoms: d.atoms }).collect();
    let fixed = |link: Link<2>| FixedDistance {
        atoms: link.atoms,
        length: source.distances[link.kind as usize].length,
    };
    made.distances = links(&pairs, whole, frame).into_iter().map(fixed).collect();
    made
}

fn exclusions(source: &Exclusions, whole: &Whole, frame: &Copies) -> Exclusions {
    let mut made = Exclusions::default();
    if !source.is_empty() {
        made.start.push(0);
        for copy in 0..frame.len() {
            for i in 0..frame.particles as u32 {
                let row = made.partners.len();
                let partners = source.of(i).iter();
                made.partners
                    .extend(partners.map(|&j| frame.particle(copy, whole.between(i, j), j)));
                made.partners[row..].sort_unstable();
                made.start.push(made.partners.len() as u32);
            }
        }
    }
    for copy in 0..frame.len() {
        made.scaled.extend(source.scaled.iter().map(|scaled| {
            let [i, j] = scaled.atoms;
            let mut atoms = [
                frame.particle(copy, [0; 3], i),
                frame.particle(copy, whole.between(i, j), j),
            ];
            atoms.sort_unstable();
            ScaledPair { atoms, ..*scaled }
        }));
    }
    made.scaled.sort_unstable_by_key(|scaled| scaled.atoms);
    made
}
