//! [`Charges`]: what is spread over a mesh, and the mesh by plain loops on the host.

use debye::engines::cuda::mesh::MeshShape;

/// Charges to spread.
#[derive(Clone, Debug)]
pub struct Charges {
    /// Fractions of the cell, in 2^−32.
    pub places: Vec<[u32; 3]>,
    /// Their charges.
    pub charges: Vec<f64>,
}

impl Charges {
    /// So many at random, with the charges of water.
    pub fn random(number: usize) -> Self {
        let mut state = 1_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((state ^ (state >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32) as u32
        };
        Self {
            places: (0..number).map(|_| [next(), next(), next()]).collect(),
            charges: (0..number).map(|i| [-0.834, 0.417, 0.417][i % 3]).collect(),
        }
    }

    /// The same in the order of cubes of about so many mesh cells, as a simulation keeps them.
    pub fn ordered(&self, shape: &MeshShape, edge: u32) -> Self {
        let mut order: Vec<usize> = (0..self.places.len()).collect();
        order.sort_by_key(|&i| {
            let cube =
                |a: usize| ((u64::from(self.places[i][a]) * u64::from(shape.size[a])) >> 32) as u32 / edge;
            (cube(0), cube(1), cube(2))
        });
        Self {
            places: order.iter().map(|&i| self.places[i]).collect(),
            charges: order.iter().map(|&i| self.charges[i]).collect(),
        }
    }

    /// Slots and the charges of kinds, for a device.
    pub fn kinds(&self) -> (Vec<u32>, Vec<f64>) {
        let mut table: Vec<f64> = Vec::new();
        let mut known = std::collections::HashMap::new();
        let mut slots = Vec::with_capacity(4 * self.places.len());
        for (place, q) in self.places.iter().zip(&self.charges) {
            let kind = *known.entry(q.to_bits()).or_insert_with(|| {
                table.push(*q);
                table.len() as u32 - 1
            });
            slots.extend_from_slice(place);
            slots.push(kind);
        }
        (slots, table)
    }

    /// The mesh by a plain loop in double precision.
    pub fn mesh(&self, shape: &MeshShape) -> Vec<f64> {
        self.mesh_of(shape, |part| part)
    }

    /// The same with every part of every charge rounded to so many binary places.
    pub fn mesh_rounded(&self, shape: &MeshShape, bits: i32) -> Vec<f64> {
        let (scale, unit) = (2_f64.powi(bits), 2_f64.powi(-bits));
        self.mesh_of(shape, |part| (part * scale).round_ties_even() * unit)
    }

    fn mesh_of(&self, shape: &MeshShape, rounded: impl Fn(f64) -> f64) -> Vec<f64> {
        let n = shape.basis.points();
        let [kx, ky, kz] = shape.size.map(|k| k as usize);
        let mut mesh = vec![0.0; shape.points()];
        for (place, q) in self.places.iter().zip(&self.charges) {
            let along: [(usize, _); 3] = std::array::from_fn(|a| {
                let u = u64::from(place[a]) * u64::from(shape.size[a]);
                let first = (u >> 32) as i64 + i64::from(shape.basis.first());
                let rest = (u & 0xffff_ffff) as f64 / 4_294_967_296.0;
                let start = first.rem_euclid(i64::from(shape.size[a])) as usize;
                (start, shape.basis.weights::<f64>(rest).values)
            });
            for i in 0..n {
                let x = (along[0].0 + i) % kx;
                for j in 0..n {
                    let y = (along[1].0 + j) % ky;
                    let part = q * along[0].1[i] * along[1].1[j];
                    for k in 0..n {
                        let z = (along[2].0 + k) % kz;
                        mesh[(x * ky + y) * kz + z] += rounded(part * along[2].1[k]);
                    }
                }
            }
        }
        mesh
    }
}
