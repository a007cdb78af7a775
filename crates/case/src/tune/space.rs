//! Every choice of tunables that the constraints allow.

use crate::description::{Case, TunableValue};
use crate::document::CaseError;
use crate::expression::Scope;
use crate::instance::LaunchNumbers;

/// More points than this are not walked.
const MOST_POINTS: usize = 1_000_000;

/// A choice of tunables.
pub type Point = Vec<(String, TunableValue)>;

/// The points, each also as the positions of its values, and as numbers that a model learns from.
#[derive(Clone, Debug)]
pub struct Space {
    names: Vec<String>,
    points: Vec<Point>,
    ordinals: Vec<Vec<usize>>,
    features: Vec<Vec<f64>>,
}

impl Space {
    /// Every choice that is allowed at this size.
    pub fn of(case: &Case, size: &Scope) -> Result<Self, CaseError> {
        let mut space = Self {
            names: case
                .tunables
                .iter()
                .map(|tunable| tunable.name.clone())
                .collect(),
            points: Vec::new(),
            ordinals: Vec::new(),
            features: Vec::new(),
        };
        // What a launch is made of says more than each tunable for itself: threads, blocks, shared memory.
        let mut launches: Vec<Vec<f64>> = Vec::new();
        let counts: Vec<usize> = case
            .tunables
            .iter()
            .map(|tunable| tunable.values.len())
            .collect();
        let total = counts
            .iter()
            .try_fold(1usize, |total, count| total.checked_mul(*count));
        let Some(total) = total.filter(|total| *total <= MOST_POINTS) else {
            let place = crate::document::Place {
                line: 1,
                key: "tunables".into(),
            };
            return Err(case.error(&place, format!("more than {MOST_POINTS} combinations")));
        };
        for number in 0..total {
            let mut rest = number;
            let mut ordinal = Vec::with_capacity(counts.len());
            for count in counts.iter().rev() {
                ordinal.push(rest % count);
                rest /= count;
            }
            ordinal.reverse();
            let point: Point = case
                .tunables
                .iter()
                .zip(&ordinal)
                .map(|(tunable, at)| (tunable.name.clone(), tunable.values[*at].clone()))
                .collect();
            // A point whose launch has no form (a block of 2048 threads) is as little allowed.
            if !case.allows(size, &point)? {
                continue;
            }
            if let Ok(instance) = case.instance(size, &point) {
                launches.push(match instance.launch {
                    LaunchNumbers::Grid(shape) => {
                        let product =
                            |of: [u32; 3]| -> f64 { of.iter().map(|n| f64::from(*n)).product() };
                        vec![
                            product(shape.block),
                            product(shape.grid),
                            f64::from(shape.shared_bytes),
                        ]
                    }
                    _ => Vec::new(),
                });
                space.points.push(point);
                space.ordinals.push(ordinal);
            }
        }
        space.features = features(&space.points, &launches);
        Ok(space)
    }

    /// The combinations of so many values of each name that `allowed` keeps; a value is its position.
    pub fn of_counts(
        named: &[(String, usize)],
        allowed: &mut dyn FnMut(&[usize]) -> bool,
    ) -> Result<Self, String> {
        let total = named
            .iter()
            .try_fold(1usize, |total, (_, count)| total.checked_mul(*count));
        let Some(total) = total.filter(|total| *total <= MOST_POINTS) else {
            return Err(format!("more than {MOST_POINTS} combinations"));
        };
        let mut space = Self {
            names: named.iter().map(|(name, _)| name.clone()).collect(),
            points: Vec::new(),
            ordinals: Vec::new(),
            features: Vec::new(),
        };
        for number in 0..total {
            let mut rest = number;
            let mut ordinal: Vec<usize> = Vec::with_capacity(named.len());
            for (_, count) in named.iter().rev() {
                ordinal.push(rest % count);
                rest /= count;
            }
            ordinal.reverse();
            if allowed(&ordinal) {
                let names = space.names.iter().cloned();
                let values = ordinal.iter().map(|at| TunableValue::Whole(*at as i64));
                space.points.push(names.zip(values).collect());
                space.ordinals.push(ordinal);
            }
        }
        space.features = features(&space.points, &[]);
        Ok(space)
    }

