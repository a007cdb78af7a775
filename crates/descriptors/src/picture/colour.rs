//! Colours, from one place for all formats.

/// Red, green and blue.
pub(super) type Colour = [u8; 3];

pub(super) const PAPER: Colour = [255, 255, 255];
pub(super) const INK: Colour = [40, 40, 40];
pub(super) const GRID: Colour = [225, 225, 225];
pub(super) const WAVE: Colour = [60, 110, 170];
pub(super) const PITCH: Colour = [0, 130, 130];
pub(super) const SPEECH: Colour = [70, 160, 70];

/// Black over violet and orange to white: as bright as the level, for eyes that see no hue too.
pub(super) fn of_level(level: f32) -> Colour {
    const STOPS: [[f32; 3]; 5] = [
        [0.0, 0.0, 4.0],
        [81.0, 18.0, 124.0],
        [183.0, 55.0, 121.0],
        [252.0, 137.0, 97.0],
        [252.0, 253.0, 191.0],
    ];
    let place = level.clamp(0.0, 1.0) * 4.0;
    let low = (place as usize).min(3);
    let share = place - low as f32;
    let mix = |n: usize| STOPS[low][n] + share * (STOPS[low + 1][n] - STOPS[low][n]);
    [0, 1, 2].map(|n| mix(n).round() as u8)
}

/// As SVG and CSS write it.
pub(super) fn hex([red, green, blue]: Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}
