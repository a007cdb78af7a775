//! CPU kernels: an argument struct, a kernel that is called once per task, a loop over tasks, and the
//! entry points that the host calls.

use super::Target;
use super::body::{self, Frame, Kernels, is_vector_array};
use super::buffer::Buffer;
use warpsmith_ir::{Function, FunctionKind, Module, Variable};

/// The CUDA kernels of the same module, where their bodies have the CPU's lines.
pub(super) struct Same<'a> {
    pub(super) text: &'a str,
    pub(super) kernels: Kernels,
}

/// Appends the kernel with its frame; gives where the backward function begins.
pub(super) fn emit(module: &Module, same: Option<&Same<'_>>, out: &mut Buffer) -> usize {
    let kernel = &module.kernel;
    let FunctionKind::Kernel {
        launch_rank,
        scalar_tid,
        long_constant_loop,
        options,
    } = &kernel.kind
    else {
        return 0;
    };
    let name = [
        module.names.get(kernel.native),
        module.names.get(module.suffix),
    ]
    .concat();
    let name = name.as_str();
    out.parts(&["struct wp_args_", name, " {\n"]);
    for (_, variable) in kernel.parameters() {
        let ty = module.types.spelling(variable.ty);
        out.parts(&["    ", ty, " ", label(module, variable), ";\n"]);
    }
    out.push_str("};\n");
    let contiguous =
        *launch_rank == 1 && *scalar_tid && fixes_strides(module, kernel, *long_constant_loop);
    let frame = Text {
        module,
        kernel,
        name,
        rank: &launch_rank.to_string(),
        contiguous,
    };
    let backward_start = frame.kernels(options.backward, same, out);
    frame.tasks(false, out);
    if options.backward {
        frame.tasks(true, out);
        backward_start
    } else {
        out.len()
    }
}

fn label<'m>(module: &'m Module, variable: &Variable) -> &'m str {
    variable.name.map_or("", |name| module.names.get(name))
}

/// Whether the text is specialised for contiguous one-dimensional arrays.
fn fixes_strides(module: &Module, kernel: &Function, long_constant_loop: bool) -> bool {
    let mut any = false;
    let mut all = true;
    for (_, variable) in kernel.parameters() {
        if let warpsmith_ir::types::Type::Array { rank, .. } = module.types.get(variable.ty) {
            any |= rank == 1;
            all &= rank == 1;
        }
    }
    any && (all || long_constant_loop || kernel.has_tiles(&module.types))
}

struct Text<'a> {
    module: &'a Module,
    kernel: &'a Function,
    name: &'a str,
    rank: &'a str,
    contiguous: bool,
}

