//! The roots of unity that `fourier.cuh` multiplies with.

/// exp(−2πi·k/transform) as pairs, for every k below `transform`.
pub fn transform_roots(transform: usize) -> Vec<f32> {
    (0..transform)
        .flat_map(|k| {
            let angle = std::f64::consts::TAU * k as f64 / transform as f64;
            [angle.cos() as f32, -angle.sin() as f32]
        })
        .collect()
}
