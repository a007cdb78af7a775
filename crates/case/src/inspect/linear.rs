//! Registers of a PTX entry as linear functions of the thread's index.
//!
//! Sizes, blocks and parameters are numbers at one size of a case, so that most addresses become
//! `x · threadIdx.x + y · threadIdx.y + something that is the same for the block`. What is none of that
//! (data, remainders, loops that change the step) is not known, and nothing is said about it.

use std::collections::{HashMap, HashSet};

/// `x · threadIdx.x + y · threadIdx.y + rest`; the rest is the same for all threads of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Linear {
    pub(super) x: i64,
    pub(super) y: i64,
    /// The value, where it is a number that is known.
    rest: Option<i64>,
}

impl Linear {
    const UNIFORM: Self = Self {
        x: 0,
        y: 0,
        rest: None,
    };

    fn number(value: i64) -> Self {
        Self {
            x: 0,
            y: 0,
            rest: Some(value),
        }
    }

    fn is_uniform(self) -> bool {
        self.x == 0 && self.y == 0
    }

    fn constant(self) -> Option<i64> {
        self.rest.filter(|_| self.is_uniform())
    }

    fn plus(self, other: Self) -> Option<Self> {
        Some(Self {
            x: self.x.checked_add(other.x)?,
            y: self.y.checked_add(other.y)?,
            rest: self
                .rest
                .zip(other.rest)
                .and_then(|(a, b)| a.checked_add(b)),
        })
    }

    fn times(self, other: Self) -> Option<Self> {
        match (self.constant(), other.constant()) {
            (_, Some(factor)) => self.scaled(factor),
            (Some(factor), _) => other.scaled(factor),
            // The same for every thread, whatever it is.
            _ if self.is_uniform() && other.is_uniform() => Some(Self::UNIFORM),
            _ => None,
        }
    }

    fn scaled(self, factor: i64) -> Option<Self> {
        Some(Self {
            x: self.x.checked_mul(factor)?,
            y: self.y.checked_mul(factor)?,
            rest: self.rest.and_then(|rest| rest.checked_mul(factor)),
        })
    }
}

/// What is known before the first instruction.
pub(super) struct Known<'a> {
    pub(super) block: [u32; 3],
    pub(super) grid: [u32; 3],
    /// The value of a parameter by its index, where it is a whole number.
    pub(super) parameters: &'a [Option<i64>],
}

/// The registers, as far as they have been computed.
#[derive(Default)]
pub(super) struct Registers<'p> {
    known: HashMap<&'p str, Option<Linear>>,
    /// Set in several places, as a loop's variables are: no number is known of them.
    changing: HashSet<&'p str>,
    /// Set to different steps in several places.
    lost: HashSet<&'p str>,
}

