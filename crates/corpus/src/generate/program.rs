//! A whole program: imports, definitions, the kernel with its signature and doc string.

use super::builder::{Builder, ParamType};
use super::form::forms;
use super::plan::{Featured, Plan, Wanted};
use super::vocabulary::{QUALIFIERS, VERBS};
use crate::category::Category;
use crate::random::Random;

/// How long a program of each difficulty may be, as [`Builder::weigh`] has it, so that a level stands
/// for a length of context; twice and more where the category
/// itself asks for blocks in the kernel.
const MOST_WEIGHT: [usize; 5] = [420, 600, 850, 1300, 2400];

/// Programs that are written for one draft until one is short enough; the shortest is taken if none is.
const MOST_TRIALS: u32 = 4;

fn most_weight(category: Category, difficulty: u8) -> usize {
    let halves = match category {
        Category::NestedLoop | Category::MultiConditional => 5,
        Category::ControlFlow | Category::Functions | Category::Reduction | Category::Stencil => 4,
        _ => 2,
    };
    MOST_WEIGHT[usize::from(difficulty) - 1] * halves / 2
}

/// A program before it is compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The Python source.
    pub source: String,
    /// The kernel's name.
    pub kernel: String,
    /// What it is about.
    pub category: Category,
    /// 1 to 5.
    pub difficulty: u8,
    /// What the diversity controller requested.
    pub featured: &'static str,
}

/// Writes the program of pair `index` of `seed`; `attempt` is 0 unless earlier ones were duplicates.
pub fn draft(wanted: &Wanted, seed: u64, index: u64, attempt: u32) -> Draft {
    let plan = Plan::of(wanted, seed, index);
    let (category, difficulty) = (plan.category, plan.difficulty);
    let featured = match plan.featured {
        Featured::Form(form) => forms().forms[usize::from(form)].builtin,
        Featured::Tuple(tuple) => forms().tuples[usize::from(tuple)].builtin,
        Featured::Construct(_) => "construct",
    };
    let most = most_weight(category, difficulty);
    let mut lightest = None;
    for trial in 0..MOST_TRIALS {
        // Attempts are few, so that a trial of one is no other's first.
        let random = Random::of_pair(seed, index, attempt | trial << 8);
        let mut builder = Builder::new(plan.clone(), random);
        let kernel = builder.write_kernel();
        let weight = builder.weigh();
        if lightest
            .as_ref()
            .is_none_or(|(_, _, least)| weight < *least)
        {
            lightest = Some((builder, kernel, weight));
        }
        if weight <= most {
            break;
        }
    }
    let (source, kernel) = lightest.map_or_else(Default::default, |(mut builder, kernel, _)| {
        (builder.assemble(&kernel), kernel)
    });
    Draft {
        source,
        kernel,
        category,
        difficulty,
        featured,
    }
}

impl Builder {
    /// Writes definitions and the kernel's body; gives the kernel's name.
    fn write_kernel(&mut self) -> String {
        let kernel = self.kernel_name();
        self.taken.take(kernel.clone().into());
        let (category, difficulty) = (self.plan.category, self.plan.difficulty);
        if category == Category::Functions || category == Category::Combined && difficulty > 3 {
            self.define_functions();
        }
        self.kernel_body();
        kernel
    }

    fn kernel_name(&mut self) -> String {
        let verb = *self.random.pick(VERBS);
        let object = *self.random.pick(self.theme.objects);
        match self.random.below(3) {
            0 => [verb, "_", object].concat(),
            1 => [verb, "_", *self.random.pick(QUALIFIERS), "_", object].concat(),
            _ => [*self.random.pick(QUALIFIERS), "_", object].concat(),
        }
    }

    fn assemble(&mut self, kernel: &str) -> String {
        let mut text = String::with_capacity(self.prelude.len() + self.body.len() + 400);
        text.push_str("import warp as wp\n\n");
        if !self.prelude.is_empty() {
            if self.prelude.starts_with('@') {
                text.push('\n');
            }
            text.push_str(&self.prelude);
            text.push('\n');
        }
        text.push_str("\n@wp.kernel\ndef ");
        text.push_str(kernel);
        text.push('(');
        let one_per_line = self.params.len() > 3;
        for (n, param) in self.params.iter().enumerate() {
            match (one_per_line, n) {
                (true, _) => text.push_str("\n    "),
                (false, 0) => {}
                (false, _) => text.push_str(", "),
            }
            text.push_str(&param.name);
            text.push_str(": ");
            spell_parameter(&param.ty, self.plain_types, &mut text);
            if one_per_line {
                text.push(',');
            }
        }
        text.push_str(if one_per_line { "\n):\n" } else { "):\n" });
        if self.random.chance(60) {
            self.doc_string(kernel, &mut text);
        }
        text.push_str(&self.body);
        text
    }

    /// One sentence about what the kernel does.
    fn doc_string(&mut self, kernel: &str, text: &mut String) {
        text.push_str("    \"\"\"");
        let start = text.len();
        if !VERBS.iter().any(|verb| kernel.starts_with(verb)) {
            text.push_str("compute the ");
        }
        for (n, word) in kernel.split('_').enumerate() {
            text.push_str(if n > 0 { " " } else { "" });
            text.push_str(word);
        }
        if let Some(first) = text.get_mut(start..=start) {
            first.make_ascii_uppercase();
        }
        let ending = match self.random.below(5) {
            0 => [" for every ", self.theme.subject, "."],
            1 => [", one thread per ", self.theme.subject, "."],
            2 => match self.params.last() {
                Some(param) => [" and store the result in `", &param.name, "`."],
                None => [".", "", ""],
            },
            3 => match self.params.first() {
                Some(param) => [" from `", &param.name, "`."],
                None => [".", "", ""],
            },
            _ => [".", "", ""],
        };
        for part in ending {
            text.push_str(part);
        }
        text.push_str("\"\"\"\n");
    }
}

fn spell_parameter(ty: &ParamType, plain: bool, text: &mut String) {
    match ty {
        ParamType::Value(kind) => kind.spell(plain, text),
        ParamType::Array(kind, 1) => {
            text.push_str("wp.array(dtype=");
            kind.spell(plain, text);
            text.push(')');
        }
        ParamType::Array(kind, rank) if plain => {
            text.push_str("wp.array");
            text.push(char::from(b'0' + rank));
            text.push_str("d(dtype=");
            kind.spell(plain, text);
            text.push(')');
        }
        ParamType::Array(kind, rank) => {
            text.push_str("wp.array(dtype=");
            kind.spell(plain, text);
            text.push_str(", ndim=");
            text.push(char::from(b'0' + rank));
            text.push(')');
        }
        ParamType::Struct(name) => text.push_str(name),
        ParamType::StructArray(name) => {
            text.push_str("wp.array(dtype=");
            text.push_str(name);
            text.push(')');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn a_level_is_a_length_of_context() {
        let mut records = crate::record::RecordBuilder::new();
        // Tokens that a pair may have, and how many of 360 have them at least.
        for (level, most, of_360) in [(1, 4096, 330), (2, 6144, 330), (3, 8192, 330)] {
            let wanted = Wanted {
                difficulties: vec![level],
                ..Wanted::default()
            };
            let fits = (0..360).filter(|index| {
                let selected = crate::selection::write_draft(&wanted, 1, *index, 0);
                let rule = crate::split::SplitRule::default();
                let (record, module) = records.build(selected, &rule).unwrap();
                records.recycle(module);
                record.cuda_tokens + record.fingerprint.tokens <= most
            });
            let fits = fits.count();
            assert!(fits >= of_360, "level {level}: {fits} of 360");
        }
    }
}
