//! A NanoVDB grid of `float32`: a tree of three levels over the bytes of its file.
//!
//! Offsets in the bytes are foreign: each read is checked, and what lies outside is the background.

/// Where parts of the grid lie in its bytes.
const GRID_BYTES: usize = 672;
const TREE_BYTES: usize = 64;
const MAP: usize = 296;
const GRID_TYPE: usize = 636;
/// Of a root: its tiles, and their size.
const ROOT_TILES: usize = 64;
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
const LEAF_VALUES: usize = 96;

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

/// A grid of numbers in space.
#[derive(Debug)]
pub struct Volume {
    bytes: Vec<u8>,
    root: usize,
    background: f32,
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
            background: 0.0,
            matrix: [0.0; 9],
            inverse: [0.0; 9],
            origin: [0.0; 3],
        };
        if volume.bytes.get(..7) != Some(b"NanoVDB") {
            return Err("the grid does not begin with `NanoVDB`".to_owned());
        }
        match volume.word(GRID_TYPE) {
            Some(1) => {}
            Some(other) => {
                return Err(format!(
                    "the grid's type is {other}: only 1, `float32`, is supported"
                ));
            }
            None => return Err("the grid ends in its header".to_owned()),
        }
        let offset = volume.offset(GRID_BYTES + 24, GRID_BYTES);
        let Some(root) = offset.filter(|root| *root >= GRID_BYTES + TREE_BYTES) else {
            return Err("the grid's tree has no root".to_owned());
        };
        volume.root = root;
        let read = |at: usize| volume.float(at).ok_or("the grid ends before its tree");
        let background = read(root + 28)?;
        let mut numbers = [0.0; 21];
        for (n, number) in numbers.iter_mut().enumerate() {
            *number = read(MAP + 4 * n)?;
        }
        volume.background = background;
        volume.matrix.copy_from_slice(&numbers[..9]);
        volume.inverse.copy_from_slice(&numbers[9..18]);
        volume.origin.copy_from_slice(&numbers[18..]);
        Ok(volume)
    }

    /// The volume as `volume.h` of the GPU's runtime reads it: how many bytes the grid has, where its root
    /// is, the background, the maps, the grid.
    pub(super) fn flat(&self, out: &mut Vec<u8>) {
        out.extend((self.bytes.len() as u64).to_le_bytes());
        out.extend((self.root as u64).to_le_bytes());
        let numbers = [self.background].into_iter().chain(self.matrix);
        let numbers = numbers.chain(self.inverse).chain(self.origin);
        out.extend(numbers.flat_map(f32::to_le_bytes));
        out.extend_from_slice(&self.bytes);
    }

    fn take<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.bytes.get(at..)?.first_chunk().copied()
    }

    fn word(&self, at: usize) -> Option<u32> {
        self.take(at).map(u32::from_le_bytes)
    }

    fn float(&self, at: usize) -> Option<f32> {
        self.take(at).map(f32::from_le_bytes)
    }

    /// The place that an offset at `at` names, counted from `base`.
    fn offset(&self, at: usize, base: usize) -> Option<usize> {
        let offset = self.take(at).map(i64::from_le_bytes)?;
        base.checked_add(usize::try_from(offset).ok()?)
    }

    /// The value of a voxel; the background where there is none.
    pub(super) fn voxel(&self, ijk: [i32; 3]) -> f32 {
        self.find(ijk).unwrap_or(self.background)
    }

    fn find(&self, ijk: [i32; 3]) -> Option<f32> {
        let part = |i: i32| u64::from(i.cast_unsigned() >> 12);
        let key = part(ijk[2]) | part(ijk[1]) << 21 | part(ijk[0]) << 42;
        let tiles = self.word(self.root + 24)? as usize;
        let tile = (0..tiles)
            .map(|n| self.root + ROOT_TILES + n * ROOT_TILE_BYTES)
            .take_while(|at| *at < self.bytes.len())
            .find(|at| self.take(*at).map(u64::from_le_bytes) == Some(key))?;
        if self.take(tile + 8).map(i64::from_le_bytes)? == 0 {
            return self.float(tile + 20);
        }
        let mut at = self.offset(tile + 8, self.root)?;
        for node in [&UPPER, &LOWER] {
            let child = node.child(ijk);
            let entry = at + node.table + 8 * child;
            let byte = self.bytes.get(at + node.child_mask + child / 8)?;
            if byte >> (child % 8) & 1 == 0 {
                return self.float(entry);
            }
            at = self.offset(entry, at)?;
        }
        let [i, j, k] = ijk.map(|i| (i & 7) as usize);
        self.float(at + LEAF_VALUES + 4 * (i << 6 | j << 3 | k))
    }

    /// The value between voxels and how it changes along each axis.
    pub(super) fn linear(&self, uvw: [f32; 3]) -> (f32, [f32; 3]) {
        let low = uvw.map(f32::floor);
        let f = [0, 1, 2].map(|axis| uvw[axis] - low[axis]);
        let first = low.map(|x| x as i32);
        let at = |i: i32, j: i32, k: i32| {
            self.voxel([
                first[0].wrapping_add(i),
                first[1].wrapping_add(j),
                first[2].wrapping_add(k),
            ])
        };
        let mix = |a: f32, b: f32, t: f32| a + t * (b - a);
        let along = |i: i32, j: i32| mix(at(i, j, 0), at(i, j, 1), f[2]);
        let plane = |i: i32| mix(along(i, 0), along(i, 1), f[1]);
        let value = mix(plane(0), plane(1), f[0]);
        let slope = |i: i32| along(i, 1) - along(i, 0);
        let steep = |i: i32, j: i32| at(i, j, 1) - at(i, j, 0);
        let gradient = [
            plane(1) - plane(0),
            mix(slope(0), slope(1), f[0]),
            mix(
                mix(steep(0, 0), steep(0, 1), f[1]),
                mix(steep(1, 0), steep(1, 1), f[1]),
                f[0],
            ),
        ];
        (value, gradient)
    }

    /// The value of the nearest voxel.
    pub(super) fn closest(&self, uvw: [f32; 3]) -> f32 {
        self.voxel(uvw.map(|x| x.round() as i32))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A grid with one leaf at the origin, whose voxels are `i + 10 j + 100 k`.
    fn grid() -> Vec<u8> {
        let root = GRID_BYTES + TREE_BYTES;
        let upper = root + ROOT_TILES + ROOT_TILE_BYTES;
        let lower = upper + UPPER.table + 8 * 32768;
        let leaf = lower + LOWER.table + 8 * 4096;
        let mut bytes = vec![0; leaf + LEAF_VALUES + 4 * 512];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0, b"NanoVDB0");
        put(GRID_TYPE, &1_u32.to_le_bytes());
        for (n, x) in [2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0_f32]
            .iter()
            .enumerate()
        {
            put(MAP + 4 * n, &x.to_le_bytes());
            let inverse = if *x == 0.0 { 0.0 } else { 1.0 / x };
            put(MAP + 36 + 4 * n, &inverse.to_le_bytes());
        }
        put(MAP + 72, &1.0_f32.to_le_bytes());
        put(GRID_BYTES + 24, &(TREE_BYTES as i64).to_le_bytes());
        put(root + 24, &1_u32.to_le_bytes());
        put(root + 28, &(-7.0_f32).to_le_bytes());
        put(
            root + ROOT_TILES + 8,
            &((upper - root) as i64).to_le_bytes(),
        );
        for (at, node, next) in [(upper, &UPPER, lower), (lower, &LOWER, leaf)] {
            put(at + node.child_mask, &[1]);
            put(at + node.table, &((next - at) as i64).to_le_bytes());
        }
        for n in 0..512 {
            let (i, j, k) = (n >> 6, n >> 3 & 7, n & 7);
            let value = i as f32 + 10.0 * j as f32 + 100.0 * k as f32;
            put(leaf + LEAF_VALUES + 4 * n, &value.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn voxels_are_found_and_interpolated() {
        let volume = Volume::new(grid()).unwrap();
        assert_eq!(volume.voxel([1, 2, 3]), 321.0);
        assert_eq!(volume.voxel([-1, 0, 0]), -7.0);
        let (value, gradient) = volume.linear([1.5, 2.25, 3.0]);
        assert!((value - 324.0).abs() < 1e-3, "{value}");
        assert_eq!(gradient, [1.0, 10.0, 100.0]);
        assert_eq!(volume.closest([1.4, 2.0, 2.6]), 321.0);
        assert_eq!(volume.to_index([3.0, 2.0, 4.0]), [1.0, 1.0, 2.0]);
        assert_eq!(volume.to_world([1.0, 1.0, 2.0]), [3.0, 2.0, 4.0]);
    }

    #[test]
    fn bytes_that_lie_are_the_background_or_refused() {
        assert!(Volume::new(b"NanoVDB0".to_vec()).is_err());
        assert!(Volume::new(Vec::new()).is_err());
        let mut bytes = grid();
        let root = GRID_BYTES + TREE_BYTES;
        bytes[root + ROOT_TILES + 8..][..8].copy_from_slice(&i64::MAX.to_le_bytes());
        let volume = Volume::new(bytes).unwrap();
        assert_eq!(volume.voxel([1, 2, 3]), -7.0);
    }
}
