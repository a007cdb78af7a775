//! Kernels of which Warp 1.19.0 writes no CUDA text, although they can be compiled for a launch of another kind.

use warpsmith_core::{Finding, Severity, Span};
use warpsmith_ir::types::CPU_BLOCK;
use warpsmith_ir::{Module, Op, Piece, Text};

/// Why Warp writes no CUDA text for a kernel; nothing where it does.
///
/// Without MathDx, which the text assumes, a Fourier transform of a block gives each of its threads as many
/// elements as another.
pub fn refused_text(module: &Module) -> Option<Finding> {
    let threads = module.types.gpu_block();
    let functions = module.functions.iter().chain([&module.kernel]);
    for function in functions {
        let mut line = None;
        for op in &function.ops {
            match *op {
                Op::Line(index) => line = module.lines.get(index as usize),
                Op::Text { text, .. } => {
                    let Some((name, size)) = transform(module, &function.texts[text as usize])
                    else {
                        continue;
                    };
                    if size % threads == 0 {
                        continue;
                    }
                    let message = format!(
                        "`{name}` of {size} elements has no CUDA text: without MathDx, Warp divides them among \
                         {threads} threads"
                    );
                    let mut finding = Finding::new("K021", Severity::Error, message);
                    if let Some(line) = line {
                        finding = finding.at(Span {
                            file: module.names.get(module.file).to_owned(),
                            line: line.number,
                            column: 1,
                            end_column: 1 + line.width,
                        });
                    }
                    let hint = format!(
                        "launch it in this file with a `block_dim=` that divides them, or take a multiple of \
                         {threads}; `exec` and `verify` run it as it is"
                    );
                    finding.hint = Some(hint);
                    return Some(finding);
                }
                _ => {}
            }
        }
    }
    None
}

/// The name of a Fourier transform of a block, and its elements; nothing where a statement is none.
fn transform<'m>(module: &'m Module, text: &Text) -> Option<(&'m str, i64)> {
    let Some(Piece::Text(name)) = text.forward.first() else {
        return None;
    };
    let name = module.names.get(*name);
    if !matches!(name, "tile_fft" | "tile_ifft") {
        return None;
    }
    // The last number that differs is that of elements for each thread.
    let per_thread = text.forward.iter().rev().find_map(|piece| match piece {
        Piece::Either(_, cpu) => module.names.get(*cpu).parse::<i64>().ok(),
        _ => None,
    });
    Some((name, per_thread? * CPU_BLOCK))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FAMILY, Options, compile};

    #[test]
    fn a_transform_that_a_block_cannot_divide_has_no_cuda_text() {
        let source = |size: u32| {
            format!(
                "import warp as wp\n\n\n@wp.kernel\ndef f(x: wp.array2d(dtype=wp.vec2)):\n    t = wp.tile_load(x, shape=(2, {size}))\n    wp.tile_fft(t)\n    wp.tile_store(x, t)\n"
            )
        };
        let finding = |size| {
            let module = compile(&source(size), &Options::default());
            module.ok().and_then(|module| refused_text(&module))
        };
        assert!(finding(256).is_none());
        let refused = finding(128).expect("128 elements are refused");
        assert!(
            refused.message.contains("`tile_fft` of 128 elements"),
            "{refused:?}"
        );
        assert_eq!(refused.span.map(|span| span.line), Some(7));
        assert!(FAMILY.story(&refused.code).is_some());
    }
}
