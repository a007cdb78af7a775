//! The search on the CPU: level by level through slabs of tiles, on one thread or on all.
//!
//! Slabs share nothing while a level runs; bits that cross from one to another travel by mail
//! between two levels. So the labels do not depend on the number of threads.

use rayon::prelude::*;
use warpsmith_device::CpuDevice;

use super::labels::{Labels, Reach};
use super::maze::Maze;
use super::slab::{Slab, deliver};
use crate::error::LatticeError;
use crate::shape::Cell;

/// Planes of tiles that a slab has at least: its two ghost planes are to cost little.
const LEAST_PLANES: usize = 8;
/// Slabs to a thread: the front crosses some slabs while others wait.
const SLABS_PER_THREAD: usize = 4;
/// Tiles of a level below which waking other threads costs more than it saves.
const WORTH_WAKING: usize = 600;

/// A search that can be repeated from other sources; it allocates once.
#[derive(Debug)]
pub struct TileSearch {
    maze: Maze,
    slabs: Vec<Slab>,
    /// Where levels run, if not on the caller's thread.
    pool: Option<CpuDevice>,
}

impl TileSearch {
    /// Prepares searches in a maze, on the caller's thread.
    pub fn new(maze: Maze) -> Result<Self, LatticeError> {
        Self::with(maze, None)
    }

    /// Prepares searches in a maze on all threads of `cpu`.
    pub fn on_threads(cpu: &CpuDevice, maze: Maze) -> Result<Self, LatticeError> {
        Self::with(maze, (cpu.threads() > 1).then(|| cpu.clone()))
    }

    fn with(maze: Maze, pool: Option<CpuDevice>) -> Result<Self, LatticeError> {
        let extents = maze.tiling().extents;
        let threads = pool.as_ref().map_or(0, CpuDevice::threads);
        let count = (SLABS_PER_THREAD * threads)
            .min(extents[0] / LEAST_PLANES)
            .max(1);
        let start = |slab: usize| slab * extents[0] / count;
        let slabs: Vec<Slab> = (0..count)
            .map(|slab| Slab::new(extents, start(slab), start(slab + 1) - start(slab)))
            .collect();
        if slabs
            .iter()
            .any(|slab| u32::try_from(slab.padded()).is_err())
        {
            return Err(LatticeError::Shape {
                text: maze.shape().to_string(),
                problem: "it has more than 2³² tiles of 64 cells".to_owned(),
            });
        }
        let pool = pool.filter(|_| count > 1);
        Ok(Self { maze, slabs, pool })
    }

    /// The maze.
    pub fn maze(&self) -> &Maze {
        &self.maze
    }

    /// Bytes that the search keeps beside the maze.
    pub fn state_bytes(&self) -> usize {
        self.slabs.iter().map(Slab::state_bytes).sum()
    }

    /// The slab of a tile and the tile's place in it.
    fn place(&self, tile: usize) -> (usize, usize) {
        let [_, ty, tx] = self.maze.tiling().extents;
        let plane = tile / (ty * tx);
        let slab = self.slabs.partition_point(|slab| slab.range().end <= plane);
        (slab, self.slabs[slab].place(tile))
    }

    /// Searches from `source`, through everything that can be reached or until `target` is.
    pub fn run(&mut self, source: Cell, target: Option<Cell>) -> Result<Reach, LatticeError> {
        self.maze.ensure_free("source", source)?;
        if let Some(cell) = target {
            self.maze.ensure_free("target", cell)?;
        }
        Ok(match self.pool.clone() {
            None => self.search(source, target),
            Some(pool) => pool.run(|| self.search(source, target)),
        })
    }

    fn search(&mut self, source: Cell, target: Option<Cell>) -> Reach {
        let words = self.maze.words();
        match self.pool {
            None => self.slabs.iter_mut().for_each(|slab| slab.reset(words)),
            Some(_) => self.slabs.par_iter_mut().for_each(|slab| slab.reset(words)),
        }
        let tiling = self.maze.tiling();
        let target = target.map(|cell| {
            let (tile, bit) = tiling.place(cell);
            (self.place(tile), bit)
        });
        let (tile, bit) = tiling.place(source);
        let (slab, place) = self.place(tile);
        self.slabs[slab].receive(0, place as u32, bit);
        let mut reach = Reach::default();
        for level in 0u32.. {
            let new = self.level(level);
            if new == 0 {
                break;
            }
            reach.cells += new;
            reach.eccentricity = level;
            let labelled = |(slab, place): (usize, usize)| {
                let [low, high] = self.slabs[slab].label(place);
                low | high
            };
            if target.is_some_and(|(place, bit)| labelled(place) & bit != 0) {
                break;
            }
        }
        reach
    }

    /// Takes one level; returns how many cells are new.
    fn level(&mut self, level: u32) -> u64 {
        if let [only] = &mut self.slabs[..] {
            return only.level(level);
        }
        let parity = (level % 2) as usize;
        let pending: usize = self.slabs.iter().map(|slab| slab.pending(parity)).sum();
        let cells = if pending < WORTH_WAKING {
            self.slabs.iter_mut().map(|slab| slab.level(level)).sum()
        } else {
            let slabs = self.slabs.par_iter_mut();
            slabs.map(|slab| slab.level(level)).sum()
        };
        for at in 1..self.slabs.len() {
            let (lower, upper) = self.slabs.split_at_mut(at);
            deliver(&mut lower[at - 1], &mut upper[0]);
        }
        cells
    }

    /// The labels of the last search.
    pub fn labels(&self) -> Labels {
        let tiling = self.maze.tiling();
        let plane = |which: usize| {
            (0..tiling.tiles())
                .map(|tile| {
                    let (slab, place) = self.place(tile);
                    self.slabs[slab].label(place)[which]
                })
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
    use crate::shape::Shape;

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
    fn threads_leave_the_same_labels() {
        let cpu = CpuDevice::with_threads(3).unwrap();
        for (extents, blocked) in [
            ([140, 37, 50], 30.0),
            ([64, 64, 64], 0.0),
            ([100, 9, 5], 40.0),
        ] {
            let maze = Maze::random(Shape::new(&extents).unwrap(), blocked, 5).unwrap();
            let source = maze.first_free().unwrap();
            let mut one = TileSearch::new(maze.clone()).unwrap();
            let mut many = TileSearch::on_threads(&cpu, maze).unwrap();
            assert!(many.slabs.len() > 1);
            let expected = one.run(source, None).unwrap();
            // Twice: the second must not see the first.
            for _ in 0..2 {
                assert_eq!(many.run(source, None).unwrap(), expected);
                assert_eq!(many.labels(), one.labels());
            }
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
