//! Which sizes a kernel is checked at: those that the case lists, and awkward ones around them.

use std::collections::BTreeSet;

use warpsmith_measure::kernel_file::Direction;

use crate::description::{ArgumentKind, Case, Launch, TunableValue};
use crate::document::CaseError;
use crate::expression::Scope;

/// Sizes that leave a tail in every block, warp and vector, whatever they are.
const AWKWARD: [i64; 9] = [1, 2, 3, 5, 31, 33, 67, 127, 257];
/// Sizes that all dimensions take at once.
const TOGETHER: [i64; 4] = [1, 17, 33, 65];
/// Elements of all arrays that a check may have: a reference must compute them.
pub(crate) const MOST_ELEMENTS: i64 = 1 << 26;

/// Elements of all arrays from which on one input has to do, unless the user says how many.
const LARGE: i64 = 1 << 22;

/// Elements of all arrays of a size that is checked for races.
const MOST_RACING: i64 = 1 << 15;

/// The sizes to check, and how many of the listed ones are too large for a reference.
#[derive(Clone, Debug, Default)]
pub struct VerificationSizes {
    /// The sizes, smallest first.
    pub sizes: Vec<Scope>,
    /// Listed sizes that were left out because a reference would take too long.
    pub too_large: Vec<Scope>,
}

impl Case {
    /// Names and values for expressions: the dimensions, and the tunables that are numbers.
    pub(crate) fn scope(&self, size: &Scope, choice: &[(String, TunableValue)]) -> Scope {
        let mut scope = size.clone();
        for (name, value) in choice {
            if let TunableValue::Whole(value) = value {
                scope.insert(name.clone(), *value);
            }
        }
        scope
    }

