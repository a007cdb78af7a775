//! The launch ABI: packs the arguments of an emitted kernel into the bytes that a launch passes.
//!
//! Symbol: `<native>_cuda_kernel_forward` or `_backward`, `extern "C"`.
//! Parameters, in order: `launch_bounds_t<RANK>`; one per argument of the kernel; for the backward
//! kernel then the adjoint of each argument, of the same type. All are passed by value.
//!
//! | type | bytes |
//! |---|---|
//! | `launch_bounds_t<N>` | `u32 shape[N]`, padding to 8, `u64 size` (threads in all), `u64 coord_mult` (threads with the same coordinates) |
//! | `array_t<T>` | `u64 data`, `u64 grad`, `i32 shape[4]`, `i32 strides[4]` (in bytes), `u16 ndim`, `u16 flags`, padding: 56 in all, whatever `T` |
//! | `vec_t<N, T>`, `mat_t<R, C, T>` (by rows), `quat_t<T>` (x, y, z, w), `transform_t<T>` (translation, rotation) | their scalars |
//! | structures | their fields as in C |
//!
//! Invariants:
//! - every parameter starts at a multiple of its alignment and padding is zero, so the buffer serves
//!   both ways of `cuLaunchKernel`: whole, as its parameter buffer, or by a pointer per parameter;
//! - an argument is packed only if it has exactly the type that the kernel declares.

mod layout;
mod packing;

pub use layout::{MAX_ARRAY_RANK, ParameterType, ScalarType};
pub use packing::{AbiError, Argument, ArgumentBuffer, ArrayArgument, LaunchBounds};

/// The block size that the emitted text is made for: the grid-stride loop works with any, this is the default.
pub const BLOCK_DIM: u32 = 256;

/// The options that an NVRTC of this version (major, minor) needs besides the architecture.
///
/// The emitted text has lambdas without an execution space, and the runtime header uses C++17. From
/// 12.9 on, the declarations that the text never uses (textures, surfaces) can be left out, which
/// saves a quarter of the time of a small kernel.
pub fn nvrtc_options(version: (u32, u32)) -> Vec<&'static str> {
    let mut options = vec!["--std=c++17", "-default-device"];
    if version >= (12, 9) {
        options.push("--minimal");
    }
    options
}

/// Which of the two kernels of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Computes the results.
    Forward,
    /// Computes the gradients of the arguments from those of the results.
    Backward,
}

/// The symbol of a kernel whose native name (key and hash suffix) is given.
pub fn cuda_symbol(native_name: &str, direction: Direction) -> String {
    let suffix = match direction {
        Direction::Forward => "forward",
        Direction::Backward => "backward",
    };
    format!("{native_name}_cuda_kernel_{suffix}")
}
