//! Boxes that a program gives, under a tree.

use crate::box_query::BoxQuery;
use crate::box_tree::{Item, Tree};

/// Boxes under a tree.
#[derive(Debug)]
pub struct Bvh {
    lows: Vec<[f32; 3]>,
    highs: Vec<[f32; 3]>,
    /// What is searched.
    pub tree: Tree,
}

impl Bvh {
    /// A tree over boxes; what is missing of the corners or the groups leaves out boxes. Each group has a part
    /// of the tree of its own.
    pub fn new(lows: Vec<[f32; 3]>, highs: Vec<[f32; 3]>, groups: Option<&[i32]>) -> Self {
        let items: Vec<Item> = (lows.iter().zip(&highs))
            .take(groups.map_or(usize::MAX, <[i32]>::len))
            .map(|(low, high)| Item {
                low: *low,
                high: *high,
                middle: [0, 1, 2].map(|axis| low[axis] + high[axis]),
            })
            .collect();
        Self {
            tree: Tree::new(&items, groups),
            lows,
            highs,
        }
    }

    /// The tree in 4-byte words, as `bvh.h` of the GPU's runtime reads them: how many boxes of the tree, given
    /// boxes and groups; the tree's boxes; where to go on behind each; given boxes with their numbers, leaf after
    /// leaf; groups with their roots.
    pub fn flat(&self, out: &mut Vec<u8>) {
        let (order, groups) = (self.tree.order(), self.tree.groups());
        let counts = [self.tree.nodes().len(), order.len(), groups.len()];
        out.extend(counts.iter().flat_map(|n| (*n as u32).to_le_bytes()));
        self.tree.flat(out);
        self.tree.flat_skips(out);
        for item in order {
            let at = *item as usize;
            let corners = self.lows[at].into_iter().chain(self.highs[at]);
            out.extend(corners.flat_map(f32::to_le_bytes));
            out.extend(item.to_le_bytes());
        }
        for (group, root) in groups {
            out.extend(group.to_le_bytes());
            out.extend(root.to_le_bytes());
        }
    }

    /// The next box of a search.
    pub fn next_box(&self, query: &mut BoxQuery<'_>) -> bool {
        query.next(&self.tree, |query, item| {
            let at = item as usize;
            query
                .touches(self.lows[at], self.highs[at])
                .then(|| item.cast_signed())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::box_query::{BOX_QUERY_LEAVES, FOUND, Shape};

    fn boxes(count: u32) -> (Vec<[f32; 3]>, Vec<[f32; 3]>) {
        let mut state = 7_u32;
        let mut next = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32
        };
        let lows: Vec<[f32; 3]> = (0..count).map(|_| [next(), next(), next()]).collect();
        let highs = lows.iter().map(|low| low.map(|x| x + 0.4 * next()));
        let highs = highs.collect();
        (lows, highs)
    }

    fn found(bvh: &Bvh, shape: Shape, words: &[f32], root: i32) -> Vec<i32> {
        let mut given = vec![3];
        given.extend(words.iter().map(|x| u64::from(x.to_bits())));
        given.push(u64::from(root.cast_unsigned()));
        let mut state = [0; BOX_QUERY_LEAVES];
        BoxQuery::begin(&mut state, &bvh.tree, shape, &given).unwrap();
        let mut items = Vec::new();
        while bvh.next_box(&mut BoxQuery::of(&mut state)) {
            items.push((state[FOUND] as u32).cast_signed());
        }
        items.sort_unstable();
        items
    }

    #[test]
    fn a_search_gives_what_a_look_at_every_box_gives() {
        let (lows, highs) = boxes(300);
        let bvh = Bvh::new(lows.clone(), highs.clone(), None);
        let (low, high) = ([0.2, 0.3, 0.1], [0.5, 0.45, 0.9]);
        let expected: Vec<i32> = (0..300)
            .filter(|n| {
                let n = *n as usize;
                (0..3).all(|axis| low[axis] <= highs[n][axis] && high[axis] >= lows[n][axis])
            })
            .collect();
        assert!(expected.len() > 10);
        let words = [0.2, 0.3, 0.1, 0.5, 0.45, 0.9];
        assert_eq!(found(&bvh, Shape::Box, &words, -1), expected);
        // A ray along x, a thick one, and a ball.
        let inside = |n: &i32, radius: f32| {
            let n = *n as usize;
            (1..3).all(|axis| (lows[n][axis] - radius..=highs[n][axis] + radius).contains(&0.5))
        };
        let ray = [-1.0, 0.5, 0.5, 1.0, 0.0, 0.0];
        let expected: Vec<i32> = (0..300).filter(|n| inside(n, 0.0)).collect();
        assert!(!expected.is_empty());
        assert_eq!(found(&bvh, Shape::Ray, &ray, -1), expected);
        let capsule = [-1.0, 0.5, 0.5, 1.0, 0.0, 0.0, 0.1];
        let expected: Vec<i32> = (0..300).filter(|n| inside(n, 0.1)).collect();
        assert_eq!(found(&bvh, Shape::Capsule, &capsule, -1), expected);
        let near = |n: &i32| {
            let n = *n as usize;
            let away = (0..3).map(|axis| (lows[n][axis] - 0.5).max(0.5 - highs[n][axis]).max(0.0));
            away.map(|d| d * d).sum::<f32>() <= 0.04
        };
        let expected: Vec<i32> = (0..300).filter(near).collect();
        assert_eq!(
            found(&bvh, Shape::Ball, &[0.5, 0.5, 0.5, 0.2], -1),
            expected
        );
    }

    #[test]
    fn a_group_has_a_part_of_the_tree_of_its_own() {
        let (lows, highs) = boxes(97);
        let groups: Vec<i32> = (0..97).map(|n| [5, -2, 9, 5][n % 4]).collect();
        let bvh = Bvh::new(lows, highs, Some(&groups));
        let everything = [-9.0, -9.0, -9.0, 9.0, 9.0, 9.0];
        assert_eq!(found(&bvh, Shape::Box, &everything, -1).len(), 97);
        for group in [-2, 5, 9] {
            let expected: Vec<i32> = (0..97).filter(|n| groups[*n as usize] == group).collect();
            let root = bvh.tree.group_root(group);
            assert_eq!(found(&bvh, Shape::Box, &everything, root), expected);
        }
        assert_eq!(bvh.tree.group_root(6), -1);
    }

    #[test]
    fn a_tree_without_boxes_finds_nothing_and_a_wrong_root_is_no_search() {
        let bvh = Bvh::new(Vec::new(), Vec::new(), None);
        assert!(found(&bvh, Shape::Box, &[0.0; 6], -1).is_empty());
        let mut given = [0; 8];
        given[7] = 5;
        let mut state = [0; BOX_QUERY_LEAVES];
        assert!(BoxQuery::begin(&mut state, &bvh.tree, Shape::Box, &given).is_none());
    }
}
