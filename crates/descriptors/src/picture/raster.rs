//! The picture as pixels.

use std::io;

use warpsmith_formats::png;

use super::Picture;
use super::colour::{Colour, INK, PAPER};
use super::glyphs::{COLUMNS, ROWS, glyph};
use super::marks::{Anchor, Mark};

/// Pixels from one letter to the next.
const ADVANCE: usize = COLUMNS + 1;

impl Picture {
    /// A PNG file.
    ///
    /// # Errors
    /// Where the picture is larger than PNG allows.
    pub fn png(&self) -> io::Result<Vec<u8>> {
        png::encode_rgb(self.width, &self.pixels())
    }

    /// Rows from the top.
    pub(super) fn pixels(&self) -> Vec<Colour> {
        let mut canvas = Canvas {
            width: self.width,
            height: self.height,
            pixels: vec![PAPER; self.width * self.height],
        };
        for mark in &self.marks {
            canvas.draw(mark);
        }
        canvas.pixels
    }
}

struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<Colour>,
}

impl Canvas {
    fn put(&mut self, x: i64, y: i64, colour: Colour) {
        let inside = (0..self.width as i64).contains(&x) && (0..self.height as i64).contains(&y);
        if inside {
            self.pixels[y as usize * self.width + x as usize] = colour;
        }
    }

    fn fill(&mut self, (x0, x1): (f64, f64), (y0, y1): (f64, f64), colour: Colour) {
        // At least a pixel, so that short speech stays visible.
        let span = |from: f64, to: f64, most: usize| {
            let first = from.round().clamp(0.0, most as f64) as usize;
            let last = to.round().clamp(0.0, most as f64) as usize;
            first..last.max((first + 1).min(most))
        };
        for y in span(y0, y1, self.height) {
            let row = &mut self.pixels[y * self.width..][..self.width];
            row[span(x0, x1, self.width)].fill(colour);
        }
    }

    fn draw(&mut self, mark: &Mark) {
        match mark {
            Mark::Image {
                x,
                y,
                width,
                pixels,
            } => {
                for (row, pixels) in pixels.chunks_exact(*width).enumerate() {
                    let start = (y + row) * self.width + x;
                    self.pixels[start..start + width].copy_from_slice(pixels);
                }
            }
            Mark::Rectangle {
                x,
                y,
                width,
                height,
                colour,
                ..
            } => self.fill((*x, x + width), (*y, y + height), *colour),
            Mark::Line {
                points,
                width,
                colour,
            } => {
                for pair in points.windows(2) {
                    self.line(pair[0], pair[1], *width, *colour);
                }
                if let [only] = &points[..] {
                    self.line(*only, *only, *width, *colour);
                }
            }
            Mark::Text { x, y, anchor, text } => self.text(*x, *y, *anchor, text),
        }
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64), width: usize, colour: Colour) {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let count = dx.abs().max(dy.abs()).ceil().max(1.0) as usize;
        for step in 0..=count {
            let share = step as f64 / count as f64;
            let (x, y) = (from.0 + share * dx, from.1 + share * dy);
            for (across, down) in (0..width).flat_map(|a| (0..width).map(move |b| (a, b))) {
                let half = (width / 2) as i64;
                let place = |at: f64, offset: usize| at.floor() as i64 + offset as i64 - half;
                self.put(place(x, across), place(y, down), colour);
            }
        }
    }

    fn text(&mut self, x: f64, y: f64, anchor: Anchor, text: &str) {
        let length = (text.chars().count() * ADVANCE) as f64;
        let left = match anchor {
            Anchor::Start => x,
            Anchor::Middle => x - length / 2.0,
            Anchor::End => x - length,
        };
        let (mut left, top) = (left.round() as i64, y.round() as i64 - ROWS as i64 / 2);
        for character in text.chars() {
            for (row, bits) in glyph(character).into_iter().enumerate() {
                for column in (0..COLUMNS).filter(|column| bits >> (COLUMNS - 1 - column) & 1 == 1)
                {
                    self.put(left + column as i64, top + row as i64, INK);
                }
            }
            left += ADVANCE as i64;
        }
    }
}
