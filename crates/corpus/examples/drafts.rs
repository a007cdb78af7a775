//! Prints drafts, or counts how many the compiler refuses.
#![allow(clippy::print_stdout)]
use warpsmith_compiler::{Compiler, Options};
use warpsmith_corpus::{Wanted, draft};

fn main() {
    let mut args = std::env::args().skip(1);
    let first: u64 = args.next().and_then(|a| a.parse().ok()).unwrap_or(0);
    let count: u64 = args.next().and_then(|a| a.parse().ok()).unwrap_or(18);
    let print = args.next().is_some();
    let wanted = Wanted::default();
    let mut compiler = Compiler::new();
    let mut refused = std::collections::BTreeMap::<String, (u32, String)>::new();
    for index in first..first + count {
        let draft = draft(&wanted, std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1), index, 0);
        if print {
            println!(
                "# {index} {} {} {}\n{}",
                draft.category, draft.difficulty, draft.featured, draft.source
            );
        }
        match compiler.compile(&draft.source, &Options::default()) {
            Ok(module) => compiler.recycle(module),
            Err(findings) => {
                let f = &findings[0];
                let key = format!("{} {}", f.code, f.message);
                let text = warpsmith_compiler::render(f, &draft.source);
                let e = refused.entry(key).or_insert((0, format!("{index} {text}")));
                e.0 += 1;
            }
        }
    }
    let total: u32 = refused.values().map(|r| r.0).sum();
    println!("{count} drafts, {total} refused");
    let mut all: Vec<_> = refused.into_iter().collect();
    all.sort_by_key(|(_, (n, _))| std::cmp::Reverse(*n));
    for (_, (n, text)) in all.iter().take(25) {
        println!("--- {n} times\n{text}");
    }
}
