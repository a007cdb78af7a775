//! Random numbers of the Langevin thermostat: normal numbers that are a function of seed, step and
//! atom alone, so that neither order, nor threads, nor a restart changes them.
//!
//! The bits are those of Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2,
//! 3", 2011); two Box–Muller pairs make normal numbers of them.

use std::f64::consts::TAU;

/// Four times 32 bits of the block `counter` under `key`.
pub(crate) fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    const FACTORS: [u64; 2] = [0xD251_1F53, 0xCD9E_8D57];
    const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
    for round in 0..10 {
        if round > 0 {
            key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
        }
        let (a, b) = (
            FACTORS[0] * u64::from(counter[0]),
            FACTORS[1] * u64::from(counter[2]),
        );
        counter = [
            (b >> 32) as u32 ^ counter[1] ^ key[0],
            b as u32,
            (a >> 32) as u32 ^ counter[3] ^ key[1],
            a as u32,
        ];
    }
    counter
}

/// Three standard normal numbers for `atom` at `step`.
pub(crate) fn normals(seed: u64, step: u64, atom: u32) -> [f64; 3] {
    let counter = [atom, 0, step as u32, (step >> 32) as u32];
    let bits = philox(counter, [seed as u32, (seed >> 32) as u32]);
    // 24 bits and a half: never zero, never one, and the same value in f32 on a GPU.
    let unit = bits.map(|bits| (f64::from(bits >> 8) + 0.5) / f64::from(1 << 24));
    let radius = |unit: f64| (-2.0 * unit.ln()).sqrt();
    let (near, far) = (radius(unit[0]), radius(unit[2]));
    let (sine, cosine) = (TAU * unit[1]).sin_cos();
    [near * cosine, near * sine, far * (TAU * unit[3]).cos()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_those_of_the_paper() {
        // Known answers of the Random123 distribution.
        assert_eq!(
            philox([0; 4], [0; 2]),
            [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
        );
        assert_eq!(
            philox([u32::MAX; 4], [u32::MAX; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
    }

    #[test]
    fn numbers_are_normal_and_independent_of_their_neighbours() {
        let (mut mean, mut square, mut fourth, mut lagged) = (0.0, 0.0, 0.0, 0.0);
        let mut before = 0.0;
        let count = 3.0 * 40_000.0;
        for atom in 0..40_000 {
            for x in normals(7, 3, atom) {
                mean += x / count;
                square += x * x / count;
                fourth += x.powi(4) / count;
                lagged += x * before / count;
                before = x;
            }
        }
        // Standard errors: 0.003, 0.004, 0.03, 0.003; five of each.
        assert!(
            mean.abs() < 0.015 && (square - 1.0).abs() < 0.02,
            "{mean} {square}"
        );
        assert!(
            (fourth - 3.0).abs() < 0.15 && lagged.abs() < 0.015,
            "{fourth} {lagged}"
        );
    }
}
