//! Numbers of the paper. Its figures print no numbers; these are the ones that its authors drew them from, in the
//! notebook `LongRangeInteractions/examples/plots.ipynb` of the repository that the paper names.

/// Who measured.
pub(super) const GPU: &str = "NVIDIA 2080, notebook of the paper's repository";
/// Beside what.
pub(super) const CORE: &str = "LAMMPS on one core, notebook of the paper's repository";
/// Ions of Figs. 4, 5 and 7: 3 to 9 cells along an axis.
pub(super) const IONS: [f64; 7] = [216.0, 512.0, 1000.0, 1728.0, 2744.0, 4096.0, 5832.0];
/// Fig. 4, ms: the real-space sum on the GPU.
pub(super) const REAL: [f64; 7] = [0.79, 0.8205, 0.9003, 1.5787, 2.2657, 2.673, 4.167];
/// Fig. 4, ms: pairs in LAMMPS on one core.
pub(super) const REAL_LAMMPS: [f64; 7] = [0.431, 1.0327, 2.0467, 3.494, 5.3759, 8.373, 11.427];
/// Fig. 5, µs.
pub(super) const INTERPOLATION: [f64; 7] = [58.539, 57.37, 58.92, 72.771, 206.79, 360.653, 688.0];
/// Fig. 6. The notebook has 5e-3 in the second place, where 5e-4 must be meant.
pub(super) const TOLERANCES: [f64; 7] = [1e-3, 5e-4, 1e-4, 5e-5, 1e-5, 5e-6, 1e-6];
/// Fig. 6, ms.
pub(super) const TRANSFORM: [f64; 7] = [1.568, 1.621, 1.663, 1.689, 1.978, 2.32, 9.342];
/// Fig. 7, ms: the whole sum on the GPU.
pub(super) const WHOLE: [f64; 7] = [3.541, 4.043, 16.11, 20.434, 23.451, 31.393, 45.343];
/// Fig. 7, ms: LAMMPS on one core.
pub(super) const WHOLE_LAMMPS: [f64; 7] = [0.9519, 2.9018, 10.1117, 28.713, 56.2549, 130.553, 269.657];
