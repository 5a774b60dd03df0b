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

/// The color of what is not a number.
pub const MISSING: Rgb = [150, 150, 150];

/// A color for a value from −1 to 1: red over near-white to blue, as maps of potentials are colored. Lightness falls
/// evenly from the middle, by the same amount on both sides, in the color space Oklab (Ottosson 2020). NaN is
/// [`MISSING`].
pub fn diverging(value: f64) -> Rgb {
    const RED: f64 = 26.0;
    const BLUE: f64 = 258.0;
    if value.is_nan() {
        return MISSING;
    }
    let strength = value.abs().min(1.0);
    let hue = if value < 0.0 { RED } else { BLUE };
    let lightness = 0.965 - 0.5 * strength;
    let chroma = 0.168 * (strength * std::f64::consts::FRAC_PI_2).sin();
    let (sin, cos) = hue.to_radians().sin_cos();
    from_oklab([lightness, chroma * cos, chroma * sin])
}

/// Ottosson, "A perceptual color space for image processing" (2020).
fn from_oklab([lightness, a, b]: [f64; 3]) -> Rgb {
    const CONES: [[f64; 2]; 3] = [
        [0.396_337_777_4, 0.215_803_757_3],
        [-0.105_561_345_8, -0.063_854_172_8],
        [-0.089_484_177_5, -1.291_485_548_0],
    ];
    const LIGHT: [[f64; 3]; 3] = [
        [4.076_741_662_1, -3.307_711_591_3, 0.230_969_929_2],
        [-1.268_438_004_6, 2.609_757_401_1, -0.341_319_396_5],
        [-0.004_196_086_3, -0.703_418_614_7, 1.707_614_701_0],
    ];
    let cones = CONES.map(|row| (lightness + row[0] * a + row[1] * b).powi(3));
    LIGHT.map(|row| {
        let linear = row[0] * cones[0] + row[1] * cones[1] + row[2] * cones[2];
        // The transfer function of sRGB (IEC 61966-2-1).
        let coded = match linear {
            x if x <= 0.003_130_8 => 12.92 * x,
            x => 1.055 * x.powf(1.0 / 2.4) - 0.055,
        };
        (255.0 * coded).round().clamp(0.0, 255.0) as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lightness L* of CIE 1976, another measure than the one the colors are made by.
    fn lightness(color: Rgb) -> f64 {
        let linear = color.map(|c| match f64::from(c) / 255.0 {
            x if x <= 0.04045 => x / 12.92,
            x => ((x + 0.055) / 1.055).powf(2.4),
        });
        let y = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
        116.0 * y.cbrt() - 16.0
    }

    #[test]
    fn both_signs_darken_alike() {
        for k in 0..20 {
            let at = |k: i32| f64::from(k) / 20.0;
            let [red, blue] = [-at(k), at(k)].map(|v| lightness(diverging(v)));
            assert!((red - blue).abs() < 6.0, "{k}: {red} {blue}");
            for sign in [-1.0, 1.0] {
                let fall = lightness(diverging(sign * at(k))) - lightness(diverging(sign * at(k + 1)));
                assert!((1.5..4.5).contains(&fall), "{k}: {fall}");
            }
        }
    }

    #[test]
    fn beyond_the_ends() {
        assert_eq!(diverging(f64::INFINITY), diverging(1.0));
        assert_eq!(diverging(f64::NEG_INFINITY), diverging(-1.0));
        assert_eq!(diverging(f64::NAN), MISSING);
        let ([red, _, blue], [r, _, b]) = (diverging(-1.0), diverging(1.0));
        assert!(red > blue && b > r);
        assert_eq!(diverging(0.0), diverging(-0.0));
    }
}
