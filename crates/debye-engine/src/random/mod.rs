//! [`Philox`]: random numbers from a counter, the same integers on every engine.
//!
//! Philox4x32-10 (Salmon, Moraes, Dror & Shaw, SC 2011) turns a 64-bit key and a 128-bit counter
//! into four 32-bit words. There is no state: a number is found by its address, so threads, devices
//! and restarts all see the same ones.
//!
//! # Addresses
//!
//! The key is the seed, low word first. The counter of a block is
//!
//! | word | holds |
//! |---|---|
//! | 0 | particle |
//! | 1 | stream (who asks, see [`stream`]) |
//! | 2 | low 32 bits of the step |
//! | 3 | bits 32..56 of the step, and the block number in the top 8 bits |
//!
//! Blocks 0 and 1 make [`Philox::normals`], 2 and 3 [`Philox::uniforms`], 4 and 5 the attempts of
//! [`Philox::gamma`], which counts them in the place of the particle. Functions of one address never
//! share integers. Steps repeat after 2⁵⁶.
//!
//! # From integers to reals
//!
//! Two words, the first one low, make a 64-bit integer whose upper 53 bits are k.
//! A uniform is k·2⁻⁵³ in [0, 1), or (k + 1)·2⁻⁵³ in (0, 1] where a logarithm follows.
//! Box–Muller takes k₁ from words 0 and 1 and k₂ from words 2 and 3 of a block:
//!
//! ```text
//! ρ = sqrt(−2 ln((k₁ + 1)·2⁻⁵³))
//! q = ((k₂ + 2⁵⁰) >> 51) & 3                                         the nearest quarter turn
//! θ = ((k₂ − ((k₂ + 2⁵⁰) >> 51 << 51))·2⁻⁵¹)·(π/2)                   in [−π/4, π/4)
//! (c, s) = (cos θ, sin θ), (−sin θ, cos θ), (−cos θ, −sin θ), (sin θ, −cos θ)  for q = 0, 1, 2, 3
//! normals = ρc, ρs
//! ```
//!
//! All up to ln, sin and cos is exact, and those are made of + − × ÷ alone: normals are equal, to the last bit, on
//! every platform and device that does not fuse multiplications with additions.

mod normals;

use normals::box_muller;

/// Who draws: the second word of the counter. One number per user, so that no two share integers.
pub mod stream {
    /// Langevin noise.
    pub const LANGEVIN: u32 = 0;
    /// Stochastic velocity rescaling.
    pub const BUSSI: u32 = 1;
    /// Stochastic cell rescaling.
    pub const BAROSTAT: u32 = 2;
    /// Initial velocities.
    pub const VELOCITIES: u32 = 3;
    /// Places in random builders.
    pub const PLACES: u32 = 4;
    /// Steps of polymer builders.
    pub const CHAINS: u32 = 5;
    /// Orientations of molecules in builders.
    pub const ORIENTATIONS: u32 = 6;
    /// Places of ions in builders.
    pub const IONS: u32 = 7;
    /// Initial angular momenta.
    pub const ROTATIONS: u32 = 8;
    /// Langevin noise of rotations.
    pub const LANGEVIN_ROTATIONS: u32 = 9;
    /// Places and rotations of lipids in builders.
    pub const LIPIDS: u32 = 10;
    /// Which species takes which place in builders.
    pub const MIXING: u32 = 11;
    /// Added once per thermostat to the stream of a thermostat, so that several share nothing.
    pub const THERMOSTATS: u32 = 1 << 8;
    /// The first one free for users of the library.
    pub const USER: u32 = 1 << 16;
}

pub(crate) const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
pub(crate) const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
pub(crate) const ROUNDS: u32 = 10;

pub(crate) const NORMALS: u32 = 0;
const UNIFORMS: u32 = 2;
pub(crate) const GAMMA: u32 = 4;

/// 2⁻⁵³.
const ULP: f64 = 1.0 / (1u64 << 53) as f64;

/// The generator of one seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Philox {
    key: [u32; 2],
}

impl Philox {
    /// The generator of a seed.
    pub const fn new(seed: u64) -> Self {
        Self {
            key: [seed as u32, (seed >> 32) as u32],
        }
    }

