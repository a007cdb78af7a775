//! The programme in a file that somebody else owns: every bit comes back, even if the process is
//! killed in the middle.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::journal::{Armed, Header, Journal, MoveKind};
use super::mapped_file::MappedFile;
use super::obstacles::Obstacles;
use super::programme::{Direction, Walks};
use super::stencil;
use crate::error::LatticeError;
use crate::shape::{Cell, Shape};
use warpsmith_lanes::InstructionSet;

/// Where the journal of a borrowed file lies.
pub fn journal_path(borrowed: &Path) -> PathBuf {
    let mut name = borrowed.as_os_str().to_owned();
    name.push(".journal");
    PathBuf::from(name)
}

/// How far a run is, told between passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Passes done.
    pub done: u64,
    /// Passes in all.
    pub all: u64,
}

/// What a restoration did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// Blocks that were undone.
    pub blocks: u64,
    /// Whether the source's word had to be lowered.
    pub unpoked: bool,
}

/// Bytes of a block: small enough for a private cache, large enough that arming it costs little.
const BLOCK_BYTES: usize = 1 << 17;

/// Counts walks in the first `8 · cells` bytes of a file, with a journal beside it. `obstacles` are
/// the share of blocked cells in percent and the seed.
pub fn run_in_file(
    path: &Path,
    shape: Shape,
    steps: u32,
    (source, tap): (Cell, Cell),
    obstacles: Option<(f64, u64)>,
    watch: &mut dyn FnMut(Progress),
) -> Result<u32, LatticeError> {
    let borrowed = MappedFile::open(path, "borrow")?;
    let (have, need) = (borrowed.bytes().len() as u64, 8 * shape.cells() as u64);
    if have < need {
        return Err(LatticeError::Content {
            path: path.to_owned(),
            problem: format!("{have} bytes; a lattice of {shape} borrows {need}"),
        });
    }
    for cell in [source, tap] {
        if !shape.contains(cell) {
            return Err(LatticeError::Cell {
                text: cell.to_string(),
                shape: shape.to_string(),
                problem: "it lies outside".to_owned(),
            });
        }
    }
    let header = Header {
        shape,
        steps,
        source: shape.index(source),
        tap: shape.index(tap),
        obstacles,
        rows_per_block: (BLOCK_BYTES / 4 / shape.row()).clamp(1, shape.rows()),
        borrowed_bytes: have,
    };
    let walks = walks_of(&header)?;
    let journal = Journal::create(&journal_path(path), header)?;
    let mut run = FileRun::new(borrowed, journal, walks, false);
    let passes = 4 * u64::from(steps);
    let mut done = 0;
    let mut tell = || {
        watch(Progress { done, all: passes });
        done += 1;
    };
    let before = run.reading(&mut tell);
    run.poke(MoveKind::Poke);
    let after = run.reading(&mut tell);
    run.poke(MoveKind::Unpoke);
    run.finish(path)?;
    Ok(after.wrapping_sub(before))
}

/// Puts the bits of a borrowed file back that an interrupted run had changed. `Ok(None)` where
/// there is no journal, so nothing is to be done.
pub fn restore(path: &Path) -> Result<Option<Restored>, LatticeError> {
    let journal_path = journal_path(path);
    if !journal_path.exists() {
        return Ok(None);
    }
    let borrowed = MappedFile::open(path, "restore")?;
    let mut journal = Journal::open(&journal_path)?;
    if borrowed.bytes().len() as u64 != journal.header.borrowed_bytes {
        return Err(LatticeError::Content {
            path: path.to_owned(),
            problem: format!(
                "{} bytes; its journal was written for {}",
                borrowed.bytes().len(),
                journal.header.borrowed_bytes
            ),
        });
    }
    let armed = journal.armed().map_err(|problem| LatticeError::Content {
        path: journal_path.clone(),
        problem,
    })?;
    let walks = walks_of(&journal.header)?;
    let Some(armed) = armed else {
        let run = FileRun::new(borrowed, journal, walks, false);
        run.finish(path)?;
        return Ok(Some(Restored {
            blocks: 0,
            unpoked: false,
        }));
    };
    journal.spare(armed.slot);
    let mut run = FileRun::new(borrowed, journal, walks, armed.poked);
    run.take_back(armed);
    let blocks = run.position;
    while run.position > 0 {
        run.back();
    }
    let unpoked = run.poked;
    if unpoked {
        run.poke(MoveKind::Unpoke);
    }
    run.finish(path)?;
    Ok(Some(Restored { blocks, unpoked }))
}

