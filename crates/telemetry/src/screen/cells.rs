//! Fields of fixed width along a line of the terminal, and bars in them.
//!
//! Invariant: nothing is written beyond the line's end, whatever a text holds.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

/// A place in a line, moving to the right.
pub(super) struct Pen<'a> {
    buffer: &'a mut Buffer,
    x: u16,
    y: u16,
    end: u16,
}

impl<'a> Pen<'a> {
    /// At the start of the `nth` line of an area.
    pub(super) fn at(buffer: &'a mut Buffer, area: Rect, nth: u16) -> Self {
        let inside = nth < area.height;
        Self {
            buffer,
            x: area.x,
            y: area.y + nth.min(area.height.saturating_sub(1)),
            // A line outside has no room.
            end: if inside { area.right() } else { area.x },
        }
    }

    /// How much room is left.
    pub(super) fn room(&self) -> u16 {
        self.end - self.x
    }

    /// Leaves cells out.
    pub(super) fn skip(&mut self, width: u16) {
        self.x = self.x.saturating_add(width).min(self.end);
    }

    fn put(&mut self, x: u16, width: u16, text: &str, style: Style) {
        if width > 0 {
            self.buffer
                .set_stringn(x, self.y, text, usize::from(width), style);
        }
    }

    /// A field with its text at the left, and a gap behind.
    pub(super) fn left(&mut self, width: u16, text: &str, style: Style) {
        let room = width.min(self.room());
        self.put(self.x, room, text, style);
        self.skip(width.saturating_add(1));
    }

    /// A field with its text at the right, and a gap behind.
    pub(super) fn right(&mut self, width: u16, text: &str, style: Style) {
        let room = width.min(self.room());
        let blank = room.saturating_sub(cells_of(text));
        self.put(self.x + blank, room - blank, text, style);
        self.skip(width.saturating_add(1));
    }

    /// The rest of the line.
    pub(super) fn rest(&mut self, text: &str, style: Style) {
        let room = self.room();
        self.put(self.x, room, text, style);
        self.x = self.end;
    }

    /// A text as wide as it is.
    pub(super) fn text(&mut self, text: &str, style: Style) {
        let width = cells_of(text).min(self.room());
        self.put(self.x, width, text, style);
        self.skip(width);
    }

    /// A bar in brackets, filled by `share` of 1, without a gap behind; empty where it is not known.
    pub(super) fn bar(&mut self, width: u16, share: Option<f64>, style: Style) {
        if width < 3 {
            return;
        }
        let inside = width - 2;
        self.text("[", Style::new());
        let filled = filled(inside, share.unwrap_or(0.0));
        let blank = usize::from(inside).saturating_sub(filled.chars().count());
        self.text(&filled, style);
        self.skip(u16::try_from(blank).unwrap_or(0));
        self.text("]", Style::new());
    }
}

/// How many cells a text takes.
pub(super) fn cells_of(text: &str) -> u16 {
    if text.is_ascii() {
        return u16::try_from(text.len()).unwrap_or(u16::MAX);
    }
    u16::try_from(ratatui::text::Span::raw(text).width()).unwrap_or(u16::MAX)
}

/// The filled part of a bar, in eighths of a cell. What is above zero shows.
fn filled(width: u16, share: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let share = if share.is_finite() {
        share.clamp(0.0, 1.0)
    } else {
        0.0
    };
    let mut eighths = (share * f64::from(width) * 8.0).round() as usize;
    if share > 0.0 {
        eighths = eighths.max(1);
    }
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// Bold text.
pub(super) fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

/// A colour, where colours may be used.
pub(super) fn coloured(colour: bool, wanted: Color) -> Style {
    if colour {
        Style::new().fg(wanted)
    } else {
        Style::new()
    }
}

/// Green, yellow from three quarters on, red from nine tenths on.
pub(super) fn level(colour: bool, share: Option<f64>) -> Style {
    let wanted = match share {
        Some(share) if share >= 0.9 => Color::Red,
        Some(share) if share >= 0.75 => Color::Yellow,
        _ => Color::Green,
    };
    coloured(colour, wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_share_and_never_longer() {
        assert_eq!(filled(4, 0.0), "");
        assert_eq!(filled(4, 1e-9), "▏");
        assert_eq!(filled(4, 0.5), "██");
        assert_eq!(filled(4, 0.53), "██▏");
        assert_eq!(filled(4, 1.0), "████");
        for odd in [7.0, f64::INFINITY, f64::NAN, -1.0] {
            assert!(filled(4, odd).chars().count() <= 4);
        }
    }

    #[test]
    fn a_wide_letter_is_never_cut_in_halves() {
        let area = Rect::new(0, 0, 6, 1);
        let mut buffer = Buffer::empty(area);
        let mut pen = Pen::at(&mut buffer, area, 0);
        pen.left(3, "日本", Style::new());
        pen.rest("語語", Style::new());
        let line: String = buffer.content().iter().map(|cell| cell.symbol()).collect();
        assert!(!line.contains('本'), "{line}");
        assert!(line.contains('語'), "{line}");
        Pen::at(&mut buffer, area, 5).rest("outside", Style::new());
    }
}