    /// A space of these points, which name the same tunables; values are ordered as numbers are, words by
    /// their first appearance. `derived` has what is known of each point beside its values, such as the
    /// threads of a block.
    pub fn of_points(points: Vec<Point>, derived: &[Vec<f64>]) -> Self {
        let names: Vec<String> = match points.first() {
            Some(point) => point.iter().map(|(name, _)| name.clone()).collect(),
            None => Vec::new(),
        };
        let axes: Vec<Vec<&TunableValue>> = (0..names.len())
            .map(|axis| {
                let mut values: Vec<&TunableValue> = Vec::new();
                for (_, value) in points.iter().filter_map(|point| point.get(axis)) {
                    if !values.contains(&value) {
                        values.push(value);
                    }
                }
                // Stable: words keep their order.
                values.sort_by_key(|value| match value {
                    TunableValue::Whole(value) => *value,
                    TunableValue::Word(_) => i64::MAX,
                });
                values
            })
            .collect();
        let position = |axis: usize, value: &TunableValue| {
            let values = axes.get(axis).map_or(&[][..], Vec::as_slice);
            values.iter().position(|one| *one == value).unwrap_or(0)
        };
        let ordinals = points
            .iter()
            .map(|point| {
                let values = point.iter().enumerate();
                values
                    .map(|(axis, (_, value))| position(axis, value))
                    .collect()
            })
            .collect();
        Self {
            names,
            ordinals,
            features: features(&points, derived),
            points,
        }
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Whether nothing is allowed.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// A point.
    pub fn point(&self, index: usize) -> &Point {
        &self.points[index]
    }

    /// The names of the tunables.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The positions of every point's values.
    pub fn ordinals(&self) -> &[Vec<usize>] {
        &self.ordinals
    }

    /// Every point as numbers between 0 and 1, in the order of their size.
    pub fn features(&self) -> &[Vec<f64>] {
        &self.features
    }

    /// How much of the spread of log times each tunable explains by itself, largest first.
    pub fn importance(&self, measured: &[(usize, f64)]) -> Vec<(String, f64)> {
        let logs: Vec<(usize, f64)> = measured
            .iter()
            .filter(|(_, seconds)| *seconds > 0.0)
            .map(|(index, seconds)| (*index, seconds.ln()))
            .collect();
        let mean = logs.iter().map(|(_, log)| log).sum::<f64>() / logs.len().max(1) as f64;
        let total: f64 = logs.iter().map(|(_, log)| (log - mean).powi(2)).sum();
        let share = |axis: usize| {
            let mut groups: Vec<(f64, f64)> = Vec::new();
            for (index, log) in &logs {
                let at = self.ordinals[*index][axis];
                if groups.len() <= at {
                    groups.resize(at + 1, (0.0, 0.0));
                }
                groups[at].0 += log;
                groups[at].1 += 1.0;
            }
            let between = groups.iter().filter(|(_, count)| *count > 0.0);
            let between: f64 = between
                .map(|(sum, count)| count * (sum / count - mean).powi(2))
                .sum();
            if total > 0.0 { between / total } else { 0.0 }
        };
        let mut shares: Vec<(String, f64)> = self
            .names
            .iter()
            .enumerate()
            .map(|(axis, name)| (name.clone(), share(axis)))
            .collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1));
        shares
    }
}

