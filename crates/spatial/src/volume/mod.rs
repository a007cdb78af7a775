//! A NanoVDB grid of numbers or vectors, or one that numbers its voxels: a tree of three levels over the bytes of its
//! file.
//!
//! Offsets in the bytes are foreign: each read is checked, and what lies outside is the background. A question
//! about numbers of another kind than the grid's is answered by zero, as Warp does.

mod sample;
mod voxel;

use voxel::{INDEX_GRID, OF_INDICES, Places};
pub use voxel::{MOST_NUMBERS, Voxel};

pub use sample::Bits;
use warpsmith_ir::types::Scalar;

/// Where parts of the grid lie in its bytes.
const GRID_BYTES: usize = 672;
const TREE_BYTES: usize = 64;
const MAP: usize = 296;
const GRID_TYPE: usize = 636;
/// Of a leaf, where the mask of its active voxels lies.
const VALUE_MASK: usize = 16;
const LEAF_VOXELS: u64 = 512;
/// Of internal nodes and leaves: logarithms of the size, where the child mask and the table lie.
const UPPER: Node = Node {
    log: 5,
    below: 7,
    child_mask: 32 + 4096,
};
const LOWER: Node = Node {
    log: 4,
    below: 3,
    child_mask: 32 + 512,
};

struct Node {
    log: u32,
    /// Logarithm of a child's size.
    below: u32,
    child_mask: usize,
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

/// A grid of numbers in space.
#[derive(Debug)]
pub struct Volume {
    bytes: Vec<u8>,
    root: usize,
    /// What voxels hold; nothing where they are numbered.
    voxel: Option<Voxel>,
    places: &'static Places,
    background: Bits,
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
            voxel: None,
            places: &OF_INDICES,
            background: [0; MOST_NUMBERS],
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
        volume.voxel = Voxel::of(grid_type);
        match volume.voxel {
            Some(voxel) => volume.places = voxel.places(),
            None if grid_type == INDEX_GRID => {}
            None => {
                return Err(format!(
                    "the grid's type is {grid_type}: supported are `float32`, `float64`, `int32`, `int64`, `uint32`, \
                     vectors of three and four floats, and indices of active voxels"
                ));
            }
        }
        let offset = volume.offset(GRID_BYTES + 24, GRID_BYTES);
        let Some(root) = offset.filter(|root| *root >= GRID_BYTES + TREE_BYTES) else {
            return Err("the grid's tree has no root".to_owned());
        };
        volume.root = root;
        let read = |at: usize| volume.word(at).ok_or("the grid ends before its tree");
        let mut numbers = [0.0; 21];
        for (n, number) in numbers.iter_mut().enumerate() {
            *number = f32::from_bits(read(MAP + 4 * n)?);
        }
        if let Some(voxel) = volume.voxel {
            let background = volume.value(voxel, root + volume.places.background);
            volume.background = background.ok_or("the grid ends before its tree")?;
        }
        volume.matrix.copy_from_slice(&numbers[..9]);
        volume.inverse.copy_from_slice(&numbers[9..18]);
        volume.origin.copy_from_slice(&numbers[18..]);
        Ok(volume)
    }

    /// A volume of 512 voxels, each part a number of its own, to try kernels with.
    pub fn block(voxel: Voxel, mut number: impl FnMut() -> f32) -> Option<Self> {
        Self::new(block(voxel, 0.0, |_, _| number())).ok()
    }