    /// Whether every constraint holds.
    pub fn allows(
        &self,
        size: &Scope,
        choice: &[(String, TunableValue)],
    ) -> Result<bool, CaseError> {
        let scope = self.scope(size, choice);
        for (place, constraint) in &self.constraints {
            // A constraint about a tunable that is a word cannot be a whole-number expression.
            if !constraint
                .holds(&scope)
                .map_err(|error| self.error(place, error))?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a size is so large that a check takes much of a second.
    pub fn is_large(&self, size: &Scope, choice: &[(String, TunableValue)]) -> bool {
        self.elements(size, choice)
            .is_none_or(|elements| elements > LARGE)
    }

    /// The sizes that the case lists and its constraints allow.
    pub fn listed_sizes(&self, choice: &[(String, TunableValue)]) -> Result<Vec<Scope>, CaseError> {
        let mut sizes = Vec::new();
        for size in &self.sizes.listed {
            if self.allows(size, choice)? {
                sizes.push(size.clone());
            }
        }
        Ok(sizes)
    }

    /// The sizes to check with this choice of tunables.
    pub fn verification_sizes(
        &self,
        choice: &[(String, TunableValue)],
    ) -> Result<VerificationSizes, CaseError> {
        let listed = self.listed_sizes(choice)?;
        let mut found: BTreeSet<(i64, Vec<(String, i64)>)> = BTreeSet::new();
        let mut too_large = Vec::new();
        let key = |size: &Scope, elements: i64| {
            let pairs = size.iter().map(|(name, value)| (name.clone(), *value));
            (elements, pairs.collect())
        };
        for size in &listed {
            match self.elements(size, choice) {
                Some(elements) if elements <= MOST_ELEMENTS => {
                    found.insert(key(size, elements));
                }
                _ => too_large.push(size.clone()),
            }
        }
        if self.sizes.tails && !self.sizes.names.is_empty() {
            for size in self.tails(choice) {
                // A tail is a suggestion: one that an expression or a constraint refuses is dropped.
                if let Some(elements) = self.elements(&size, choice)
                    && elements <= 1 << 22
                    && self.allows(&size, choice).unwrap_or(false)
                {
                    found.insert(key(&size, elements));
                }
            }
        }
        let sizes = found
            .into_iter()
            .map(|(_, pairs)| pairs.into_iter().collect());
        Ok(VerificationSizes {
            sizes: sizes.collect(),
            too_large,
        })
    }

    /// Which of these sizes are checked again with warps held back, or under racecheck: small ones, so that
    /// slow tools come to an end. Most elements are not enough: a missing barrier at the end of a loop over
    /// one dimension shows only where that dimension is long. So each dimension has its longest, too.
    pub fn race_sizes(&self, sizes: &[Scope], choice: &[(String, TunableValue)]) -> Vec<Scope> {
        let small: Vec<(i64, &Scope)> = sizes
            .iter()
            .filter_map(|size| {
                let elements = self.elements(size, choice)?;
                (elements <= MOST_RACING).then_some((elements, size))
            })
            .collect();
        let mut chosen: Vec<Scope> = Vec::new();
        let names = self.sizes.names.iter();
        for name in names.map(Some).chain([None]) {
            let extent = |size: &Scope| name.and_then(|name| size.get(name)).copied();
            let longest = small
                .iter()
                .max_by_key(|(elements, size)| (extent(size), *elements));
            if let Some((_, size)) = longest
                && !chosen.contains(size)
            {
                chosen.push((*size).clone());
            }
        }
        chosen
    }

    fn tails(&self, choice: &[(String, TunableValue)]) -> Vec<Scope> {
        let smallest = |name: &String| {
            let values = self.sizes.listed.iter().filter_map(|size| size.get(name));
            values.copied().min().unwrap_or(1)
        };
        // Others stay small while one is varied, but are no powers of two themselves.
        let base: Scope = self
            .sizes
            .names
            .iter()
            .map(|name| (name.clone(), smallest(name).clamp(1, 37)))
            .collect();
        let mut candidates: BTreeSet<i64> = AWKWARD.into();
        for step in self.steps(&base, choice) {
            candidates.extend([step - 1, step, step + 1, 2 * step + 1]);
        }
        candidates.retain(|value| (1..=1 << 20).contains(value));
        let mut sizes = Vec::new();
        for name in &self.sizes.names {
            for &value in &candidates {
                let mut size = base.clone();
                size.insert(name.clone(), value);
                sizes.push(size);
            }
        }
        if self.sizes.names.len() > 1 {
            for value in TOGETHER {
                sizes.push(base.keys().map(|name| (name.clone(), value)).collect());
            }
        }
        sizes
    }

    /// Sizes of blocks and tiles: where a kernel's edges are.
    fn steps(&self, size: &Scope, choice: &[(String, TunableValue)]) -> BTreeSet<i64> {
        let scope = self.scope(size, choice);
        let mut steps = BTreeSet::new();
        if let Launch::Grid { block, .. } = &self.launch {
            let extents = block.iter().filter_map(|one| one.value(&scope).ok());
            steps.extend(extents);
        }
        for (_, value) in choice {
            if let TunableValue::Whole(value) = value {
                steps.insert(*value);
            }
        }
        steps.retain(|step| (4..=1024).contains(step));
        steps
    }

    /// Elements of all arrays; `None` where they cannot be counted.
    pub(crate) fn elements(&self, size: &Scope, choice: &[(String, TunableValue)]) -> Option<i64> {
        let scope = self.scope(size, choice);
        let mut total = 0i64;
        for argument in &self.arguments {
            if let ArgumentKind::Array { shape, .. } = &argument.kind {
                let mut count = 1i64;
                for extent in shape {
                    let extent = extent.value(&scope).ok().filter(|extent| *extent >= 0)?;
                    count = count.checked_mul(extent)?;
                }
                total = total.checked_add(count)?;
            }
        }
        Some(total)
    }

    /// Bytes that a launch must at least move: what the case says, or every array once and what is
    /// read and written twice.
    pub fn bytes(&self, size: &Scope, choice: &[(String, TunableValue)]) -> u64 {
        let scope = self.scope(size, choice);
        if let Some(bytes) = &self.cost.bytes {
            return bytes
                .value(&scope)
                .ok()
                .and_then(|value| value.try_into().ok())
                .unwrap_or(0);
        }
        let mut bytes = 0u64;
        for argument in &self.arguments {
            if let ArgumentKind::Array {
                shape, direction, ..
            } = &argument.kind
            {
                let extents = shape
                    .iter()
                    .map(|extent| extent.value(&scope).unwrap_or(0).max(0) as u64);
                let once = extents.fold(argument.scalar.bytes() as u64, u64::saturating_mul);
                let times = if *direction == Direction::InOut { 2 } else { 1 };
                bytes = bytes.saturating_add(once.saturating_mul(times));
            }
        }
        bytes
    }

    /// Floating-point operations of a launch; 0 where the case says nothing.
    pub fn flops(&self, size: &Scope, choice: &[(String, TunableValue)]) -> u64 {
        let scope = self.scope(size, choice);
        let flops = self
            .cost
            .flops
            .as_ref()
            .and_then(|flops| flops.value(&scope).ok());
        flops.and_then(|value| value.try_into().ok()).unwrap_or(0)
    }
}

/// A size in words: `rows=64 cols=1000`.
pub fn size_words(size: &Scope, names: &[String]) -> String {
    let words = names
        .iter()
        .filter_map(|name| Some(format!("{name}={}", size.get(name)?)));
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const CASE: &str = r#"source = "a.cu"
constraints = ["n % VEC == 0"]
[sizes]
n = [1024, "1G"]
[[arguments]]
name = "x"
direction = "inout"
type = "f32"
shape = "n"
[launch]
grid = "ceil_div(n, block_x)"
block = 128
[tunables]
VEC = [1, 4]
"#;

    #[test]
    fn tails_stand_around_the_block_and_keep_to_the_constraints() {
        let case = Case::parse(Path::new("a.toml"), CASE).unwrap();
        let choice = case.first_choice();
        let found = case.verification_sizes(&choice).unwrap();
        let sizes: Vec<i64> = found.sizes.iter().map(|size| size["n"]).collect();
        for size in [1, 31, 127, 128, 129, 257, 1024] {
            assert!(sizes.contains(&size), "{size}: {sizes:?}");
        }
        assert!(sizes.is_sorted());
        assert_eq!(found.too_large.len(), 1);
        assert!(case.is_large(&found.too_large[0], &choice));
        assert!(!case.is_large(&found.sizes[0], &choice));
        let by_four = [("VEC".to_owned(), TunableValue::Whole(4))];
        let found = case.verification_sizes(&by_four).unwrap();
        assert!(found.sizes.iter().all(|size| size["n"] % 4 == 0) && found.sizes.len() > 1);
        assert_eq!(
            case.bytes(&found.sizes[0], &by_four),
            8 * found.sizes[0]["n"] as u64
        );
    }

    #[test]
    fn races_are_looked_for_where_each_dimension_is_long() {
        let text = "source = \"a.cu\"\n[sizes]\nrows = [3, 200]\ncols = [100, 257, 2000]\n[[arguments]]\nname = \"x\"\n\
                    direction = \"in\"\ntype = \"f32\"\nshape = [\"rows\", \"cols\"]\n[launch]\ngrid = \"rows\"\nblock = 256\n";
        let case = Case::parse(std::path::Path::new("a.toml"), text).unwrap();
        let sizes = case.verification_sizes(&[]).unwrap().sizes;
        let chosen = case.race_sizes(&sizes, &[]);
        // A block of 256 threads goes around its loop over the columns eight times there.
        assert!(chosen.iter().any(|size| size["cols"] == 2000), "{chosen:?}");
        assert!(chosen.iter().any(|size| size["rows"] == 513), "{chosen:?}");
        assert!(chosen.len() <= 3);
        assert!(case.race_sizes(&[], &[]).is_empty());
    }
}
