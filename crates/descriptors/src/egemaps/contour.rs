//! Contours over frames, smoothed over three of them.

/// The mean of three frames around each; the first and last frame stand for what is beyond them.
pub(super) fn smooth(values: &[f64]) -> Vec<f64> {
    let last = values.len().saturating_sub(1);
    (0..values.len())
        .map(|n| (values[n.saturating_sub(1)] + values[n] + values[(n + 1).min(last)]) / 3.0)
        .collect()
}

/// The same where zero means that there is no value: zeros stay, and do not count in a mean.
pub(super) fn smooth_present(values: &[f64]) -> Vec<f64> {
    (0..values.len())
        .map(|n| {
            if values[n] == 0.0 {
                return 0.0;
            }
            let around = &values[n.saturating_sub(1)..(n + 2).min(values.len())];
            let present = around.iter().filter(|value| **value != 0.0);
            around.iter().sum::<f64>() / present.count() as f64
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_repeat_and_absent_values_do_not_count() {
        assert_eq!(smooth(&[3.0, 6.0, 0.0]), [4.0, 3.0, 2.0]);
        assert_eq!(smooth_present(&[3.0, 6.0, 0.0, 9.0]), [4.5, 4.5, 0.0, 9.0]);
        assert!(smooth(&[]).is_empty() && smooth_present(&[]).is_empty());
    }
}
