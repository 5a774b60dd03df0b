//! The reference: energies, virial and forces by plain loops in double precision.
//!
//! All pairs with all their images, one after another; nothing is sorted, listed, vectorized or
//! shared between threads. The cost is N² × images, so it is for small systems: it is what every
//! other engine is measured against. Gradients of bonded coordinates are taken by automatic
//! differentiation of their definitions, not from [`crate::forces::geometry`].

use crate::expr::{Dual, Real, Vec3};
use crate::forces::electrostatics::{Boundary, ChargeSums, Electrostatics, Method, Part, ReciprocalVectors};
use crate::forces::ewald::sum_reciprocal;
use crate::forces::{BondedTerm, ForceField, ListedPairs, OrientedTerm, PairTerm};
use crate::potentials::{AxisFamily, MAX_BONDED, OrientedPair, Pair};
use crate::system::{Cell, Link, System};

/// What acts in a system as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Energy by term: pair terms, bonds, angles, dihedrals, impropers, listed pairs, parts of an Ewald sum, tail.
    pub terms: Vec<(String, f64)>,
    /// Their sum.
    pub potential: f64,
    /// Σ r⊗F: xx yy zz xy xz yz, with the tail on the diagonal, so that (Σ m v⊗v + virial)/V is the
    /// pressure tensor.
    pub virial: [f64; 6],
    /// Forces.
    pub forces: Vec<Vec3<f64>>,
    /// Torques in the laboratory's axes; none where everything is a point.
    pub torques: Vec<Vec3<f64>>,
}

/// Images that are as near as the nearest one but for this much count as the nearest too.
const TIE: f64 = 1.0 + 1e-9;

/// Evaluates every term of `field` for `system`.
pub fn evaluate(system: &System, field: &ForceField) -> Evaluation {
    let mut e = Evaluation {
        terms: Vec::new(),
        potential: 0.0,
        virial: [0.0; 6],
        forces: vec![Vec3::zero(); system.particles.len()],
        torques: vec![Vec3::zero(); system.particles.orientations.rotors.len()],
    };
    for term in &field.pairs {
        let cutoff = term.rows.iter().map(|row| row.cutoff).fold(0.0, f64::max);
        let energy = pairs(system, cutoff, |pair| {
            let u = pair_energy(system, field, term, pair.particles, pair.separation.norm2());
            // u depends on r²: the force on j is −2 u′ d.
            pair.act(u.value, pair.separation * (-2.0 * u.derivative), &mut e)
        });
        e.terms.push((term.name.clone(), energy));
    }
    for term in &field.oriented {
        let cutoff = term
            .rows
            .iter()
            .flatten()
            .map(|row| row.cutoff)
            .fold(0.0, f64::max);
        let of_pairs = pairs(system, cutoff, |pair| {
            oriented_pair(system, field, term, pair, &mut e)
        });
        e.terms.push((
            term.name.clone(),
            of_pairs + term.self_energy(system, field.coulomb_constant),
        ));
    }
    let t = &system.topology;
    for term in &field.bonds {
        let energy = links(system, term, &t.bonds, distance, &mut e, |x, c| {
            term.family.energy_and_derivative(x, c)
        });
        e.terms.push((term.name.clone(), energy));
    }
    for term in &field.angles {
        let energy = links(system, term, &t.angles, angle, &mut e, |x, c| {
            term.family.energy_and_derivative(x, c)
        });
        e.terms.push((term.name.clone(), energy));
    }
    for (terms, links_of) in [(&field.dihedrals, &t.dihedrals), (&field.impropers, &t.impropers)] {
        for term in terms {
            let energy = links(system, term, links_of, dihedral, &mut e, |x, c| {
                term.family.energy_and_derivative(x, c)
            });
            e.terms.push((term.name.clone(), energy));
        }
    }
    for term in &field.axes {
        let energy = axes(system, term, &mut e);
        e.terms.push((term.name.clone(), energy));
    }
    for listed in field.listed_pairs(system) {
        let energy = listed_pairs(system, field, &listed, &mut e);
        e.terms.push((listed.name, energy));
    }
    if let Some(plan) = &field.electrostatics {
        long_range(system, field, plan, &mut e);
    }
    let tail = field.tail_correction(system);
    if tail.present {
        let volume = system.cell.volume();
        e.terms.push(("tail".into(), tail.energy(volume)));
        e.virial[..3]
            .iter_mut()
            .for_each(|w| *w += tail.pressure(volume) * volume);
    }
    e.potential = e.terms.iter().map(|t| t.1).sum();
    e
}

