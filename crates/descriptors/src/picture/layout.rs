//! Where everything lies: lanes under each other, their axes on the left, time at the bottom.

use super::colour::{self, GRID, INK, PAPER, PITCH, SPEECH, WAVE};
use super::lanes::{Lane, Lanes};
use super::marks::{Anchor, Mark};
use super::scale::{frequency, short, steps};
use super::{Picture, PictureSettings};

/// Pixels around the lanes.
const LEFT: usize = 76;
const RIGHT: usize = 76;
const TOP: usize = 34;
const BOTTOM: usize = 40;
/// Pixels between lanes, of a mark on an axis, and of the colour bar.
const GAP: usize = 16;
const TICK: f64 = 5.0;
const BAR: usize = 14;
/// Pixels of a lane of speech.
const SPEECH_HEIGHT: usize = 18;

/// The picture of what was heard.
pub(super) fn lay_out(
    lanes: &Lanes,
    columns: usize,
    seconds: f64,
    title: &str,
    settings: &PictureSettings,
) -> Picture {
    let width = LEFT + columns + RIGHT;
    let height_of = |lane: &Lane| match lane {
        Lane::Spectrogram => settings.height,
        Lane::Wave | Lane::Pitch => (settings.height * 2 / 5).max(40),
        Lane::Speech => SPEECH_HEIGHT,
    };
    let heights: usize = settings
        .lanes
        .iter()
        .map(|lane| height_of(lane) + GAP)
        .sum();
    let height = TOP + heights - GAP + BOTTOM;
    let mut sheet = Sheet {
        marks: Vec::new(),
        columns,
        seconds,
    };
    sheet.rectangle(0.0, 0.0, (width as f64, height as f64), PAPER, "");
    sheet.text(LEFT as f64, TOP as f64 / 2.0, Anchor::Start, title);
    let mut y = TOP;
    for lane in &settings.lanes {
        let height = height_of(lane);
        match lane {
            Lane::Wave => sheet.wave(lanes, y, height),
            Lane::Spectrogram => sheet.spectrogram(lanes, y, height, settings),
            Lane::Pitch => sheet.pitch(lanes, y, height),
            Lane::Speech => sheet.speech(lanes, y, height),
        }
        y += height + GAP;
    }
    sheet.time((y - GAP) as f64);
    Picture {
        width,
        height,
        marks: sheet.marks,
        axis: (LEFT, columns),
        seconds,
        title: title.to_owned(),
    }
}

/// The marks so far.
struct Sheet {
    marks: Vec<Mark>,
    columns: usize,
    seconds: f64,
}

impl Sheet {
    fn x(&self, seconds: f64) -> f64 {
        let share = seconds / self.seconds.max(f64::MIN_POSITIVE);
        LEFT as f64 + share.clamp(0.0, 1.0) * self.columns as f64
    }

    fn rectangle(&mut self, x: f64, y: f64, size: (f64, f64), colour: colour::Colour, note: &str) {
        self.marks.push(Mark::Rectangle {
            x,
            y,
            width: size.0,
            height: size.1,
            colour,
            note: note.to_owned(),
        });
    }

    fn text(&mut self, x: f64, y: f64, anchor: Anchor, text: &str) {
        self.marks.push(Mark::Text {
            x,
            y,
            anchor,
            text: text.to_owned(),
        });
    }

    fn line(&mut self, points: Vec<(f64, f64)>, width: usize, colour: colour::Colour) {
        self.marks.push(Mark::Line {
            points,
            width,
            colour,
        });
    }

    /// A lane's mark on its axis, with a line through the lane where that hides nothing.
    fn tick(&mut self, y: f64, label: &str, grid: bool) {
        let left = LEFT as f64;
        if grid {
            let right = left + self.columns as f64;
            self.line(vec![(left, y), (right, y)], 1, GRID);
        }
        self.line(vec![(left - TICK, y), (left, y)], 1, INK);
        self.text(left - TICK - 3.0, y, Anchor::End, label);
    }

