//! Ions placed at the extrema of the potential of a molecule: what the paper's maps are for.

use debye::prelude::{DeviceChoice, IonRequest, MapSubject, Units, Vec3};
use debye_gpu::Device;

use super::input::EXCLUSION;
use crate::random::Random;
use crate::study::{Bench, Input, OnHost, Place, Section, StudyError, Table, Variant, Work, seconds};

/// A ball of charges that is not neutral.
pub struct Solute {
    subject: MapSubject,
    ions: usize,
}

impl Solute {
    /// So many atoms at 100 per nm³, with a charge that so many ions take away.
    pub fn new(atoms: usize, ions: usize) -> Self {
        let radius = (0.75 * atoms as f64 / (100.0 * std::f64::consts::PI)).cbrt();
        let mut random = Random(3);
        let mut positions = Vec::new();
        while positions.len() < atoms {
            let r = Vec3::from([0; 3].map(|_| 2.0 * random.unit() - 1.0));
            if r.norm2() < 1.0 {
                positions.push(r * radius);
            }
        }
        let excess = ions as f64 / atoms as f64;
        let charges = (0..atoms).map(|i| [0.4, -0.4][i % 2] - excess).collect();
        let mut subject = MapSubject::new(positions, charges);
        for (i, atom) in subject.structure.atoms.iter_mut().enumerate() {
            atom.name = "C".into();
            atom.residue_number = i as i64;
        }
        Self { subject, ions }
    }
}

/// Places and potentials of ions.
pub type Places = Vec<(Vec3<f64>, f64)>;

impl Input for Solute {
    type Output = Places;

    fn label(&self) -> String {
        format!("{} ions around {} atoms", self.ions, self.subject.positions.len())
    }

    fn work(&self) -> f64 {
        self.ions as f64
    }

    /// The potential at every ion, of the molecule and of the ions before it, against a sum in double precision.
    fn error(&self, placed: &Places) -> f64 {
        if placed.len() != self.ions {
            return f64::NAN;
        }
        let k = Units::Md.coulomb_constant();
        let term = |at: Vec3<f64>, r: Vec3<f64>| k / (at - r).norm2().sqrt().max(EXCLUSION);
        let (mut worst, mut largest) = (0.0_f64, 0.0_f64);
        for (n, &(at, potential)) in placed.iter().enumerate() {
            let atoms = self.subject.positions.iter().zip(&self.subject.charges);
            let molecule: f64 = atoms.map(|(&r, q)| q * term(at, r)).sum();
            let before: f64 = placed[..n].iter().map(|&(r, _)| term(at, r)).sum();
            worst = worst.max((molecule + before - potential).abs());
            largest = largest.max((molecule + before).abs());
        }
        worst / largest
    }
}

/// `debye ionize` as a library call, with the map computed in a place; the engine chooses the method.
pub struct PlaceIons(pub Place);

impl Variant<Solute> for PlaceIons {
    fn name(&self) -> String {
        match self.0 {
            Place::Cpu => "CPU engine, extrema".into(),
            Place::Cuda => "GPU engine, extrema".into(),
        }
    }

    fn place(&self) -> Place {
        self.0
    }

    /// The engine asks for a map of 1e-5, as √⟨ΔV²⟩/√⟨V²⟩; a point may be off by more.
    fn tolerance(&self) -> f64 {
        1e-4
    }

    fn prepare<'i>(
        &self,
        solute: &'i Solute,
        device: Option<&Device>,
    ) -> Result<Box<dyn Work<Places> + 'i>, StudyError> {
        let device = match self.0 {
            Place::Cpu => None,
            Place::Cuda => Some(device.ok_or(StudyError::NoDevice)?.clone()),
        };
        let request = IonRequest {
            device: DeviceChoice::Cpu,
            ..IonRequest::default()
        };
        Ok(OnHost::boxed(move || {
            let ionized = match &device {
                Some(device) => request.place_on_device(&solute.subject, device)?,
                None => request.place(&solute.subject)?,
            };
            Ok(ionized
                .ions
                .iter()
                .map(|ion| (ion.position, ion.potential))
                .collect())
        }))
    }
}

/// Ion placement, the use of maps in section 15.1.
pub(super) fn measure(bench: &mut Bench<'_>) {
    for (atoms, ions) in bench
        .extent
        .pick(vec![(200, 3)], vec![(2000, 20)], vec![(2000, 20), (50_000, 200)])
    {
        let solute = Solute::new(atoms, ions);
        for place in [Place::Cpu, Place::Cuda] {
            bench.measure("ions", "ions", atoms as f64, &solute, &PlaceIons(place));
        }
    }
    let rows = bench.found.rows.iter().filter(|row| row.ladder == "ions");
    let rows: Vec<Vec<String>> = rows
        .map(|row| {
            vec![
                row.input.clone(),
                row.place.name().into(),
                row.seconds.map_or("not measured".into(), seconds),
            ]
        })
        .collect();
    bench.found.sections.push(Section {
        title: "Ions at extrema of the potential (§15.1)".into(),
        meaning: "Each ion goes to the lowest place of its energy that keeps its distances, and its own potential is added \
                  before the next. The map of the molecule is computed once."
            .into(),
        tables: vec![Table {
            name: "ions".into(),
            title: "Time of `debye ionize`, files aside".into(),
            head: ["", "map computed on", "time"].map(String::from).into(),
            rows,
        }],
        ..Section::default()
    });
}
