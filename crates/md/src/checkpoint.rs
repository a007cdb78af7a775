//! Checkpoints: everything that a trajectory needs to go on as if it had never stopped.
//!
//! A file is a magic number and sections, each with a name, a length, its bytes and the first eight
//! bytes of their SHA-256, so that damage is found and named by its place. Numbers are little-endian;
//! `f32` trajectories are stored as `f32`. Files are written beside their name and renamed.

use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};
use warpsmith_formats::write_output_durably;

use crate::error::{MdError, Result};
use crate::instructions;
use crate::periodic_box::PeriodicBox;
use crate::potential::{LennardJones, Truncation};
use crate::real::Real;
use crate::settings::{Settings, Thermostat};

const MAGIC: &[u8; 8] = b"WSMDCKP2";
const SUM_BYTES: usize = 8;

/// The numbers of a trajectory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32 bits.
    F32,
    /// 64 bits.
    F64,
}

impl Precision {
    /// That of `R`.
    pub fn of<R: Real>() -> Self {
        match size_of::<R>() {
            4 => Self::F32,
            _ => Self::F64,
        }
    }

    /// The name in options and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

/// A trajectory between two steps. Atoms are in the order in which they are computed.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// The numbers it is computed with.
    pub precision: Precision,
    /// What computed it: see [`crate::Engine::arithmetic`].
    pub arithmetic: String,
    /// Steps made.
    pub step: u64,
    /// Lists made.
    pub rebuilds: u64,
    /// How it is computed.
    pub settings: Settings,
    /// The box.
    pub cell: PeriodicBox,
    /// Which of the user's atoms each one is.
    pub identities: Vec<u32>,
    /// Where they are.
    pub positions: Vec<[f64; 3]>,
    /// By how much rounding has left those too large.
    pub losses: Vec<[f64; 3]>,
    /// How fast they are.
    pub velocities: Vec<[f64; 3]>,
    /// Where they were when the list in use was made.
    pub references: Vec<[f64; 3]>,
}

/// Reading and writing states.
pub struct Checkpoint;

impl Checkpoint {
    /// Writes `state` to `path`; a reader sees the old file or the new one, whole.
    pub fn write(path: &Path, state: &State) -> Result<()> {
        let io = |source| MdError::Io {
            attempted: "write",
            path: path.to_owned(),
            source,
        };
        // On disk before it takes the old one's name: a crash must not leave neither.
        write_output_durably(path, &encode(state)).map_err(|error| io(error.into()))
    }

    /// Reads a state back.
    pub fn read(path: &Path) -> Result<State> {
        let bytes = fs::read(path).map_err(|source| MdError::Io {
            attempted: "read",
            path: path.to_owned(),
            source,
        })?;
        decode(&bytes).map_err(|(offset, problem)| MdError::Format {
            path: path.to_owned(),
            place: format!("offset {offset}"),
            problem,
        })
    }
}

fn encode(state: &State) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    let mut add = |name: &[u8; 4], bytes: &[u8]| {
        out.extend_from_slice(name);
        out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        out.extend_from_slice(bytes);
        out.extend_from_slice(&Sha256::digest(bytes)[..SUM_BYTES]);
    };
    add(b"head", &encode_head(state));
    add(b"arit", state.arithmetic.as_bytes());
    let identities = state.identities.iter().flat_map(|id| id.to_le_bytes());
    add(b"iden", &identities.collect::<Vec<_>>());
    for (name, vectors) in [
        (b"posi", &state.positions),
        (b"loss", &state.losses),
        (b"velo", &state.velocities),
        (b"refe", &state.references),
    ] {
        let numbers = vectors.iter().flatten();
        let bytes: Vec<u8> = match state.precision {
            Precision::F32 => numbers.flat_map(|&x| (x as f32).to_le_bytes()).collect(),
            Precision::F64 => numbers.flat_map(|x| x.to_le_bytes()).collect(),
        };
        add(name, &bytes);
    }
    out
}

