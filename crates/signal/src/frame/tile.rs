//! A block of overlapping frames, transposed so that a sample of all frames is one vector load.
//!
//! With a hop of `h` samples, sample `i = q·h + j` of frame `f` is sample `j` of hop `f + q`. A tile
//! stores hop `m`'s samples down column `m`; the lanes of sample `i` are then the neighbours
//! `[j][q], [j][q+1], …`. Each sample is moved once, however much the frames overlap.

use warpsmith_lanes::{EightLanes, Lanes};

use super::framing::Framing;

/// The transposed samples of one block of frames.
#[derive(Clone)]
pub struct Tile {
    framing: Framing,
    width: usize,
    /// Rows in use: samples of a hop that some frame sees.
    rows: usize,
    columns: usize,
    samples: Vec<f32>,
    /// Where the lanes of a frame's sample start.
    offsets: Vec<u32>,
}

impl Tile {
    /// Room for blocks of `width` frames.
    pub fn new(framing: Framing, width: usize) -> Self {
        if width == 1 {
            // A frame on its own is one column, as it is.
            return Self {
                framing,
                width,
                rows: framing.length,
                columns: 1,
                samples: vec![0.0; framing.length],
                offsets: (0..framing.length as u32).collect(),
            };
        }
        let rows = framing.hop.min(framing.length);
        // Whole eights, which change places together.
        let columns = (width + framing.length.div_ceil(framing.hop)).next_multiple_of(8);
        let offsets = (0..framing.length)
            .map(|i| ((i % framing.hop) * columns + i / framing.hop) as u32)
            .collect();
        Self {
            framing,
            width,
            rows,
            columns,
            samples: vec![0.0; rows * columns],
            offsets,
        }
    }

    /// Takes the frames `first .. first + width` of `signal`; frames past the last are whatever the
    /// padding makes of them.
    #[inline(always)]
    pub fn fill<V: Lanes>(&mut self, signal: &[f32], first: usize) {
        let hop = self.framing.hop;
        let start = (first * hop) as i64 - self.framing.left() as i64;
        let columns = self.columns;
        if self.width == 1 {
            self.fill_one(signal, start);
            return;
        }
        let reach = start + (columns * hop) as i64;
        if start >= 0 && reach <= signal.len() as i64 {
            let from = &signal[start as usize..reach as usize];
            let whole = self.rows / 8 * 8;
            let (eights, rest) = self.samples.split_at_mut(whole * columns);
            transpose_into::<V::Points>(from, hop, (whole, columns), eights, columns);
            for (row, out) in rest.chunks_exact_mut(columns).enumerate() {
                for (column, slot) in out.iter_mut().enumerate() {
                    *slot = from[whole + row + column * hop];
                }
            }
            return;
        }
        for column in 0..columns {
            let base = start + (column * hop) as i64;
            for row in 0..self.rows {
                let source = self.framing.source(base + row as i64, signal.len());
                self.samples[row * columns + column] = source.map_or(0.0, |at| signal[at]);
            }
        }
    }

    #[inline(always)]
    fn fill_one(&mut self, signal: &[f32], start: i64) {
        let end = start + self.rows as i64;
        if start >= 0 && end <= signal.len() as i64 {
            self.samples
                .copy_from_slice(&signal[start as usize..end as usize]);
            return;
        }
        for (at, slot) in (start..end).zip(&mut self.samples) {
            let source = self.framing.source(at, signal.len());
            *slot = source.map_or(0.0, |at| signal[at]);
        }
    }

    /// The samples of a frame on its own, in their order.
    #[inline(always)]
    pub fn alone(&self) -> &[f32] {
        debug_assert_eq!(self.width, 1);
        &self.samples
    }

    /// Sample `index` of all frames.
    #[inline(always)]
    pub fn sample<V: Lanes>(&self, index: usize) -> V {
        debug_assert_eq!(V::WIDTH, self.width);
        V::load(&self.samples[self.offsets[index] as usize..])
    }
}

/// Writes value `row + column · apart` of `from` to `out[row · pitch + column]`; rows and columns are
/// multiples of eight.
#[inline(always)]
pub fn transpose_into<W: EightLanes>(
    from: &[f32],
    apart: usize,
    (rows, columns): (usize, usize),
    out: &mut [f32],
    pitch: usize,
) {
    for column in (0..columns).step_by(8) {
        // Lines of known length: of what is loaded nothing is checked on the way.
        let mut lines = [&[][..]; 8];
        for (line, slot) in lines.iter_mut().enumerate() {
            *slot = from[(column + line) * apart..][..rows].as_chunks::<8>().0;
        }
        let [a, b, c, d, e, f, g, h] = lines.map(|line| line.iter());
        let lines = a.zip(b).zip(c).zip(d).zip(e).zip(f).zip(g).zip(h);
        for (out, (((((((a, b), c), d), e), f), g), h)) in out.chunks_mut(8 * pitch).zip(lines) {
            let mut values = [W::splat(0.0); 8];
            for (slot, line) in values.iter_mut().zip([a, b, c, d, e, f, g, h]) {
                *slot = W::load(line);
            }
            for (line, values) in W::transpose(values).iter().enumerate() {
                values.store(&mut out[line * pitch + column..]);
            }
        }
    }
}
