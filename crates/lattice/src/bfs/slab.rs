//! A stretch of planes of tiles, searched level by level by one thread at a time.
//!
//! A tile keeps what its neighbours sent it for this level and for the next one apart, so one visit
//! commits its new cells, labels them, and sends on. A tile enters the next list when the first bits
//! arrive for it. What leaves the slab goes into a ghost plane below or above it, where everything is
//! free, and from there by mail to the slab that owns those tiles.

use super::labels::planes_of;
use super::tile::{leave, spread};

/// Tiles that one visit can put on the next list: itself and six neighbours, and one to spare.
const ROOM: usize = 8;

/// What a tile's neighbours touch: three bits to a cell.
#[derive(Clone, Copy, Debug, Default)]
struct Tile {
    /// Free and not reached.
    free: u64,
    /// Sent here for even and for odd levels.
    sent: [u64; 2],
}

/// Bits for tiles of another slab.
pub(super) type Mail = Vec<(u32, u64)>;

/// Below and above.
#[derive(Debug, Default)]
pub(super) struct Neighbours<T> {
    pub(super) below: T,
    pub(super) above: T,
}

#[derive(Debug)]
pub(super) struct Slab {
    /// First plane of tiles, and how many.
    first: usize,
    planes: usize,
    /// Tiles of a plane along y and x.
    extents: [usize; 2],
    /// With one tile of padding before each row of tiles, one row before each plane, one plane
    /// before and after: a tile's six neighbours are always there. Padding is never free.
    tiles: Vec<Tile>,
    /// Low and high plane of the labels, in the same order; apart, because neighbours leave them be.
    labels: Vec<[u64; 2]>,
    lists: [Vec<u32>; 2],
    /// Entries of each list; what lies beyond is left over.
    lengths: [usize; 2],
    /// Whether there are slabs there, and so ghosts.
    has: Neighbours<bool>,
    /// What has come, and what is to go.
    pub(super) incoming: Neighbours<Mail>,
    pub(super) outgoing: Neighbours<Mail>,
}

impl Slab {
    /// Planes `first..first + planes` of a tiling with `extents` tiles along z, y and x.
    pub(super) fn new(extents: [usize; 3], first: usize, planes: usize) -> Self {
        let [tz, ty, tx] = extents;
        let mut slab = Self {
            first,
            planes,
            extents: [ty, tx],
            tiles: Vec::new(),
            labels: Vec::new(),
            lists: [Vec::new(), Vec::new()],
            lengths: [0; 2],
            has: Neighbours {
                below: first > 0,
                above: first + planes < tz,
            },
            incoming: Neighbours::default(),
            outgoing: Neighbours::default(),
        };
        let padded = (planes + 2) * slab.plane() + slab.row() + 1;
        slab.tiles = vec![Tile::default(); padded];
        slab.labels = vec![[0; 2]; padded];
        slab
    }

    /// Tiles from a row to the next, and from a plane to the next.
    fn row(&self) -> usize {
        self.extents[1] + 1
    }

    fn plane(&self) -> usize {
        self.row() * (self.extents[0] + 1)
    }

    /// Entries that indices of 32 bits must reach.
    pub(super) fn padded(&self) -> usize {
        self.tiles.len()
    }

    /// Planes of the tiling that it holds.
    pub(super) fn range(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.planes
    }

    /// Where a tile of this slab lies, by its place in the whole tiling.
    pub(super) fn place(&self, tile: usize) -> usize {
        let [ty, tx] = self.extents;
        let (line, x) = (tile / tx, tile % tx);
        let (z, y) = (line / ty - self.first, line % ty);
        ((z + 1) * (ty + 1) + y + 1) * (tx + 1) + x + 1
    }

    pub(super) fn label(&self, place: usize) -> [u64; 2] {
        self.labels[place]
    }

    pub(super) fn state_bytes(&self) -> usize {
        let lists: usize = self.lists.iter().map(Vec::capacity).sum();
        size_of_val(&self.tiles[..]) + size_of_val(&self.labels[..]) + lists * size_of::<u32>()
    }

    /// Forgets a search; `words` are the free cells of the whole tiling.
    pub(super) fn reset(&mut self, words: &[u64]) {
        let [ty, tx] = self.extents;
        let own = &words[self.first * ty * tx..][..self.planes * ty * tx];
        for (line, words) in own.chunks_exact(tx).enumerate() {
            let first = self.place((self.first * ty + line) * tx);
            for (tile, &free) in self.tiles[first..first + tx].iter_mut().zip(words) {
                *tile = Tile {
                    free,
                    ..Tile::default()
                };
            }
            self.labels[first..first + tx].fill([0; 2]);
        }
        let (row, plane) = (self.row(), self.plane());
        let ghosts = [
            (0, self.has.below),
            ((self.planes + 1) * plane, self.has.above),
        ];
        for (base, _) in ghosts.into_iter().filter(|(_, there)| *there) {
            for y in 0..ty {
                let first = base + (y + 1) * row + 1;
                self.tiles[first..first + tx].fill(Tile {
                    free: u64::MAX,
                    ..Tile::default()
                });
            }
        }
        self.lengths = [0; 2];
        for mail in [&mut self.incoming, &mut self.outgoing] {
            mail.below.clear();
            mail.above.clear();
        }
    }