/// Two particles within the cut-off, or a particle and an image.
#[derive(Clone, Copy)]
struct ParticlePair {
    particles: [usize; 2],
    /// From the first to the second.
    separation: Vec3<f64>,
}

impl ParticlePair {
    /// A particle and its own image: each of the two sees the other, so they count half.
    fn share(&self) -> f64 {
        if self.particles[0] == self.particles[1] {
            0.5
        } else {
            1.0
        }
    }

    /// Adds the force on the second particle; gives the energy that counts.
    fn act(&self, energy: f64, force: Vec3<f64>, e: &mut Evaluation) -> f64 {
        let [i, j] = self.particles;
        add_virial(&mut e.virial, self.separation, force * self.share());
        if i != j {
            e.forces[j] += force;
            e.forces[i] -= force;
        }
        self.share() * energy
    }
}

/// The sum of what all pairs and all images within a distance give.
fn pairs(system: &System, within: f64, act: impl FnMut(ParticlePair) -> f64) -> f64 {
    visit_pairs(system, within, false, act)
}

/// The same, with excluded pairs or without.
fn visit_pairs(system: &System, within: f64, all: bool, mut act: impl FnMut(ParticlePair) -> f64) -> f64 {
    let (cell, p) = (&system.cell, &system.particles);
    let shifts = images_within(cell, within);
    let mut energy = 0.0;
    for i in 0..p.len() {
        for j in i..p.len() {
            let base = near(cell, p.positions[j] - p.positions[i]);
            let excluded = !all && i != j && system.exclusions.contains(i as u32, j as u32);
            let nearest = if excluded {
                nearest_image(cell, base).norm2()
            } else {
                0.0
            };
            for &shift in &shifts {
                let separation = base + shift;
                let r2 = separation.norm2();
                let itself = i == j && r2 == 0.0;
                if itself || r2 >= within * within || (excluded && r2 <= nearest * TIE) {
                    continue;
                }
                energy += act(ParticlePair {
                    particles: [i, j],
                    separation,
                });
            }
        }
    }
    energy
}

/// One pair of an oriented term. Derivatives are taken one by one, as the second particle is moved and both are turned.
fn oriented_pair(
    system: &System,
    field: &ForceField,
    term: &OrientedTerm,
    pair: ParticlePair,
    e: &mut Evaluation,
) -> f64 {
    let (o, [i, j]) = (&system.particles.orientations, pair.particles);
    let Some(energy) = oriented_energy(system, field, term, pair) else {
        return 0.0;
    };
    let rest = Vec3::zero();
    if !o.is_empty() {
        e.torques[i] += minus_gradient(&|turn| energy(rest, [turn, rest]));
        if i != j {
            e.torques[j] += minus_gradient(&|turn| energy(rest, [rest, turn]));
        }
    }
    let force = minus_gradient(&|moved| energy(moved, [rest; 2]));
    pair.act(energy(rest, [rest; 2]).value, force, e)
}

/// The energy of two particles as a function of how the second is moved and both are turned; `None` beyond the cut-off.
#[allow(clippy::type_complexity, reason = "a function of three vectors")]
fn oriented_energy<'a>(
    system: &'a System,
    field: &'a ForceField,
    term: &'a OrientedTerm,
    pair: ParticlePair,
) -> Option<impl Fn(Vec3<Dual<f64>>, [Vec3<Dual<f64>>; 2]) -> Dual<f64> + 'a> {
    let (p, [i, j]) = (&system.particles, pair.particles);
    let row = term.rows[p.species[i] as usize * system.species.len() + p.species[j] as usize];
    let row = row.filter(|row| pair.separation.norm2() < row.cutoff * row.cutoff)?;
    let o = &p.orientations;
    let of_both = |x: [f64; 2]| x.map(Dual::constant);
    Some(move |moved: Vec3<Dual<f64>>, turns: [Vec3<Dual<f64>>; 2]| {
        let axes = [(i, turns[0]), (j, turns[1])].map(|(k, turn)| {
            let axes = o.axes(k).map(|axis| axis.map(Dual::constant));
            axes.map(|axis| axis + turn.cross(axis))
        });
        let charges = of_both([p.charges[i], p.charges[j]]);
        let dipoles = of_both([o.rotor(i).dipole, o.rotor(j).dipole]);
        let separation = pair.separation.map(Dual::constant) + moved;
        let pair = OrientedPair::new(separation, axes, charges, dipoles, &term.table);
        let energy = term
            .family
            .energy_dual(term.truncation, &pair, &row.coefficients, &row.truncation);
        energy * Dual::constant(term.strength(field.coulomb_constant))
    })
}

