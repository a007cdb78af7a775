//! What somebody may have meant who typed a name that does not exist.

/// The names nearest to `typed`, at most three, nearest first; none where nothing is near.
///
/// Upper and lower case are the same. A name is near where at most a third of its letters differ, or
/// where one of the two begins with the other.
pub fn nearest<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let typed = typed.to_lowercase();
    let mut near: Vec<(usize, &str)> = names
        .into_iter()
        .filter_map(|name| {
            let lower = name.to_lowercase();
            let steps = steps_between(&typed, &lower);
            let longest = typed.chars().count().max(lower.chars().count());
            let shortest = typed.len().min(lower.len());
            let begins = shortest >= 3 && (lower.starts_with(&typed) || typed.starts_with(&lower));
            (begins || (longest > 1 && 3 * steps <= longest.max(3))).then_some((steps, name))
        })
        .collect();
    near.sort_unstable();
    near.dedup();
    // A much nearer name makes the others noise.
    let best = near.first().map_or(0, |(steps, _)| *steps);
    near.retain(|(steps, _)| *steps <= best + 1);
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

/// `; did you mean …?`, or what `otherwise` says where nothing is near.
pub fn did_you_mean<'a>(
    typed: &str,
    names: impl IntoIterator<Item = &'a str>,
    otherwise: &str,
) -> String {
    let near = nearest(typed, names);
    if near.is_empty() {
        return otherwise.to_owned();
    }
    let quoted: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    format!("did you mean {}?", quoted.join(" or "))
}

/// How many letters must be changed, added, dropped or swapped with their neighbour to make `a` into `b`.
fn steps_between(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    // Names are short; somebody's whole file is not compared with them.
    if a.len() > 100 {
        return a.len();
    }
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut steps = (last[j] + usize::from(x != y))
                .min(last[j + 1] + 1)
                .min(row[j] + 1);
            if i > 0 && j > 0 && a[i - 1] == *y && *x == b[j - 1] {
                steps = steps.min(before_last[j - 1] + 1);
            }
            row.push(steps);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slip_of_the_hand_is_one_step() {
        for (a, b, steps) in [
            ("M004", "M004", 0),
            ("M04", "M004", 1),
            ("N004", "M005", 2),
            ("benhc", "bench", 1),
            ("", "abc", 3),
        ] {
            assert_eq!(steps_between(a, b), steps, "{a} {b}");
            assert_eq!(steps_between(b, a), steps, "{b} {a}");
        }
    }

    #[test]
    fn the_nearest_name_comes_first_and_strange_ones_have_none() {
        let names = ["bench", "baseline", "watch", "devices"];
        assert_eq!(nearest("benhc", names), ["bench"]);
        assert_eq!(nearest("benchmark", names), ["bench"]);
        assert_eq!(nearest("DEVICE", names), ["devices"]);
        assert!(nearest("spelunking", names).is_empty());
        assert!(nearest("", names).is_empty());
        assert_eq!(
            did_you_mean("wacth", names, "see the list"),
            "did you mean `watch`?"
        );
        assert_eq!(did_you_mean("zzz", names, "see the list"), "see the list");
    }
}
