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

/// What a kernel can be made of besides calls, in the order of the names.
#[derive(Clone, Copy)]
enum Construct {
    Atomic,
    Boolean,
    Break,
    Continue,
    EarlyReturn,
    Else,
    ForCounted,
    ForRange,
    Function,
    If,
    MultiDimensional,
    Slot,
    Struct,
    While,
}

/// The names of [`Construct`], sorted.
const CONSTRUCTS: [&str; 14] = [
    "atomic",
    "boolean",
    "break",
    "continue",
    "early_return",
    "else",
    "for_counted",
    "for_range",
    "function",
    "if",
    "multi_dimensional",
    "slot",
    "struct",
    "while",
];

/// What was seen of a module, one bit each: a kernel has hundreds of calls and a dozen builtins.
#[derive(Default)]
struct Seen {
    builtins: [u64; 6],
    constructs: u16,
    /// Builtins that operations of their own stand for.
    load: bool,
    iter_next: bool,
}

impl Seen {
    fn construct(&mut self, construct: Construct) {
        self.constructs |= 1 << construct as u16;
    }

    /// The names of the builtins, sorted. Several builtins may have one name.
    fn builtins(&self) -> Vec<&'static str> {
        let mut names = Vec::with_capacity(24);
        for (position, word) in self.builtins.iter().enumerate() {
            let mut bits = *word;
            while bits != 0 {
                let index = position * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                names.extend(builtin(index).map(|known| known.name));
            }
        }
        names.extend(self.load.then_some("load"));
        names.extend(self.iter_next.then_some("iter_next"));
        names.sort_unstable();
        names.dedup();
        names
    }

    fn constructs(&self) -> Vec<&'static str> {
        let names = CONSTRUCTS.iter().enumerate();
        names
            .filter(|(position, _)| self.constructs & (1 << position) != 0)
            .map(|(_, name)| *name)
            .collect()
    }
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
        let mut seen = Seen::default();
        for function in module.functions.iter().chain([&module.kernel]) {
            features.read(function, &mut seen);
        }
        features.builtins = seen.builtins();
        for (construct, present) in [
            (
                Construct::Atomic,
                (features.builtins.iter()).any(|name| name.starts_with("atomic_")),
            ),
            (Construct::Function, features.functions > 0),
            (Construct::Struct, features.structs > 0),
            (Construct::MultiDimensional, features.rank > 1),
        ] {
            if present {
                seen.construct(construct);
            }
        }
        features.constructs = seen.constructs();
        features
    }

    fn read(&mut self, function: &Function, seen: &mut Seen) {
        self.variables += function.vars.len() as u32;
        let mut depth = 0_u32;
        for op in &function.ops {
            self.operations += u32::from(!matches!(op, Op::Line(_)));
            match op {
                Op::Call(call) => {
                    self.adjoints += u32::from(call.has_adjoint);
                    if let Callee::Builtin(index, _) = call.callee {
                        let index = usize::from(index);
                        seen.builtins[index / 64] |= 1 << (index % 64);
                    }
                }
                Op::Load { .. } => seen.load = true,
                Op::If { negated, .. } => {
                    depth += 1;
                    self.branches += 1;
                    seen.construct(match negated {
                        true => Construct::Else,
                        false => Construct::If,
                    });
                }
                Op::Loop { index, .. } => {
                    depth += 1;
                    self.loops += 1;
                    let kind = function.loops[*index as usize].kind;
                    seen.iter_next |= matches!(kind, LoopKind::Range { .. });
                    seen.construct(match kind {
                        LoopKind::Range { .. } => Construct::ForRange,
                        LoopKind::Counted { .. } => Construct::ForCounted,
                        LoopKind::While => Construct::While,
                    });
                }
                Op::EndIf { .. } | Op::EndLoop { .. } => depth = depth.saturating_sub(1),
                Op::Break { .. } => seen.construct(Construct::Break),
                Op::Continue { .. } => seen.construct(Construct::Continue),
                Op::Return { count, .. } if *count == 0 => seen.construct(Construct::EarlyReturn),
                Op::SlotStore { .. } | Op::SlotAtomic { .. } => seen.construct(Construct::Slot),
                Op::Accumulate { .. } => seen.construct(Construct::Boolean),
                _ => {}
            }
            self.nesting = self.nesting.max(depth);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsmith_compiler::{Options, compile};

    #[test]
    fn names_are_sorted_and_come_once() {
        assert!(CONSTRUCTS.is_sorted());
        assert_eq!(CONSTRUCTS[Construct::While as usize], "while");
        assert_eq!(CONSTRUCTS[Construct::EarlyReturn as usize], "early_return");
        let source = "import warp as wp\n\n\n@wp.kernel\ndef f(x: wp.array2d(dtype=float), y: wp.array(dtype=float), n: int):\n    i, j = wp.tid()\n    if n > 3:\n        return\n    for k in range(n):\n        wp.atomic_add(y, i, wp.sin(x[i, j]) + wp.sin(x[i, k]))\n";
        let module = compile(source, &Options::default()).unwrap();
        let features = Features::of(&module);
        let constructs = [
            "atomic",
            "early_return",
            "for_range",
            "if",
            "multi_dimensional",
        ];
        assert_eq!(features.constructs, constructs);
        assert!(features.builtins.is_sorted());
        for name in ["atomic_add", "iter_next", "load", "sin", "tid"] {
            let times = features.builtins.iter().filter(|known| **known == name);
            assert_eq!(times.count(), 1, "{name}");
        }
        assert_eq!(
            (features.branches, features.loops, features.nesting),
            (1, 1, 1)
        );
    }
}