/// Columns of numbers between 0 and 1: the values of the tunables, words by their first appearance, and what
/// is derived from them; by ratio where a column spans much. A column that never changes is left out.
fn features(points: &[Point], derived: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let axes = points.first().map_or(0, Vec::len);
    let mut columns: Vec<Vec<f64>> = Vec::new();
    for axis in 0..axes {
        let mut words: Vec<&str> = Vec::new();
        let column = points.iter().map(|point| match &point[axis].1 {
            TunableValue::Whole(value) => *value as f64,
            TunableValue::Word(word) => {
                let known = words.iter().position(|one| one == word);
                known.unwrap_or_else(|| {
                    words.push(word);
                    words.len() - 1
                }) as f64
            }
        });
        columns.push(column.collect());
    }
    let more = derived.first().map_or(0, Vec::len);
    for axis in 0..more {
        let column = derived.iter().map(|row| row.get(axis).copied());
        columns.push(column.map(Option::unwrap_or_default).collect());
    }
    for column in &mut columns {
        let least = column.iter().copied().fold(f64::INFINITY, f64::min);
        let most = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if least > 0.0 && most >= 4.0 * least {
            column.iter_mut().for_each(|value| *value = value.log2());
        }
    }
    columns.retain(|column| column.iter().any(|value| *value != column[0]));
    let mut rows = vec![Vec::with_capacity(columns.len()); points.len()];
    for column in columns {
        let least = column.iter().copied().fold(f64::INFINITY, f64::min);
        let most = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        for (row, value) in rows.iter_mut().zip(column) {
            row.push((value - least) / (most - least));
        }
    }
    rows
}

/// A space for tests, without a case: all combinations of so many values.
#[cfg(test)]
pub(super) fn grid(counts: &[usize]) -> Space {
    let mut text = "source = \"a.cu\"\n[launch]\ngrid = 1\nblock = 32\n[tunables]\n".to_owned();
    for (axis, count) in counts.iter().enumerate() {
        text.push_str(&format!(
            "T{axis} = {:?}\n",
            (0..*count).collect::<Vec<_>>()
        ));
    }
    let case = Case::parse(std::path::Path::new("a.toml"), &text).unwrap();
    Space::of(&case, &Scope::new()).unwrap()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn constraints_and_impossible_launches_leave_points_out() {
        let text = "source = \"a.cu\"\nconstraints = [\"BLOCK * VEC <= n\"]\n[sizes]\nn = [512]\n[launch]\ngrid = 1\n\
                    block = \"BLOCK\"\n[tunables]\nBLOCK = [64, 256, 512, 2048]\nVEC = [1, 2, 4]\nMODE = [\"a\", \"b\"]\n";
        let case = Case::parse(Path::new("a.toml"), text).unwrap();
        let space = Space::of(&case, &case.sizes.listed[0]).unwrap();
        // 64 with 1, 2, 4; 256 with 1, 2; 512 with 1; 2048 has no launch; each with two words.
        assert_eq!(space.len(), 12);
        assert_eq!(space.names(), ["BLOCK", "VEC", "MODE"]);
    }

    #[test]
    fn features_follow_the_size_of_values_and_know_the_launch() {
        let text = "source = \"a.cu\"\n[sizes]\nn = [512]\n[launch]\ngrid = 1\nblock = \"BLOCK / VEC\"\n\
                    [tunables]\nBLOCK = [256, 64, 1024]\nVEC = [2, 1]\nONE = [7]\n";
        let case = Case::parse(Path::new("a.toml"), text).unwrap();
        let space = Space::of(&case, &case.sizes.listed[0]).unwrap();
        // BLOCK and the threads by ratio, VEC as it is; what never changes is no feature.
        let first = &space.features()[0];
        assert_eq!(first.len(), 3);
        assert_eq!(&first[..2], [0.5, 1.0]);
        let largest = &space.features()[5];
        assert_eq!(largest, &[1.0, 0.0, 1.0]);
    }

    #[test]
    fn what_mattered_is_told() {
        let space = grid(&[4, 4]);
        let measured: Vec<(usize, f64)> = (0..16)
            .map(|at| (at, 1.0 + space.ordinals()[at][1] as f64))
            .collect();
        let importance = space.importance(&measured);
        assert_eq!(importance[0].0, "T1");
        assert!(importance[0].1 > 0.99 && importance[1].1 < 0.01);
    }
}
