//! The search on one CPU core.
//!
//! Level by level, over a list of the tiles that hold something new. A tile keeps what its
//! neighbours sent it for this level and for the next one apart, so one visit commits its new
//! cells, labels them, and sends on. A tile enters the next list when the first bits arrive for it.

use super::labels::{Labels, Reach, planes_of};
use super::maze::Maze;
use super::tile::{leave, spread};
use crate::lattice::error::LatticeError;
use crate::lattice::shape::Cell;

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

/// A search that can be repeated from other sources; it allocates once.
#[derive(Debug)]
pub struct TileSearch {
    maze: Maze,
    /// With one tile of padding before each row of tiles, one row before each plane, one plane
    /// before and after: a tile's six neighbours are always there, and padding is never free.
    tiles: Vec<Tile>,
    /// Low and high plane of the labels, in the same order; apart, because neighbours leave them be.
    labels: Vec<[u64; 2]>,
    steps: [isize; 6],
    lists: [Vec<u32>; 2],
    /// Entries of each list; what lies beyond is left over.
    lengths: [usize; 2],
}

impl TileSearch {
    /// Prepares searches in a maze.
    pub fn new(maze: Maze) -> Result<Self, LatticeError> {
        let [tz, ty, tx] = maze.tiling().extents;
        let (row, plane) = (tx + 1, (tx + 1) * (ty + 1));
        let padded = (tz + 1) * plane + row + 1;
        if u32::try_from(padded).is_err() {
            return Err(LatticeError::Shape {
                text: maze.shape().to_string(),
                problem: "it has more than 2³² tiles of 64 cells".to_owned(),
            });
        }
        let (row, plane) = (row.cast_signed(), plane.cast_signed());
        let mut search = Self {
            tiles: vec![Tile::default(); padded + plane.unsigned_abs()],
            labels: vec![[0; 2]; padded + plane.unsigned_abs()],
            steps: [-1, 1, -row, row, -plane, plane],
            lists: [Vec::new(), Vec::new()],
            lengths: [0; 2],
            maze,
        };
        search.reset();
        Ok(search)
    }

    /// The maze.
    pub fn maze(&self) -> &Maze {
        &self.maze
    }

    /// Bytes that the search keeps beside the maze.
    pub fn state_bytes(&self) -> usize {
        let lists: usize = self.lists.iter().map(Vec::capacity).sum();
        size_of_val(&self.tiles[..]) + size_of_val(&self.labels[..]) + lists * size_of::<u32>()
    }

    fn padded(&self, tile: usize) -> usize {
        let [_, ty, tx] = self.maze.tiling().extents;
        let (line, x) = (tile / tx, tile % tx);
        let (z, y) = (line / ty, line % ty);
        ((z + 1) * (ty + 1) + y + 1) * (tx + 1) + x + 1
    }

    fn reset(&mut self) {
        let [tz, ty, tx] = self.maze.tiling().extents;
        let mut words = self.maze.words().chunks_exact(tx);
        for line in 0..tz * ty {
            let first = self.padded(line * tx);
            let Some(words) = words.next() else { break };
            for (tile, &free) in self.tiles[first..first + tx].iter_mut().zip(words) {
                *tile = Tile {
                    free,
                    ..Tile::default()
                };
            }
            self.labels[first..first + tx].fill([0; 2]);
        }
    }

    /// Searches from `source`, through everything that can be reached or until `target` is.
    pub fn run(&mut self, source: Cell, target: Option<Cell>) -> Result<Reach, LatticeError> {
        self.maze.ensure_free("source", source)?;
        let target = match target {
            Some(cell) => {
                self.maze.ensure_free("target", cell)?;
                let (tile, bit) = self.maze.tiling().place(cell);
                Some((self.padded(tile), bit))
            }
            None => None,
        };
        self.reset();
        let (tile, bit) = self.maze.tiling().place(source);
        let start = self.padded(tile);
        self.tiles[start].sent[0] = bit;
        self.lists[0].resize(self.lists[0].len().max(ROOM), 0);
        self.lists[0][0] = start as u32;
        self.lengths = [1, 0];
        let mut reach = Reach::default();
        for level in 0u32.. {
            let new = self.level(level);
            if new == 0 {
                break;
            }
            reach.cells += new;
            reach.eccentricity = level;
            let labelled = |tile: usize| self.labels[tile][0] | self.labels[tile][1];
            if target.is_some_and(|(tile, bit)| labelled(tile) & bit != 0) {
                break;
            }
        }
        Ok(reach)
    }

