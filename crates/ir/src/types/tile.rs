//! Tiles: arrays of fixed shape that a block of threads holds together, in registers or in shared memory.

use super::TypeId;

/// A length or a stride: a number, or a multiple of the number of threads in a block, which the GPU and
/// the CPU have different ones of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    factor: i64,
    per_block: u32,
}

impl Extent {
    /// As long as the block has threads.
    pub const BLOCK: Self = Self {
        factor: 1,
        per_block: 1,
    };

    /// A number.
    pub const fn fixed(factor: i64) -> Self {
        Self {
            factor,
            per_block: 0,
        }
    }

    /// `factor` times the block's length to the power of `per_block`.
    pub const fn new(factor: i64, per_block: u32) -> Self {
        Self { factor, per_block }
    }

    /// The factor and the power of the block's length.
    pub fn parts(self) -> (i64, u32) {
        (self.factor, self.per_block)
    }

    /// The number, if it does not depend on the block.
    pub fn number(self) -> Option<i64> {
        (self.per_block == 0).then_some(self.factor)
    }

    /// The number for a block of `threads`.
    pub fn value(self, threads: i64) -> i64 {
        self.factor
            .saturating_mul(threads.saturating_pow(self.per_block))
    }

    /// The product of two.
    pub fn times(self, other: Self) -> Self {
        Self {
            factor: self.factor.saturating_mul(other.factor),
            per_block: self.per_block + other.per_block,
        }
    }
}

/// What a tile is made of. A shape without dimensions stands for any, in annotations only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// What its elements are.
    pub element: TypeId,
    /// Lengths.
    pub shape: Vec<Extent>,
    /// Elements between neighbours, per dimension.
    pub strides: Vec<Extent>,
    /// Whether it lies in shared memory, not in registers.
    pub shared: bool,
    /// Whether the first dimension is the contiguous one.
    pub column_major: bool,
    /// Whether it has memory of its own; a view has not.
    pub owner: bool,
}

impl Tile {
    /// A tile with memory of its own, the last dimension contiguous.
    pub fn dense(element: TypeId, shape: Vec<Extent>, shared: bool) -> Self {
        let strides = dense_strides(&shape);
        Self {
            element,
            shape,
            strides,
            shared,
            column_major: false,
            owner: true,
        }
    }

    /// The C++ type, in blocks of `threads`; `element` is the spelling of the elements' type.
    pub(super) fn spelling(&self, element: &str, threads: i64) -> String {
        let shape = list(&self.shape, threads);
        if !self.shared {
            return format!(
                "wp::tile_register_t<{element},wp::tile_layout_register_t<wp::tile_shape_t<{shape}>>>"
            );
        }
        format!(
            "wp::tile_shared_t<{element},wp::tile_layout_strided_t<wp::tile_shape_t<{shape}>, wp::tile_stride_t<{}>>, {}>",
            list(&self.strides, threads),
            self.owner
        )
    }

    /// The C++ call that gives a tile in shared memory its own, with room for gradients or without.
    pub fn allocation(&self, element: &str, threads: i64, gradients: bool) -> String {
        format!(
            "wp::tile_alloc_empty<{element},wp::tile_shape_t<{}>,wp::tile_stride_t<{}>,{gradients}>()",
            list(&self.shape, threads),
            list(&self.strides, threads),
        )
    }
}

/// The strides of a shape whose last dimension is contiguous.
pub fn dense_strides(shape: &[Extent]) -> Vec<Extent> {
    let mut strides = vec![Extent::fixed(1); shape.len()];
    for at in (1..shape.len()).rev() {
        strides[at - 1] = strides[at].times(shape[at]);
    }
    strides
}

fn list(extents: &[Extent], threads: i64) -> String {
    let numbers: Vec<String> = extents
        .iter()
        .map(|extent| extent.value(threads).to_string())
        .collect();
    numbers.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_256_threads_on_the_gpu_and_one_on_the_cpu() {
        let shape = vec![Extent::fixed(2), Extent::fixed(3), Extent::BLOCK];
        let tile = Tile::dense(TypeId::F32, shape, true);
        assert_eq!(list(&tile.strides, 256), "768,256,1");
        assert_eq!(list(&tile.strides, 1), "3,1,1");
        assert_eq!(
            tile.spelling("wp::float32", 1),
            "wp::tile_shared_t<wp::float32,wp::tile_layout_strided_t<wp::tile_shape_t<2,3,1>, wp::tile_stride_t<3,1,1>>, true>"
        );
    }

    #[test]
    fn extents_that_depend_on_the_block_are_no_numbers() {
        assert_eq!(Extent::fixed(7).number(), Some(7));
        assert_eq!(Extent::BLOCK.number(), None);
        assert_eq!(Extent::BLOCK.times(Extent::fixed(3)).value(256), 768);
    }
}
