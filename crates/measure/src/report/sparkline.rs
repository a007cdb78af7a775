//! A distribution in one line of text.

const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A histogram of sorted samples between their 1st and 99th percentiles, `width` characters wide;
/// empty for no samples. Every bin that holds a sample shows.
pub fn histogram(sorted: &[f64], width: usize) -> String {
    let counts = bin(sorted, width);
    let highest = counts.iter().copied().max().unwrap_or(0).max(1);
    counts
        .iter()
        .map(|count| match count {
            0 => BARS[0],
            _ => BARS[(count * 8).div_ceil(highest)],
        })
        .collect()
}

/// Counts of `width` equal bins between the 1st and 99th percentiles; the ends take what lies
/// outside.
pub(crate) fn bin(sorted: &[f64], width: usize) -> Vec<usize> {
    if sorted.is_empty() || width == 0 {
        return Vec::new();
    }
    let last = sorted.len() - 1;
    let (low, high) = (sorted[last / 100], sorted[last - last / 100]);
    let mut counts = vec![0; width];
    for sample in sorted {
        let place = if high > low {
            ((sample - low) / (high - low) * width as f64).clamp(0.0, (width - 1) as f64)
        } else {
            (width / 2) as f64
        };
        counts[place as usize] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_humps_show_as_two() {
        let mut samples = vec![1.0; 90];
        samples.extend([2.0; 10]);
        let line = histogram(&samples, 10);
        assert_eq!(line, "█        ▁");
        assert_eq!(histogram(&[], 10), "");
        assert_eq!(histogram(&[5.0], 3), " █ ");
    }
}
