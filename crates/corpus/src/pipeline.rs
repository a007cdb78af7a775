//! Blocks of indices on their way through all cores: drafted anywhere, chosen in order, built anywhere,
//! put together to shards in order, written anywhere, recorded in order.
//!
//! Invariants: a bounded number of blocks and of shards is under way, which bounds memory; what is
//! recorded, and in which order, does not depend on the number of workers.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::block::{BlockBuilder, Built};
use crate::generate::Wanted;
use crate::output::{PagePool, Settings};
use crate::queue::{Closing, Queue};
use crate::run::RunError;
use crate::selection::{Selected, Selection, write_draft};
use crate::shard::{Shard, WrittenShard};
use crate::verify::{BATCH, Level, Verifier};

/// Pairs of a block: enough for a row group, or as many as a level takes together, and few enough that
/// all cores have some.
pub(crate) fn block_pairs(levels: &[Level]) -> u64 {
    if levels.contains(&Level::Gpu) || levels.contains(&Level::Vulkan) {
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
    Write(usize, u64, Box<Shard>),
}

enum Done {
    Shapes(Vec<u64>),
    Drafts(Vec<Selected>),
    Built(Box<Result<Built, RunError>>),
    Written(Box<Result<WrittenShard, RunError>>),
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

/// Makes `blocks` with so many workers and writes their shards to `folder`; `record` gets each, in order.
pub(crate) fn run(
    settings: &Settings,
    folder: &Path,
    blocks: &[Block],
    selection: &mut Selection,
    verifier: &Verifier,
    workers: usize,
    record: &mut dyn FnMut(WrittenShard) -> Result<(), RunError>,
) -> Result<(), RunError> {
    let wanted = settings.wanted();
    let jobs = Queue::new();
    let (results, done) = channel::<(usize, Done)>();
    let pool = Arc::new(PagePool::default());
    std::thread::scope(|scope| {
        for _ in 0..workers.max(1) {
            let alarm = Alarm(results.clone());
            let (jobs, wanted, pool) = (&jobs, &wanted, &pool);
            scope.spawn(move || {
                let builder = BlockBuilder::new(settings, verifier, pool.clone());
                work(settings, folder, blocks, wanted, builder, jobs, &alarm.0);
            });
        }
        drop(results);
        // Moved in, so that both ends are closed, and the workers end, however this returns.
        let (_closing, done) = (Closing(&jobs), done);
        coordinate(settings, blocks, selection, workers, &jobs, &done, record)
    })
}

/// What a worker does: jobs, until there are no more or nobody waits for them.
fn work(
    settings: &Settings,
    folder: &Path,
    blocks: &[Block],
    wanted: &Wanted,
    mut builder: BlockBuilder<'_>,
    jobs: &Queue<Job>,
    results: &Sender<(usize, Done)>,
) {
    while let Some(job) = jobs.take() {
        let answer = match job {
            Job::Draft(number) => {
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
            Job::Build(number, selected) => {
                (number, Done::Built(Box::new(builder.build(selected))))
            }
            Job::Write(order, number, shard) => {
                let written = shard.write(folder, settings, number, builder.pool());
                (order, Done::Written(Box::new(written)))
            }
        };
        if results.send(answer).is_err() {
            return;
        }
    }
}

fn coordinate(
    settings: &Settings,
    blocks: &[Block],
    selection: &mut Selection,
    workers: usize,
    jobs: &Queue<Job>,
    done: &Receiver<(usize, Done)>,
    record: &mut dyn FnMut(WrittenShard) -> Result<(), RunError>,
) -> Result<(), RunError> {
    // Enough that workers go on while a shard is written and flushed to the disk.
    let lookahead = 4 * workers + 4;
    // Writing takes a small share of the time, and an uncompressed shard a lot of memory.
    let most_shards = workers.div_ceil(4) + 1;
    let (mut drafted, mut built, mut written) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    // How many drafts each block that is being built cost, and how many indices gave nothing.
    let mut costs = BTreeMap::new();
    let (mut asked, mut chosen, mut collected) = (0, 0, 0);
    let (mut sent, mut recorded) = (0, 0);
    let mut open = Shard::new(settings);
    let mut failure = None;
    // After a failure, shards that were complete before it are still recorded.
    while recorded < sent || failure.is_none() && collected < blocks.len() {
        let has_room = failure.is_none() && sent < recorded + most_shards;
        while has_room && asked < blocks.len() && asked < collected + lookahead {
            jobs.push(Job::Draft(asked));
            asked += 1;
        }
        match done.recv() {
            Ok((number, Done::Built(block))) => {
                built.insert(number, Some(block));
            }
            Ok((order, Done::Written(shard))) => {
                written.insert(order, shard);
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
                    jobs.push(Job::Build(chosen, selected));
                }
                Done::Shapes(shapes) => {
                    selection.remember(blocks[chosen].range.start, &shapes);
                    built.insert(chosen, None);
                }
                Done::Built(_) | Done::Written(_) | Done::Lost => {}
            }
            chosen += 1;
        }
        while failure.is_none()
            && let Some(block) = built.remove(&collected)
        {
            let cost = costs.remove(&collected).unwrap_or_default();
            let appended = block.map_or(Ok(()), |block| {
                append(&mut open, &blocks[collected], *block, cost)
            });
            failure = appended.err();
            let Block { range, shard } = &blocks[collected];
            if failure.is_none()
                && let Some(shard) = *shard
                && range.end == settings.pairs_of(shard).end
            {
                let finished = std::mem::replace(&mut open, Shard::new(settings));
                // First, so that its memory is free before another shard is full.
                jobs.push_urgent(Job::Write(sent, shard, Box::new(finished)));
                sent += 1;
            }
            collected += 1;
        }
        while let Some(shard) = written.remove(&recorded) {
            record((*shard)?)?;
            recorded += 1;
        }
    }
    failure.map_or(Ok(()), Err)
}

/// Puts what became of a block into its shard, with what its drafts cost.
fn append(
    shard: &mut Shard,
    block: &Block,
    built: Result<Built, RunError>,
    (drafts, exhausted): (u64, u64),
) -> Result<(), RunError> {
    let mut built = built?;
    let asked = block.range.end - block.range.start;
    built.tally.drafts = drafts;
    built.tally.exhausted = exhausted;
    built.tally.refused = asked - exhausted - built.tally.pairs;
    shard.append(built)
}
