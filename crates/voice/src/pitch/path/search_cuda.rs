//! A search in pieces on a GPU: all pieces at once, then those again that do not meet the one before, and the way
//! back. How pieces meet is said in `pieces`.

use std::sync::Arc;

use warpsmith_device::{Argument, DeviceElement, Kernel, LaunchShape, Stream};
use warpsmith_workload::WorkloadError;

use super::pieces::{LATE, PieceMemory};
use crate::batch::launch_parts;

/// A kernel and the blocks it is launched with.
pub(crate) type Launch = (Arc<Kernel>, LaunchShape);

/// Kernels and memory of a search.
pub(crate) struct PieceSearch<O: DeviceElement, E: DeviceElement> {
    pub(crate) forward: Launch,
    pub(crate) compare: Launch,
    pub(crate) repair: Launch,
    pub(crate) back: Launch,
    pub(crate) join: Launch,
    pub(crate) memory: PieceMemory<O, E>,
}

/// What the kernels take beside the memory.
pub(crate) struct Searched<'a> {
    /// What is searched: the first arguments of the two that walk.
    pub(crate) scores: &'a [Argument<'a>],
    /// What follows the pieces in the first walk, and in the second.
    pub(crate) tables: [&'a [Argument<'a>]; 2],
    /// The last arguments of both.
    pub(crate) walk: &'a [Argument<'a>],
    /// What the others are told of a row.
    pub(crate) row: &'a [Argument<'a>],
}

impl<O: DeviceElement, E: DeviceElement> PieceSearch<O, E> {
    /// Queues the search.
    pub(crate) fn launch(
        &mut self,
        stream: &Stream,
        searched: &Searched<'_>,
    ) -> Result<(), WorkloadError> {
        let memory = &mut self.memory;
        let (scores, walk, row) = (searched.scores, searched.walk, searched.row);
        let [first_tables, second_tables] = searched.tables;
        let pieces = [memory.pieces.read()];
        let written = [
            memory.origins.write(),
            memory.tops.write(),
            memory.edges.write(),
        ];
        let parts = [scores, &pieces, first_tables, &written, walk];
        launch_parts(stream, &self.forward.0, self.forward.1, &parts)?;
        let edges = [memory.edges.read(), memory.same.write()];
        let parts = [&pieces[..], &edges, row];
        launch_parts(stream, &self.compare.0, self.compare.1, &parts)?;
        let files = [memory.file_pieces.read(), memory.same.read()];
        let written = [
            memory.origins.write(),
            memory.tops.write(),
            memory.edges.write(),
            memory.repaired.write(),
        ];
        let parts = [scores, &pieces, second_tables, &files, &written, walk];
        launch_parts(stream, &self.repair.0, self.repair.1, &parts)?;
        let way_back = [
            memory.origins.read(),
            memory.tops.read(),
            memory.places.write(),
            memory.entries.write(),
        ];
        let parts = [&pieces[..], &way_back, row, &[LATE.into()]];
        launch_parts(stream, &self.back.0, self.back.1, &parts)?;
        let joined = [
            memory.file_pieces.read(),
            memory.origins.read(),
            memory.entries.read(),
            memory.places.write(),
        ];
        let parts = [&pieces[..], &joined, row];
        launch_parts(stream, &self.join.0, self.join.1, &parts)
    }
}
