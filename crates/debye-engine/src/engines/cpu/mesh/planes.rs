//! [`Planes`]: values at the points of a mesh, planes of x, rows of y, z along a row, each row with room beyond its end.

use super::MeshReal;

/// Places beyond the end of a row.
pub(super) const PAD: usize = 8;

/// Values at the points of a mesh.
pub(super) struct Planes<T> {
    size: [usize; 3],
    pub(super) values: Vec<T>,
}

impl<T: MeshReal> Planes<T> {
    pub(super) fn new(size: [usize; 3]) -> Self {
        Self {
            size,
            values: vec![T::of(0.0); size[0] * size[1] * (size[2] + PAD)],
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.values.capacity() * size_of::<T>()
    }

    /// Places of a row.
    pub(super) fn pitch(&self) -> usize {
        self.size[2] + PAD
    }

    /// Places of a plane.
    pub(super) fn plane_length(&self) -> usize {
        self.size[1] * self.pitch()
    }

    /// Values without the room beyond rows.
    pub(super) fn packed(&self) -> Vec<T> {
        let rows = self.values.chunks_exact(self.pitch());
        rows.flat_map(|row| &row[..self.size[2]]).copied().collect()
    }

    /// Takes such values; rows go on with their beginning.
    pub(super) fn unpack(&mut self, packed: &[T]) {
        let (pitch, along_z) = (self.pitch(), self.size[2]);
        let rows = self.values.chunks_exact_mut(pitch);
        for (to, from) in rows.zip(packed.chunks_exact(along_z)) {
            to[..along_z].copy_from_slice(from);
            for k in 0..PAD {
                to[along_z + k] = from[k % along_z];
            }
        }
    }
}
