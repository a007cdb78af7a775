//! Which part of a data set a pair belongs to.
//!
//! The choice follows from the shape hash alone, so that no shape is ever on two sides, whatever the
//! seed, the shard or the day it was generated; what is held out by name comes first.

use serde::{Deserialize, Serialize};

use crate::by_name::display_by_name;
use crate::category::Category;
use crate::random::mix;

/// A part of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// For training.
    Train,
    /// For choosing settings.
    Validation,
    /// For the last word.
    Test,
    /// Kernels with builtins that no other part has.
    HeldOutBuiltins,
    /// Kernels of categories that no other part has.
    HeldOutCategories,
}

impl Split {
    /// Every part.
    pub const ALL: [Self; 5] = [
        Self::Train,
        Self::Validation,
        Self::Test,
        Self::HeldOutBuiltins,
        Self::HeldOutCategories,
    ];

    /// The name in records, folders and cards.
    pub fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Validation => "validation",
            Self::Test => "test",
            Self::HeldOutBuiltins => "held_out_builtins",
            Self::HeldOutCategories => "held_out_categories",
        }
    }
}

display_by_name!(Split);

/// How pairs are divided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitRule {
    /// Shapes of a thousand that go to validation.
    pub validation_permille: u32,
    /// Shapes of a thousand that go to the test.
    pub test_permille: u32,
    /// Builtins that are held out.
    pub builtins: Vec<String>,
    /// Categories that are held out.
    pub categories: Vec<Category>,
}

impl Default for SplitRule {
    fn default() -> Self {
        Self {
            validation_permille: 10,
            test_permille: 10,
            builtins: ["erfcinv", "quat_slerp", "spatial_cross_dual", "atomic_xor"]
                .map(str::to_owned)
                .to_vec(),
            categories: vec![Category::Stencil],
        }
    }
}

impl SplitRule {
    /// Where a pair belongs.
    pub fn choose(&self, shape: u64, category: Category, builtins: &[&str]) -> Split {
        if self.categories.contains(&category) {
            return Split::HeldOutCategories;
        }
        if self
            .builtins
            .iter()
            .any(|held| builtins.contains(&held.as_str()))
        {
            return Split::HeldOutBuiltins;
        }
        // Mixed again, so that the split does not follow the order of the table of shapes.
        let place = (mix(shape ^ 0x5b11) % 1000) as u32;
        if place < self.test_permille {
            Split::Test
        } else if place < self.test_permille + self.validation_permille {
            Split::Validation
        } else {
            Split::Train
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_before_shapes() {
        let rule = SplitRule::default();
        assert_eq!(
            rule.choose(1, Category::Stencil, &["erfcinv"]),
            Split::HeldOutCategories
        );
        assert_eq!(
            rule.choose(1, Category::Math, &["erfcinv", "sin"]),
            Split::HeldOutBuiltins
        );
        let mut counts = [0; 3];
        for shape in 0..100_000_u64 {
            counts[rule.choose(mix(shape), Category::Math, &[]) as usize] += 1;
        }
        assert!(
            (900..1100).contains(&counts[1]) && (900..1100).contains(&counts[2]),
            "{counts:?}"
        );
    }
}
