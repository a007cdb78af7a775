//! Which commit of a range brought a change: a search by halves, where every question is a
//! measurement and may stay open.

/// Where a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Index of the last commit that is known to lie before the change; `None` is the base.
    pub before: Option<usize>,
    /// Index of the first commit that is known to have it.
    pub first: usize,
    /// Commits that were measured.
    pub measured: usize,
}

impl Found {
    /// Whether one commit is left.
    pub fn is_certain(&self) -> bool {
        self.first == self.before.map_or(0, |before| before + 1)
    }
}

/// Finds the first of `count` commits that has the change; the last is known to have it. `has` says
/// whether a commit has it, `None` where that could not be decided: then its neighbours are asked.
pub fn search<E>(
    count: usize,
    has: &mut dyn FnMut(usize) -> Result<Option<bool>, E>,
) -> Result<Found, E> {
    let mut before = None;
    let mut first = count.saturating_sub(1);
    let mut open: Vec<usize> = Vec::new();
    let mut measured = 0;
    loop {
        let start = before.map_or(0, |index: usize| index + 1);
        let middle = start + (first - start) / 2;
        // The one nearest to the middle that was not asked yet.
        let candidate = (start..first)
            .filter(|index| !open.contains(index))
            .min_by_key(|index| index.abs_diff(middle));
        let Some(index) = candidate else {
            return Ok(Found {
                before,
                first,
                measured,
            });
        };
        measured += 1;
        match has(index)? {
            Some(true) => first = index,
            Some(false) => before = Some(index),
            None => open.push(index),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn find(count: usize, has: &mut dyn FnMut(usize) -> Option<bool>) -> Found {
        let Ok(found) = search::<Infallible>(count, &mut |index| Ok(has(index)));
        found
    }

    #[test]
    fn every_place_is_found_with_few_measurements() {
        for count in 1..70 {
            for place in 0..count {
                let found = find(count, &mut |index| Some(index >= place));
                assert_eq!(found.first, place);
                assert!(found.is_certain());
                let most = usize::BITS - count.leading_zeros();
                assert!(found.measured <= most as usize, "{found:?} of {count}");
            }
        }
    }

    #[test]
    fn what_cannot_be_decided_leaves_a_range() {
        let found = find(20, &mut |index| {
            (index != 9 && index != 10).then_some(index > 9)
        });
        assert_eq!((found.before, found.first), (Some(8), 11));
        assert!(!found.is_certain());
    }
}