impl<'p> Registers<'p> {
    /// The registers after these instructions.
    pub(super) fn after(instructions: &[(&str, &'p str)], known: &Known<'_>) -> Self {
        let mut registers = Self::default();
        let mut once = HashSet::new();
        for (_, operands) in instructions {
            if let Some(target) = target(operands)
                && !once.insert(target)
            {
                registers.changing.insert(target);
            }
        }
        // What a loop's end finds out about its variables holds at its beginning too.
        loop {
            let lost = registers.lost.len();
            registers.known.clear();
            for (operation, operands) in instructions {
                registers.step(operation, operands, known);
            }
            if registers.lost.len() == lost {
                return registers;
            }
        }
    }

    /// An operand: a register, a number, a name of memory, a special register.
    pub(super) fn operand(&self, text: &str, known: &Known<'_>) -> Option<Linear> {
        let axis = |word: &str| match word.rsplit('.').next()? {
            "x" => Some(0),
            "y" => Some(1),
            "z" => Some(2),
            _ => None,
        };
        match text {
            "%tid.x" => {
                return Some(Linear {
                    x: 1,
                    y: 0,
                    rest: Some(0),
                });
            }
            "%tid.y" => {
                return Some(Linear {
                    x: 0,
                    y: 1,
                    rest: Some(0),
                });
            }
            // Warps lie in one layer unless blocks are thin; what depends on z is left alone.
            "%tid.z" | "%laneid" => return None,
            _ => {}
        }
        if text.starts_with("%ntid.") {
            return Some(Linear::number(i64::from(known.block[axis(text)?])));
        }
        if text.starts_with("%nctaid.") {
            return Some(Linear::number(i64::from(known.grid[axis(text)?])));
        }
        if text.starts_with("%ctaid.") {
            return Some(Linear::UNIFORM);
        }
        if text.starts_with('%') {
            return self.known.get(text).copied().flatten();
        }
        match text.parse() {
            Ok(number) => Some(Linear::number(number)),
            // The address of a variable in shared or constant memory.
            Err(_) if text.starts_with(|c: char| c.is_alphabetic() || c == '_') => {
                Some(Linear::UNIFORM)
            }
            Err(_) => None,
        }
    }

    /// Takes note of an instruction's result.
    fn step(&mut self, operation: &str, operands: &'p str, known: &Known<'_>) {
        let Some(target) = target(operands) else {
            return;
        };
        let sources: Vec<&str> = operands.split(',').skip(1).map(str::trim).collect();
        let mut value = match self.lost.contains(target) {
            true => None,
            false => self.value(operation, &sources, known),
        };
        if self.changing.contains(target) {
            value = value.map(|value| Linear {
                rest: None,
                ..value
            });
            if self.known.get(target).is_some_and(|old| *old != value) || value.is_none() {
                self.lost.insert(target);
                value = None;
            }
        }
        self.known.insert(target, value);
    }

    fn value(&self, operation: &str, sources: &[&str], known: &Known<'_>) -> Option<Linear> {
        let at = |index: usize| self.operand(sources.get(index)?, known);
        let mut parts = operation.split('.');
        match parts.next()? {
            "mov" | "cvt" | "cvta" => at(0),
            "ld" if operation.starts_with("ld.param") => {
                let name = sources.first()?.trim_matches(['[', ']']);
                let index: usize = name.rsplit_once("_param_")?.1.parse().ok()?;
                let value = known.parameters.get(index)?;
                Some(value.map_or(Linear::UNIFORM, Linear::number))
            }
            "add" => at(0)?.plus(at(1)?),
            "sub" => at(0)?.plus(at(1)?.scaled(-1)?),
            "mul" => at(0)?.times(at(1)?),
            "mad" => at(0)?.times(at(1)?)?.plus(at(2)?),
            "neg" => at(0)?.scaled(-1),
            "shl" => {
                let by = at(1)?.constant().filter(|by| (0..63).contains(by))?;
                at(0)?.scaled(1 << by)
            }
            // Everything else is the same for all threads where its sources are.
            "and" | "or" | "xor" | "not" | "shr" | "div" | "rem" | "min" | "max" | "selp" => {
                let mut all = (0..sources.len()).map(|index| match sources[index] {
                    word if word.starts_with("%p") => None,
                    _ => at(index),
                });
                let uniform = all.all(|one| one.is_some_and(Linear::is_uniform));
                uniform.then_some(Linear::UNIFORM)
            }
            _ => None,
        }
    }
}

/// The register that an instruction sets.
fn target(operands: &str) -> Option<&str> {
    let first = operands.split(',').next()?.trim();
    first.starts_with('%').then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_followed_and_data_is_not() {
        let known = Known {
            block: [32, 8, 1],
            grid: [4, 4, 1],
            parameters: &[None, Some(100)],
        };
        let instructions = [
            ("mov.u32", "%r1, %tid.x"),
            ("mov.u32", "%r2, %tid.y"),
            ("ld.param.u32", "%r3, [k_param_1]"),
            ("mad.lo.s32", "%r4, %r2, %r3, %r1"),
            ("mul.wide.s32", "%rd1, %r4, 4"),
            ("ld.param.u64", "%rd2, [k_param_0]"),
            ("add.s64", "%rd3, %rd2, %rd1"),
            ("ld.global.u32", "%r5, [%rd3]"),
            ("add.s32", "%r6, %r5, %r1"),
            ("mov.u32", "%r7, 0"),
            ("mul.lo.s32", "%r8, %r1, %r7"),
            ("add.s32", "%r7, %r7, 32"),
            ("mov.u32", "%r9, %ntid.x"),
            ("shl.b32", "%r10, %r9, 2"),
            ("mov.u32", "%r11, %r9"),
            ("add.s32", "%r11, %r11, %r1"),
            ("add.s32", "%r12, %r1, %r7"),
        ];
        let registers = Registers::after(&instructions, &known);
        let of = |name: &str| registers.operand(name, &known);
        let address = of("%rd3").unwrap();
        assert_eq!((address.x, address.y), (4, 400));
        assert_eq!(of("%r6"), None);
        assert!(of("%r7").unwrap().is_uniform());
        assert_eq!(of("%r8"), None, "the factor changes in a loop");
        assert_eq!(of("%r11"), None, "the step changes in a loop");
        assert_eq!(of("%r12").unwrap().x, 1);
        assert_eq!(of("%r10").unwrap().constant(), Some(128));
    }
}