fn encode_head(state: &State) -> Vec<u8> {
    let settings = &state.settings;
    let (kind, temperature, friction, seed) = match settings.thermostat {
        Thermostat::None => (0u64, 0.0, 0.0, 0),
        Thermostat::Langevin {
            temperature,
            friction,
            seed,
        } => (1, temperature, friction, seed),
    };
    let truncation = Truncation::NAMES
        .iter()
        .position(|(_, truncation)| *truncation == settings.potential.truncation);
    let words = [
        u64::from(state.precision == Precision::F64),
        state.step,
        state.rebuilds,
        truncation.unwrap_or(0) as u64,
        instructions::code(settings.instructions),
        u64::from(settings.sort),
        u64::from(settings.reuse_list),
        kind,
        seed,
        state.identities.len() as u64,
    ];
    let numbers = [
        settings.potential.cutoff,
        settings.time_step,
        settings.skin,
        temperature,
        friction,
        state.cell.sides[0],
        state.cell.sides[1],
        state.cell.sides[2],
    ];
    let numbers = numbers.map(f64::to_bits);
    words
        .iter()
        .chain(&numbers)
        .flat_map(|word| word.to_le_bytes())
        .collect()
}

/// What is wrong, and where.
type Damage = (usize, String);

/// Walks through the sections of a file.
struct Sections<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Sections<'a> {
    fn take(&mut self, count: usize, what: &str) -> Result<&'a [u8], Damage> {
        let taken = self.bytes.get(self.at..).and_then(|rest| rest.get(..count));
        let Some(taken) = taken else {
            let left = self.bytes.len().saturating_sub(self.at);
            let problem = format!("the file ends: {what} takes {count} bytes, {left} are left");
            return Err((self.at, problem));
        };
        self.at += count;
        Ok(taken)
    }

    /// The bytes of the next section, which must be `name`, and where they begin.
    fn section(&mut self, name: &[u8; 4]) -> Result<(usize, &'a [u8]), Damage> {
        let shown = String::from_utf8_lossy(name).into_owned();
        let at = self.at;
        let found = self.take(4, "a section's name")?;
        if found != name {
            let found = found.escape_ascii();
            return Err((at, format!("expected section `{shown}`, found `{found}`")));
        }
        let length = word(self.take(8, "a section's length")?);
        let begin = self.at;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let bytes = self.take(length, &format!("section `{shown}`"))?;
        let sum = self.take(SUM_BYTES, "a section's checksum")?;
        if Sha256::digest(bytes)[..SUM_BYTES] != *sum {
            return Err((
                begin,
                format!("section `{shown}` does not match its checksum"),
            ));
        }
        Ok((begin, bytes))
    }
}

fn word(bytes: &[u8]) -> u64 {
    let mut eight = [0; 8];
    eight[..bytes.len().min(8)].copy_from_slice(&bytes[..bytes.len().min(8)]);
    u64::from_le_bytes(eight)
}

