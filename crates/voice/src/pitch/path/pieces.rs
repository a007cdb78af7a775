//! Files' frames in pieces, for searches that walk all of them at once.
//!
//! A piece starts some frames early from scores that are all equal. Where they have become those that the
//! piece before ends with, which the kernels check to the last bit, the piece is what one walk through the
//! file finds; where not, it is walked again. The way back is cut and checked alike.

use warpsmith_device::{CudaDevice, DeviceBuffer, DeviceElement, Stream};
use warpsmith_workload::WorkloadError;

/// Frames that a piece starts early, and that its way back starts late: scores of a voice meet within some
/// tens of frames.
const EARLY: u64 = 64;
pub(super) const LATE: u32 = 48;
/// Frames of a piece: few enough to fill the GPU, and not so few that starting early is most of the work.
const PIECE: std::ops::RangeInclusive<u64> = 48..=512;

/// Where the pieces of the files begin and end.
pub(crate) struct Pieces {
    /// In fours: where the walk starts, the first frame, the one after the last, the file's end.
    pub(crate) frames: Vec<u64>,
    /// Running totals of pieces, one more than there are files.
    pub(crate) of_files: Vec<u64>,
}

impl Pieces {
    /// Of files whose running total of frames is `file_frames`, for a GPU that walks `at_once` of them.
    pub(crate) fn new(file_frames: &[u64], at_once: usize) -> Self {
        let total = file_frames.last().copied().unwrap_or(0);
        let length = total
            .div_ceil(at_once as u64)
            .clamp(*PIECE.start(), *PIECE.end());
        let mut pieces = Self {
            frames: Vec::new(),
            of_files: vec![0],
        };
        for file in file_frames.windows(2) {
            let (first, end) = (file[0], file[1]);
            for begin in (first..end).step_by(length as usize) {
                let start = begin.saturating_sub(EARLY).max(first);
                let piece_end = end.min(begin + length);
                pieces.frames.extend([start, begin, piece_end, end]);
            }
            pieces.of_files.push(pieces.count() as u64);
        }
        pieces
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.frames.len() / 4
    }
}

/// What a search in pieces keeps on the GPU: origins of type `O` of every state, edges of type `E`.
pub(crate) struct PieceMemory<O: DeviceElement, E: DeviceElement> {
    pub(crate) pieces: DeviceBuffer<u64>,
    pub(crate) file_pieces: DeviceBuffer<u64>,
    /// Where each state of each frame came from.
    pub(crate) origins: DeviceBuffer<O>,
    /// The state from which a way back starts in a frame.
    pub(crate) tops: DeviceBuffer<u32>,
    /// Scores before each piece and of its last frame.
    pub(crate) edges: DeviceBuffer<E>,
    /// Whether a piece starts with what the one before it ends with.
    pub(crate) same: DeviceBuffer<u32>,
    /// Pieces of each file that were walked again.
    pub(crate) repaired: DeviceBuffer<u32>,
    /// What a piece's way back came through in the frame after it.
    pub(crate) entries: DeviceBuffer<u32>,
    /// The way back: a state of each frame.
    pub(crate) places: DeviceBuffer<u32>,
}

impl<O: DeviceElement, E: DeviceElement> PieceMemory<O, E> {
    /// For `pieces` of `frames` frames in all, of `row` states each; edges have `edge` scores.
    pub(crate) fn new(
        gpu: &CudaDevice,
        pieces: &Pieces,
        frames: usize,
        (row, edge): (usize, usize),
    ) -> Result<Self, WorkloadError> {
        let (count, files) = (pieces.count(), pieces.of_files.len() - 1);
        Ok(Self {
            pieces: gpu.upload(&pieces.frames)?,
            file_pieces: gpu.upload(&pieces.of_files)?,
            origins: gpu.alloc(frames * row)?,
            tops: gpu.alloc(frames)?,
            edges: gpu.alloc(count * 2 * edge)?,
            same: gpu.alloc(count)?,
            repaired: gpu.alloc(files)?,
            entries: gpu.alloc(count)?,
            places: gpu.alloc(frames)?,
        })
    }

    /// Fills everything that the search writes with bytes that are not a result.
    pub(crate) fn poison(&mut self, stream: &Stream) -> Result<(), WorkloadError> {
        self.origins.fill_bytes(stream, 0xFF)?;
        self.tops.fill_bytes(stream, 0xFF)?;
        self.edges.fill_bytes(stream, 0xFF)?;
        self.same.fill_bytes(stream, 0xFF)?;
        self.repaired.fill_bytes(stream, 0xFF)?;
        self.entries.fill_bytes(stream, 0xFF)?;
        Ok(self.places.fill_bytes(stream, 0xFF)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_every_frame_once_and_start_inside_their_file() {
        let files = [0, 0, 1, 700, 700, 6701];
        let pieces = Pieces::new(&files, 132);
        assert_eq!(pieces.of_files.len(), files.len());
        let mut covered = 0;
        for (file, of_file) in files.windows(2).zip(pieces.of_files.windows(2)) {
            let own = &pieces.frames[4 * of_file[0] as usize..4 * of_file[1] as usize];
            for (n, piece) in own.chunks_exact(4).enumerate() {
                let [start, begin, end, file_end] = piece.try_into().unwrap();
                assert_eq!(begin, covered);
                assert!(begin < end && end <= file[1] && file_end == file[1]);
                // Only the first piece of a file starts where it begins.
                assert_eq!(start == begin, n == 0);
                assert!(start >= file[0]);
                covered = end;
            }
            assert_eq!(covered, file[1]);
        }
    }
}
