//! What a picture is made of, whatever draws it. Places are pixels from the top left.

use super::colour::Colour;

/// Which point of a text its place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// Something to draw; later marks lie over earlier ones.
#[derive(Clone, Debug)]
pub(super) enum Mark {
    /// Pixels as they are, rows from the top.
    Image {
        x: usize,
        y: usize,
        width: usize,
        pixels: Vec<Colour>,
    },
    Rectangle {
        x: f64,
        y: f64,
        width: f64,
        height: f64,
        colour: Colour,
        /// What a reader is told who points at it; empty for nothing.
        note: String,
    },
    /// Straight lines from point to point.
    Line {
        points: Vec<(f64, f64)>,
        width: usize,
        colour: Colour,
    },
    /// A text whose middle line is at `y`.
    Text {
        x: f64,
        y: f64,
        anchor: Anchor,
        text: String,
    },
}