fn minus_gradient(energy: &dyn Fn(Vec3<Dual<f64>>) -> Dual<f64>) -> Vec3<f64> {
    Vec3::from([0, 1, 2].map(|axis| {
        let mut unit = [Dual::constant(0.0); 3];
        unit[axis] = Dual::variable(0.0);
        -energy(unit.into()).derivative
    }))
}

/// The force on the second of two particles, `separation` from the first, by all terms between pairs that are not
/// excluded.
pub fn force_between(
    system: &System,
    field: &ForceField,
    particles: [usize; 2],
    separation: Vec3<f64>,
) -> Vec3<f64> {
    let pair = ParticlePair {
        particles,
        separation,
    };
    let mut force = Vec3::zero();
    for term in &field.pairs {
        let u = pair_energy(system, field, term, particles, separation.norm2());
        force += separation * (-2.0 * u.derivative);
    }
    for term in &field.oriented {
        if let Some(energy) = oriented_energy(system, field, term, pair) {
            force += minus_gradient(&|moved| energy(moved, [Vec3::zero(); 2]));
        }
    }
    force
}

/// Calls `act` with the particles of every bonded term and listed pair, where they are from the first on, and the
/// forces on them, whose sum is zero.
pub fn bonded_forces(
    system: &System,
    field: &ForceField,
    mut act: impl FnMut(&[u32], &[Vec3<f64>], &[Vec3<f64>]),
) {
    let t = &system.topology;
    for term in &field.bonds {
        for link in &t.bonds {
            let f = |x: f64, c: &[f64; MAX_BONDED]| term.family.energy_and_derivative(x, c);
            if let Some((_, r, forces)) = link_forces(system, term, link, distance, f) {
                act(&link.atoms, &r, &forces);
            }
        }
    }
    for term in &field.angles {
        for link in &t.angles {
            let f = |x: f64, c: &[f64; MAX_BONDED]| term.family.energy_and_derivative(x, c);
            if let Some((_, r, forces)) = link_forces(system, term, link, angle, f) {
                act(&link.atoms, &r, &forces);
            }
        }
    }
    for (terms, links) in [(&field.dihedrals, &t.dihedrals), (&field.impropers, &t.impropers)] {
        for term in terms {
            for link in links {
                let f = |x: f64, c: &[f64; MAX_BONDED]| term.family.energy_and_derivative(x, c);
                if let Some((_, r, forces)) = link_forces(system, term, link, dihedral, f) {
                    act(&link.atoms, &r, &forces);
                }
            }
        }
    }
    // Restraints and listed pairs act between two particles; torques are no part of a stress along the line between
    // them.
    let mut e = Evaluation {
        terms: Vec::new(),
        potential: 0.0,
        virial: [0.0; 6],
        forces: vec![Vec3::zero(); system.particles.len()],
        torques: vec![Vec3::zero(); system.particles.orientations.rotors.len()],
    };
    let mut pair = |[i, j]: [u32; 2], d: Vec3<f64>, e: &mut Evaluation| {
        let force = std::mem::replace(&mut e.forces[j as usize], Vec3::zero());
        e.forces[i as usize] = Vec3::zero();
        act(&[i, j], &[Vec3::zero(), d], &[-force, force]);
    };
    let between = |[i, j]: [u32; 2]| {
        let r = &system.particles.positions;
        nearest_image(&system.cell, r[j as usize] - r[i as usize])
    };
    for term in &field.axes {
        for link in &t.axes {
            axis(system, term, link, &mut e);
            pair(link.atoms, between(link.atoms), &mut e);
        }
    }
    for mut listed in field.listed_pairs(system) {
        for one in std::mem::take(&mut listed.pairs) {
            listed.pairs = vec![one];
            listed_pairs(system, field, &listed, &mut e);
            pair(one.0, between(one.0), &mut e);
        }
    }
}

