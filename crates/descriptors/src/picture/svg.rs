//! The picture as SVG: text stays text, and images lie inside as PNG.

use std::fmt::Write as _;
use std::io;

use warpsmith_formats::{base64, html, png};

use super::Picture;
use super::colour::{INK, hex};
use super::marks::{Anchor, Mark};

impl Picture {
    /// A document that needs nothing else.
    ///
    /// # Errors
    /// Where an image is larger than PNG allows.
    pub fn svg(&self) -> io::Result<String> {
        let (width, height) = self.size();
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\" font-family=\"sans-serif\" \
             font-size=\"12\" fill=\"{}\">\n<title>{}, {:.2} s</title>\n",
            hex(INK),
            html::escape(&self.title),
            self.seconds
        );
        for mark in &self.marks {
            // Writing to a string cannot fail.
            let _ = match mark {
                Mark::Image {
                    x,
                    y,
                    width,
                    pixels,
                } => writeln!(
                    text,
                    "<image x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{}\" \
                     href=\"data:image/png;base64,{}\"/>",
                    pixels.len() / width,
                    base64::encode(&png::encode_rgb(*width, pixels)?)
                ),
                Mark::Rectangle {
                    x,
                    y,
                    width,
                    height,
                    colour,
                    note,
                } => {
                    let note = match note.as_str() {
                        "" => String::new(),
                        note => format!("<title>{}</title>", html::escape(note)),
                    };
                    writeln!(
                        text,
                        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
                         height=\"{height:.1}\" fill=\"{}\">{note}</rect>",
                        hex(*colour)
                    )
                }
                Mark::Line {
                    points,
                    width,
                    colour,
                } => {
                    let points: Vec<String> = points
                        .iter()
                        .map(|(x, y)| format!("{x:.1},{y:.1}"))
                        .collect();
                    writeln!(
                        text,
                        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" \
                         stroke-width=\"{width}\"/>",
                        points.join(" "),
                        hex(*colour)
                    )
                }
                Mark::Text {
                    x,
                    y,
                    anchor,
                    text: words,
                } => {
                    let anchor = match anchor {
                        Anchor::Start => "start",
                        Anchor::Middle => "middle",
                        Anchor::End => "end",
                    };
                    writeln!(
                        text,
                        "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
                        y + 4.0,
                        html::escape(words)
                    )
                }
            };
        }
        text.push_str("</svg>\n");
        Ok(text)
    }
}