fn decode(bytes: &[u8]) -> Result<State, Damage> {
    let mut sections = Sections { bytes, at: 0 };
    let magic = sections.take(MAGIC.len(), "a checkpoint's magic number")?;
    if magic != MAGIC {
        if magic[..7] == MAGIC[..7] {
            let problem = "this is a checkpoint of another version of the program".to_owned();
            return Err((7, problem));
        }
        return Err((0, "this is not a checkpoint of a trajectory".to_owned()));
    }
    let (head_at, head) = sections.section(b"head")?;
    let words: Vec<u64> = head.chunks(8).map(word).collect();
    let [
        precision,
        step,
        rebuilds,
        truncation,
        instructions,
        sort,
        reuse,
        kind,
        seed,
        atoms,
        numbers @ ..,
    ] = &words[..]
    else {
        return Err((head_at, "section `head` is too short".to_owned()));
    };
    let &[cutoff, time_step, skin, temperature, friction, x, y, z] = numbers else {
        let problem = format!("section `head` has {} numbers, expected 8", numbers.len());
        return Err((head_at, problem));
    };
    let truncation = usize::try_from(*truncation)
        .ok()
        .and_then(|index| Truncation::NAMES.get(index))
        .ok_or_else(|| {
            (
                head_at + 24,
                format!("no truncation has the number {truncation}"),
            )
        })?;
    let bits = f64::from_bits;
    let (_, arithmetic) = sections.section(b"arit")?;
    let (ids_at, ids) = sections.section(b"iden")?;
    let identities: Vec<u32> = ids.chunks_exact(4).map(|id| word(id) as u32).collect();
    let count = identities.len();
    let mut seen = vec![false; count];
    for &id in &identities {
        match seen.get_mut(id as usize) {
            Some(seen) if !*seen => *seen = true,
            _ => {
                return Err((
                    ids_at,
                    format!("atom {id} is there twice or not one of {count}"),
                ));
            }
        }
    }
    if count as u64 != *atoms {
        return Err((ids_at, format!("{count} atoms, the head says {atoms}")));
    }
    let precision = match precision {
        0 => Precision::F32,
        _ => Precision::F64,
    };
    let mut vectors = |name: &[u8; 4]| -> Result<Vec<[f64; 3]>, Damage> {
        let (at, bytes) = sections.section(name)?;
        let numbers: Vec<f64> = match precision {
            Precision::F32 => bytes
                .chunks_exact(4)
                .map(|x| f64::from(f32::from_bits(word(x) as u32)))
                .collect(),
            Precision::F64 => bytes.chunks_exact(8).map(|x| bits(word(x))).collect(),
        };
        if numbers.len() != 3 * count {
            let (found, expected) = (numbers.len(), 3 * count);
            return Err((at, format!("{found} coordinates, expected {expected}")));
        }
        if let Some(index) = numbers.iter().position(|x| !x.is_finite()) {
            return Err((at, format!("coordinate {index} is {}", numbers[index])));
        }
        Ok(numbers
            .chunks_exact(3)
            .map(|v| [v[0], v[1], v[2]])
            .collect())
    };
    let (positions, losses) = (vectors(b"posi")?, vectors(b"loss")?);
    let (velocities, references) = (vectors(b"velo")?, vectors(b"refe")?);
    if sections.at != bytes.len() {
        let extra = bytes.len() - sections.at;
        return Err((
            sections.at,
            format!("{extra} bytes follow the last section"),
        ));
    }
    Ok(State {
        precision,
        arithmetic: String::from_utf8_lossy(arithmetic).into_owned(),
        step: *step,
        rebuilds: *rebuilds,
        settings: Settings {
            potential: LennardJones {
                cutoff: bits(cutoff),
                truncation: truncation.1,
            },
            time_step: bits(time_step),
            skin: bits(skin),
            thermostat: match kind {
                0 => Thermostat::None,
                _ => Thermostat::Langevin {
                    temperature: bits(temperature),
                    friction: bits(friction),
                    seed: *seed,
                },
            },
            instructions: instructions::of_code(*instructions),
            sort: *sort != 0,
            reuse_list: *reuse != 0,
        },
        cell: PeriodicBox::new([x, y, z].map(bits))
            .map_err(|error| (head_at, error.to_string()))?,
        identities,
        positions,
        losses,
        velocities,
        references,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn state() -> State {
        let vectors = vec![[1.0, 2.0, 3.0], [4.0, 0.5, 0.25]];
        State {
            precision: Precision::F32,
            arithmetic: "cpu f32 scalar".to_owned(),
            step: 1 << 40,
            rebuilds: 7,
            settings: Settings {
                thermostat: Thermostat::Langevin {
                    temperature: 0.85,
                    friction: 1.5,
                    seed: u64::MAX,
                },
                ..Settings::standard()
            },
            cell: PeriodicBox::new([6.0, 7.0, 8.0]).unwrap(),
            identities: vec![1, 0],
            positions: vectors.clone(),
            losses: vec![[2f64.powi(-30), 0.0, -(2f64.powi(-27))], [0.0; 3]],
            velocities: vectors.clone(),
            references: vectors,
        }
    }

    #[test]
    fn a_state_comes_back_as_it_was() {
        for precision in [Precision::F32, Precision::F64] {
            for (_, truncation) in Truncation::NAMES {
                let mut state = state();
                state.precision = precision;
                state.settings.potential.truncation = truncation;
                assert_eq!(decode(&encode(&state)), Ok(state));
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused_and_never_a_panic(
            at in 0usize..800,
            bytes in proptest::collection::vec(any::<u8>(), 1..40),
        ) {
            let whole = encode(&state());
            let mut damaged = whole.clone();
            let at = at.min(damaged.len());
            let end = (at + bytes.len()).min(damaged.len());
            damaged.splice(at..end, bytes.iter().copied());
            prop_assert!(damaged == whole || decode(&damaged).is_err());
            prop_assert!(decode(&bytes).is_err());
        }
    }
}
