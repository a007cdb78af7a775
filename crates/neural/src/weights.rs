//! Tensors by name, from the files in which packages carry them.
//!
//! Files are not trusted: every size is checked before it is used, and nothing in them is ever executed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use warpsmith_signal::{Result, SignalError};

use crate::archive::Archive;
use crate::pickle::StateDict;

/// Why a file of weights cannot be used, and at which byte that was seen.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed {
    pub(crate) offset: usize,
    pub(crate) reason: String,
}

impl Malformed {
    pub(crate) fn new(offset: usize, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self { offset, reason }
    }
}

/// The `length` bytes from `offset` on.
pub(crate) fn part(bytes: &[u8], offset: usize, length: usize) -> Result<&[u8], Malformed> {
    let offset = offset.min(bytes.len());
    bytes[offset..]
        .get(..length)
        .ok_or_else(|| Malformed::new(offset, format!("{length} bytes are missing")))
}

/// An unsigned number of up to eight bytes, the lowest first.
pub(crate) fn number(bytes: &[u8], offset: usize, length: usize) -> Result<usize, Malformed> {
    let bytes = part(bytes, offset, length)?;
    let value = bytes
        .iter()
        .rev()
        .fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    usize::try_from(value).map_err(|_| Malformed::new(offset, format!("{value} is too large")))
}

/// Numbers in rows, the last dimension the fastest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tensor {
    /// Sizes of the dimensions.
    pub(crate) shape: Vec<usize>,
    /// The numbers.
    pub(crate) values: Vec<f32>,
}

impl Tensor {
    /// The tensor whose numbers are the bytes from `offset` on, as many as the shape says.
    pub(crate) fn from_bytes(
        shape: Vec<usize>,
        bytes: &[u8],
        offset: usize,
    ) -> Result<Self, Malformed> {
        let length = shape
            .iter()
            .try_fold(4usize, |product, size| product.checked_mul(*size))
            .ok_or_else(|| Malformed::new(offset, format!("no tensor is {shape:?}")))?;
        let (numbers, _) = part(bytes, offset, length)?.as_chunks();
        Ok(Self {
            shape,
            values: numbers
                .iter()
                .map(|four| f32::from_le_bytes(*four))
                .collect(),
        })
    }
}

/// The tensors of a network.
#[derive(Clone, Debug)]
pub struct Weights {
    path: PathBuf,
    tensors: BTreeMap<String, Tensor>,
}

impl Weights {
    /// Reads what PyTorch saved, a state dictionary (`.pth`) or a TorchScript module (`.jit`), or the wheel of a
    /// package that has one of them in it: the smallest, where there are several.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|source| SignalError::Io {
            path: path.to_owned(),
            source,
        })?;
        let tensors = tensors(&bytes).map_err(|error| SignalError::Decode {
            path: path.to_owned(),
            place: format!("at byte {}", error.offset),
            reason: error.reason,
        })?;
        Ok(Self {
            path: path.to_owned(),
            tensors,
        })
    }

    /// Tensors of these names and shapes, with numbers that nobody trained.
    pub fn made_of(tensors: impl IntoIterator<Item = (String, Vec<usize>, Vec<f32>)>) -> Self {
        let tensors = tensors.into_iter();
        Self {
            path: "made up".into(),
            tensors: tensors
                .map(|(name, shape, values)| (name, Tensor { shape, values }))
                .collect(),
        }
    }

    /// Small numbers in tensors of these names and shapes.
    pub fn made_up(shapes: impl IntoIterator<Item = (String, Vec<usize>)>) -> Self {
        Self::made_of(shapes.into_iter().map(|(name, shape)| {
            let (count, outputs) = (shape.iter().product::<usize>(), shape[0]);
            // As wide as a sum of so many may be for its result to be near one.
            let width = (3.0 * outputs as f32 / count as f32).sqrt();
            let noise = |n: usize| (n as u32 + 77).wrapping_mul(2_654_435_761) >> 8;
            let values = (0..count).map(|n| width * (noise(n) as f32 / 8_388_608.0 - 1.0));
            (name, shape, values.collect())
        }))
    }

    /// The tensor of this name, which must have this shape and finite numbers.
    pub fn take(&self, name: &str, shape: &[usize]) -> Result<&[f32]> {
        let tensor = self.tensors.get(name);
        let found = match tensor {
            Some(tensor) if tensor.shape == shape => {
                if tensor.values.iter().all(|value| value.is_finite()) {
                    return Ok(&tensor.values);
                }
                "has numbers that are not finite".to_owned()
            }
            Some(tensor) => format!("is {:?}, not {shape:?}", tensor.shape),
            None => "is missing".to_owned(),
        };
        Err(self.unlike(&format!("tensor `{name}` {found}")))
    }

    /// That these are not the weights of a network.
    pub fn unlike(&self, reason: &str) -> SignalError {
        SignalError::Decode {
            path: self.path.clone(),
            place: "as the weights of this network".into(),
            reason: reason.to_owned(),
        }
    }

    /// The size of a tensor's first dimension, 0 where there is none.
    pub fn rows(&self, name: &str) -> usize {
        let shape = self.tensors.get(name).map(|tensor| &tensor.shape[..]);
        shape.and_then(|shape| shape.first()).copied().unwrap_or(0)
    }
}

