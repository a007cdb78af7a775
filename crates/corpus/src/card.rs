//! The data set's card: the `README.md` that Hugging Face reads, with the splits in its front matter.

use std::fmt::Write;

use crate::split::Split;
use crate::statistics::Statistics;

/// Texts to continue, and pairs to learn from.
const USE: &str = "\
pairs = load_dataset(\"path/to/this/folder\")

# Pre-training: one text for each pair.
texts = pairs[\"train\"].map(
    lambda row: {\"text\": row[\"python\"] + row[\"cuda_forward\"]},
    remove_columns=pairs[\"train\"].column_names,
)

# Instruction tuning: a prompt and its answer.
asked = pairs[\"train\"].map(
    lambda row: {\"prompt\": \"Write what Warp generates.\\n\\n\" + row[\"python\"], \"answer\": row[\"cuda_forward\"]},
    remove_columns=pairs[\"train\"].column_names,
)
```

Preference pairs come from `warpsmith corpus tasks`, whose kernels are written to be read.

";

/// What follows from how pairs are made, whatever the data say.
const LIMITS: &str = "\
- Kernels are made at random: they compile and run, and compute nothing that anybody wants. Names and doc strings \
do not describe the code.\n\
- The CUDA is what a compiler writes, on calls of `wp::` functions: it teaches translation, not how to write fast \
kernels.\n\
- The language is the part of Warp's that the generator knows: no tiles, meshes, volumes or textures.\n\
- Whole texts are long for their content: the backward kernel repeats the forward one.\n";

/// What the numbers show that a reader should know before training.
fn biases(s: &Statistics) -> String {
    let share = |part: u64| 100.0 * part as f64 / s.pairs.max(1) as f64;
    let mut out = String::new();
    if let Some((category, pairs)) = s.categories.iter().max_by_key(|(_, pairs)| **pairs) {
        let _ = writeln!(
            out,
            "- {:.1} % of the pairs are of the category `{category}`, the most frequent of {}.",
            share(*pairs),
            s.categories.len()
        );
    }
    if let Some((difficulty, pairs)) = s.difficulties.iter().max_by_key(|(_, pairs)| **pairs) {
        let _ = writeln!(
            out,
            "- {:.1} % have difficulty {difficulty}; short kernels are more frequent than long ones.",
            share(*pairs)
        );
    }
    for (column, words) in [("python_tokens", "Python"), ("cuda_tokens", "CUDA")] {
        if let Some(tokens) = s.distributions.get(column) {
            let _ = writeln!(
                out,
                "- {words}: half have at most {} tokens, nine of ten at most {}, the longest {}.",
                tokens.median, tokens.p90, tokens.max
            );
        }
    }
    let mut builtins: Vec<(&String, &u64)> = s.builtins.iter().collect();
    builtins.sort_by_key(|(name, pairs)| (std::cmp::Reverse(**pairs), *name));
    let frequent: Vec<String> = builtins
        .iter()
        .take(5)
        .map(|(name, pairs)| format!("`{name}` ({:.0} %)", share(**pairs)))
        .collect();
    let _ = writeln!(
        out,
        "- Most frequent builtins, by pairs: {}. {} of {} core builtins are not used.",
        frequent.join(", "),
        s.unused_builtins.len(),
        s.core_builtins
    );
    out
}

/// The card of a data set.
pub fn card(statistics: &Statistics) -> String {
    let s = statistics;
    let mut out = String::from("---\n");
    out.push_str("pretty_name: Warpsmith kernel corpus\n");
    out.push_str("language:\n- code\n");
    out.push_str("license: apache-2.0\n");
    out.push_str("task_categories:\n- text-generation\n");
    out.push_str("tags:\n- code\n- cuda\n- gpu-kernels\n- compilers\n- warp\n- synthetic\n");
    let _ = writeln!(out, "size_categories:\n- {}", size_category(s.pairs));
    out.push_str("configs:\n- config_name: default\n  data_files:\n");
    for split in Split::ALL {
        if s.splits.contains_key(split.name()) {
            let _ = writeln!(
                out,
                "  - split: {split}\n    path: data/{split}/*.{}",
                s.settings.format
            );
        }
    }
    out.push_str("---\n\n# Warpsmith kernel corpus\n\n");
    let _ = writeln!(
        out,
        "{} pairs of a GPU kernel in Python (NVIDIA Warp's kernel language) and the C++ that Warp {} \
         generates for it: CUDA and CPU, forward and backward. Every kernel was written by a generator; \
         none is copied from anywhere.\n",
        s.pairs, s.settings.warp_version
    );
    out.push_str("## Use\n\n```python\nfrom datasets import load_dataset\n\n");
    out.push_str(USE);
    out.push_str("## Splits\n\nPairs are divided by the shape of their syntax tree, so that no shape is on two sides.\n");
    out.push_str("Builtins and categories that are held out occur in their own splits only.\n\n");
    out.push_str("| split | pairs |\n|---|---:|\n");
    for (split, count) in &s.splits {
        let _ = writeln!(out, "| {split} | {count} |");
    }
    let rule = &s.settings.split;
    let categories: Vec<&str> = rule.categories.iter().map(|c| c.name()).collect();
    let _ = writeln!(
        out,
        "\nHeld-out builtins: {}. Held-out categories: {}.\n",
        or_none(&rule.builtins.join(", ")),
        or_none(&categories.join(", "))
    );
    out.push_str("## Distinct pairs\n\n| level | distinct |\n|---|---:|\n");
    for (name, count) in [
        ("exact source", s.distinct_exact),
        ("up to names", s.distinct_modulo_names),
        ("shape of the syntax tree", s.distinct_shapes),
        ("MinHash signature (estimate)", s.distinct_minhash),
    ] {
        let _ = writeln!(out, "| {name} | {count} |");
    }
    out.push_str("\n## Categories\n\n| category | pairs |\n|---|---:|\n");
    for (category, count) in &s.categories {
        let _ = writeln!(out, "| {category} | {count} |");
    }
    out.push_str("\n## Verification\n\n");
    out.push_str("Every source was accepted by the compiler, whose text is compared with Warp's in its own tests.\n");
    if !s.levels.is_empty() {
        out.push_str("\n| level | passed | skipped | failed |\n|---|---:|---:|---:|\n");
        for (level, counts) in &s.levels {
            let _ = writeln!(
                out,
                "| {level} | {} | {} | {} |",
                counts.passed, counts.skipped, counts.failed
            );
        }
        out.push_str("\n`executed`: the interpreter ran the kernel and its adjoint on random inputs, inside its arrays, with finite results, and no thread met another's writes.\n");
    }
    let _ = write!(
        out,
        "\n## Columns\n\n`python` is the source. `cuda_forward` + `cuda_backward` is the CUDA module after \
         Warp's fixed prologue, `cpu_forward` + `cpu_backward` the CPU module; the hash in names is \
         replaced by `HASH`. `category`, `difficulty` (1 to 5), `builtins`, `constructs` and the counts \
         describe the kernel; `hash_exact`, `hash_modulo_names`, `hash_shape` and `minhash` are for \
         deduplication; `executed`, `gradient`, `compiled`, `gpu`, `vulkan` and `warp` say what was \
         checked; `expected` holds the launch and the first values of each array that it changed. `inputs`, \
         `gradients`, `ptx` and `sass` (registers, spills, instructions by name) are empty unless the \
         set was made with `--keep`.\n\n\
         ## Known biases\n\n{}\n## Limits\n\n{LIMITS}\n## Licence\n\nApache-2.0. A generator wrote every \
         source, and Warpsmith's compiler every text: there is no personal data and no third party's code. The \
         texts have the form of what NVIDIA Warp (Apache-2.0) writes, and call its header, which is not part \
         of this set.\n\n\
         ## Reproduce\n\n```console\n$ warpsmith corpus generate --seed {} --count {} --output DIR\n```\n\n\
         Pair *i* of a seed is the same on every machine. Generator {}, compiler {}, Warp {}.\n",
        biases(s),
        s.settings.seed,
        s.settings.count,
        s.settings.generator_version,
        s.settings.compiler_version,
        s.settings.warp_version
    );
    out
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

fn size_category(pairs: u64) -> &'static str {
    match pairs {
        0..1_000 => "n<1K",
        1_000..10_000 => "1K<n<10K",
        10_000..100_000 => "10K<n<100K",
        100_000..1_000_000 => "100K<n<1M",
        1_000_000..10_000_000 => "1M<n<10M",
        _ => "10M<n<100M",
    }
}
