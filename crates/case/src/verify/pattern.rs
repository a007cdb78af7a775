//! What wrong elements have in common, in words: "rows ≥ 4096", "the last element of every 32 cols".
//!
//! A sentence is said only where it fits: nearly all wrong elements are inside of what it describes,
//! and nearly all that it describes are wrong.

/// Share of elements that must fit.
const FIT: f64 = 0.98;

/// The pattern of `wrong` (one truth per element, last axis fastest) in an array of this shape.
pub(crate) fn pattern(wrong: &[bool], shape: &[usize], axes: &[String]) -> Option<String> {
    let total = wrong.len();
    let count = wrong.iter().filter(|wrong| **wrong).count();
    if count == 0 || total < 2 {
        return None;
    }
    if count == total {
        return Some("every element".into());
    }
    if count == 1 {
        let at = wrong.iter().position(|wrong| *wrong)?;
        return Some(match at {
            0 => "the first element alone".into(),
            at if at == total - 1 => "the last element alone".into(),
            _ => "one element alone".into(),
        });
    }
    // Along an axis first: it says more than a position in memory.
    for axis in (0..shape.len()).rev() {
        if let Some(words) = along_axis(wrong, shape, axis, count) {
            let name = match axes.get(axis) {
                Some(name) if name.chars().all(|c| c.is_alphanumeric() || c == '_') => name.clone(),
                _ => format!("axis {axis}"),
            };
            return Some(words.replace('@', &name));
        }
    }
    in_memory(wrong, count)
}

/// Which coordinates of an axis the wrong elements have.
fn along_axis(wrong: &[bool], shape: &[usize], axis: usize, count: usize) -> Option<String> {
    let extent = *shape.get(axis)?;
    let inner: usize = shape[axis + 1..].iter().product();
    if extent < 2 || inner == 0 {
        return None;
    }
    let mut at = vec![0usize; extent];
    for (index, _) in wrong.iter().enumerate().filter(|(_, wrong)| **wrong) {
        at[index / inner % extent] += 1;
    }
    let full = wrong.len() / extent;
    let described = |chosen: &dyn Fn(usize) -> bool| {
        let (mut inside, mut size) = (0, 0);
        for (coordinate, wrong) in at.iter().enumerate() {
            if chosen(coordinate) {
                inside += wrong;
                size += full;
            }
        }
        size > 0
            && size < wrong.len()
            && inside as f64 >= FIT * count as f64
            && inside as f64 >= FIT * size as f64
    };
    let first = at.iter().position(|count| *count > 0)?;
    let last = at.iter().rposition(|count| *count > 0)?;
    if first == last {
        return described(&|coordinate| coordinate == first).then(|| match first {
            at if at == extent - 1 => format!("the last of @ ({at})"),
            at => format!("@ = {at}"),
        });
    }
    if last == extent - 1 && described(&|coordinate| coordinate >= first) {
        return Some(format!("@ ≥ {first}"));
    }
    if first == 0 && described(&|coordinate| coordinate <= last) {
        return Some(format!("@ ≤ {last}"));
    }
    for period in [2usize, 3, 4, 8, 16, 32, 64, 128, 256, 512, 1024] {
        if period * 2 > extent {
            break;
        }
        for remainder in [period - 1, 0, first % period] {
            if described(&|coordinate| coordinate % period == remainder) {
                return Some(match remainder {
                    0 => format!("the first of every {period} of @"),
                    r if r == period - 1 => format!("the last of every {period} of @"),
                    r => format!("@ % {period} = {r}"),
                });
            }
        }
    }
    described(&|coordinate| (first..=last).contains(&coordinate))
        .then(|| format!("@ from {first} to {last}"))
}

/// Which positions in memory the wrong elements have.
fn in_memory(wrong: &[bool], count: usize) -> Option<String> {
    let first = wrong.iter().position(|wrong| *wrong)?;
    let last = wrong.iter().rposition(|wrong| *wrong)?;
    let span = last - first + 1;
    if count as f64 >= FIT * span as f64 {
        return Some(match last == wrong.len() - 1 {
            true => format!("the last {span} elements"),
            false => format!("elements {first} to {last}"),
        });
    }
    for period in [2usize, 4, 8, 16, 32, 64, 128, 256, 512, 1024] {
        let remainder = first % period;
        let size = (wrong.len() + period - 1 - remainder) / period;
        let inside = wrong
            .iter()
            .skip(remainder)
            .step_by(period)
            .filter(|wrong| **wrong)
            .count();
        if size > 1 && inside as f64 >= FIT * count as f64 && inside as f64 >= FIT * size as f64 {
            return Some(format!("every {period}th element from {remainder}"));
        }
    }
    Some(format!(
        "scattered: {:.1} % of the elements from {first} to {last}",
        100.0 * count as f64 / span as f64
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(shape: &[usize], wrong: impl Fn(usize, usize) -> bool) -> String {
        let [rows, cols] = shape else { panic!() };
        let elements = (0..rows * cols)
            .map(|index| wrong(index / cols, index % cols))
            .collect::<Vec<_>>();
        pattern(&elements, shape, &["rows".into(), "cols".into()]).unwrap_or_default()
    }

    #[test]
    fn patterns_are_named() {
        let shape = [100, 96];
        assert_eq!(found(&shape, |_, _| true), "every element");
        assert_eq!(found(&shape, |row, _| row >= 64), "rows ≥ 64");
        assert_eq!(found(&shape, |_, col| col == 95), "the last of cols (95)");
        assert_eq!(
            found(&shape, |_, col| col % 32 == 31),
            "the last of every 32 of cols"
        );
        assert_eq!(
            found(&shape, |_, col| col % 4 == 0),
            "the first of every 4 of cols"
        );
        assert_eq!(found(&shape, |row, _| row == 3), "rows = 3");
        assert_eq!(
            found(&shape, |row, col| row == 99 && col == 95),
            "the last element alone"
        );
        assert_eq!(
            found(&shape, |row, col| row * 96 + col >= 9000),
            "the last 600 elements"
        );
        assert_eq!(found(&shape, |_, _| false), "");
        let scattered = found(&shape, |row, col| (row * 31 + col * 17) % 7 == 0);
        assert!(scattered.starts_with("scattered"), "{scattered}");
    }
}
