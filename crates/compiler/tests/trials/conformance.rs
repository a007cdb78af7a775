//! The conformance suite: text identity, IR round trip and verifier on every accepted kernel, and the
//! front end on mutated programs. Reported as ignored where the suite is missing.

use std::sync::Arc;

use libtest_mimic::{Failed, Trial};
use warpsmith_compiler::{Compiler, Options, emit_cpu, emit_cuda, ir};

use crate::suite::conformance::{self as suite, Kernel};

pub(crate) fn trials() -> Vec<Trial> {
    let kernels = Arc::new(suite::file().map(|path| suite::kernels(&path, u32::MAX)));
    let missing = kernels.is_none();
    let trial = |name: &str, test: fn(&[Kernel]) -> Result<(), Failed>| {
        let kernels = Arc::clone(&kernels);
        Trial::test(name, move || test(kernels.as_deref().unwrap_or_default()))
            .with_ignored_flag(missing)
    };
    vec![
        trial("no accepted kernel has a wrong byte", no_wrong_bytes),
        trial("the tiers are covered", tiers_are_covered),
        trial("ir text reads back as the same module", ir_round_trip),
        trial(
            "every accepted module passes the verifier",
            verifier_accepts,
        ),
        trial(
            "truncated and mutated programs do not panic",
            mutations_do_not_panic,
        ),
        trial(
            "truncated ir text does not panic",
            truncated_ir_does_not_panic,
        ),
    ]
}

fn no_wrong_bytes(kernels: &[Kernel]) -> Result<(), Failed> {
    let mut compiler = Compiler::new();
    for kernel in kernels {
        let Ok(module) = compiler.compile(&kernel.source, &Options::default()) else {
            continue;
        };
        if emit_cuda(&module) != kernel.cuda || emit_cpu(&module) != kernel.cpu {
            return Err(format!("{} differs; see `cargo xtask conformance`", kernel.id).into());
        }
        compiler.recycle(module);
    }
    Ok(())
}

fn tiers_are_covered(kernels: &[Kernel]) -> Result<(), Failed> {
    let mut compiler = Compiler::new();
    for (tiers, least) in [(0..=2, 0.99), (3..=5, 0.90), (6..=8, 0.90)] {
        let of_tier: Vec<&Kernel> = kernels
            .iter()
            .filter(|kernel| tiers.contains(&kernel.tier))
            .collect();
        let accepted = of_tier
            .iter()
            .filter(|kernel| {
                compiler
                    .compile(&kernel.source, &Options::default())
                    .is_ok()
            })
            .count();
        let share = accepted as f64 / of_tier.len() as f64;
        if share < least {
            return Err(format!("tiers {tiers:?}: {share:.4} accepted, expected {least}").into());
        }
    }
    Ok(())
}

fn ir_round_trip(kernels: &[Kernel]) -> Result<(), Failed> {
    let mut compiler = Compiler::new();
    for kernel in kernels {
        let Ok(module) = compiler.compile(&kernel.source, &Options::default()) else {
            continue;
        };
        let text = ir::print(&module);
        let again = ir::parse(&text).map_err(|error| format!("{}: {error}", kernel.id))?;
        if ir::print(&again) != text {
            return Err(format!("{}: the text changes on the way", kernel.id).into());
        }
        if emit_cuda(&again) != kernel.cuda || emit_cpu(&again) != kernel.cpu {
            return Err(format!("{}: the module changes on the way", kernel.id).into());
        }
        compiler.recycle(module);
    }
    Ok(())
}

fn verifier_accepts(kernels: &[Kernel]) -> Result<(), Failed> {
    let mut compiler = Compiler::new();
    for kernel in kernels {
        let Ok(module) = compiler.compile(&kernel.source, &Options::default()) else {
            continue;
        };
        if let Some(violation) = ir::verify(&module).first() {
            return Err(format!("{}: {violation}", kernel.id).into());
        }
        compiler.recycle(module);
    }
    Ok(())
}

/// A small generator with a fixed seed: the same mutations on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

fn mutations_do_not_panic(kernels: &[Kernel]) -> Result<(), Failed> {
    const TOKENS: [&str; 24] = [
        "0",
        "1.5",
        "x",
        "wp.",
        "(",
        ")",
        "[",
        "]",
        ",",
        ":",
        "\n    ",
        "if ",
        "for ",
        "while ",
        "return ",
        "=",
        "+=",
        "*",
        "-",
        "not ",
        "break\n",
        "continue\n",
        "float",
        "True",
    ];
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut compiler = Compiler::new();
    for kernel in kernels {
        for _ in 0..4 {
            let mut text: Vec<char> = kernel.source.chars().collect();
            match random.below(4) {
                0 => text.truncate(random.below(text.len())),
                1 => {
                    let at = random.below(text.len());
                    text.splice(at..at, TOKENS[random.below(TOKENS.len())].chars());
                }
                2 => {
                    let from = random.below(text.len());
                    let to = (from + random.below(12)).min(text.len());
                    text.drain(from..to);
                }
                _ => {
                    let (a, b) = (random.below(text.len()), random.below(text.len()));
                    text.swap(a, b);
                }
            }
            let text: String = text.into_iter().collect();
            if let Ok(module) = compiler.compile(&text, &Options::default()) {
                if let Some(violation) = ir::verify(&module).first() {
                    return Err(format!("{violation}\n{text}").into());
                }
                emit_cuda(&module);
                emit_cpu(&module);
                compiler.recycle(module);
            }
        }
    }
    Ok(())
}

fn truncated_ir_does_not_panic(kernels: &[Kernel]) -> Result<(), Failed> {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut compiler = Compiler::new();
    for kernel in kernels.iter().step_by(7) {
        let Ok(module) = compiler.compile(&kernel.source, &Options::default()) else {
            continue;
        };
        let text = ir::print(&module);
        for _ in 0..6 {
            let mut at = random.below(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            let shortened = if random.below(2) == 0 {
                text[..at].to_owned()
            } else {
                format!(
                    "{}{}",
                    &text[..at],
                    text[at..].chars().skip(1).collect::<String>()
                )
            };
            if let Ok(module) = ir::parse(&shortened) {
                let _ = ir::verify(&module);
            }
        }
        compiler.recycle(module);
    }
    Ok(())
}
