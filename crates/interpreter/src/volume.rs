//! A NanoVDB grid of numbers or vectors: a tree of three levels over the bytes of its file.
//!
//! Offsets in the bytes are foreign: each read is checked, and what lies outside is the background. A question
//! about numbers of another kind than the grid's is answered by zero, as Warp does.

/// Where parts of the grid lie in its bytes.
const GRID_BYTES: usize = 672;
const TREE_BYTES: usize = 64;
const MAP: usize = 296;
const GRID_TYPE: usize = 636;
const ROOT_BACKGROUND: usize = 28;
const TILE_VALUE: usize = 20;
const ROOT_TILE_BYTES: usize = 32;
/// Of internal nodes and leaves: logarithms of the size, where the child mask and the table lie.
const UPPER: Node = Node {
    log: 5,
    below: 7,
    child_mask: 32 + 4096,
    table: 8256,
};
const LOWER: Node = Node {
    log: 4,
    below: 3,
    child_mask: 32 + 512,
    table: 1088,
};

/// What a voxel holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voxel {
    /// A `float32`.
    Float,
    /// An `int32`.
    Int,
    /// Three `float32`.
    Vector,
}

/// The words of the largest voxel.
const MOST_WORDS: usize = 3;

impl Voxel {
    /// The kind with NanoVDB's number.
    fn of(grid_type: u32) -> Option<Self> {
        Some(match grid_type {
            1 => Self::Float,
            4 => Self::Int,
            6 => Self::Vector,
            _ => return None,
        })
    }

    fn words(self) -> usize {
        match self {
            Self::Float | Self::Int => 1,
            Self::Vector => 3,
        }
    }

    /// Where a root's tiles lie.
    fn root_tiles(self) -> usize {
        match self {
            Self::Float | Self::Int => 64,
            Self::Vector => 96,
        }
    }

    /// The bytes of an entry of a node's table.
    fn entry(self) -> usize {
        match self {
            Self::Float | Self::Int => 8,
            Self::Vector => 16,
        }
    }

    /// Where a leaf's values lie.
    fn leaf_values(self) -> usize {
        match self {
            Self::Float | Self::Int => 96,
            Self::Vector => 128,
        }
    }
}

struct Node {
    log: u32,
    /// Logarithm of a child's size.
    below: u32,
    child_mask: usize,
    table: usize,
}

impl Node {
    /// The number of the child that a voxel lies in.
    fn child(&self, ijk: [i32; 3]) -> usize {
        let mask = (1 << (self.log + self.below)) - 1;
        ijk.iter().fold(0, |n, i| {
            n << self.log | ((i.cast_unsigned() & mask) >> self.below) as usize
        })
    }
}

/// The values around a place, with the share of each and how that changes along each axis.
struct Corner<T> {
    value: T,
    weight: f32,
    slope: [f32; 3],
}

/// A grid of numbers in space.
#[derive(Debug)]
pub struct Volume {
    bytes: Vec<u8>,
    root: usize,
    voxel: Voxel,
    background: [u32; MOST_WORDS],
    /// From index space to the world, its inverse, and the world's origin of the first.
    matrix: [f32; 9],
    inverse: [f32; 9],
    origin: [f32; 3],
}

