//! Box vectors and the lengths and angles some formats write instead.
//!
//! Lengths and angles do not say how the box is turned; the convention of all formats is a along
//! x and b in the xy plane (with positive components a_x, b_y, c_z).

/// Box vectors as rows.
pub(crate) type Cell = [[f64; 3]; 3];

/// A right-angled box.
pub(crate) fn from_lengths(lengths: [f64; 3]) -> Cell {
    [
        [lengths[0], 0.0, 0.0],
        [0.0, lengths[1], 0.0],
        [0.0, 0.0, lengths[2]],
    ]
}

/// Box vectors from lengths and the cosines of alpha (b, c), beta (a, c) and gamma (a, b); `None`
/// where no such box exists.
pub(crate) fn from_cosines(lengths: [f64; 3], cosines: [f64; 3]) -> Option<Cell> {
    let [a, b, c] = lengths;
    let [alpha, beta, gamma] = cosines;
    let sine = (1.0 - gamma * gamma).sqrt();
    let cx = c * beta;
    let cy = c * (alpha - beta * gamma) / sine;
    let cz = (c * c - cx * cx - cy * cy).sqrt();
    let cell = [[a, 0.0, 0.0], [b * gamma, b * sine, 0.0], [cx, cy, cz]];
    let diagonal_positive = (0..3).all(|axis| cell[axis][axis] > 0.0);
    (diagonal_positive && cell.iter().flatten().all(|value| value.is_finite())).then_some(cell)
}

/// Box vectors from lengths and angles in degrees.
pub(crate) fn from_degrees(lengths: [f64; 3], degrees: [f64; 3]) -> Option<Cell> {
    // The cosine of 90° in floating point is 6e-17; a right-angled box shall be exactly that.
    let cosine = |angle: f64| {
        if angle == 90.0 {
            0.0
        } else {
            angle.to_radians().cos()
        }
    };
    from_cosines(lengths, degrees.map(cosine))
}

/// The axes that turn a box of any orientation to the convention (a along x, b in the xy plane), as
/// rows; `None` where the vectors span no right-handed box.
pub(crate) fn standard_axes(cell: &Cell) -> Option<Cell> {
    let dot = |u: &[f64; 3], v: &[f64; 3]| u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
    let unit = |v: [f64; 3]| {
        let length = dot(&v, &v).sqrt();
        (length.is_finite() && length > 0.0).then(|| v.map(|x| x / length))
    };
    let [a, b, c] = cell;
    let x = unit(*a)?;
    let along = dot(b, &x);
    let y = unit([b[0] - along * x[0], b[1] - along * x[1], b[2] - along * x[2]])?;
    let z = [
        x[1] * y[2] - x[2] * y[1],
        x[2] * y[0] - x[0] * y[2],
        x[0] * y[1] - x[1] * y[0],
    ];
    (dot(c, &z) > 0.0).then_some([x, y, z])
}

/// A vector along other axes.
pub(crate) fn turned(vector: [f64; 3], axes: &Cell) -> [f64; 3] {
    axes.map(|axis| axis[0] * vector[0] + axis[1] * vector[1] + axis[2] * vector[2])
}

/// Box vectors along the axes of [`standard_axes`], the components that vanish exactly zero.
pub(crate) fn standard(cell: &Cell, axes: &Cell) -> Cell {
    let [a, b, c] = cell.map(|vector| turned(vector, axes));
    [[a[0], 0.0, 0.0], [b[0], b[1], 0.0], c]
}

/// Box vectors from the lengths and angles of a crystal; `Some(None)` for the unit cube, or no
/// lengths, by which structures without a crystal fill the record, `None` where no such box exists.
pub(crate) fn from_crystal(lengths: [f64; 3], degrees: [f64; 3]) -> Option<Option<Cell>> {
    if lengths == [1.0; 3] || lengths == [0.0; 3] {
        return Some(None);
    }
    from_degrees(lengths, degrees).map(Some)
}

/// Lengths and cosines of alpha, beta, gamma; `None` if the box is turned away from the
/// convention, since the positions would then no longer belong to it.
pub(crate) fn to_cosines(cell: &Cell) -> Option<([f64; 3], [f64; 3])> {
    let length = |v: &[f64; 3]| (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
    let dot = |u: &[f64; 3], v: &[f64; 3]| u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
    let [a, b, c] = cell;
    let lengths = [length(a), length(b), length(c)];
    let tolerance = 1e-6 * lengths[0].max(lengths[1]);
    let turned = a[1].abs().max(a[2].abs()).max(b[2].abs()) > tolerance;
    if turned || !(0..3).all(|axis| cell[axis][axis] > 0.0) {
        return None;
    }
    let cosines = [
        dot(b, c) / (lengths[1] * lengths[2]),
        dot(a, c) / (lengths[0] * lengths[2]),
        dot(a, b) / (lengths[0] * lengths[1]),
    ];
    Some((lengths, cosines))
}

/// A box of zeros is how several formats say "no box".
pub(crate) fn unless_zero(cell: Cell) -> Option<Cell> {
    cell.iter().flatten().any(|value| *value != 0.0).then_some(cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let cell = [[2.5, 0.0, 0.0], [0.5, 3.0, 0.0], [0.7, 0.9, 3.5]];
        let (lengths, cosines) = to_cosines(&cell).unwrap();
        let again = from_cosines(lengths, cosines).unwrap();
        for (u, v) in cell.iter().flatten().zip(again.iter().flatten()) {
            assert!((u - v).abs() < 1e-14, "{cell:?} {again:?}");
        }
        assert_eq!(
            from_degrees([1.0, 2.0, 3.0], [90.0; 3]).unwrap(),
            from_lengths([1.0, 2.0, 3.0])
        );
    }

    #[test]
    fn boxes_are_turned_to_the_convention() {
        let cell = [[3.0, 0.5, 0.2], [0.5, 4.0, -0.3], [0.2, -0.3, 5.0]];
        let axes = standard_axes(&cell).unwrap();
        let turned_cell = standard(&cell, &axes);
        let (lengths, _) = to_cosines(&turned_cell).unwrap();
        for (vector, length) in cell.iter().zip(lengths) {
            let norm = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
            assert!((norm - length).abs() < 1e-14);
        }
        assert!(standard_axes(&[[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 1.0]]).is_none());
        assert!(standard_axes(&[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]]).is_none());
    }

    #[test]
    fn impossible_boxes() {
        assert!(from_degrees([1.0; 3], [10.0, 100.0, 10.0]).is_none());
        assert!(from_degrees([1.0; 3], [90.0, 90.0, 0.0]).is_none());
        assert!(to_cosines(&[[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]).is_none());
    }
}
