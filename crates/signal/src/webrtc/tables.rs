//! The detector's numbers; where they come from is in `NOTICE`. `Qn` is a fixed point with n bits
//! behind it.

/// Bands, lowest first: 80–250, 250–500, 500–1000, 1000–2000, 2000–3000, 3000–4000 Hz.
pub(super) const BANDS: usize = 6;

/// A normal distribution of a band's level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gaussian {
    /// Share of the mixture, Q7; never changes.
    pub(super) weight: i16,
    /// Q7.
    pub(super) mean: i16,
    /// Standard deviation, Q7.
    pub(super) deviation: i16,
}

/// What is known of a band before anything is heard.
#[derive(Clone, Copy, Debug)]
pub(super) struct BandTable {
    pub(super) noise: [Gaussian; 2],
    pub(super) speech: [Gaussian; 2],
    /// Weight of the band in the test over all bands.
    pub(super) weight: i32,
    /// Speech stays this far above noise, Q5.
    pub(super) separation: i16,
    /// Highest mean of the speech, Q7.
    pub(super) highest_speech: i16,
    /// Highest mean of the noise, Q7.
    pub(super) highest_noise: i16,
    /// Added to the logarithm of the energy for what the band splitting halved, Q4.
    pub(super) level_offset: i16,
}

const fn gaussian(weight: i16, mean: i16, deviation: i16) -> Gaussian {
    Gaussian {
        weight,
        mean,
        deviation,
    }
}

pub(super) const TABLES: [BandTable; BANDS] = [
    BandTable {
        noise: [gaussian(34, 6738, 378), gaussian(94, 7646, 474)],
        speech: [gaussian(48, 8306, 555), gaussian(80, 9473, 509)],
        weight: 6,
        separation: 544,
        highest_speech: 11_392,
        highest_noise: 9216,
        level_offset: 368,
    },
    BandTable {
        noise: [gaussian(62, 4892, 1064), gaussian(66, 3863, 697)],
        speech: [gaussian(82, 10_085, 505), gaussian(46, 9571, 828)],
        weight: 8,
        separation: 544,
        highest_speech: 11_392,
        highest_noise: 9088,
        level_offset: 368,
    },
    BandTable {
        noise: [gaussian(72, 7065, 493), gaussian(56, 7820, 475)],
        speech: [gaussian(45, 10_078, 567), gaussian(83, 10_879, 492)],
        weight: 10,
        separation: 576,
        highest_speech: 11_520,
        highest_noise: 8960,
        level_offset: 272,
    },
    BandTable {
        noise: [gaussian(66, 6715, 582), gaussian(62, 7266, 688)],
        speech: [gaussian(87, 11_823, 524), gaussian(41, 7581, 1540)],
        weight: 12,
        separation: 576,
        highest_speech: 11_520,
        highest_noise: 8832,
        level_offset: 176,
    },
    BandTable {
        noise: [gaussian(53, 6771, 688), gaussian(75, 5020, 421)],
        speech: [gaussian(50, 11_843, 585), gaussian(78, 8180, 1079)],
        weight: 14,
        separation: 576,
        highest_speech: 11_520,
        highest_noise: 8704,
        level_offset: 176,
    },
    BandTable {
        noise: [gaussian(25, 3369, 593), gaussian(103, 4362, 455)],
        speech: [gaussian(47, 6309, 1231), gaussian(81, 7483, 850)],
        weight: 16,
        separation: 576,
        highest_speech: 11_520,
        highest_noise: 8576,
        level_offset: 176,
    },
];

/// What a mode asks of frames of 10, 20 and 30 ms.
#[derive(Clone, Copy, Debug)]
pub(super) struct ModeTable {
    /// Frames of hang-over after a short and after a long stretch of speech.
    pub(super) hang: [[i16; 3]; 2],
    /// Four times the log ratio from which on one band alone is enough.
    pub(super) one_band: [i32; 3],
    /// Weighted sum of log ratios from which on all bands together are enough.
    pub(super) all_bands: [i32; 3],
}

pub(super) const MODES: [ModeTable; 4] = [
    ModeTable {
        hang: [[8, 4, 3], [14, 7, 5]],
        one_band: [24, 21, 24],
        all_bands: [57, 48, 57],
    },
    ModeTable {
        hang: [[8, 4, 3], [14, 7, 5]],
        one_band: [37, 32, 37],
        all_bands: [100, 80, 100],
    },
    ModeTable {
        hang: [[6, 3, 2], [9, 5, 3]],
        one_band: [82, 78, 82],
        all_bands: [285, 260, 285],
    },
    ModeTable {
        hang: [[6, 3, 2], [9, 5, 3]],
        one_band: [94, 94, 94],
        all_bands: [1100, 1050, 1100],
    },
];

/// All-pass coefficients of the band splitting, Q15: even samples, odd samples.
pub(super) const SPLIT: [i32; 2] = [20_972, 5571];
/// All-pass coefficients of the halving of 32 and 16 kHz, Q13.
pub(super) const HALVE: [i32; 2] = [5243, 1392];
/// Zeros and poles of the 80 Hz high-pass at 500 Hz, Q14; its leading pole coefficient is 1.
pub(super) const HIGH_PASS: ([i32; 3], [i32; 2]) = ([6631, -13_262, 6631], [-7756, 5620]);
/// Three all-pass sections in a row, Q14: the branch of less and of more delay.
pub(super) const ALL_PASS: [[i32; 3]; 2] = [[821, 6110, 12_382], [3050, 9368, 15_063]];
/// Interpolation from three samples to two, Q15; the other phase is its mirror image.
pub(super) const TWO_THIRDS: [i32; 8] = [778, -2050, 1087, 23_285, 12_903, -3783, 441, 222];