impl Volume {
    /// Reads a grid as NanoVDB has it in memory.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(bytes: Vec<u8>) -> Result<Self, String> {
        let mut volume = Self {
            bytes,
            root: 0,
            voxel: Voxel::Float,
            background: [0; MOST_WORDS],
            matrix: [0.0; 9],
            inverse: [0.0; 9],
            origin: [0.0; 3],
        };
        if volume.bytes.get(..7) != Some(b"NanoVDB") {
            return Err("the grid does not begin with `NanoVDB`".to_owned());
        }
        let Some(grid_type) = volume.word(GRID_TYPE) else {
            return Err("the grid ends in its header".to_owned());
        };
        let Some(voxel) = Voxel::of(grid_type) else {
            return Err(format!(
                "the grid's type is {grid_type}: supported are 1, `float32`, 4, `int32`, and 6, `vec3f`"
            ));
        };
        volume.voxel = voxel;
        let offset = volume.offset(GRID_BYTES + 24, GRID_BYTES);
        let Some(root) = offset.filter(|root| *root >= GRID_BYTES + TREE_BYTES) else {
            return Err("the grid's tree has no root".to_owned());
        };
        volume.root = root;
        let read = |at: usize| volume.word(at).ok_or("the grid ends before its tree");
        let mut background = [0; MOST_WORDS];
        for (n, word) in background.iter_mut().take(voxel.words()).enumerate() {
            *word = read(root + ROOT_BACKGROUND + 4 * n)?;
        }
        let mut numbers = [0.0; 21];
        for (n, number) in numbers.iter_mut().enumerate() {
            *number = f32::from_bits(read(MAP + 4 * n)?);
        }
        volume.background = background;
        volume.matrix.copy_from_slice(&numbers[..9]);
        volume.inverse.copy_from_slice(&numbers[9..18]);
        volume.origin.copy_from_slice(&numbers[18..]);
        Ok(volume)
    }

    /// A volume of 512 voxels, each part a number of its own, to try kernels with.
    pub(super) fn block(voxel: Voxel, mut number: impl FnMut() -> f32) -> Option<Self> {
        Self::new(block(voxel, 0.0, |_, _| number())).ok()
    }

    /// The volume as `volume.h` of the GPU's runtime reads it: how many bytes the grid has, where its root
    /// is, the background, the maps, the grid.
    /// Of other kinds than `float32`, which that does not know, one without voxels, where all is zero.
    pub(super) fn flat(&self, out: &mut Vec<u8>) {
        let (grid, background) = match self.voxel {
            Voxel::Float => (self.bytes.as_slice(), f32::from_bits(self.background[0])),
            _ => (&[][..], 0.0),
        };
        out.extend((grid.len() as u64).to_le_bytes());
        out.extend((self.root as u64).to_le_bytes());
        let numbers = [background].into_iter().chain(self.matrix);
        let numbers = numbers.chain(self.inverse).chain(self.origin);
        out.extend(numbers.flat_map(f32::to_le_bytes));
        out.extend_from_slice(grid);
    }

    fn take<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.bytes.get(at..)?.first_chunk().copied()
    }

    fn word(&self, at: usize) -> Option<u32> {
        self.take(at).map(u32::from_le_bytes)
    }

    /// The place that an offset at `at` names, counted from `base`.
    fn offset(&self, at: usize, base: usize) -> Option<usize> {
        let offset = self.take(at).map(i64::from_le_bytes)?;
        base.checked_add(usize::try_from(offset).ok()?)
    }

    /// The words of a voxel; the background's where there is none.
    fn words(&self, ijk: [i32; 3]) -> [u32; MOST_WORDS] {
        let found = self.find(ijk).and_then(|at| {
            let mut words = [0; MOST_WORDS];
            for (n, word) in words.iter_mut().take(self.voxel.words()).enumerate() {
                *word = self.word(at + 4 * n)?;
            }
            Some(words)
        });
        found.unwrap_or(self.background)
    }

    /// Where the value of a voxel lies.
    fn find(&self, ijk: [i32; 3]) -> Option<usize> {
        let part = |i: i32| u64::from(i.cast_unsigned() >> 12);
        let key = part(ijk[2]) | part(ijk[1]) << 21 | part(ijk[0]) << 42;
        let tiles = self.word(self.root + 24)? as usize;
        let tile = (0..tiles)
            .map(|n| self.root + self.voxel.root_tiles() + n * ROOT_TILE_BYTES)
            .take_while(|at| *at < self.bytes.len())
            .find(|at| self.take(*at).map(u64::from_le_bytes) == Some(key))?;
        if self.take(tile + 8).map(i64::from_le_bytes)? == 0 {
            return Some(tile + TILE_VALUE);
        }
        let mut at = self.offset(tile + 8, self.root)?;
        for node in [&UPPER, &LOWER] {
            let child = node.child(ijk);
            let entry = at + node.table + self.voxel.entry() * child;
            let byte = self.bytes.get(at + node.child_mask + child / 8)?;
            if byte >> (child % 8) & 1 == 0 {
                return Some(entry);
            }
            at = self.offset(entry, at)?;
        }
        let [i, j, k] = ijk.map(|i| (i & 7) as usize);
        let number = i << 6 | j << 3 | k;
        Some(at + self.voxel.leaf_values() + 4 * self.voxel.words() * number)
    }

    /// The value of a voxel in words, of a volume of this kind.
    pub(super) fn look_up(&self, voxel: Voxel, ijk: [i32; 3]) -> [u32; MOST_WORDS] {
        match voxel == self.voxel {
            true => self.words(ijk),
            false => [0; MOST_WORDS],
        }
    }

    /// The value of the nearest voxel.
    pub(super) fn closest(&self, voxel: Voxel, uvw: [f32; 3]) -> [u32; MOST_WORDS] {
        self.look_up(voxel, uvw.map(|x| x.round() as i32))
    }

    fn floats(&self, voxel: Voxel, ijk: [i32; 3]) -> [f32; MOST_WORDS] {
        self.look_up(voxel, ijk).map(f32::from_bits)
    }

    /// The eight values around a place, in Warp's order.
    fn corners(
        &self,
        voxel: Voxel,
        uvw: [f32; 3],
    ) -> impl Iterator<Item = Corner<[f32; MOST_WORDS]>> {
        let low = uvw.map(f32::floor);
        let first = low.map(|x| x as i32);
        let shares = [0, 1, 2].map(|axis| {
            let part = uvw[axis] - low[axis];
            [1.0 - part, part]
        });
        (0..8_usize).map(move |corner| {
            let at = [corner >> 2, corner >> 1 & 1, corner & 1];
            let value = self.floats(
                voxel,
                [0, 1, 2].map(|axis| first[axis].wrapping_add(at[axis] as i32)),
            );
            let [x, y, z] = [0, 1, 2].map(|axis| shares[axis][at[axis]]);
            let [up, right, on] = at.map(|step| if step == 1 { 1.0_f32 } else { -1.0 });
            Corner {
                value,
                weight: x * y * z,
                slope: [up * y * z, right * x * z, on * x * y],
            }
        })
    }

    /// The value between voxels.
    pub(super) fn linear(&self, voxel: Voxel, uvw: [f32; 3]) -> [f32; MOST_WORDS] {
        let mut sum = [0.0; MOST_WORDS];
        for corner in self.corners(voxel, uvw) {
            for (sum, value) in sum.iter_mut().zip(corner.value) {
                *sum += corner.weight * value;
            }
        }
        sum
    }

    /// How the value between voxels changes along each axis; of numbers.
    pub(super) fn slope(&self, uvw: [f32; 3]) -> [f32; 3] {
        let mut sum = [0.0; 3];
        for corner in self.corners(Voxel::Float, uvw) {
            for (sum, slope) in sum.iter_mut().zip(corner.slope) {
                *sum += corner.value[0] * slope;
            }
        }
        sum
    }

    /// What a place receives of the gradient of the value there.
    pub(super) fn place_gradient(
        &self,
        voxel: Voxel,
        uvw: [f32; 3],
        given: [f32; MOST_WORDS],
    ) -> [f32; 3] {
        let mut sum = [0.0; 3];
        for Corner { value, slope, .. } in self.corners(voxel, uvw) {
            let [x, y, z] = [0, 1, 2].map(|n| value[n] * given[n]);
            let along = if voxel == Voxel::Vector { x + y + z } else { x };
            for (sum, slope) in sum.iter_mut().zip(slope) {
                *sum += along * slope;
            }
        }
        sum
    }

    fn times(m: &[f32; 9], v: [f32; 3]) -> [f32; 3] {
        [0, 3, 6].map(|row| m[row] * v[0] + m[row + 1] * v[1] + m[row + 2] * v[2])
    }

    pub(super) fn to_index(&self, xyz: [f32; 3]) -> [f32; 3] {
        let from_origin = [0, 1, 2].map(|axis| xyz[axis] - self.origin[axis]);
        Self::times(&self.inverse, from_origin)
    }

    pub(super) fn to_world(&self, uvw: [f32; 3]) -> [f32; 3] {
        let turned = Self::times(&self.matrix, uvw);
        [0, 1, 2].map(|axis| turned[axis] + self.origin[axis])
    }

    pub(super) fn direction_to_index(&self, xyz: [f32; 3]) -> [f32; 3] {
        Self::times(&self.inverse, xyz)
    }

    pub(super) fn direction_to_world(&self, uvw: [f32; 3]) -> [f32; 3] {
        Self::times(&self.matrix, uvw)
    }
}