fn walks_of(header: &Header) -> Result<Walks, LatticeError> {
    let shape = header.shape;
    let (source, tap) = (shape.cell(header.source), shape.cell(header.tap));
    let obstacles = header
        .obstacles
        .map(|(share, seed)| Obstacles::random(shape, share, seed, &[source, tap]))
        .transpose()?;
    Ok(Walks {
        shape,
        steps: header.steps,
        source,
        tap,
        obstacles,
    })
}

/// A run or a restoration under way. The state of the borrowed memory follows from `position`, the
/// number of blocks done over all steps, and `poked`.
struct FileRun {
    borrowed: MappedFile,
    journal: Journal,
    walks: Walks,
    position: u64,
    poked: bool,
    set: InstructionSet,
    zeros: Vec<u32>,
}

impl FileRun {
    fn new(borrowed: MappedFile, journal: Journal, walks: Walks, poked: bool) -> Self {
        Self {
            zeros: vec![0; walks.shape.row()],
            set: InstructionSet::widest(),
            position: 0,
            borrowed,
            journal,
            walks,
            poked,
        }
    }

    /// Runs, reads the tap, undoes.
    fn reading(&mut self, tell: &mut dyn FnMut()) -> u32 {
        let blocks = self.journal.header.blocks() as u64;
        let last = blocks * u64::from(self.walks.steps);
        while self.position < last {
            if self.position.is_multiple_of(blocks) {
                tell();
            }
            self.forward();
        }
        let tap = self.walks.shape.index(self.walks.tap);
        let half = if self.walks.read_from_b() {
            self.walks.shape.cells()
        } else {
            0
        };
        let value = self.borrowed.words(4 * (half + tap), 1)[0];
        while self.position > 0 {
            if self.position.is_multiple_of(blocks) {
                tell();
            }
            self.back();
        }
        value
    }

    fn forward(&mut self) {
        self.change(MoveKind::Forward, self.position, Direction::Forward);
        self.position += 1;
    }

    fn back(&mut self) {
        self.change(MoveKind::Back, self.position - 1, Direction::Undo);
        self.position -= 1;
    }

    /// Step, first row, first word and number of words of a block.
    fn block(&self, number: u64) -> (u32, usize, usize, usize) {
        let header = &self.journal.header;
        let blocks = header.blocks() as u64;
        let (step, block) = (number / blocks, (number % blocks) as usize);
        let first = block * header.rows_per_block;
        let rows = header.rows_per_block.min(header.shape.rows() - first);
        let nx = header.shape.row();
        (step as u32, first, first * nx, rows * nx)
    }

    fn change(&mut self, kind: MoveKind, number: u64, direction: Direction) {
        let cells = self.walks.shape.cells();
        let (step, first_row, first_word, words) = self.block(number);
        let (a, b) = self.borrowed.words_mut(0, 2 * cells).split_at_mut(cells);
        let (source, target) = if Walks::changes_b(step) {
            (&*a, b)
        } else {
            (&*b, a)
        };
        let target = &mut target[first_word..first_word + words];
        self.journal.arm(kind, self.position, self.poked, target);
        stencil::rows(
            self.set,
            self.walks.shape,
            first_row,
            source,
            target,
            self.walks.obstacles.as_ref(),
            direction.sign(),
            &self.zeros,
        );
    }

    fn poke(&mut self, kind: MoveKind) {
        let at = 4 * self.walks.shape.index(self.walks.source);
        let word = &mut self.borrowed.words_mut(at, 1)[0];
        self.journal.arm(kind, self.position, self.poked, &[*word]);
        if kind == MoveKind::Poke {
            *word = word.wrapping_add(1);
        } else {
            *word = word.wrapping_sub(1);
        }
        self.poked = kind == MoveKind::Poke;
    }

