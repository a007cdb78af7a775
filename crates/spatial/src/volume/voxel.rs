//! What a voxel holds, and where NanoVDB puts the values of such a grid.

use warpsmith_ir::types::{Scalar, Type};

/// The most numbers of a voxel.
pub const MOST_NUMBERS: usize = 4;

/// Numbers of one type, one, three or four of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Voxel {
    scalar: Scalar,
    length: u8,
}

/// Offsets and sizes in bytes.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) background: usize,
    /// Where a root's tiles begin, and in a tile its value.
    pub(super) root_tiles: usize,
    pub(super) tile_value: usize,
    pub(super) tile_bytes: usize,
    /// An entry of a node's table, and where the tables begin.
    pub(super) entry: usize,
    pub(super) upper_table: usize,
    pub(super) lower_table: usize,
    pub(super) leaf_values: usize,
    pub(super) leaf_bytes: usize,
}

/// The numbers in the order of the fields.
const fn places(n: [usize; 9]) -> Places {
    Places {
        background: n[0],
        root_tiles: n[1],
        tile_value: n[2],
        tile_bytes: n[3],
        entry: n[4],
        upper_table: n[5],
        lower_table: n[6],
        leaf_values: n[7],
        leaf_bytes: n[8],
    }
}

/// Of a grid that numbers its active voxels.
pub(super) static OF_INDICES: Places = places([32, 96, 24, 32, 8, 8256, 1088, 80, 96]);
/// NanoVDB's number of such a grid.
pub(super) const INDEX_GRID: u32 = 20;

impl Voxel {
    /// A `float32`.
    pub const FLOAT: Self = Self::new(Scalar::F32, 1);
    /// An `int32`.
    pub const INT: Self = Self::new(Scalar::I32, 1);
    /// Three `float32`.
    pub const VECTOR: Self = Self::new(Scalar::F32, 3);

    const fn new(scalar: Scalar, length: u8) -> Self {
        Self { scalar, length }
    }

    /// The kinds with NanoVDB's numbers.
    const ALL: [(u32, Self); 9] = [
        (1, Self::FLOAT),
        (2, Self::new(Scalar::F64, 1)),
        (4, Self::INT),
        (5, Self::new(Scalar::I64, 1)),
        (6, Self::VECTOR),
        (7, Self::new(Scalar::F64, 3)),
        (10, Self::new(Scalar::U32, 1)),
        (17, Self::new(Scalar::F32, 4)),
        (18, Self::new(Scalar::F64, 4)),
    ];

    /// The kind with NanoVDB's number.
    pub(super) fn of(grid_type: u32) -> Option<Self> {
        let mut all = Self::ALL.iter();
        all.find(|(number, _)| *number == grid_type)
            .map(|(_, voxel)| *voxel)
    }

    /// The kind of such values.
    pub fn of_type(ty: Type) -> Option<Self> {
        let (scalar, length) = match ty {
            Type::Scalar(scalar) => (scalar, 1),
            Type::Vector { length, scalar } => (scalar, u8::try_from(length).ok()?),
            _ => return None,
        };
        let wanted = Self::new(scalar, length);
        let mut all = Self::ALL.iter();
        all.any(|(_, voxel)| *voxel == wanted).then_some(wanted)
    }

    /// NanoVDB's number.
    pub(super) fn grid_type(self) -> u32 {
        let mut all = Self::ALL.iter();
        all.find(|(_, voxel)| *voxel == self)
            .map_or(0, |(number, _)| *number)
    }

    /// The type of its numbers.
    pub fn scalar(self) -> Scalar {
        self.scalar
    }

    /// How many there are.
    pub fn length(self) -> usize {
        usize::from(self.length)
    }

    /// The bytes of one of them.
    pub(super) fn bytes(self) -> usize {
        match self.scalar {
            Scalar::F64 | Scalar::I64 => 8,
            _ => 4,
        }
    }

    pub(super) fn places(self) -> &'static Places {
        static WORD: Places = places([28, 64, 20, 32, 8, 8256, 1088, 96, 2144]);
        static DOUBLE: Places = places([32, 96, 24, 32, 8, 8256, 1088, 128, 4224]);
        static VECTOR3: Places = places([28, 96, 20, 32, 16, 8256, 1088, 128, 6272]);
        static DOUBLES3: Places = places([32, 128, 24, 64, 24, 8288, 1120, 160, 12448]);
        static VECTOR4: Places = places([28, 96, 20, 64, 16, 8288, 1120, 128, 8320]);
        static DOUBLES4: Places = places([32, 160, 24, 64, 32, 8320, 1152, 160, 16544]);
        match (self.bytes(), self.length) {
            (4, 1) => &WORD,
            (4, 3) => &VECTOR3,
            (4, _) => &VECTOR4,
            (_, 1) => &DOUBLE,
            (_, 3) => &DOUBLES3,
            _ => &DOUBLES4,
        }
    }

    /// The types of so many values of the kind.
    pub fn scalars(self, times: usize) -> &'static [Scalar] {
        const MOST: usize = MOST_NUMBERS * MOST_NUMBERS;
        let all: &'static [Scalar; MOST] = match self.scalar {
            Scalar::F64 => &[Scalar::F64; MOST],
            Scalar::I32 => &[Scalar::I32; MOST],
            Scalar::I64 => &[Scalar::I64; MOST],
            Scalar::U32 => &[Scalar::U32; MOST],
            _ => &[Scalar::F32; MOST],
        };
        &all[..(times * self.length()).min(MOST)]
    }
}
