//! What a compiled kernel is made of: counts and builtins, read from its representation.

use warpsmith_compiler::builtin;
use warpsmith_compiler::ir::{Callee, Function, LoopKind, Module, Op};

/// Counts that describe how hard a kernel is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// Variables of the kernel and of its functions.
    pub variables: u32,
    /// Operations.
    pub operations: u32,
    /// Calls whose adjoint is generated: the length of the backward pass.
    pub adjoints: u32,
    /// Branches.
    pub branches: u32,
    /// Loops, unrolled ones left out.
    pub loops: u32,
    /// Blocks within blocks, at most.
    pub nesting: u32,
    /// Functions besides the kernel.
    pub functions: u32,
    /// Structs.
    pub structs: u32,
    /// Parameters.
    pub parameters: u32,
    /// Dimensions of the launch.
    pub rank: u32,
    /// Constructs by name, sorted: `atomic`, `for`, `while`, `break`, `return`, `struct`, …
    pub constructs: Vec<&'static str>,
    /// Builtins by name, sorted.
    pub builtins: Vec<&'static str>,
}

impl Features {
    /// Reads a module.
    pub fn of(module: &Module) -> Self {
        let mut features = Self {
            functions: module.functions.len() as u32,
            structs: module.structs.len() as u32,
            parameters: module.kernel.params,
            ..Self::default()
        };
        if let warpsmith_compiler::ir::FunctionKind::Kernel { launch_rank, .. } =
            &module.kernel.kind
        {
            features.rank = *launch_rank;
        }
        // One bit per builtin: a kernel has hundreds of calls and a dozen builtins.
        let mut seen = [0_u64; 6];
        for function in module.functions.iter().chain([&module.kernel]) {
            features.read(function, &mut seen);
        }
        for (position, word) in seen.iter().enumerate() {
            let mut bits = *word;
            while bits != 0 {
                let index = position * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                if let Some(known) = builtin(index) {
                    features.builtins.push(known.name);
                }
            }
        }
        if features.functions > 0 {
            features.constructs.push("function");
        }
        if features.structs > 0 {
            features.constructs.push("struct");
        }
        if features.rank > 1 {
            features.constructs.push("multi_dimensional");
        }
        features.constructs.sort_unstable();
        features.constructs.dedup();
        features.builtins.sort_unstable();
        features.builtins.dedup();
        features
    }

    fn read(&mut self, function: &Function, seen: &mut [u64; 6]) {
        self.variables += function.vars.len() as u32;
        let mut depth = 0_u32;
        for op in &function.ops {
            if !matches!(op, Op::Line(_)) {
                self.operations += 1;
            }
            match op {
                Op::Call(call) => {
                    self.adjoints += u32::from(call.has_adjoint);
                    if let Callee::Builtin(index, _) = call.callee {
                        let index = usize::from(index);
                        seen[index / 64] |= 1 << (index % 64);
                        if let Some(known) = builtin(index)
                            && known.name.starts_with("atomic_")
                        {
                            self.constructs.push("atomic");
                        }
                    }
                }
                Op::Load { .. } => self.builtins.push("load"),
                Op::If { negated, .. } => {
                    depth += 1;
                    self.branches += 1;
                    self.constructs.push(if *negated { "else" } else { "if" });
                }
                Op::Loop { index, .. } => {
                    depth += 1;
                    self.loops += 1;
                    match function.loops[*index as usize].kind {
                        LoopKind::Range { .. } => {
                            self.builtins.push("iter_next");
                            self.constructs.push("for_range");
                        }
                        LoopKind::Counted { .. } => self.constructs.push("for_counted"),
                        LoopKind::While => self.constructs.push("while"),
                    }
                }
                Op::EndIf { .. } | Op::EndLoop { .. } => depth = depth.saturating_sub(1),
                Op::Break { .. } => self.constructs.push("break"),
                Op::Continue { .. } => self.constructs.push("continue"),
                Op::Return { count, .. } if *count == 0 => self.constructs.push("early_return"),
                Op::SlotStore { .. } | Op::SlotAtomic { .. } => self.constructs.push("slot"),
                Op::Accumulate { .. } => self.constructs.push("boolean"),
                _ => {}
            }
            self.nesting = self.nesting.max(depth);
        }
    }
}