    /// Takes one level; returns how many cells are new.
    fn level(&mut self, level: u32) -> u64 {
        let parity = (level % 2) as usize;
        let planes = planes_of(level);
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
            for (bits, step) in leave(new).into_iter().zip(self.steps) {
                send(index.wrapping_add_signed(step), bits);
            }
            queued += entries;
        }
        self.lengths[1 - parity] = queued;
        cells
    }

    /// The labels of the last search.
    pub fn labels(&self) -> Labels {
        let tiling = self.maze.tiling();
        let plane = |which: usize| {
            (0..tiling.tiles())
                .map(|index| self.labels[self.padded(index)][which])
                .collect()
        };
        Labels {
            shape: self.maze.shape(),
            tiling,
            low: plane(0),
            high: plane(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;
    use crate::lattice::shape::Shape;

    /// The textbook search with a queue and a table of distances.
    fn oracle(maze: &Maze, source: Cell) -> Vec<Option<u32>> {
        let shape = maze.shape();
        let mut distances = vec![None; shape.cells()];
        distances[shape.index(source)] = Some(0);
        let mut queue = VecDeque::from([source]);
        while let Some(cell) = queue.pop_front() {
            let distance = distances[shape.index(cell)].unwrap();
            for next in shape.neighbours(cell) {
                if maze.is_free(next) && distances[shape.index(next)].is_none() {
                    distances[shape.index(next)] = Some(distance + 1);
                    queue.push_back(next);
                }
            }
        }
        distances
    }

    fn check(maze: Maze, source: Cell) {
        let shape = maze.shape();
        let distances = oracle(&maze, source);
        let mut search = TileSearch::new(maze.clone()).unwrap();
        // Twice: the second must not see the first.
        for _ in 0..2 {
            let reach = search.run(source, None).unwrap();
            let reached = distances.iter().flatten();
            assert_eq!(reach.cells, reached.clone().count() as u64);
            assert_eq!(reach.eccentricity, *reached.max().unwrap());
        }
        let labels = search.labels();
        for (index, distance) in distances.iter().enumerate() {
            let cell = shape.cell(index);
            let label = distance.map(|distance| (distance % 3) as u8);
            assert_eq!(labels.get(cell), label, "{cell}");
        }
        let far = distances
            .iter()
            .enumerate()
            .filter_map(|(index, distance)| Some((index, (*distance)?)))
            .step_by(distances.len() / 20 + 1);
        for (index, distance) in far {
            let path = labels.path(shape.cell(index)).unwrap();
            assert_eq!(path.len() as u32, distance + 1);
            assert_eq!(path[0], source);
            for pair in path.windows(2) {
                assert!(shape.neighbours(pair[0]).any(|cell| cell == pair[1]));
                assert!(maze.is_free(pair[1]));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_distance_is_that_of_the_textbook(
            extents in prop::collection::vec(1usize..23, 1..=3),
            blocked in 0.0f64..60.0,
            seed in 0u64..1000,
        ) {
            let shape = Shape::new(&extents).unwrap();
            check(Maze::random(shape, blocked, seed).unwrap(), Cell([0, 0, 0]));
        }
    }

    #[test]
    fn an_open_lattice_has_the_manhattan_distance() {
        let shape = Shape::new(&[9, 17, 30]).unwrap();
        let mut search = TileSearch::new(Maze::open(shape).unwrap()).unwrap();
        let reach = search.run(Cell([0, 0, 0]), None).unwrap();
        assert_eq!(
            (reach.cells, reach.eccentricity),
            (9 * 17 * 30, 8 + 16 + 29)
        );
        let reach = search
            .run(Cell([4, 8, 15]), Some(Cell([4, 8, 20])))
            .unwrap();
        assert_eq!(reach.eccentricity, 5);
        assert_eq!(search.labels().path(Cell([4, 8, 20])).unwrap().len(), 6);
    }

    #[test]
    fn walls_are_walls() {
        let drawn = super::super::parse_map("S.#.\n..#T\n").unwrap();
        let (source, target) = (drawn.source.unwrap(), drawn.target.unwrap());
        let mut search = TileSearch::new(drawn.maze).unwrap();
        assert_eq!(search.run(source, Some(target)).unwrap().cells, 4);
        let error = search.labels().path(target).unwrap_err().to_string();
        assert!(error.contains("walled off"), "{error}");
        let error = search.run(Cell([0, 0, 2]), None).unwrap_err().to_string();
        assert!(error.contains("source (0,0,2) is blocked"), "{error}");
        assert!(search.run(Cell([0, 9, 0]), None).is_err());
    }

    #[test]
    fn a_search_keeps_at_most_six_bits_to_a_cell() {
        let shape = Shape::cube(128).unwrap();
        let mut search = TileSearch::new(Maze::random(shape, 30.0, 7).unwrap()).unwrap();
        search.run(Cell([0, 0, 0]), None).unwrap();
        let bits = 8.0 * search.state_bytes() as f64 / shape.cells() as f64;
        assert!(bits <= 6.0, "{bits}");
    }
}
