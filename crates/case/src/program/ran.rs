//! What a run left behind.

use crate::instance::{Contents, Instance};
use crate::reference::Answer;

/// The arrays after a run, and what should not have happened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ran {
    /// The bytes of each array; `None` for numbers.
    pub(crate) arrays: Vec<Option<Vec<u8>>>,
    /// Guard zones that were written: which argument, and where.
    pub(crate) guards: Vec<TouchedGuard>,
    /// Where threads race, if that was looked for.
    pub(crate) races: Vec<String>,
}

/// A write outside of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TouchedGuard {
    /// The argument whose array it was.
    pub(crate) argument: String,
    /// Bytes from the end of the array to the first byte written; negative before its start.
    pub(crate) offset: i64,
    /// Bytes that were changed.
    pub(crate) bytes: usize,
}

impl Ran {
    /// A launch of no threads: everything is as it was.
    pub(crate) fn untouched(instance: &Instance, contents: &Contents, poison: u8) -> Self {
        let arrays = instance
            .arguments
            .iter()
            .zip(contents)
            .map(|(argument, content)| {
                let bytes = argument.elements() * argument.scalar.bytes();
                match (argument.direction(), content) {
                    (None, _) => None,
                    (_, Some(content)) => Some(content.clone()),
                    (_, None) => Some(vec![poison; bytes]),
                }
            });
        Self {
            arrays: arrays.collect(),
            ..Self::default()
        }
    }

    /// Outputs that were computed elsewhere, one array's bytes behind the other's.
    pub(crate) fn of_outputs(instance: &Instance, bytes: &[u8]) -> Self {
        let mut rest = bytes;
        let arrays = instance.arguments.iter().map(|argument| {
            let length = argument.elements() * argument.scalar.bytes();
            let (own, behind) = rest.split_at_checked(length)?;
            argument.is_output().then(|| {
                rest = behind;
                own.to_vec()
            })
        });
        Self {
            arrays: arrays.collect(),
            ..Self::default()
        }
    }

    /// The results of a Python function; its inputs were copies.
    pub(crate) fn of_answer(instance: &Instance, contents: &Contents, answer: &Answer) -> Self {
        let mut outputs = answer.outputs.iter();
        let arrays = instance
            .arguments
            .iter()
            .zip(contents)
            .map(|(argument, content)| match argument.is_output() {
                true => outputs.next().map(|truth| truth.to_bytes(argument.scalar)),
                false => content.clone(),
            });
        Self {
            arrays: arrays.collect(),
            ..Self::default()
        }
    }
}
