//! Stretching, where there is room for the result: a speed near 0 makes any sound endless.

use warpsmith_signal::Result;
use warpsmith_signal::effect::{StretchSettings, TimeStretchStream};

use crate::memory_room::check_room;

/// `signal` at `rate` times its speed: 2 is half as long, and as high as before.
pub fn time_stretch(signal: &[f32], rate: f64, settings: StretchSettings) -> Result<Vec<f32>> {
    Ok(time_stretch_stream(signal.len(), rate, settings)?.whole(signal))
}

/// A stream whose result would fit into memory.
pub fn time_stretch_stream(
    samples: usize,
    rate: f64,
    settings: StretchSettings,
) -> Result<TimeStretchStream> {
    let stream = TimeStretchStream::new(samples, rate, settings)?;
    check_room("the stretched signal", stream.length(), size_of::<f32>())?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_that_no_memory_holds_is_an_error_with_its_size() {
        let settings = StretchSettings::for_voice(16_000);
        let refused = time_stretch(&[0.1; 16_000], 1e-12, settings).unwrap_err();
        assert!(refused.to_string().contains("58208 TiB"), "{refused}");
    }
}
