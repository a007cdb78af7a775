//! A small random forest over features: what a point's time is likely to be, and how sure that is.

use warpsmith_workload::random::Random;

/// Trees of a forest.
const TREES: usize = 40;
/// Points below which a leaf is not split.
const SMALLEST: usize = 3;

enum Node {
    Leaf(f64),
    Split {
        axis: usize,
        at: f64,
        below: Box<Node>,
        above: Box<Node>,
    },
}

/// A fitted forest.
pub(super) struct Forest {
    trees: Vec<Node>,
}

impl Forest {
    /// Fits features to values.
    pub(super) fn fit(features: &[&[f64]], values: &[f64], random: &mut Random) -> Self {
        let trees = (0..TREES).map(|_| {
            let chosen: Vec<usize> = (0..values.len())
                .map(|_| random.below(values.len()))
                .collect();
            grow(features, values, chosen, random, 0)
        });
        Self {
            trees: trees.collect(),
        }
    }

    /// Mean and standard deviation over the trees.
    pub(super) fn predict(&self, feature: &[f64]) -> (f64, f64) {
        let answers: Vec<f64> = self
            .trees
            .iter()
            .map(|tree| answer(tree, feature))
            .collect();
        let count = answers.len() as f64;
        let mean = answers.iter().sum::<f64>() / count;
        let variance = answers.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / count;
        (mean, variance.sqrt())
    }
}

fn answer(node: &Node, feature: &[f64]) -> f64 {
    match node {
        Node::Leaf(value) => *value,
        Node::Split {
            axis,
            at,
            below,
            above,
        } => answer(if feature[*axis] < *at { below } else { above }, feature),
    }
}

fn grow(
    features: &[&[f64]],
    values: &[f64],
    chosen: Vec<usize>,
    random: &mut Random,
    depth: usize,
) -> Node {
    let count = chosen.len() as f64;
    let mean = chosen.iter().map(|at| values[*at]).sum::<f64>() / count.max(1.0);
    let axes = features.first().map_or(0, |feature| feature.len());
    if chosen.len() < SMALLEST || depth > 12 || axes == 0 {
        return Node::Leaf(mean);
    }
    // Two thirds of the axes: trees that all see the same are no forest.
    let tried = (axes * 2).div_ceil(3);
    let mut best: Option<(f64, usize, f64)> = None;
    for _ in 0..tried {
        let axis = random.below(axes);
        let mut edges: Vec<f64> = chosen.iter().map(|at| features[*at][axis]).collect();
        edges.sort_unstable_by(f64::total_cmp);
        edges.dedup();
        // Between two values: one that was not seen goes with the nearer.
        for edge in edges.windows(2).map(|pair| 0.5 * (pair[0] + pair[1])) {
            let side = |below: bool| {
                let inside = chosen
                    .iter()
                    .filter(|at| (features[**at][axis] < edge) == below);
                let inside: Vec<f64> = inside.map(|at| values[*at]).collect();
                let mean = inside.iter().sum::<f64>() / inside.len() as f64;
                inside
                    .iter()
                    .map(|value| (value - mean).powi(2))
                    .sum::<f64>()
            };
            let error = side(true) + side(false);
            if best.is_none_or(|(least, ..)| error < least) {
                best = Some((error, axis, edge));
            }
        }
    }
    let Some((_, axis, at)) = best else {
        return Node::Leaf(mean);
    };
    let (below, above): (Vec<usize>, Vec<usize>) = chosen
        .into_iter()
        .partition(|one| features[*one][axis] < at);
    Node::Split {
        axis,
        at,
        below: grow(features, values, below, random, depth + 1).into(),
        above: grow(features, values, above, random, depth + 1).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_learnt() {
        let points: Vec<Vec<f64>> = (0..64)
            .map(|at| vec![f64::from(at % 8), f64::from(at / 8)])
            .collect();
        let features: Vec<&[f64]> = points.iter().map(Vec::as_slice).collect();
        let values: Vec<f64> = points
            .iter()
            .map(|point| if point[0] < 4.0 { 1.0 } else { 5.0 })
            .collect();
        let forest = Forest::fit(&features, &values, &mut Random::seeded(1));
        assert!(forest.predict(&[1.0, 3.0]).0 < 1.5 && forest.predict(&[6.0, 3.0]).0 > 4.5);
    }
}
