//! The scalar form as SPIR-V: the same operations on the same scalars, one thread per invocation, for Vulkan.
//!
//! Invariants: + − × ÷ √ and whole numbers give the interpreter's bits on every device that rounds as IEEE
//! 754 says; no thread touches memory outside an array; every loop ends; what cannot be written is refused
//! by name. A thread in which something goes wrong notes where, and goes on without memory.
//!
//! The kernel has one push constant, the address of the launch block that [`LaunchBlock`] makes.

mod atomic;
mod cells;
mod comparison;
mod control;
mod conversion;
mod dense;
mod emitter;
mod error_function;
mod factor;
mod float_width;
mod floating;
mod fused;
mod launch_block;
mod mathematics;
mod memory;
mod metal;
mod noise;
mod opcode;
mod own_array;
mod poisson;
mod print;
mod reinterpret;
mod scalar;
mod search;
mod side_by_side;
mod tile;
mod whole_number;
mod writer;

pub use launch_block::{BufferAddresses, LaunchBlock};
pub use print::{PrintBuffer, Printed};

use emitter::{Emitter, Refusal};
use opcode::{capability, execution_mode};
use warpsmith_core::{Finding, Severity};
use warpsmith_interpreter::Interpreter;
use warpsmith_interpreter::scalar_form::{Program, at_line, simplify};
use warpsmith_ir::Module;

/// Longer programs are refused: drivers take minutes for them.
const LONGEST_PROGRAM: usize = 100_000;

/// Set in the place of a fault where a driver left a loop that had not ended.
const CUT: usize = 1 << 31;

/// How a device's floats of one width can be made to behave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FloatControl {
    /// Numbers below the normal ones are kept.
    pub denormals: bool,
    /// Results are rounded to the nearest, ties to even.
    pub nearest: bool,
    /// Signs of zeroes, infinities and NaN are kept.
    pub special: bool,
}

/// What becomes of `print` and `printf`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prints {
    /// A kernel that prints is refused.
    #[default]
    Refused,
    /// They are left out.
    Silent,
    /// Threads print into a [`PrintBuffer`], whose address the launch block then holds.
    Kept,
}

/// What the emission is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpirvTarget {
    /// What 32-bit and 64-bit floats can be made to do.
    pub floats: [FloatControl; 2],
    /// Whether the driver leaves loops after some number of iterations, as Mesa's software driver does
    /// after 65,535: the kernel then checks that each loop was left by itself.
    pub cuts_loops: bool,
    /// What becomes of `print` and `printf`.
    pub prints: Prints,
    /// Whether memory is read and written one word at a time, where vectors would do.
    pub single_words: bool,
    /// Whether 64-bit floats are missing. Quotients, roots and functions of 32-bit ones are then the
    /// device's own, within its bounds, and what needs 64-bit floats is refused.
    pub no_float64: bool,
}

/// What a kernel needs of a device, beyond 64-bit integers and buffers by address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpirvNeeds {
    /// 64-bit floats. Quotients and roots of 32-bit ones are made in them.
    pub float64: bool,
    /// Atomic operations on 64-bit words.
    pub int64_atomics: bool,
    /// 8-bit words in memory.
    pub bytes: bool,
    /// 16-bit words in memory.
    pub halves: bool,
}

/// A kernel in one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spirv {
    /// The module: its entry point is `main`.
    pub words: Vec<u32>,
    /// What it needs.
    pub needs: SpirvNeeds,
}

impl Spirv {
    /// Threads of a workgroup, which is also what `block_dim()` is.
    pub const WORKGROUP: u32 = writer::WORKGROUP;

    /// The kernel as SPIR-V.
    ///
    /// # Errors
    /// A finding that names what Vulkan kernels do not support.
    pub fn of(interpreter: &Interpreter<'_>, target: SpirvTarget) -> Result<Self, Vec<Finding>> {
        let (module, program) = interpreter.scalar_form();
        write(module, program, target)
    }

    /// The module's bytes, as files hold them.
    pub fn bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|w| w.to_le_bytes()).collect()
    }
}

/// A kernel in one direction as text for Metal, which has no 64-bit floats.
///
/// # Errors
/// A finding that names what Metal kernels do not support, such as 64-bit floats.
pub fn metal(interpreter: &Interpreter<'_>) -> Result<String, Vec<Finding>> {
    let target = SpirvTarget {
        no_float64: true,
        single_words: true,
        ..SpirvTarget::default()
    };
    let refused = |mut findings: Vec<Finding>| {
        for finding in &mut findings {
            finding.message = finding.message.replace("Vulkan kernels", "Metal kernels");
        }
        findings
    };
    let spirv = Spirv::of(interpreter, target).map_err(refused)?;
    let (module, _) = interpreter.scalar_form();
    if spirv.needs.int64_atomics {
        let message = "Metal kernels do not support atomic operations on 64-bit words";
        return Err(vec![Finding::new("K103", Severity::Error, message)]);
    }
    let name = module.names.get(module.kernel.native);
    Ok(metal::translate(name, &spirv.words))
}

fn write(module: &Module, program: &Program, target: SpirvTarget) -> Result<Spirv, Vec<Finding>> {
    let refuse = |refusal: Refusal| {
        let message = format!("Vulkan kernels do not support {}", refusal.what);
        let finding = Finding::new("K103", Severity::Error, message)
            .hint("run the kernel with `--device cpu`, or write the operation out");
        let line = program.lines.get(refusal.at).copied().unwrap_or(0);
        vec![at_line(finding, module, line)]
    };
    if program.code.len() > LONGEST_PROGRAM {
        let what = format!("kernels of more than {LONGEST_PROGRAM} operations");
        return Err(refuse(Refusal { what, at: 0 }));
    }
    let code = simplify(program);
    let mut emitter = Emitter::new(module, program, &code, &[], target);
    emitter.emit().map_err(refuse)?;
    if emitter.found_a_changed_constant {
        // What was written before may have been in a loop with the change.
        let changed = std::mem::take(&mut emitter.cells.changed);
        emitter = Emitter::new(module, program, &code, &changed, target);
        emitter.emit().map_err(refuse)?;
    }
    let mut w = emitter.w;
    if target.no_float64 && w.requires(capability::FLOAT64) {
        let what = "64-bit floats where the device has none".to_owned();
        return Err(refuse(Refusal { what, at: 0 }));
    }
    for width in w.float_widths() {
        let control = target.floats[usize::from(width == 64)];
        let modes = [
            (
                control.denormals,
                capability::DENORM_PRESERVE,
                execution_mode::DENORM_PRESERVE,
            ),
            (
                control.nearest,
                capability::ROUNDING_MODE_RTE,
                execution_mode::ROUNDING_MODE_RTE,
            ),
            (
                control.special,
                capability::SIGNED_ZERO_INF_NAN_PRESERVE,
                execution_mode::SIGNED_ZERO_INF_NAN_PRESERVE,
            ),
        ];
        for (offered, capability, mode) in modes {
            if offered {
                w.require(capability);
                w.mode(mode, width);
            }
        }
    }
    let needs = SpirvNeeds {
        float64: w.requires(capability::FLOAT64),
        int64_atomics: w.requires(capability::INT64_ATOMICS),
        bytes: w.requires(capability::STORAGE_BUFFER_8BIT_ACCESS),
        halves: w.requires(capability::STORAGE_BUFFER_16BIT_ACCESS),
    };
    Ok(Spirv {
        words: w.finish(),
        needs,
    })
}