/// A grid with one leaf at the origin, of cubes of 2, whose voxels are given by number and part. The background
/// counts on for the parts of vectors.
fn block(voxel: Voxel, background: f32, mut value: impl FnMut(usize, usize) -> f32) -> Vec<u8> {
    let root = GRID_BYTES + TREE_BYTES;
    let upper = root + voxel.root_tiles() + ROOT_TILE_BYTES;
    let lower = upper + UPPER.table + voxel.entry() * 32768;
    let leaf = lower + LOWER.table + voxel.entry() * 4096;
    let size = 4 * voxel.words();
    let mut bytes = vec![0; leaf + voxel.leaf_values() + size * 512];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(0, b"NanoVDB0");
    let grid_type: u32 = match voxel {
        Voxel::Float => 1,
        Voxel::Int => 4,
        Voxel::Vector => 6,
    };
    put(GRID_TYPE, &grid_type.to_le_bytes());
    for n in [0, 4, 8] {
        put(MAP + 4 * n, &2.0_f32.to_le_bytes());
        put(MAP + 36 + 4 * n, &0.5_f32.to_le_bytes());
    }
    put(MAP + 72, &1.0_f32.to_le_bytes());
    put(GRID_BYTES + 24, &(TREE_BYTES as i64).to_le_bytes());
    put(root + 24, &1_u32.to_le_bytes());
    let bits = |value: f32| match voxel {
        Voxel::Int => (value as i32).to_le_bytes(),
        _ => value.to_le_bytes(),
    };
    for part in 0..voxel.words() {
        put(
            root + ROOT_BACKGROUND + 4 * part,
            &bits(background + part as f32),
        );
    }
    put(
        root + voxel.root_tiles() + 8,
        &((upper - root) as i64).to_le_bytes(),
    );
    for (at, node, next) in [(upper, &UPPER, lower), (lower, &LOWER, leaf)] {
        put(at + node.child_mask, &[1]);
        put(at + node.table, &((next - at) as i64).to_le_bytes());
    }
    for n in 0..512 {
        for part in 0..voxel.words() {
            let number = bits(value(n, part));
            put(leaf + voxel.leaf_values() + size * n + 4 * part, &number);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A grid with one leaf at the origin, whose voxels are `i + 10 j + 100 k`; vectors count on from there.
    fn grid(grid_type: u32) -> Vec<u8> {
        let voxel = Voxel::of(grid_type).unwrap();
        block(voxel, -7.0, |n, part| {
            let (i, j, k) = (n >> 6, n >> 3 & 7, n & 7);
            i as f32 + 10.0 * j as f32 + 100.0 * k as f32 + part as f32
        })
    }

    #[test]
    fn voxels_are_found_and_interpolated() {
        let volume = Volume::new(grid(1)).unwrap();
        let number = |words: [u32; MOST_WORDS]| f32::from_bits(words[0]);
        assert_eq!(number(volume.look_up(Voxel::Float, [1, 2, 3])), 321.0);
        assert_eq!(number(volume.look_up(Voxel::Float, [-1, 0, 0])), -7.0);
        assert_eq!(volume.linear(Voxel::Float, [1.5, 2.25, 3.0])[0], 324.0);
        assert_eq!(volume.slope([1.5, 2.25, 3.0]), [1.0, 10.0, 100.0]);
        assert_eq!(number(volume.closest(Voxel::Float, [1.4, 2.0, 2.6])), 321.0);
        assert_eq!(volume.to_index([3.0, 2.0, 4.0]), [1.0, 1.0, 2.0]);
        assert_eq!(volume.to_world([1.0, 1.0, 2.0]), [3.0, 2.0, 4.0]);
    }

    #[test]
    fn voxels_of_every_kind_are_found() {
        let whole = Volume::new(grid(4)).unwrap();
        assert_eq!(whole.look_up(Voxel::Int, [1, 2, 3]), [321, 0, 0]);
        assert_eq!(
            whole.look_up(Voxel::Int, [-1, 0, 0])[0],
            (-7_i32).cast_unsigned()
        );
        // A question about another kind.
        assert_eq!(whole.look_up(Voxel::Float, [1, 2, 3]), [0; 3]);
        let vectors = Volume::new(grid(6)).unwrap();
        let found = vectors.look_up(Voxel::Vector, [1, 2, 3]);
        assert_eq!(found.map(f32::from_bits), [321.0, 322.0, 323.0]);
        let outside = vectors.look_up(Voxel::Vector, [0, 0, 4096]);
        assert_eq!(outside.map(f32::from_bits), [-7.0, -6.0, -5.0]);
        let between = vectors.linear(Voxel::Vector, [1.5, 2.0, 3.0]);
        assert_eq!(between, [321.5, 322.5, 323.5]);
        let gradient = vectors.place_gradient(Voxel::Vector, [1.5, 2.5, 3.5], [1.0, 0.0, 2.0]);
        assert_eq!(gradient, [3.0, 30.0, 300.0]);
    }

    #[test]
    fn bytes_that_lie_are_the_background_or_refused() {
        assert!(Volume::new(b"NanoVDB0".to_vec()).is_err());
        assert!(Volume::new(Vec::new()).is_err());
        let mut of_doubles = grid(1);
        of_doubles[GRID_TYPE] = 2;
        let refused = Volume::new(of_doubles).unwrap_err();
        assert!(refused.contains("the grid's type is 2"), "{refused}");
        let mut bytes = grid(1);
        let root = GRID_BYTES + TREE_BYTES;
        bytes[root + Voxel::Float.root_tiles() + 8..][..8].copy_from_slice(&i64::MAX.to_le_bytes());
        let volume = Volume::new(bytes).unwrap();
        let found = volume.look_up(Voxel::Float, [1, 2, 3])[0];
        assert_eq!(f32::from_bits(found), -7.0);
    }
}
