//! Blocks of indices on their way through all cores: drafted anywhere, chosen in order, built anywhere,
//! collected in order.
//!
//! Invariants: a bounded number of blocks is under way, which bounds memory; what is collected, and in
//! which order, does not depend on the number of workers.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::block::{BlockBuilder, Built};
use crate::generate::Wanted;
use crate::output::Settings;
use crate::run::RunError;
use crate::selection::{Selected, Selection, write_draft};
use crate::verify::{BATCH, Level, Verifier};

/// Pairs of a block: enough for a row group, or as many as a level takes together, and few enough that
/// all cores have some.
pub(crate) fn block_pairs(levels: &[Level]) -> u64 {
    if levels.contains(&Level::Gpu) {
        8
    } else if levels == [Level::Text] {
        1000
    } else {
        BATCH as u64
    }
}

/// What is to be made of some indices.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) range: Range<u64>,
    /// The shard that they are of; `None` where only their shapes are of interest.
    pub(crate) shard: Option<u64>,
}

/// The indices of a range, in blocks.
pub(crate) fn blocks(
    range: Range<u64>,
    shard: Option<u64>,
    pairs: u64,
) -> impl Iterator<Item = Block> {
    let end = range.end;
    (range.start..end)
        .step_by(usize::try_from(pairs).unwrap_or(usize::MAX))
        .map(move |start| Block {
            range: start..(start + pairs).min(end),
            shard,
        })
}

enum Job {
    Draft(usize),
    Build(usize, Vec<Selected>),
}

enum Done {
    Shapes(Vec<u64>),
    Drafts(Vec<Selected>),
    Built(Box<Result<Built, RunError>>),
    /// The worker is lost; its panic is passed on when the others have ended.
    Lost,
}

/// Tells the coordinator where a worker panics, which would otherwise wait for its block for ever.
struct Alarm(Sender<(usize, Done)>);

impl Drop for Alarm {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.0.send((0, Done::Lost));
        }
    }
}

/// Makes `blocks` with so many workers; `collect` gets what became of each, in order.
pub(crate) fn run(
    settings: &Settings,
    blocks: &[Block],
    selection: &mut Selection,
    verifier: &Verifier,
    workers: usize,
    collect: &mut dyn FnMut(&Block, Built) -> Result<(), RunError>,
) -> Result<(), RunError> {
    let wanted = settings.wanted();
    let (jobs, queue) = channel::<Job>();
    let (results, done) = channel::<(usize, Done)>();
    let queue = Mutex::new(queue);
    std::thread::scope(|scope| {
        for _ in 0..workers.max(1) {
            let alarm = Alarm(results.clone());
            let (queue, wanted) = (&queue, &wanted);
            scope.spawn(move || work(settings, blocks, wanted, verifier, queue, &alarm.0));
        }
        drop(results);
        // Moved in, so that both ends are closed, and the workers end, however this returns.
        let (jobs, done) = (jobs, done);
        coordinate(blocks, selection, workers, &jobs, &done, collect)
    })
}

/// What a worker does: jobs, until there are no more or nobody waits for them.
fn work(
    settings: &Settings,
    blocks: &[Block],
    wanted: &Wanted,
    verifier: &Verifier,
    queue: &Mutex<Receiver<Job>>,
    results: &Sender<(usize, Done)>,
) {
    let mut builder = BlockBuilder::new(settings, verifier);
    loop {
        let job = match queue.lock() {
            Ok(queue) => queue.recv(),
            Err(_) => return,
        };
        let answer = match job {
            Err(_) => return,
            Ok(Job::Draft(number)) => {
                let block = &blocks[number];
                let drafts = block
                    .range
                    .clone()
                    .map(|index| write_draft(wanted, settings.seed, index, 0));
                let done = match block.shard {
                    Some(_) => Done::Drafts(drafts.collect()),
                    None => Done::Shapes(drafts.map(|draft| draft.fingerprint.shape).collect()),
                };
                (number, done)
            }
            Ok(Job::Build(number, selected)) => {
                (number, Done::Built(Box::new(builder.build(selected))))
            }
        };
        if results.send(answer).is_err() {
            return;
        }
    }
}

fn coordinate(
    blocks: &[Block],
    selection: &mut Selection,
    workers: usize,
    jobs: &Sender<Job>,
    done: &Receiver<(usize, Done)>,
    collect: &mut dyn FnMut(&Block, Built) -> Result<(), RunError>,
) -> Result<(), RunError> {
    // Enough that workers go on while a shard is written and flushed to the disk.
    let lookahead = 4 * workers + 4;
    let (mut drafted, mut built) = (BTreeMap::new(), BTreeMap::new());
    // How many drafts each block that is being built cost, and how many indices gave nothing.
    let mut costs = BTreeMap::new();
    let (mut asked, mut chosen, mut collected) = (0, 0, 0);
    while collected < blocks.len() {
        while asked < blocks.len() && asked < collected + lookahead {
            // A closed queue shows below, where nothing arrives.
            let _ = jobs.send(Job::Draft(asked));
            asked += 1;
        }
        match done.recv() {
            Ok((number, Done::Built(block))) => {
                built.insert(number, Some(block));
            }
            Ok((_, Done::Lost)) | Err(_) => return Err(RunError::WorkerLost),
            Ok((number, drafts)) => {
                drafted.insert(number, drafts);
            }
        }
        while let Some(drafts) = drafted.remove(&chosen) {
            (selection.drafts, selection.exhausted) = (0, 0);
            match drafts {
                Done::Drafts(drafts) => {
                    let selected = selection.take(drafts);
                    costs.insert(chosen, (selection.drafts, selection.exhausted));
                    let _ = jobs.send(Job::Build(chosen, selected));
                }
                Done::Shapes(shapes) => {
                    selection.remember(blocks[chosen].range.start, &shapes);
                    built.insert(chosen, None);
                }
                Done::Built(_) | Done::Lost => {}
            }
            chosen += 1;
        }
        while let Some(block) = built.remove(&collected) {
            if let Some(block) = block {
                // What came before is collected; so is the error in its turn.
                let mut block = (*block)?;
                let asked = blocks[collected].range.end - blocks[collected].range.start;
                let (drafts, exhausted) = costs.remove(&collected).unwrap_or_default();
                block.tally.drafts = drafts;
                block.tally.exhausted = exhausted;
                block.tally.refused = asked - exhausted - block.tally.pairs;
                collect(&blocks[collected], block)?;
            }
            collected += 1;
        }
    }
    Ok(())
}
