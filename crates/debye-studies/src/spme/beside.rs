//! [`InLammps`]: the same salt by LAMMPS, where it is installed.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use super::exact::Sums;
use super::salt::Salt;
use crate::lammps::{CALORIE, Lammps};
use crate::study::{StudyError, Work};

/// Steps of LAMMPS on one process, each a run of its own; charges alone, by PPPM of the paper's tolerance.
pub(super) struct InLammps<'i> {
    lammps: Lammps,
    salt: &'i Salt,
    folder: PathBuf,
    last: Option<Sums>,
}

impl<'i> InLammps<'i> {
    pub(super) fn new(lammps: Lammps, salt: &'i Salt) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("debye-study-spme-{}-{number}", std::process::id());
        Self {
            lammps,
            salt,
            folder: std::env::temp_dir().join(name),
            last: None,
        }
    }
}

impl Drop for InLammps<'_> {
    fn drop(&mut self) {
        // A folder that stays behind harms nobody.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Work<Sums> for InLammps<'_> {
    fn seconds(&mut self, passes: u32) -> Result<f64, StudyError> {
        let log = self
            .lammps
            .run(&data(self.salt), &input(self.salt, passes), &self.folder)?;
        if self.last.is_none() {
            let failed = |what: &str| StudyError::Other(format!("LAMMPS: {what}"));
            let dump = std::fs::read_to_string(self.folder.join("forces.txt"))
                .map_err(|_| failed("its forces are missing"))?;
            let energy = log.rows.first().and_then(|row| row.get(1));
            self.last = Some(Sums {
                energy: energy.ok_or_else(|| failed("its energy is missing"))? * CALORIE,
                forces: forces(&dump, self.salt.len())
                    .ok_or_else(|| failed("its forces are not complete"))?,
            });
        }
        Ok(log.seconds)
    }

    fn output(&mut self) -> Result<Sums, StudyError> {
        if self.last.is_none() {
            self.seconds(1)?;
        }
        self.last
            .clone()
            .ok_or_else(|| StudyError::other("LAMMPS gave nothing"))
    }
}

/// Forces of the first frame of a dump of `id fx fy fz`, in kJ/mol/nm, by the number of the ion.
fn forces(dump: &str, ions: usize) -> Option<Vec<[f64; 3]>> {
    let lines = dump.lines().skip_while(|line| !line.starts_with("ITEM: ATOMS"));
    let mut forces = vec![None; ions];
    for line in lines.skip(1).take(ions) {
        let numbers: Vec<f64> = line
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        let [id, x, y, z] = numbers[..] else { return None };
        let number = (id as usize).checked_sub(1)?;
        *forces.get_mut(number)? = Some([x, y, z].map(|f| f * CALORIE * 10.0));
    }
    forces.into_iter().collect()
}

fn data(salt: &Salt) -> String {
    let (n, side) = (salt.len(), 10.0 * salt.side);
    let mut text = format!(
        "rock salt\n\n{n} atoms\n2 atom types\n\n0 {side} xlo xhi\n0 {side} ylo yhi\n0 {side} zlo zhi\n\n\
         Masses\n\n1 22.990\n2 35.45\n\nAtoms # charge\n\n"
    );
    for (i, (r, q)) in salt.positions.iter().zip(&salt.charges).enumerate() {
        let [x, y, z] = r.map(|x| 10.0 * x);
        let _ = writeln!(text, "{} {} {q} {x} {y} {z}", i + 1, 1 + u32::from(*q < 0.0));
    }
    text
}

fn input(salt: &Salt, steps: u32) -> String {
    format!(
        "units real\natom_style charge\nread_data system.data\n\
         pair_style coul/long {}\npair_coeff * *\nkspace_style pppm {:e}\n\
         timestep 1e-4\nfix 1 all nve\nthermo {steps}\nthermo_style custom step pe\n\
         thermo_modify norm no format float %20.12g\n\
         dump 1 all custom 1000000 forces.txt id fx fy fz\ndump_modify 1 format float %20.12g\nrun {steps}\n",
        10.0 * salt.cutoff,
        salt.tolerance,
    )
}

#[cfg(test)]
mod tests {
    use super::super::salt::Ions;
    use super::*;

    #[test]
    fn ions_are_written_and_forces_read() {
        let salt = Salt::new(Ions::Perfect, 1);
        let text = data(&salt);
        assert!(text.contains("8 atoms\n2 atom types"));
        assert_eq!(
            text.lines().filter(|line| line.split(' ').count() == 6).count(),
            8
        );
        assert!(input(&salt, 7).contains("run 7"));
        let dump = "ITEM: TIMESTEP\n0\nITEM: ATOMS id fx fy fz\n2 1 2 3\n1 -1 0 0.5\nITEM: TIMESTEP\n";
        let found = forces(dump, 2).expect("two forces");
        assert!((found[1][2] - 125.52).abs() < 1e-9 && found[0][0] == -CALORIE * 10.0);
        assert!(forces(dump, 3).is_none());
    }
}