    /// Puts bits down for a level of this parity.
    pub(super) fn receive(&mut self, parity: usize, place: u32, bits: u64) {
        let tile = &mut self.tiles[place as usize];
        let bits = bits & tile.free;
        let list = &mut self.lists[parity];
        if tile.sent[parity] == 0 && bits != 0 {
            let length = self.lengths[parity];
            if list.len() < length + ROOM {
                list.resize(2 * list.len() + ROOM, 0);
            }
            list[length] = place;
            self.lengths[parity] += 1;
        }
        tile.sent[parity] |= bits;
    }

    /// Tiles that the next level of this parity visits here, more or less.
    pub(super) fn pending(&self, parity: usize) -> usize {
        self.lengths[parity] + self.incoming.below.len() + self.incoming.above.len()
    }

    /// Takes one level; returns how many cells are new.
    pub(super) fn level(&mut self, level: u32) -> u64 {
        let parity = (level % 2) as usize;
        let mut incoming = std::mem::take(&mut self.incoming);
        for mail in [&mut incoming.below, &mut incoming.above] {
            for (place, bits) in mail.drain(..) {
                self.receive(parity, place, bits);
            }
        }
        // Emptied, with the room that they have.
        self.incoming = incoming;
        let cells = self.visit(level);
        if self.has.below || self.has.above {
            self.post(1 - parity);
        }
        cells
    }

    fn visit(&mut self, level: u32) -> u64 {
        let parity = (level % 2) as usize;
        let planes = planes_of(level);
        let (row, plane) = (self.row().cast_signed(), self.plane().cast_signed());
        let steps = [-1, 1, -row, row, -plane, plane];
        let length = std::mem::take(&mut self.lengths[parity]);
        let (even, odd) = self.lists.split_at_mut(1);
        let (list, next) = if parity == 0 {
            (&even[0], &mut odd[0])
        } else {
            (&odd[0], &mut even[0])
        };
        let (tiles, labels) = (&mut self.tiles[..], &mut self.labels[..]);
        let (mut cells, mut queued) = (0, 0);
        for &index in &list[..length] {
            let index = index as usize;
            if next.len() < queued + ROOM {
                next.resize(2 * next.len() + ROOM, 0);
            }
            let room = &mut next[queued..queued + ROOM];
            let tile = &mut tiles[index];
            let new = std::mem::take(&mut tile.sent[parity]) & tile.free;
            tile.free &= !new;
            labels[index][0] |= new & planes[0];
            labels[index][1] |= new & planes[1];
            cells += u64::from(new.count_ones());
            // Whether bits leave through a face is as good as random, so there is no branch on it:
            // sending nothing changes nothing, and an entry is kept only if the count goes up.
            let mut entries = 0;
            let mut send = |index: usize, bits: u64| {
                let tile = &mut tiles[index];
                let (before, bits) = (tile.sent[1 - parity], bits & tile.free);
                tile.sent[1 - parity] = before | bits;
                room[entries] = index as u32;
                entries += usize::from((before == 0) & (bits != 0));
            };
            send(index, spread(new));
            for (bits, step) in leave(new).into_iter().zip(steps) {
                send(index.wrapping_add_signed(step), bits);
            }
            queued += entries;
        }
        self.lengths[1 - parity] = queued;
        cells
    }

    /// Takes ghosts off the list of this parity and posts what they got. Places above are the
    /// receiver's own; to those below [`deliver`] adds the receiver's planes, which only it knows.
    fn post(&mut self, parity: usize) {
        let plane = self.plane();
        let (low, high) = (plane, (self.planes + 1) * plane);
        let list = &mut self.lists[parity];
        let mut kept = 0;
        for at in 0..self.lengths[parity] {
            let place = list[at];
            let index = place as usize;
            if index >= low && index < high {
                list[kept] = place;
                kept += 1;
                continue;
            }
            let bits = std::mem::take(&mut self.tiles[index].sent[parity]);
            if index < low {
                self.outgoing.below.push((place, bits));
            } else {
                let place = (index - self.planes * plane) as u32;
                self.outgoing.above.push((place, bits));
            }
        }
        self.lengths[parity] = kept;
    }
}

/// Exchanges the mail of two slabs, the first right below the second.
pub(super) fn deliver(lower: &mut Slab, upper: &mut Slab) {
    std::mem::swap(&mut lower.outgoing.above, &mut upper.incoming.below);
    // A ghost below the upper slab is a tile of the lower one's last plane.
    let shift = (lower.planes * lower.plane()) as u32;
    for (place, _) in &mut upper.outgoing.below {
        *place += shift;
    }
    std::mem::swap(&mut upper.outgoing.below, &mut lower.incoming.above);
}