    /// The four words of a counter (Philox4x32-10).
    #[inline]
    pub const fn block(&self, counter: [u32; 4]) -> [u32; 4] {
        let [mut c0, mut c1, mut c2, mut c3] = counter;
        let [mut k0, mut k1] = self.key;
        let mut round = 0;
        while round < ROUNDS {
            let p0 = MULTIPLIERS[0] as u64 * c0 as u64;
            let p1 = MULTIPLIERS[1] as u64 * c2 as u64;
            (c0, c1, c2, c3) = (
                (p1 >> 32) as u32 ^ c1 ^ k0,
                p1 as u32,
                (p0 >> 32) as u32 ^ c3 ^ k1,
                p0 as u32,
            );
            k0 = k0.wrapping_add(WEYL[0]);
            k1 = k1.wrapping_add(WEYL[1]);
            round += 1;
        }
        [c0, c1, c2, c3]
    }

    /// The four words at an address; see the module for its layout.
    #[inline]
    pub const fn words(&self, step: u64, particle: u32, stream: u32, block: u32) -> [u32; 4] {
        let high = ((step >> 32) as u32 & 0x00FF_FFFF) | (block << 24);
        self.block([particle, stream, step as u32, high])
    }

    /// Three independent standard normals.
    #[inline]
    pub fn normals(&self, step: u64, particle: u32, stream: u32) -> [f64; 3] {
        let [x, y] = box_muller(self.words(step, particle, stream, NORMALS));
        let [z, _] = box_muller(self.words(step, particle, stream, NORMALS + 1));
        [x, y, z]
    }

    /// Uniform in [0, 1): the first of [`Philox::uniforms`].
    #[inline]
    pub fn uniform(&self, step: u64, particle: u32, stream: u32) -> f64 {
        let [low, high, ..] = self.words(step, particle, stream, UNIFORMS);
        upper53(low, high) as f64 * ULP
    }

    /// Four independent uniforms in [0, 1).
    #[inline]
    pub fn uniforms(&self, step: u64, particle: u32, stream: u32) -> [f64; 4] {
        let [a, b, c, d] = self.words(step, particle, stream, UNIFORMS);
        let [e, f, g, h] = self.words(step, particle, stream, UNIFORMS + 1);
        [[a, b], [c, d], [e, f], [g, h]].map(|[low, high]| upper53(low, high) as f64 * ULP)
    }

    /// A gamma variate of this shape and unit scale (Marsaglia & Tsang, ACM TOMS 26, 363 (2000)).
    ///
    /// Attempt t takes its normal from block 4 and its uniform from block 5 of particle t. A shape
    /// below one is raised by one and brought back with u^(1/shape), u being the second uniform of
    /// the accepted block 5. Zero for a shape that is not positive.
    pub fn gamma(&self, shape: f64, step: u64, stream: u32) -> f64 {
        if shape.is_nan() || shape <= 0.0 {
            return 0.0;
        }
        let raised = if shape < 1.0 { shape + 1.0 } else { shape };
        let d = raised - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        let mut attempt = 0;
        loop {
            let [x, _] = box_muller(self.words(step, attempt, stream, GAMMA));
            let [low, high, low2, high2] = self.words(step, attempt, stream, GAMMA + 1);
            let u = (upper53(low, high) + 1) as f64 * ULP;
            attempt += 1;
            let root = 1.0 + c * x;
            if root <= 0.0 {
                continue;
            }
            let v = root * root * root;
            if libm::log(u) < 0.5 * x * x + d * (1.0 - v + libm::log(v)) {
                let back = if shape < 1.0 {
                    libm::pow((upper53(low2, high2) + 1) as f64 * ULP, 1.0 / shape)
                } else {
                    1.0
                };
                return d * v * back;
            }
        }
    }

    /// The sum of the squares of `n` standard normals (χ² with n degrees of freedom), in a time that
    /// does not grow with n: what Bussi's thermostat asks for. Twice a gamma variate of shape n/2.
    pub fn sum_of_squares(&self, n: u64, step: u64, stream: u32) -> f64 {
        2.0 * self.gamma(n as f64 / 2.0, step, stream)
    }
}

