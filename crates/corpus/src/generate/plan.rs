//! What a pair is to be about, before anything of it is written.
//!
//! The diversity controller lives here, and it keeps no state: categories take turns in blocks, and
//! within a category every builtin and construct takes its turn as the featured one, in an order that
//! follows from the seed. So rare ones come up as often as common ones, pair *i* needs no other pair,
//! and any share of the indices is as diverse as the whole.

use std::sync::OnceLock;

use super::construct::Construct;
use super::form::forms;
use super::form_table::Group;
use crate::category::Category;
use crate::random::{Random, mix};

/// What the program must contain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Featured {
    Form(u16),
    Tuple(u16),
    Construct(Construct),
}

/// Everything that is decided about a program beforehand.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) category: Category,
    pub(crate) difficulty: u8,
    pub(crate) featured: Featured,
    /// How readily the expressions of each group are taken, 0 to 8.
    pub(crate) weights: [u8; 10],
    /// How often a new parameter is a value rather than an array.
    pub(crate) setting_percent: u32,
    pub(crate) float32: bool,
    pub(crate) wide_integers: bool,
}

/// Which pairs are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The categories, in order; not empty.
    pub categories: Vec<Category>,
    /// The difficulties, 1 to 5; not empty.
    pub difficulties: Vec<u8>,
}

impl Default for Wanted {
    fn default() -> Self {
        Self {
            categories: Category::ALL.to_vec(),
            difficulties: vec![1, 2, 3, 4, 5],
        }
    }
}

/// How often each difficulty is drawn.
const DIFFICULTY_WEIGHTS: [u32; 5] = [44, 32, 15, 6, 3];

impl Plan {
    /// The plan of pair `index`; the attempt does not change it.
    pub(crate) fn of(wanted: &Wanted, seed: u64, index: u64) -> Self {
        let count = wanted.categories.len() as u64;
        let (block, position) = (index / count, index % count);
        let turn = mix(seed ^ mix(block)) % count;
        let category = wanted.categories[((position + turn) % count) as usize];
        let mut random = Random::of_pair(seed, index, u32::MAX);
        let weights: Vec<u32> = wanted
            .difficulties
            .iter()
            .map(|level| DIFFICULTY_WEIGHTS[usize::from(level - 1)])
            .collect();
        let difficulty = wanted.difficulties[random.weighted(&weights)];
        let candidates = &featured_lists()[category as usize];
        // Every candidate once in as many blocks as there are candidates, in another order each time.
        let len = candidates.len() as u64;
        let round = mix(seed ^ 0x5eed ^ mix((block / len) ^ ((category as u64) << 40)));
        let featured = candidates[((block % len + round) % len) as usize];
        let featured_group = match featured {
            Featured::Form(form) => Some(&forms().forms[usize::from(form)]),
            _ => None,
        };
        let is_random = category == Category::Random;
        Self {
            category,
            difficulty,
            featured,
            weights: group_weights(category),
            setting_percent: match category {
                Category::ScalarParam => 75,
                _ => 15,
            },
            float32: is_random
                || category == Category::Atomic
                || featured_group.is_some_and(|form| form.float32_only),
            wide_integers: category == Category::IntegerBits
                || matches!(category, Category::Arithmetic | Category::Combined)
                    && random.chance(20),
        }
    }
}

impl Plan {
    /// How often a statement is a branch or a loop.
    pub(super) fn block_percent(&self) -> u32 {
        let base = match self.category {
            Category::ControlFlow | Category::MultiConditional | Category::NestedLoop => 45,
            Category::Combined => 35,
            _ => 12,
        };
        base + 4 * u32::from(self.difficulty)
    }
}

/// How readily each group is taken: arithmetic, math, choice, vector, matrix, rotation, spatial, bits,
/// random, conversion.
fn group_weights(category: Category) -> [u8; 10] {
    match category {
        Category::Arithmetic => [8, 1, 2, 0, 0, 0, 0, 1, 0, 1],
        Category::Math => [3, 8, 1, 0, 0, 0, 0, 0, 0, 1],
        Category::Vector => [3, 2, 2, 8, 0, 0, 0, 0, 0, 1],
        Category::Matrix => [3, 1, 1, 4, 8, 0, 0, 0, 0, 0],
        Category::IntegerBits => [3, 0, 2, 0, 0, 0, 0, 8, 0, 2],
        Category::Quaternion => [2, 1, 1, 4, 1, 8, 5, 0, 0, 0],
        Category::Random => [4, 3, 2, 4, 0, 0, 0, 0, 8, 1],
        Category::Combined => [5, 5, 3, 5, 3, 2, 1, 2, 0, 3],
        Category::MultiDim | Category::Stencil => [7, 3, 2, 3, 1, 0, 0, 0, 0, 1],
        Category::MultiConditional | Category::ControlFlow => [7, 4, 3, 1, 0, 0, 0, 1, 0, 1],
        _ => [7, 4, 2, 3, 1, 0, 0, 1, 0, 1],
    }
}

/// What each category features in turn.
fn featured_lists() -> &'static Vec<Vec<Featured>> {
    static LISTS: OnceLock<Vec<Vec<Featured>>> = OnceLock::new();
    LISTS.get_or_init(|| Category::ALL.map(featured_of).to_vec())
}

fn featured_of(category: Category) -> Vec<Featured> {
    use Group::{
        Arithmetic, Bits, Choice, Conversion, Math, Matrix, Random, Rotation, Spatial, Vector,
    };
    let groups: &[Group] = match category {
        Category::Arithmetic => &[Arithmetic, Conversion],
        Category::Math => &[Math],
        Category::Vector => &[Vector],
        Category::Matrix => &[Matrix],
        Category::IntegerBits => &[Bits, Conversion],
        Category::Quaternion => &[Rotation, Spatial],
        Category::Random => &[Random],
        Category::ControlFlow | Category::MultiConditional => &[Choice, Arithmetic, Math],
        Category::Combined => &[
            Arithmetic, Math, Vector, Matrix, Rotation, Spatial, Bits, Conversion,
        ],
        Category::Functions | Category::Structs => &[Arithmetic, Math, Vector, Choice],
        Category::MultiDim | Category::Stencil => &[Arithmetic, Math, Choice],
        _ => &[Arithmetic, Math, Vector],
    };
    let mut list: Vec<Featured> = Vec::new();
    for (position, form) in forms().forms.iter().enumerate() {
        if groups.contains(&form.group) {
            list.push(Featured::Form(position as u16));
        }
    }
    for (position, tuple) in forms().tuples.iter().enumerate() {
        if groups.contains(&tuple.group) {
            list.push(Featured::Tuple(position as u16));
        }
    }
    list.extend(
        Construct::of_category(category)
            .iter()
            .map(|construct| Featured::Construct(*construct)),
    );
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_take_turns_in_every_block() {
        let wanted = Wanted::default();
        for block in 0..5 {
            let mut seen: Vec<Category> = (0..18)
                .map(|n| Plan::of(&wanted, 7, block * 18 + n).category)
                .collect();
            seen.sort();
            assert_eq!(seen, Category::ALL);
        }
    }

    #[test]
    fn everything_a_category_features_has_its_turn() {
        let wanted = Wanted {
            categories: vec![Category::Math],
            ..Wanted::default()
        };
        let list = featured_of(Category::Math);
        let mut seen: Vec<Featured> = Vec::new();
        for index in 0..list.len() as u64 {
            let featured = Plan::of(&wanted, 3, index).featured;
            assert!(!seen.contains(&featured));
            seen.push(featured);
        }
        assert_eq!(seen.len(), list.len());
    }
}
