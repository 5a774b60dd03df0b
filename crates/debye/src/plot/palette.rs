//! Colors that stay apart for color-blind readers, in print, and on light and dark paper.

/// Red, green, blue, 0 to 255.
pub type Rgb = [u8; 3];

/// After Okabe & Ito (2008), toned down a little: blue, vermilion, green, purple, orange, sky.
pub(crate) const LIGHT: [Rgb; 6] = [
    [0x1f, 0x6f, 0xb2],
    [0xcf, 0x5a, 0x1e],
    [0x17, 0x8f, 0x6d],
    [0xa8, 0x5c, 0x92],
    [0xc9, 0x90, 0x12],
    [0x4f, 0xa3, 0xcf],
];

/// The same for dark paper.
pub(crate) const DARK: [Rgb; 6] = [
    [0x6c, 0xb0, 0xee],
    [0xf0, 0x8c, 0x55],
    [0x4c, 0xc4, 0x9f],
    [0xd5, 0x92, 0xc2],
    [0xe8, 0xb8, 0x4a],
    [0x8f, 0xd0, 0xf0],
];

/// The color of series or species number `index`.
pub fn series_color(index: usize) -> Rgb {
    LIGHT[index % LIGHT.len()]
}

/// The same for a sphere, lighter, since its shaded side darkens it.
pub(crate) fn sphere_color(index: usize) -> Rgb {
    series_color(index).map(|c| c + (f32::from(255 - c) * 0.2) as u8)
}

/// A color for a value from 0 to 1: dark blue over teal to pale yellow, rising evenly in lightness, so
/// that it also reads in gray and with any color vision.
pub fn gradient(value: f64) -> Rgb {
    const STOPS: [[f64; 3]; 6] = [
        [33.0, 38.0, 92.0],
        [44.0, 83.0, 138.0],
        [41.0, 128.0, 142.0],
        [69.0, 170.0, 126.0],
        [158.0, 205.0, 98.0],
        [250.0, 231.0, 115.0],
    ];
    let at = if value.is_nan() {
        0.0
    } else {
        value.clamp(0.0, 1.0)
    } * (STOPS.len() - 1) as f64;
    let below = (at as usize).min(STOPS.len() - 2);
    let rest = at - below as f64;
    std::array::from_fn(|k| (STOPS[below][k] * (1.0 - rest) + STOPS[below + 1][k] * rest).round() as u8)
}