/// Pairs left out of the list and added back with a factor, at their nearest image.
fn listed_pairs(system: &System, field: &ForceField, listed: &ListedPairs, e: &mut Evaluation) -> f64 {
    let p = &system.particles;
    let mut energy = 0.0;
    for &(atoms, factor) in &listed.pairs {
        let [i, j] = atoms.map(|a| a as usize);
        let d = nearest_image(&system.cell, p.positions[j] - p.positions[i]);
        let charges = field.coulomb_constant * p.charges[i] * p.charges[j];
        let u = listed.act([p.species[i], p.species[j]], charges, factor, d.norm2());
        energy += u.value;
        let force = d * (-2.0 * u.derivative);
        add_virial(&mut e.virial, d, force);
        e.forces[j] += force;
        e.forces[i] -= force;
    }
    energy
}

/// What long-range electrostatics has besides its pair term: all reciprocal vectors that matter where a mesh or grids
/// take their place.
fn long_range(system: &System, field: &ForceField, plan: &Electrostatics, e: &mut Evaluation) {
    let p = &system.particles;
    let first = match &plan.method {
        Method::Ewald(set) => vectors(system, field, plan, set, e),
        Method::Mesh(_) => {
            let set = ReciprocalVectors::converged(&plan.ewald_cell(&system.cell), plan.alpha);
            vectors(system, field, plan, &set, e)
        }
        Method::Multilevel(_) => smooth_sum(system, field, plan, e),
    };
    let rest = rest(system, field, plan, e);
    let names = plan.names(ChargeSums::of(&p.charges));
    for (name, part) in names.into_iter().zip([first].into_iter().chain(rest)) {
        e.terms.push((name, part.energy));
        e.virial.iter_mut().zip(part.virial).for_each(|(w, x)| *w += x);
    }
}

fn vectors(
    system: &System,
    field: &ForceField,
    plan: &Electrostatics,
    set: &ReciprocalVectors,
    e: &mut Evaluation,
) -> Part {
    let (p, cell) = (&system.particles, plan.ewald_cell(&system.cell));
    let k = field.coulomb_constant / plan.permittivity;
    sum_reciprocal(&cell, plan.alpha, set, k, &p.positions, &p.charges, &mut e.forces)
}

fn rest(system: &System, field: &ForceField, plan: &Electrostatics, e: &mut Evaluation) -> Vec<Part> {
    let p = &system.particles;
    let unwrapped = |i: usize| p.positions[i] + system.cell.translation(p.images[i]);
    let (k, sums) = (field.coulomb_constant, ChargeSums::of(&p.charges));
    plan.rest(&system.cell, k, sums, &unwrapped, &p.charges, &mut e.forces)
}

/// What the grids of multilevel summation stand for: γ(r/a)/a between all charges, excluded or not, and between a
/// charge and itself. Over all pairs in an open system. Else by an Ewald sum, and the difference to erf(αr)/r within a,
/// beyond which both are 1/r.
fn smooth_sum(system: &System, field: &ForceField, plan: &Electrostatics, e: &mut Evaluation) -> Part {
    let (family, numbers) = plan.minus_smooth();
    let ewald = Electrostatics {
        method: Method::Ewald(ReciprocalVectors::converged(
            &plan.ewald_cell(&system.cell),
            plan.alpha,
        )),
        boundary: match plan.boundary {
            // Surface terms are no part of it.
            Boundary::Vacuum => Boundary::Conductor,
            other => other,
        },
        ..plan.clone()
    };
    let (erf, of_erf) = ewald.minus_smooth();
    let open = plan.boundary == Boundary::Open;
    let k = field.coulomb_constant;
    let charges = &system.particles.charges;
    let table = &crate::expr::Table::default();
    let smooth = |r2: f64| {
        let found = family.energy_and_derivative(Pair { r2, table }, &numbers);
        let more = Dual::constant(if open { 0.0 } else { 1.0 });
        erf.energy_and_derivative(Pair { r2, table }, &of_erf) * more - found
    };
    let within = if open { f64::INFINITY } else { plan.cutoff };
    let mut energy = visit_pairs(system, within, true, |pair| {
        let [i, j] = pair.particles;
        let u = smooth(pair.separation.norm2()) * Dual::constant(k * charges[i] * charges[j]);
        pair.act(u.value, pair.separation * (-2.0 * u.derivative), e)
    });
    // The limit at no distance: both are even there.
    energy += 0.5 * k * smooth(1e-24).value * charges.iter().map(|q| q * q).sum::<f64>();
    let mut total = Part {
        energy,
        ..Part::default()
    };
    if let (false, Method::Ewald(set)) = (open, &ewald.method) {
        let parts = rest(system, field, &ewald, e).into_iter().skip(1);
        for part in parts.chain([vectors(system, field, &ewald, set, e)]) {
            total.energy += part.energy;
            total
                .virial
                .iter_mut()
                .zip(part.virial)
                .for_each(|(w, x)| *w += x);
        }
    }
    total
}

