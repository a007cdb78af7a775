//! CUDA kernels: a grid-stride loop around the body, or one thread per index.

use std::fmt::Write;

use super::Target;
use super::body::{self, Frame, Kernels};
use super::buffer::Buffer;
use warpsmith_ir::types::Type;
use warpsmith_ir::{Function, FunctionKind, KernelOptions, Module, Piece};

/// Appends the forward kernel and, if wanted, the backward one.
pub(super) fn emit(module: &Module, out: &mut Buffer) -> Kernels {
    let kernel = &module.kernel;
    let FunctionKind::Kernel {
        launch_rank,
        options,
        ..
    } = &kernel.kind
    else {
        return Kernels::default();
    };
    let frame = Frame {
        target: Target::Cuda,
        strided: options.grid_stride,
    };
    let close = match options.grid_stride {
        true => "    }\n}\n\n",
        false => "}\n\n",
    };
    head(module, kernel, *launch_rank, options, false, out);
    let layout = body::forward(module, kernel, frame, out);
    out.push_str(close);
    let mut kernels = Kernels {
        backward_start: out.len(),
        forward: layout.lines(),
        backward: 0..0,
    };
    if options.backward {
        head(module, kernel, *launch_rank, options, true, out);
        kernels.backward = body::backward(module, kernel, frame, &layout, out);
        out.push_str(close);
    }
    kernels
}

/// Whether the kernel or a function that it calls takes shared memory, which leaves none to spill into.
fn uses_shared_memory(module: &Module) -> bool {
    let types = &module.types;
    let is_fft = |piece: &Piece| matches!(*piece, Piece::Text(name) if matches!(module.names.get(name), "tile_fft" | "tile_ifft"));
    module
        .functions
        .iter()
        .chain([&module.kernel])
        .any(|function| {
            function
                .vars
                .iter()
                .any(|variable| match types.get(variable.ty) {
                    Type::TileStack { .. } => true,
                    _ => types
                        .tile_of(variable.ty)
                        .is_some_and(|tile| tile.shared && tile.owner),
                })
                || function
                    .texts
                    .iter()
                    .any(|text| text.forward.iter().any(is_fft))
        })
}

/// What stands before the body of the forward or the backward kernel.
fn head(
    module: &Module,
    kernel: &Function,
    launch_rank: u32,
    options: &KernelOptions,
    backward: bool,
    out: &mut Buffer,
) {
    out.push_str("\n\nextern \"C\" ");
    match options.launch_bounds {
        None => {}
        Some((threads, None)) => {
            let _ = write!(out, "__launch_bounds__({threads}) ");
        }
        Some((threads, Some(blocks))) => {
            let _ = write!(out, "__launch_bounds__({threads}, {blocks}) ");
        }
    }
    if options.cluster_dim != 1 {
        let _ = write!(out, "WP_CLUSTER_DIMS({}, 1, 1) ", options.cluster_dim);
    }
    out.push_str("__global__ void ");
    if let Some(registers) = options.max_registers {
        let _ = write!(out, "WP_MAXNREG({registers}) ");
    }
    out.push_str(module.names.get(kernel.native));
    out.push_str(module.names.get(module.suffix));
    out.push_str(if backward {
        "_cuda_kernel_backward("
    } else {
        "_cuda_kernel_forward("
    });
    out.push_str("\n    wp::launch_bounds_t<");
    out.number(launch_rank);
    out.push_str("> dim");
    for prefix in ["var_", "adj_"] {
        if prefix == "adj_" && !backward {
            break;
        }
        for (_, variable) in kernel.parameters() {
            out.push_str(",\n    ");
            if prefix == "adj_" {
                body::push_dual_type(module, variable.ty, out);
            } else {
                out.push_str(module.types.spelling(variable.ty));
            }
            out.push_ascii(b' ');
            out.push_str(prefix);
            out.push_str(variable.name.map_or("", |name| module.names.get(name)));
        }
    }
    out.push_str(")\n{\n");
    if options.smem_spilling && !uses_shared_memory(module) {
        out.push_str("    WP_ENABLE_SMEM_SPILLING();\n");
    }
    out.push_str("    wp::tile_shared_storage_t tile_mem;\n\n");
    if options.grid_stride {
        out.push_str(
            "    for (size_t _idx = static_cast<size_t>(blockDim.x) * static_cast<size_t>(blockIdx.x) + static_cast<size_t>(threadIdx.x);\n         _idx < dim.size;\n         _idx += static_cast<size_t>(blockDim.x) * static_cast<size_t>(gridDim.x))\n    {\n            // reset shared memory allocator\n        wp::tile_shared_storage_t::init();\n\n",
        );
    } else {
        out.push_str(
            "    const size_t _idx = static_cast<size_t>(blockIdx.z * gridDim.y + blockIdx.y) * static_cast<size_t>(gridDim.x * blockDim.x) + static_cast<size_t>(blockIdx.x * blockDim.x + threadIdx.x);\n    if (_idx >= dim.size) return;\n            // reset shared memory allocator\n    wp::tile_shared_storage_t::init();\n\n",
        );
    }
}
