//! Where a point in space lies in a picture.

use crate::expr::Vec3;
use crate::system::Cell;

/// A view of the cell from outside, z upwards, slightly in perspective or not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Camera {
    center: Vec3<f64>,
    right: Vec3<f64>,
    up: Vec3<f64>,
    /// From the scene to the eye.
    towards: Vec3<f64>,
    /// 1 / distance of the eye; 0 for parallel rays.
    nearness: f64,
    /// Pixels per length at the center.
    pub(crate) scale: f64,
    middle: [f64; 2],
}

/// A projected point: pixels, depth (larger is nearer, in pixels), and magnification in pixels per length.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Projected {
    pub(crate) x: f32,
    pub(crate) y: f32,
    pub(crate) depth: f32,
    pub(crate) scale: f32,
}

impl Camera {
    /// Looks at `points` (corners of what must be seen) so that they fill a picture of `size` pixels
    /// but for a margin. Angles in degrees: `turn` about z, `tilt` above the horizon.
    pub(crate) fn new(
        points: &[Vec3<f64>],
        [turn, tilt]: [f64; 2],
        perspective: f64,
        size: [f64; 2],
        margins: [f64; 2],
    ) -> Self {
        let (sin_turn, cos_turn) = turn.to_radians().sin_cos();
        let (sin_tilt, cos_tilt) = tilt.to_radians().sin_cos();
        let towards = Vec3::new(cos_tilt * sin_turn, -cos_tilt * cos_turn, sin_tilt);
        let right = Vec3::new(cos_turn, sin_turn, 0.0);
        let sum = points.iter().fold(Vec3::zero(), |sum, &p| sum + p);
        let center = sum * (1.0 / points.len().max(1) as f64);
        let radius = points.iter().map(|&p| (p - center).norm()).fold(1e-12, f64::max);
        let mut camera = Self {
            center,
            right,
            up: towards.cross(right),
            towards,
            nearness: perspective.clamp(0.0, 0.6) / radius,
            scale: 1.0,
            middle: [0.0; 2],
        };
        let seen: Vec<Projected> = points.iter().map(|&p| camera.project(p)).collect();
        let range = |of: fn(&Projected) -> f32| {
            let low = seen.iter().map(of).fold(f32::INFINITY, f32::min);
            let high = seen.iter().map(of).fold(f32::NEG_INFINITY, f32::max);
            [f64::from(low), f64::from(high)]
        };
        let (x, y) = (range(|p| p.x), range(|p| p.y));
        let fit = |room: f64, [low, high]: [f64; 2]| room / (high - low).max(1e-9);
        camera.scale = fit(size[0] - 2.0 * margins[0], x).min(fit(size[1] - 2.0 * margins[1], y));
        camera.middle = [
            0.5 * size[0] - camera.scale * 0.5 * (x[0] + x[1]),
            0.5 * size[1] - camera.scale * 0.5 * (y[0] + y[1]),
        ];
        camera
    }

    /// The parts of a direction to the right and upwards in the picture.
    pub(crate) fn across(&self, direction: Vec3<f64>) -> [f64; 2] {
        [direction.dot(self.right), direction.dot(self.up)]
    }

    pub(crate) fn project(&self, r: Vec3<f64>) -> Projected {
        let d = r - self.center;
        let depth = d.dot(self.towards);
        let scale = self.scale / (1.0 - depth * self.nearness).max(0.1);
        Projected {
            x: (self.middle[0] + scale * d.dot(self.right)) as f32,
            y: (self.middle[1] - scale * d.dot(self.up)) as f32,
            depth: (depth * self.scale) as f32,
            scale: scale as f32,
        }
    }
}

/// The corners of a cell; bit k of the number is the end along vector k.
pub(crate) fn corners(cell: &Cell) -> [Vec3<f64>; 8] {
    std::array::from_fn(|n| cell.position(Vec3::new((n & 1) as f64, (n >> 1 & 1) as f64, (n >> 2) as f64)))
}