/// The upper 53 of 64 bits.
#[inline]
const fn upper53(low: u32, high: u32) -> u64 {
    (low as u64 | ((high as u64) << 32)) >> 11
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(values: impl Iterator<Item = f64>) -> [f64; 4] {
        let (mut n, mut sums) = (0.0, [0.0; 4]);
        for v in values {
            n += 1.0;
            for (power, sum) in sums.iter_mut().enumerate() {
                *sum += v.powi(power as i32 + 1);
            }
        }
        sums.map(|sum| sum / n)
    }

    /// The vectors published with the Random123 library.
    #[test]
    fn known_answers() {
        assert_eq!(
            Philox::new(0).block([0; 4]),
            [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
        );
        assert_eq!(
            Philox::new(u64::MAX).block([u32::MAX; 4]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        assert_eq!(
            Philox::new(0x299f_31d0_a409_3822).block([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344]),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn addresses_are_distinct() {
        let philox = Philox::new(7);
        let a = philox.words(1 << 32, 3, 2, 0);
        for b in [
            philox.words(0, 3, 2, 0),
            philox.words(1 << 32, 4, 2, 0),
            philox.words(1 << 32, 3, 1, 0),
            philox.words(1 << 32, 3, 2, 1),
            Philox::new(7 + (1 << 32)).words(1 << 32, 3, 2, 0),
        ] {
            assert_ne!(a, b);
        }
        assert_eq!(philox.uniform(5, 6, 7), philox.uniforms(5, 6, 7)[0]);
    }

    #[test]
    fn box_muller_is_the_textbook_formula() {
        let philox = Philox::new(99);
        for i in 0..10_000 {
            let words = philox.words(0, i, 0, 0);
            let u = (upper53(words[0], words[1]) + 1) as f64 * ULP;
            let turn = std::f64::consts::TAU * (upper53(words[2], words[3]) as f64 * ULP);
            let radius = (-2.0 * u.ln()).sqrt();
            let [x, y] = box_muller(words);
            assert!((x - radius * turn.cos()).abs() < 1e-14);
            assert!((y - radius * turn.sin()).abs() < 1e-14);
        }
        assert!(box_muller([0; 4]).iter().all(|x| x.is_finite()));
        assert!(box_muller([u32::MAX; 4]).iter().all(|x| x.is_finite()));
    }

    #[test]
    fn normals_have_the_moments_of_a_normal() {
        let philox = Philox::new(12);
        let n = 200_000;
        let [m1, m2, m3, m4] = moments((0..n).flat_map(|i| philox.normals(3, i, 0)));
        // Five standard errors: variances of x, x², x³, x⁴ are 1, 2, 15, 96.
        let five = |variance: f64| 5.0 * (variance / f64::from(3 * n)).sqrt();
        assert!(m1.abs() < five(1.0), "{m1}");
        assert!((m2 - 1.0).abs() < five(2.0), "{m2}");
        assert!(m3.abs() < five(15.0), "{m3}");
        assert!((m4 - 3.0).abs() < five(96.0), "{m4}");
        let mut cross = [0.0; 3];
        for i in 0..n {
            let [x, y, z] = philox.normals(3, i, 0);
            let [next, ..] = philox.normals(4, i, 0);
            cross[0] += x * y;
            cross[1] += y * z;
            cross[2] += x * next;
        }
        assert!(
            cross.iter().all(|c| c.abs() < 5.0 * f64::from(n).sqrt()),
            "{cross:?}"
        );
    }

    #[test]
    fn uniforms_are_flat() {
        let philox = Philox::new(1);
        let n = 100_000u32;
        let mut bins = [0.0; 64];
        for u in (0..n).flat_map(|i| philox.uniforms(u64::from(i), 0, 9)) {
            assert!((0.0..1.0).contains(&u));
            bins[(u * 64.0) as usize] += 1.0;
        }
        let expected = f64::from(4 * n) / 64.0;
        let chi2: f64 = bins
            .iter()
            .map(|b| (b - expected) * (b - expected) / expected)
            .sum();
        // χ² with 63 degrees of freedom: mean 63, standard deviation 11.2.
        assert!((chi2 - 63.0).abs() < 5.0 * 11.2, "{chi2}");
    }

    #[test]
    fn sums_of_squares_have_the_moments_of_chi_squared() {
        let philox = Philox::new(5);
        assert_eq!(philox.sum_of_squares(0, 0, 0), 0.0);
        for n in [1, 2, 3, 5, 50, 95_997] {
            let (count, k) = (100_000, n as f64);
            let [m1, m2, ..] = moments((0..count).map(|step| philox.sum_of_squares(n, step, 1) - k));
            let variance = 2.0 * k;
            // Variance of the squared deviation: μ₄ − μ₂² = 8k² + 48k.
            let spread = 8.0 * k * k + 48.0 * k;
            assert!(
                m1.abs() < 5.0 * (variance / count as f64).sqrt(),
                "n {n} mean {m1}"
            );
            let error = (m2 - variance).abs();
            assert!(
                error < 5.0 * (spread / count as f64).sqrt(),
                "n {n} variance {m2}"
            );
        }
    }
}