impl Text<'_> {
    /// The one-dimensional arrays: label and element type.
    fn arrays(&self) -> impl Iterator<Item = (&str, &str)> {
        let types = &self.module.types;
        self.kernel
            .parameters()
            .filter(|(_, v)| is_vector_array(self.module, v.ty))
            .filter_map(|(_, v)| {
                let (element, _) = types.array_parts(v.ty)?;
                Some((label(self.module, v), types.spelling(element)))
            })
    }

    /// The forward function and, if wanted, the backward one; gives where that begins.
    fn kernels(&self, with_backward: bool, same: Option<&Same<'_>>, out: &mut Buffer) -> usize {
        let (module, kernel) = (self.module, self.kernel);
        let frame = Frame {
            target: Target::Cpu,
            strided: false,
        };
        self.head(false, out);
        let layout = match same {
            Some(Same { text, kernels }) => {
                let lines = &text[kernels.forward.clone()];
                body::same_lines(module, kernel, frame, false, lines, out);
                None
            }
            None => Some(body::forward(module, kernel, frame, out)),
        };
        out.push_str("}\n\n");
        let backward_start = out.len();
        if with_backward {
            self.head(true, out);
            match (same, layout) {
                (Some(Same { text, kernels }), _) => {
                    let lines = &text[kernels.backward.clone()];
                    body::same_lines(module, kernel, frame, true, lines, out);
                }
                (None, layout) => {
                    let layout = layout.unwrap_or_default();
                    body::backward(module, kernel, frame, &layout, out);
                }
            }
            out.push_str("}\n\n");
        }
        backward_start
    }

    /// What stands before the body of the forward or the backward function.
    fn head(&self, backward: bool, out: &mut Buffer) {
        let Self { name, rank, .. } = *self;
        let pass = if backward { "backward" } else { "forward" };
        out.parts(&[
            "\n\ntemplate <bool wp_linear_contiguous>\nstatic void ",
            name,
            "_cpu_kernel_",
            pass,
            "(\n    wp::launch_bounds_t<",
            rank,
            "> dim,\n    size_t task_index,\n    wp_args_",
            name,
            " *_wp_args",
        ]);
        if backward {
            out.parts(&[",\n    wp_args_", name, " *_wp_adj_args"]);
        }
        out.push_str(")\n{\n    static constexpr bool wp_linear_tid = wp_linear_contiguous;\n");
        if self.contiguous {
            self.contiguous_arguments(backward, out);
        }
        out.push_ascii(b'\n');
    }

    fn contiguous_arguments(&self, backward: bool, out: &mut Buffer) {
        let name = self.name;
        out.parts(&["    wp_args_", name, " wp_contiguous_args;\n"]);
        if backward {
            out.parts(&["    wp_args_", name, " wp_contiguous_adj_args;\n"]);
        }
        out.push_str("    if constexpr (wp_linear_contiguous)\n    {\n        wp_contiguous_args = *_wp_args;\n");
        if backward {
            out.push_str("        wp_contiguous_adj_args = *_wp_adj_args;\n");
        }
        for (array, element) in self.arrays() {
            out.parts(&[
                "        wp_contiguous_args.",
                array,
                ".strides[0] = sizeof(",
                element,
                ");\n",
            ]);
            if backward {
                out.parts(&[
                    "        wp_contiguous_adj_args.",
                    array,
                    ".strides[0] = sizeof(",
                    element,
                    ");\n",
                ]);
            }
        }
        out.push_str("        _wp_args = &wp_contiguous_args;\n");
        if backward {
            out.push_str("        _wp_adj_args = &wp_contiguous_adj_args;\n");
        }
        out.push_str("    }");
    }

    fn tasks(&self, backward: bool, out: &mut Buffer) {
        let Self { name, rank, .. } = *self;
        let pass = if backward { "backward" } else { "forward" };
        let adjoints = [",\n    wp_args_", name, " *_wp_adj_args"].concat();
        let params = [
            "    wp::launch_bounds_t<",
            rank,
            "> *dim,\n    wp_args_",
            name,
            " *_wp_args",
            if backward { &adjoints } else { "" },
        ]
        .concat();
        let params = params.as_str();
        let args = if backward {
            "_wp_args, _wp_adj_args"
        } else {
            "_wp_args"
        };
        out.parts(&["\n\ntemplate <bool wp_linear_contiguous>\nstatic WP_FORCEINLINE void ", name, "_cpu_", pass, "_tasks(\n", params, ")\n{\n    for (size_t task_index = 0; task_index < dim->size; ++task_index)\n    {\n        ", name, "_cpu_kernel_", pass, "<wp_linear_contiguous>("]);
        out.push_str(if backward { "\n            " } else { "" });
        out.parts(&["*dim, task_index, ", args, ");\n"]);
        out.parts(&["    }\n}\n\nstatic WP_FORCEINLINE void ", name, "_cpu_", pass, "_dispatch(\n", params, ")\n{\n    wp::tile_shared_storage_t tile_mem;\n#if defined(WP_ENABLE_TILES_IN_STACK_MEMORY)\n    wp::shared_tile_storage = &tile_mem;\n#endif\n\n"]);
        if self.contiguous {
            self.contiguous_dispatch(backward, pass, args, out);
        } else {
            out.push_str("    ");
            self.call_tasks("false", pass, args, out);
        }
        let note = if backward {
            ""
        } else {
            "// Python CPU entry points\n"
        };
        out.parts(&[
            "}\n\nextern \"C\" {\n\n",
            note,
            "WP_API void ",
            name,
            "_cpu_",
            pass,
            "(\n",
            params,
            ")\n{\n    ",
            name,
            "_cpu_",
            pass,
            "_dispatch(dim, ",
            args,
            ");\n}\n\n} // extern C\n\n",
        ]);
    }

    fn contiguous_dispatch(&self, backward: bool, pass: &str, args: &str, out: &mut Buffer) {
        out.push_str("    const bool wp_linear_contiguous = dim->coord_mult == 1 && (");
        let mut first = true;
        for (array, element) in self.arrays() {
            for holder in ["_wp_args", "_wp_adj_args"] {
                if holder == "_wp_adj_args" && !backward {
                    break;
                }
                if !first {
                    out.push_str(" & ");
                }
                first = false;
                out.parts(&[
                    "(",
                    holder,
                    "->",
                    array,
                    ".strides[0] == (int)sizeof(",
                    element,
                    "))",
                ]);
            }
        }
        out.push_str(");\n    if (wp_linear_contiguous)\n        ");
        self.call_tasks("true", pass, args, out);
        out.push_str("    else\n        ");
        self.call_tasks("false", pass, args, out);
    }

    fn call_tasks(&self, contiguous: &str, pass: &str, args: &str, out: &mut Buffer) {
        out.parts(&[
            self.name, "_cpu_", pass, "_tasks<", contiguous, ">(dim, ", args, ");\n",
        ]);
    }
}