fn tensors(bytes: &[u8]) -> Result<BTreeMap<String, Tensor>, Malformed> {
    let archive = Archive::open(bytes)?;
    if let Some(dict) = StateDict::find(&archive)? {
        return dict.tensors(&archive);
    }
    let inner = archive.smallest(&[".jit", ".pth"]);
    let inner =
        inner.ok_or_else(|| Malformed::new(0, "there is no data.pkl, .jit or .pth in it"))?;
    let inner = archive.content(inner)?;
    let archive = Archive::open(&inner)?;
    let dict = StateDict::find(&archive)?;
    dict.ok_or_else(|| Malformed::new(0, "the file in it has no data.pkl"))?
        .tensors(&archive)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An archive of stored files.
    fn archive_of(files: &[(&str, &[u8])]) -> Vec<u8> {
        let (mut bytes, mut directory) = (Vec::new(), Vec::<u8>::new());
        for (name, content) in files {
            let size = (content.len() as u32).to_le_bytes();
            let name_size = (name.len() as u16).to_le_bytes();
            let at = (bytes.len() as u32).to_le_bytes();
            bytes.extend(b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0");
            for field in [
                &size[..],
                &size,
                &name_size,
                &[0, 0],
                name.as_bytes(),
                content,
            ] {
                bytes.extend(field);
            }
            directory.extend(b"PK\x01\x02\x14\0\x14\0\0\0\0\0\0\0\0\0\0\0\0\0");
            for field in [&size[..], &size, &name_size, &[0; 12], &at, name.as_bytes()] {
                directory.extend(field);
            }
        }
        let (at, size) = (bytes.len() as u32, directory.len() as u32);
        let count = (files.len() as u16).to_le_bytes();
        bytes.extend(directory);
        bytes.extend(b"PK\x05\x06\0\0\0\0");
        for field in [
            &count[..],
            &count,
            &size.to_le_bytes(),
            &at.to_le_bytes(),
            &[0, 0],
        ] {
            bytes.extend(field);
        }
        bytes
    }

    /// What PyTorch writes for `{"x": tensor([1., -2.])}`.
    fn pickled() -> Vec<u8> {
        let mut pickle = b"\x80\x02ccollections\nOrderedDict\nq\0)Rq\x01(X\x01\0\0\0x".to_vec();
        pickle.extend(
            b"ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\n",
        );
        pickle.extend(b"X\x01\0\0\x007X\x03\0\0\0cpuK\x02tQK\0K\x02\x85K\x01\x85\x89h\0)RtRu.");
        archive_of(&[
            ("model/data.pkl", &pickle),
            ("model/data/7", &[0, 0, 128, 63, 0, 0, 0, 192]),
        ])
    }

    #[test]
    fn every_kind_of_file_gives_the_same_numbers() {
        let wheel = archive_of(&[("a/b.pth", &pickled()), ("a/c.txt", b"")]);
        let expected = Tensor {
            shape: vec![2],
            values: vec![1.0, -2.0],
        };
        for bytes in [pickled(), wheel] {
            assert_eq!(tensors(&bytes).unwrap()["x"], expected);
        }
    }

    #[test]
    fn a_tensor_that_is_not_as_expected_is_named_with_the_file() {
        let weights = Weights {
            path: "w.pth".into(),
            tensors: tensors(&pickled()).unwrap(),
        };
        assert_eq!(weights.take("x", &[2]).unwrap(), [1.0, -2.0]);
        let said = |result: Result<&[f32]>| result.unwrap_err().to_string();
        assert!(said(weights.take("x", &[3])).contains("`w.pth`"));
        assert!(said(weights.take("y", &[1])).contains("`y` is missing"));
    }

    #[test]
    fn what_would_run_code_is_refused() {
        let pickle = b"\x80\x02cos\nsystem\nX\x02\0\0\0ls\x85R.";
        let error = tensors(&archive_of(&[("m/data.pkl", pickle)])).unwrap_err();
        assert!(error.reason.contains("os system"), "{error:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn no_bytes_make_a_reader_panic(
            wheel in any::<bool>(),
            cut in any::<proptest::sample::Index>(),
            changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..8),
        ) {
            let mut bytes = pickled();
            if wheel {
                bytes = archive_of(&[("b.pth", &bytes)]);
            }
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            bytes.truncate(1 + cut.index(bytes.len()));
            if let Err(error) = tensors(&bytes) {
                prop_assert!(error.offset <= bytes.len() && !error.reason.is_empty());
            }
        }
    }
}