    /// Goes back to the state before a move that may have been made, in part or not at all.
    fn take_back(&mut self, armed: Armed) {
        self.position = armed.position;
        let cells = self.walks.shape.cells();
        let (first, words) = match armed.kind {
            MoveKind::Poke | MoveKind::Unpoke => (self.walks.shape.index(self.walks.source), 1),
            MoveKind::Forward | MoveKind::Back => {
                let number = match armed.kind {
                    MoveKind::Forward => armed.position,
                    _ => armed.position - 1,
                };
                let (step, _, first, words) = self.block(number);
                let half = if Walks::changes_b(step) { cells } else { 0 };
                (half + first, words)
            }
        };
        let past = &self.journal.past(armed.slot)[..words];
        self.borrowed
            .words_mut(4 * first, words)
            .copy_from_slice(past);
    }

    /// Everything is as it was: the journal has done its work. Both locks are held until it is gone.
    fn finish(self, path: &Path) -> Result<(), LatticeError> {
        let journal = journal_path(path);
        std::fs::remove_file(&journal).map_err(|source| LatticeError::File {
            attempted: "remove the journal",
            path: journal,
            source,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use warpsmith_device::CpuDevice;
    use warpsmith_workload::random::Random;

    use super::super::programme::CpuBorrow;
    use super::*;

    fn borrowed(folder: &Path, bytes: usize, seed: u64) -> (PathBuf, Vec<u8>) {
        let mut random = Random::seeded(seed);
        let contents: Vec<u8> = (0..bytes).map(|_| random.bits() as u8).collect();
        let path = folder.join("memory");
        fs::write(&path, &contents).unwrap();
        (path, contents)
    }

    #[test]
    fn a_run_in_a_file_counts_what_a_run_in_memory_counts_and_leaves_the_file_alone() {
        let folder = tempfile::tempdir().unwrap();
        let shape = Shape::new(&[7, 9, 40]).unwrap();
        let ends = (Cell([1, 2, 3]), Cell([3, 2, 5]));
        let (path, contents) = borrowed(folder.path(), 8 * shape.cells() + 13, 5);
        let in_file = run_in_file(&path, shape, 9, ends, Some((20.0, 3)), &mut |_| {}).unwrap();
        assert_eq!(fs::read(&path).unwrap(), contents);
        assert!(!journal_path(&path).exists());
        let walks = Walks {
            shape,
            steps: 9,
            source: ends.0,
            tap: ends.1,
            obstacles: Some(Obstacles::random(shape, 20.0, 3, &[ends.0, ends.1]).unwrap()),
        };
        let cpu = CpuDevice::open().unwrap();
        let (mut a, mut b) = (vec![0; shape.cells()], vec![0; shape.cells()]);
        let borrow = CpuBorrow::new(&cpu, InstructionSet::widest(), false, shape);
        assert_eq!(in_file, borrow.count(&walks, &mut a, &mut b).unwrap());
    }

    #[test]
    fn files_that_do_not_fit_are_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let shape = Shape::cube(4).unwrap();
        let ends = (Cell([0, 0, 0]), Cell([0, 0, 0]));
        let run = |path: &Path| {
            run_in_file(path, shape, 2, ends, None, &mut |_| {}).map_err(|e| e.to_string())
        };
        let (path, contents) = borrowed(folder.path(), 511, 1);
        assert!(run(&path).unwrap_err().contains("borrows 512"));
        assert!(
            run(&folder.path().join("absent"))
                .unwrap_err()
                .contains("cannot borrow")
        );
        assert_eq!(fs::read(&path).unwrap(), contents);
        let (path, contents) = borrowed(folder.path(), 512, 1);
        fs::write(journal_path(&path), b"junk").unwrap();
        assert!(
            run(&path)
                .unwrap_err()
                .contains("earlier run was interrupted")
        );
        let error = restore(&path).unwrap_err().to_string();
        assert!(error.contains("4 bytes are not a journal"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), contents);
        fs::remove_file(journal_path(&path)).unwrap();
        assert_eq!(restore(&path).unwrap(), None);
    }
}
