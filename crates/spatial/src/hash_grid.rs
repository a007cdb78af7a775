//! Points by the cell of a grid that they lie in. The grid repeats without end in every direction.

use warpsmith_ir::types::Scalar;

/// Words of a search: the grid's number, the box of cells (first, last), the cell at hand, the range of
/// points that is left of it, and the point found last.
pub const GRID_QUERY_LEAVES: usize = 13;

const FIRST: usize = 1;
const LAST: usize = 4;
const AT: usize = 7;
const NEXT: usize = 10;
const END: usize = 11;
const FOUND: usize = 12;

/// Points by their cells.
#[derive(Debug)]
pub struct HashGrid {
    size: [i32; 3],
    inverse_width: f32,
    /// The points' numbers, cell after cell, in each by number.
    points: Vec<i32>,
    /// Where each cell's points begin; one more than there are cells.
    starts: Vec<i32>,
}

/// The coordinate of the cell that a scaled coordinate lies in.
fn coordinate(value: f32) -> i32 {
    // A cast keeps to the range and makes 0 of what is no number.
    (value.floor() as i32).min(i32::MAX - 1)
}

impl HashGrid {
    /// The types of a search's words.
    pub const QUERY: [Scalar; GRID_QUERY_LEAVES] = {
        let mut words = [Scalar::I32; GRID_QUERY_LEAVES];
        words[0] = Scalar::U64;
        words
    };
    /// The words of a search that move on within a cell: the next place, the end, the point found.
    pub const IN_CELL: [usize; 3] = [NEXT, END, FOUND];
    /// Whether there is a further point, and the state behind it.
    pub const STEP: [Scalar; GRID_QUERY_LEAVES + 1] = {
        let mut words = [Scalar::I32; GRID_QUERY_LEAVES + 1];
        words[0] = Scalar::Bool;
        words[1] = Scalar::U64;
        words
    };

    /// Sorts points into cells of a width; sizes are at least 1.
    pub fn new(size: [i32; 3], width: f32, positions: &[[f32; 3]]) -> Self {
        let size = size.map(|cells| cells.max(1));
        let inverse_width = 1.0 / width;
        let mut grid = Self {
            size,
            inverse_width,
            points: vec![0; positions.len()],
            starts: Vec::new(),
        };
        let cells = size.iter().map(|cells| *cells as usize).product::<usize>();
        let cell = |point: &[f32; 3]| {
            let at = point.map(|part| coordinate(part * inverse_width));
            grid.cell(at)
        };
        let of_point: Vec<usize> = positions.iter().map(cell).collect();
        let mut starts = vec![0; cells + 1];
        for cell in &of_point {
            starts[cell + 1] += 1;
        }
        for cell in 0..cells {
            starts[cell + 1] += starts[cell];
        }
        let mut next = starts.clone();
        for (point, cell) in of_point.into_iter().enumerate() {
            grid.points[next[cell] as usize] = point as i32;
            next[cell] += 1;
        }
        grid.starts = starts;
        grid
    }

    /// The grid in 4-byte words, as `hash_grid.h` of the GPU's runtime reads them: the size, the inverse
    /// width, the cells' starts, the points.
    pub fn flat(&self, out: &mut Vec<u8>) {
        out.extend(self.size.iter().flat_map(|n| n.to_le_bytes()));
        out.extend(self.inverse_width.to_le_bytes());
        let words = self.starts.iter().chain(&self.points);
        out.extend(words.flat_map(|n| n.to_le_bytes()));
    }

    fn cell(&self, at: [i32; 3]) -> usize {
        let [x, y, z] = [0, 1, 2].map(|axis| at[axis].rem_euclid(self.size[axis]) as usize);
        let [width, height, _] = self.size.map(|cells| cells as usize);
        z * width * height + y * width + x
    }

    /// The point at a place of the order by cells.
    pub fn point(&self, index: usize) -> Option<i32> {
        self.points.get(index).copied()
    }