    fn wave(&mut self, lanes: &Lanes, top: usize, height: usize) {
        let largest = lanes
            .wave
            .iter()
            .fold(0.0f32, |most, (low, high)| most.max(high.max(-low)));
        // A silent recording has an axis, too.
        let largest = f64::from(if largest > 0.0 { largest } else { 1.0 });
        let middle = top as f64 + height as f64 / 2.0;
        let y = |value: f64| middle - value / largest * (height as f64 / 2.0 - 1.0);
        let label = format!("{largest:.2}");
        for (value, label) in [
            (largest, label.clone()),
            (0.0, "0".into()),
            (-largest, format!("-{label}")),
        ] {
            self.tick(y(value), &label, true);
        }
        for (column, (low, high)) in lanes.wave.iter().enumerate() {
            let (from, to) = (y(f64::from(*high)), y(f64::from(*low)));
            let x = (LEFT + column) as f64;
            self.rectangle(x, from, (1.0, (to - from).max(1.0)), WAVE, "");
        }
    }

    fn spectrogram(
        &mut self,
        lanes: &Lanes,
        top: usize,
        height: usize,
        settings: &PictureSettings,
    ) {
        self.marks.push(Mark::Image {
            x: LEFT,
            y: top,
            width: self.columns,
            pixels: lanes
                .levels
                .iter()
                .map(|level| colour::of_level(*level))
                .collect(),
        });
        let bottom = (top + height) as f64;
        for hertz in settings.scale.ticks(lanes.highest_hz) {
            let share = settings.scale.share(hertz, lanes.highest_hz);
            self.tick(bottom - share * height as f64, &frequency(hertz), false);
        }
        let bar = LEFT + self.columns + 12;
        let pixels = (0..height)
            .flat_map(|row| [colour::of_level(1.0 - row as f32 / height as f32); BAR])
            .collect();
        self.marks.push(Mark::Image {
            x: bar,
            y: top,
            width: BAR,
            pixels,
        });
        let right = (bar + BAR) as f64;
        let loudest = f64::from(lanes.loudest_db);
        let range = f64::from(settings.range_db);
        for level in steps(loudest - range, loudest, 5) {
            let y = top as f64 + (loudest - level) / range * height as f64;
            self.line(vec![(right, y), (right + TICK, y)], 1, INK);
            self.text(right + TICK + 3.0, y, Anchor::Start, &short(level));
        }
        self.text(right + TICK + 3.0, top as f64 - 9.0, Anchor::Middle, "dBFS");
    }

    fn pitch(&mut self, lanes: &Lanes, top: usize, height: usize) {
        let (low, high) = lanes.pitch_hz;
        let y = |hertz: f64| {
            let share = (hertz / low).log2() / (high / low).log2();
            (top + height) as f64 - share.clamp(0.0, 1.0) * height as f64
        };
        let ticks = [100.0, 200.0, 400.0, 800.0].into_iter();
        for hertz in ticks.filter(|hertz| *hertz >= low && *hertz <= high) {
            self.tick(y(hertz), &frequency(hertz), true);
        }
        for run in &lanes.pitch {
            let points: Vec<(f64, f64)> = run
                .iter()
                .map(|(seconds, hertz)| (self.x(*seconds), y(*hertz)))
                .collect();
            self.line(points, 2, PITCH);
        }
    }

    fn speech(&mut self, lanes: &Lanes, top: usize, height: usize) {
        let left = LEFT as f64;
        let whole = (self.columns as f64, height as f64);
        self.rectangle(left, top as f64, whole, GRID, "");
        self.text(
            left - TICK - 3.0,
            top as f64 + height as f64 / 2.0,
            Anchor::End,
            "speech",
        );
        for segment in &lanes.speech {
            let (from, to) = (self.x(segment.start), self.x(segment.end));
            let note = format!("speech {:.2} to {:.2} s", segment.start, segment.end);
            self.rectangle(from, top as f64, (to - from, height as f64), SPEECH, &note);
        }
    }

    fn time(&mut self, y: f64) {
        let (left, right) = (LEFT as f64, (LEFT + self.columns) as f64);
        let y = y + 4.0;
        self.line(vec![(left, y), (right, y)], 1, INK);
        for seconds in steps(0.0, self.seconds, (self.columns / 90).max(2)) {
            let x = self.x(seconds);
            self.line(vec![(x, y), (x, y + TICK)], 1, INK);
            self.text(x, y + TICK + 9.0, Anchor::Middle, &short(seconds));
        }
        self.text(right + 24.0, y + TICK + 9.0, Anchor::Start, "s");
    }
}