    /// The volume as `volume.h` of the GPU's runtime reads it: how many bytes the grid has, where its root
    /// is, the background, the maps, the grid.
    /// Of other kinds than `float32`, which that does not know, one without voxels, where all is zero.
    pub fn flat(&self, out: &mut Vec<u8>) {
        let (grid, background) = match self.voxel {
            Some(Voxel::FLOAT) => (
                self.bytes.as_slice(),
                f32::from_bits(self.background[0] as u32),
            ),
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

    /// The numbers of a value that lies at a place.
    fn value(&self, voxel: Voxel, at: usize) -> Option<Bits> {
        let mut bits = [0; MOST_NUMBERS];
        for (n, number) in bits.iter_mut().take(voxel.length()).enumerate() {
            let at = at + n * voxel.bytes();
            *number = match voxel.bytes() {
                8 => self.take(at).map(u64::from_le_bytes)?,
                _ => u64::from(self.word(at)?),
            };
        }
        Some(bits)
    }

    /// Where the value of a voxel lies, and whether it is a leaf's.
    fn find(&self, ijk: [i32; 3]) -> Option<(usize, bool)> {
        let places = self.places;
        let part = |i: i32| u64::from(i.cast_unsigned() >> 12);
        let key = part(ijk[2]) | part(ijk[1]) << 21 | part(ijk[0]) << 42;
        let tiles = self.word(self.root + 24)? as usize;
        let tile = (0..tiles)
            .map(|n| self.root + places.root_tiles + n * places.tile_bytes)
            .take_while(|at| *at < self.bytes.len())
            .find(|at| self.take(*at).map(u64::from_le_bytes) == Some(key))?;
        if self.take(tile + 8).map(i64::from_le_bytes)? == 0 {
            return Some((tile + places.tile_value, false));
        }
        let mut at = self.offset(tile + 8, self.root)?;
        for (node, table) in [(&UPPER, places.upper_table), (&LOWER, places.lower_table)] {
            let child = node.child(ijk);
            let entry = at + table + places.entry * child;
            let byte = self.bytes.get(at + node.child_mask + child / 8)?;
            if byte >> (child % 8) & 1 == 0 {
                return Some((entry, false));
            }
            at = self.offset(entry, at)?;
        }
        let bytes = self.voxel.map_or(0, |voxel| voxel.bytes() * voxel.length());
        Some((at + places.leaf_values + bytes * number_in_leaf(ijk), true))
    }

    /// The value of a voxel, of a volume of this kind.
    pub fn look_up(&self, voxel: Voxel, ijk: [i32; 3]) -> Bits {
        if self.voxel != Some(voxel) {
            return [0; MOST_NUMBERS];
        }
        let found = self.find(ijk).and_then(|(at, _)| self.value(voxel, at));
        found.unwrap_or(self.background)
    }

    /// The value of the nearest voxel.
    pub fn closest(&self, voxel: Voxel, uvw: [f32; 3]) -> Bits {
        self.look_up(voxel, uvw.map(|x| x.round() as i32))
    }

    /// The number of a voxel among those that are stored, -1 where it is none of them.
    pub fn index(&self, ijk: [i32; 3]) -> i32 {
        let found = match (self.find(ijk), self.voxel) {
            (Some((at, true)), Some(voxel)) => self.index_in_leaf(voxel, at, ijk),
            (Some((at, true)), None) => self.active_index(at, ijk),
            _ => None,
        };
        found.map_or(-1, |index| (index as i32).wrapping_sub(1))
    }

    /// Every voxel of every leaf has a number, leaves in the order in which they lie; the first is one.
    fn index_in_leaf(&self, voxel: Voxel, at: usize, ijk: [i32; 3]) -> Option<u64> {
        let number = number_in_leaf(ijk);
        let before = self.places.leaf_values + voxel.bytes() * voxel.length() * number;
        let first = self.offset(GRID_BYTES, GRID_BYTES)?;
        let leaf = at.checked_sub(before)?.checked_sub(first)? / self.places.leaf_bytes;
        Some(leaf as u64 * LEAF_VOXELS + number as u64 + 1)
    }

    /// Only active voxels have numbers: a leaf's first one, and how many are active before each word of its mask.
    fn active_index(&self, at: usize, ijk: [i32; 3]) -> Option<u64> {
        let number = number_in_leaf(ijk);
        let leaf = at.checked_sub(self.places.leaf_values)?;
        let word = number / 64;
        let mask = self.take(leaf + VALUE_MASK + 8 * word);
        let (mask, bit) = (mask.map(u64::from_le_bytes)?, 1_u64 << (number % 64));
        if mask & bit == 0 {
            return Some(0);
        }
        let first = self.take(at).map(u64::from_le_bytes)?;
        let before = self.take(at + 8).map(u64::from_le_bytes)?;
        let before = match word {
            0 => 0,
            _ => before >> (9 * (word - 1)) & 511,
        };
        let lower = u64::from((mask & (bit - 1)).count_ones());
        // The numbers are a file's.
        Some(first.wrapping_add(before).wrapping_add(lower))
    }

    /// How many voxels have numbers.
    pub fn count(&self) -> i32 {
        let tree = GRID_BYTES;
        let count = match self.voxel {
            None => self.take(tree + 56).map(u64::from_le_bytes),
            Some(_) => (self.word(tree + 32)).map(|leaves| u64::from(leaves) * LEAF_VOXELS),
        };
        i32::try_from(count.unwrap_or(0)).unwrap_or(i32::MAX)
    }

    fn times(m: &[f32; 9], v: [f32; 3]) -> [f32; 3] {
        [0, 3, 6].map(|row| m[row] * v[0] + m[row + 1] * v[1] + m[row + 2] * v[2])
    }

    /// A place of the world in voxels.
    pub fn to_index(&self, xyz: [f32; 3]) -> [f32; 3] {
        let from_origin = [0, 1, 2].map(|axis| xyz[axis] - self.origin[axis]);
        Self::times(&self.inverse, from_origin)
    }

    /// A place in voxels in the world.
    pub fn to_world(&self, uvw: [f32; 3]) -> [f32; 3] {
        let turned = Self::times(&self.matrix, uvw);
        [0, 1, 2].map(|axis| turned[axis] + self.origin[axis])
    }

    /// A direction of the world in voxels.
    pub fn direction_to_index(&self, xyz: [f32; 3]) -> [f32; 3] {
        Self::times(&self.inverse, xyz)
    }

    /// A direction in voxels in the world.
    pub fn direction_to_world(&self, uvw: [f32; 3]) -> [f32; 3] {
        Self::times(&self.matrix, uvw)
    }
}

/// The number of a voxel in its leaf.
fn number_in_leaf(ijk: [i32; 3]) -> usize {
    let [i, j, k] = ijk.map(|i| (i & 7) as usize);
    i << 6 | j << 3 | k
}

/// A grid with one leaf at the origin, of cubes of 2, whose voxels are given by number and part. The background
/// counts on for the parts of vectors.
fn block(voxel: Voxel, background: f32, mut value: impl FnMut(usize, usize) -> f32) -> Vec<u8> {
    let places = voxel.places();
    let root = GRID_BYTES + TREE_BYTES;
    let upper = root + places.root_tiles + places.tile_bytes;
    let lower = upper + places.upper_table + places.entry * 32768;
    let leaf = lower + places.lower_table + places.entry * 4096;
    let size = voxel.bytes() * voxel.length();
    let mut bytes = vec![0; leaf + places.leaf_bytes];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(0, b"NanoVDB0");
    let grid_type = voxel.grid_type();
    put(GRID_TYPE, &grid_type.to_le_bytes());
    for n in [0, 4, 8] {
        put(MAP + 4 * n, &2.0_f32.to_le_bytes());
        put(MAP + 36 + 4 * n, &0.5_f32.to_le_bytes());
    }
    put(MAP + 72, &1.0_f32.to_le_bytes());
    put(GRID_BYTES + 24, &(TREE_BYTES as i64).to_le_bytes());
    put(root + 24, &1_u32.to_le_bytes());
    put(GRID_BYTES, &((leaf - GRID_BYTES) as i64).to_le_bytes());
    put(GRID_BYTES + 32, &1_u32.to_le_bytes());
    let bits = |value: f32| match voxel.scalar() {
        Scalar::F64 => f64::from(value).to_le_bytes().to_vec(),
        Scalar::I64 => (value as i64).to_le_bytes().to_vec(),
        Scalar::I32 => (value as i32).to_le_bytes().to_vec(),
        Scalar::U32 => (value as u32).to_le_bytes().to_vec(),
        _ => value.to_le_bytes().to_vec(),
    };
    for part in 0..voxel.length() {
        let at = root + places.background + voxel.bytes() * part;
        put(at, &bits(background + part as f32));
    }
    put(
        root + places.root_tiles + 8,
        &((upper - root) as i64).to_le_bytes(),
    );
    let tables = [places.upper_table, places.lower_table];
    for ((at, node, next), table) in [(upper, &UPPER, lower), (lower, &LOWER, leaf)]
        .into_iter()
        .zip(tables)
    {
        put(at + node.child_mask, &[1]);
        put(at + table, &((next - at) as i64).to_le_bytes());
    }
    for n in 0..512 {
        for part in 0..voxel.length() {
            let number = bits(value(n, part));
            let at = leaf + places.leaf_values + size * n + voxel.bytes() * part;
            put(at, &number);
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

    fn floats(bits: Bits) -> [f32; MOST_NUMBERS] {
        bits.map(|bits| f32::from_bits(bits as u32))
    }

    fn doubles(bits: Bits) -> [f64; MOST_NUMBERS] {
        bits.map(f64::from_bits)
    }

    #[test]
    fn voxels_are_found_and_interpolated() {
        let (volume, float) = (Volume::new(grid(1)).unwrap(), Voxel::FLOAT);
        let number = |bits: Bits| floats(bits)[0];
        assert_eq!(number(volume.look_up(float, [1, 2, 3])), 321.0);
        assert_eq!(number(volume.look_up(float, [-1, 0, 0])), -7.0);
        let place = [1.5, 2.25, 3.0];
        assert_eq!(number(volume.linear(float, place)), 324.0);
        let slopes = volume.slopes(float, place)[0].map(|bits| f32::from_bits(bits as u32));
        assert_eq!(slopes, [1.0, 10.0, 100.0]);
        assert_eq!(number(volume.closest(float, [1.4, 2.0, 2.6])), 321.0);
        assert_eq!(volume.to_index([3.0, 2.0, 4.0]), [1.0, 1.0, 2.0]);
        assert_eq!(volume.to_world([1.0, 1.0, 2.0]), [3.0, 2.0, 4.0]);
    }

    #[test]
    fn voxels_of_every_kind_are_found() {
        let whole = Volume::new(grid(4)).unwrap();
        assert_eq!(whole.look_up(Voxel::INT, [1, 2, 3]), [321, 0, 0, 0]);
        let outside = whole.look_up(Voxel::INT, [-1, 0, 0])[0] as u32;
        assert_eq!(outside.cast_signed(), -7);
        // A question about another kind.
        assert_eq!(whole.look_up(Voxel::FLOAT, [1, 2, 3]), [0; MOST_NUMBERS]);
        let vectors = Volume::new(grid(6)).unwrap();
        let found = floats(vectors.look_up(Voxel::VECTOR, [1, 2, 3]));
        assert_eq!(found[..3], [321.0, 322.0, 323.0]);
        let outside = floats(vectors.look_up(Voxel::VECTOR, [0, 0, 4096]));
        assert_eq!(outside[..3], [-7.0, -6.0, -5.0]);
        let between = floats(vectors.linear(Voxel::VECTOR, [1.5, 2.0, 3.0]));
        assert_eq!(between[..3], [321.5, 322.5, 323.5]);
        let given = [1.0_f32, 0.0, 2.0].map(|x| u64::from(x.to_bits()));
        let place = [1.5, 2.5, 3.5];
        let gradient = vectors.place_gradient(Voxel::VECTOR, place, &given, None);
        assert_eq!(gradient, [3.0, 30.0, 300.0]);
        for (grid_type, length) in [(17, 4), (2, 1), (7, 3), (18, 4)] {
            let voxel = Voxel::of(grid_type).unwrap();
            let volume = Volume::new(grid(grid_type)).unwrap();
            let bits = [
                volume.look_up(voxel, [1, 2, 3]),
                volume.look_up(voxel, [0, 0, -9]),
                volume.linear(voxel, [1.5, 2.0, 3.0]),
            ];
            let numbers = bits.map(|bits| match grid_type {
                17 => floats(bits).map(f64::from),
                _ => doubles(bits),
            });
            for part in 0..length {
                let more = part as f64;
                let seen = numbers.map(|numbers| numbers[part]);
                assert_eq!(seen, [321.0 + more, -7.0 + more, 321.5 + more]);
            }
        }
        for grid_type in [5, 10] {
            let voxel = Voxel::of(grid_type).unwrap();
            let volume = Volume::new(grid(grid_type)).unwrap();
            assert_eq!(volume.look_up(voxel, [1, 2, 3])[0], 321);
        }
    }

    #[test]
    fn voxels_have_numbers() {
        for grid_type in [1, 7] {
            let volume = Volume::new(grid(grid_type)).unwrap();
            assert_eq!(volume.index([1, 2, 3]), 64 + 16 + 3);
            assert_eq!(volume.index([8, 0, 0]), -1);
            assert_eq!(volume.count(), 512);
        }
    }

    #[test]
    fn bytes_that_lie_are_the_background_or_refused() {
        assert!(Volume::new(b"NanoVDB0".to_vec()).is_err());
        assert!(Volume::new(Vec::new()).is_err());
        let mut of_halves = grid(1);
        of_halves[GRID_TYPE] = 9;
        let refused = Volume::new(of_halves).unwrap_err();
        assert!(refused.contains("the grid's type is 9"), "{refused}");
        let mut bytes = grid(1);
        let root = GRID_BYTES + TREE_BYTES;
        let tile = root + Voxel::FLOAT.places().root_tiles;
        bytes[tile + 8..][..8].copy_from_slice(&i64::MAX.to_le_bytes());
        let volume = Volume::new(bytes).unwrap();
        let found = floats(volume.look_up(Voxel::FLOAT, [1, 2, 3]))[0];
        assert_eq!(found, -7.0);
    }
}