/// The truncated energy of particles i and j and its derivative by r²; nothing beyond the cut-off.
fn pair_energy(
    system: &System,
    field: &ForceField,
    term: &PairTerm,
    [i, j]: [usize; 2],
    r2: f64,
) -> Dual<f64> {
    let p = &system.particles;
    let row = &term.rows[p.species[i] as usize * system.species.len() + p.species[j] as usize];
    if r2 >= row.cutoff * row.cutoff {
        return Dual::constant(0.0);
    }
    let pair = Pair {
        r2,
        table: &term.table,
    };
    let bare = term.family.energy_and_derivative(pair, &row.coefficients);
    let u = term.truncation.apply(bare, r2, &row.truncation);
    if term.family.uses_charges() {
        u * Dual::constant(field.coulomb_constant * p.charges[i] * p.charges[j])
    } else {
        u
    }
}

/// One bonded term over its links. `coordinate` is a function of the positions relative to the first
/// particle; each next particle is taken at its image nearest to the one before.
fn links<F: ?Sized, const N: usize>(
    system: &System,
    term: &BondedTerm<F>,
    links: &[Link<N>],
    coordinate: fn([Vec3<Dual<f64>>; N]) -> Dual<f64>,
    e: &mut Evaluation,
    energy_and_derivative: impl Fn(f64, &[f64; MAX_BONDED]) -> Dual<f64>,
) -> f64 {
    let mut energy = 0.0;
    for link in links {
        let found = link_forces(system, term, link, coordinate, &energy_and_derivative);
        let Some((value, r, forces)) = found else { continue };
        energy += value;
        for k in 0..N {
            add_virial(&mut e.virial, r[k], forces[k]);
            e.forces[link.atoms[k] as usize] += forces[k];
        }
    }
    energy
}

/// The energy of a link, its particles relative to the first, and the forces on them; `None` where the term has no such
/// kind.
#[allow(clippy::type_complexity, reason = "three numbers of a link")]
fn link_forces<F: ?Sized, const N: usize>(
    system: &System,
    term: &BondedTerm<F>,
    link: &Link<N>,
    coordinate: fn([Vec3<Dual<f64>>; N]) -> Dual<f64>,
    energy_and_derivative: impl Fn(f64, &[f64; MAX_BONDED]) -> Dual<f64>,
) -> Option<(f64, [Vec3<f64>; N], [Vec3<f64>; N])> {
    let row = term.rows.get(link.kind as usize).and_then(Option::as_ref)?;
    let at = link.atoms.map(|a| system.particles.positions[a as usize]);
    let mut r = [Vec3::zero(); N];
    for k in 1..N {
        r[k] = r[k - 1] + nearest_image(&system.cell, at[k] - at[k - 1]);
    }
    let u = energy_and_derivative(coordinate(r.map(|v| v.map(Dual::constant))).value, row);
    let force = |k: usize| {
        let gradient: [f64; 3] = std::array::from_fn(|axis| {
            let mut moved = r.map(|v| v.map(Dual::constant));
            let mut components = moved[k].to_array();
            components[axis] = Dual::variable(components[axis].value);
            moved[k] = components.into();
            coordinate(moved).derivative
        });
        // In a straight line an angle has no gradient, and nothing says which way to bend.
        let gradient = gradient.map(|g| if g.is_finite() { g } else { 0.0 });
        Vec3::from(gradient) * -u.derivative
    };
    Some((u.value, r, std::array::from_fn(force)))
}

/// Restraints of axes: the second particle is moved, and the axis of the first is turned.
fn axes(system: &System, term: &BondedTerm<dyn AxisFamily>, e: &mut Evaluation) -> f64 {
    let links = &system.topology.axes;
    links.iter().map(|link| axis(system, term, link, e)).sum()
}

