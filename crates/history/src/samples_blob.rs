//! Raw samples as a compressed blob that gives back every bit.
//!
//! The bytes of all samples are gathered by significance first: signs and exponents of times are
//! alike, so that they all but vanish.

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

/// More than any measurement has; what claims to be larger is damaged.
const MOST_BYTES: usize = 1 << 31;

/// Packs samples.
pub fn pack(samples: &[f64]) -> Vec<u8> {
    let bytes: Vec<[u8; 8]> = samples.iter().map(|sample| sample.to_be_bytes()).collect();
    let planes: Vec<u8> = (0..8)
        .flat_map(|place| bytes.iter().map(move |b| b[place]))
        .collect();
    compress_to_vec_zlib(&planes, 6)
}

/// Unpacks samples; `None` where the blob is damaged.
pub fn unpack(blob: &[u8]) -> Option<Vec<f64>> {
    let planes = decompress_to_vec_zlib_with_limit(blob, MOST_BYTES).ok()?;
    let count = planes.len() / 8;
    if count * 8 != planes.len() {
        return None;
    }
    Some(
        (0..count)
            .map(|index| {
                f64::from_be_bytes(std::array::from_fn(|place| planes[place * count + index]))
            })
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_damaged_blob_is_refused() {
        let mut blob = pack(&[1.0, 2.0, 3.0]);
        blob.truncate(blob.len() - 3);
        assert_eq!(unpack(&blob), None);
        assert_eq!(unpack(&[]), None);
    }

    #[test]
    fn times_shrink() {
        let mut random = warpsmith_workload::random::Random::seeded(1);
        let samples: Vec<f64> = (0..10_000)
            .map(|_| 1e-5 * (1.0 + 0.01 * random.normal()))
            .collect();
        assert!(pack(&samples).len() < 70_000);
    }

    proptest! {
        #[test]
        fn every_bit_comes_back(samples in prop::collection::vec(any::<f64>(), 0..300)) {
            let back = unpack(&pack(&samples)).unwrap();
            prop_assert!(samples.iter().zip(&back).all(|(a, b)| a.to_bits() == b.to_bits()));
            prop_assert_eq!(samples.len(), back.len());
        }
    }
}