    /// The state of a search: all points of the cells that a ball's box touches.
    pub fn query(&self, given: &[u64], made: &mut [u64]) {
        let [x, y, z, radius] = [1, 2, 3, 4].map(|n| f32::from_bits(given[n] as u32));
        made[0] = given[0];
        let mut at = [0; 3];
        for (axis, position) in [x, y, z].into_iter().enumerate() {
            let first = coordinate((position - radius) * self.inverse_width);
            let last = coordinate((position + radius) * self.inverse_width);
            // No cell is visited twice, however large the ball is.
            let around = i64::from(last) - i64::from(first) >= i64::from(self.size[axis]);
            let last = match around {
                true => first.wrapping_add(self.size[axis] - 1),
                false => last,
            };
            put(made, FIRST + axis, first);
            put(made, LAST + axis, last);
            put(made, AT + axis, first);
            at[axis] = first;
        }
        self.enter(at, made);
        put(made, FOUND, 0);
    }

    fn enter(&self, at: [i32; 3], state: &mut [u64]) {
        let cell = self.cell(at);
        put(state, NEXT, self.starts[cell]);
        put(state, END, self.starts[cell + 1]);
    }

    /// Whether there is a further point, then the state with that point; cells along x first.
    pub fn next(&self, given: &[u64], made: &mut [u64]) {
        let (more, state) = made.split_at_mut(1);
        state.copy_from_slice(given);
        more[0] = 0;
        let mut at = [0, 1, 2].map(|axis| get(state, AT + axis));
        loop {
            let next = get(state, NEXT);
            if next < get(state, END) {
                put(state, FOUND, self.points[next as usize]);
                put(state, NEXT, next + 1);
                more[0] = 1;
                break;
            }
            at[0] = at[0].saturating_add(1);
            if at[0] > get(state, LAST) {
                at[0] = get(state, FIRST);
                at[1] = at[1].saturating_add(1);
            }
            if at[1] > get(state, LAST + 1) {
                at[1] = get(state, FIRST + 1);
                at[2] = at[2].saturating_add(1);
            }
            if at[2] > get(state, LAST + 2) {
                break;
            }
            self.enter(at, state);
        }
        for (axis, part) in at.into_iter().enumerate() {
            put(state, AT + axis, part);
        }
    }
}

fn get(words: &[u64], at: usize) -> i32 {
    (words[at] as u32).cast_signed()
}

fn put(words: &mut [u64], at: usize, value: i32) {
    words[at] = u64::from(value.cast_unsigned());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(grid: &HashGrid, point: [f32; 3], radius: f32) -> Vec<i32> {
        let mut given = vec![7];
        given.extend(
            point
                .iter()
                .chain([&radius])
                .map(|x| u64::from(x.to_bits())),
        );
        let mut state = [0; GRID_QUERY_LEAVES];
        grid.query(&given, &mut state);
        let mut points = Vec::new();
        loop {
            let mut step = [0; GRID_QUERY_LEAVES + 1];
            grid.next(&state, &mut step);
            if step[0] == 0 {
                return points;
            }
            state.copy_from_slice(&step[1..]);
            points.push(get(&state, FOUND));
        }
    }

    #[test]
    fn a_search_gives_every_near_point_once_in_order_of_cells() {
        let points = [
            [0.5, 0.5, 0.5],
            [1.5, 0.5, 0.5],
            [0.4, 0.5, 0.5],
            [9.0, 9.0, 9.0],
        ];
        let grid = HashGrid::new([16, 16, 16], 1.0, &points);
        assert_eq!(found(&grid, [0.9, 0.5, 0.5], 0.2), [0, 2, 1]);
        assert_eq!(found(&grid, [0.5, 0.5, 0.5], 100.0).len(), 4);
    }

    #[test]
    fn cells_repeat_on_the_other_side_of_zero() {
        let grid = HashGrid::new([4, 4, 4], 1.0, &[[-0.5, 0.5, 0.5], [3.5, 0.5, 0.5]]);
        assert_eq!(found(&grid, [-0.5, 0.5, 0.5], 0.1), [0, 1]);
        assert_eq!(grid.point(2), None);
    }

    #[test]
    fn a_search_around_what_is_no_number_ends() {
        let grid = HashGrid::new([2, 2, 2], 1.0, &[[f32::NAN, f32::INFINITY, -f32::INFINITY]]);
        assert!(found(&grid, [f32::NAN, 0.0, 0.0], f32::INFINITY).len() <= 1);
    }
}