/// One restraint.
fn axis(system: &System, term: &BondedTerm<dyn AxisFamily>, link: &Link<2>, e: &mut Evaluation) -> f64 {
    let p = &system.particles;
    let Some(row) = term.rows.get(link.kind as usize).and_then(Option::as_ref) else {
        return 0.0;
    };
    let [i, j] = link.atoms.map(|a| a as usize);
    let d = nearest_image(&system.cell, p.positions[j] - p.positions[i]);
    let [_, _, z] = p.orientations.axes(i);
    let cosine = |moved: Vec3<Dual<f64>>, turn: Vec3<Dual<f64>>| {
        let (d, z) = (d.map(Dual::constant) + moved, z.map(Dual::constant));
        (z + turn.cross(z)).dot(d) / d.norm()
    };
    let rest = Vec3::zero();
    let u = term.family.energy_and_derivative(cosine(rest, rest).value, row);
    let gradient = |cosine: &dyn Fn(Vec3<Dual<f64>>) -> Dual<f64>| {
        Vec3::from([0, 1, 2].map(|axis| {
            let mut unit = [Dual::constant(0.0); 3];
            unit[axis] = Dual::variable(0.0);
            cosine(unit.into()).derivative
        }))
    };
    let force = gradient(&|moved| cosine(moved, rest)) * -u.derivative;
    add_virial(&mut e.virial, d, force);
    e.forces[j] += force;
    e.forces[i] -= force;
    e.torques[i] += gradient(&|turn| cosine(rest, turn)) * -u.derivative;
    u.value
}

fn distance([i, j]: [Vec3<Dual<f64>>; 2]) -> Dual<f64> {
    (j - i).norm()
}

fn angle([i, j, k]: [Vec3<Dual<f64>>; 3]) -> Dual<f64> {
    let (a, b) = (i - j, k - j);
    a.cross(b).norm().atan2(a.dot(b))
}

/// The angle between the planes ijk and jkl, positive clockwise along j→k (IUPAC).
fn dihedral([i, j, k, l]: [Vec3<Dual<f64>>; 4]) -> Dual<f64> {
    let (a, b, c) = (j - i, k - j, l - k);
    let (ab, bc) = (a.cross(b), b.cross(c));
    (b.norm() * a.dot(bc)).atan2(ab.dot(bc))
}

fn add_virial(virial: &mut [f64; 6], d: Vec3<f64>, f: Vec3<f64>) {
    let products = [d.x * f.x, d.y * f.y, d.z * f.z, d.x * f.y, d.x * f.z, d.y * f.z];
    virial.iter_mut().zip(products).for_each(|(w, x)| *w += x);
}

/// The image of a difference whose fractional coordinates lie within ±½ along periodic vectors.
fn near(cell: &Cell, d: Vec3<f64>) -> Vec3<f64> {
    let s = cell.fractional(d);
    let n = std::array::from_fn(|k| {
        if cell.periodic()[k] {
            s[k].round() as i32
        } else {
            0
        }
    });
    d - cell.translation(n)
}

/// Every lattice vector that can bring a difference made by [`near`] to within `distance`: along a
/// vector whose faces are h apart, |s + n| h ≤ distance with |s| ≤ ½.
fn images_within(cell: &Cell, distance: f64) -> Vec<Vec3<f64>> {
    let heights = cell.heights();
    let reach = |k: usize| {
        if cell.periodic()[k] {
            (distance / heights[k] + 0.5).ceil() as i32
        } else {
            0
        }
    };
    translations(cell, [reach(0), reach(1), reach(2)])
}

/// The shortest image of a difference: of all lattice vectors, the nearest few.
fn nearest_image(cell: &Cell, d: Vec3<f64>) -> Vec3<f64> {
    let base = near(cell, d);
    let reach = cell.periodic().map(|periodic| if periodic { 2 } else { 0 });
    let images = translations(cell, reach).into_iter().map(|shift| base + shift);
    images.fold(base, |best, d| if d.norm2() < best.norm2() { d } else { best })
}

fn translations(cell: &Cell, [a, b, c]: [i32; 3]) -> Vec<Vec3<f64>> {
    let mut all = Vec::new();
    for i in -a..=a {
        for j in -b..=b {
            for k in -c..=c {
                all.push(cell.translation([i, j, k]));
            }
        }
    }
    all
}
