//! Segments as texts that other programs read: subtitles, diarisation tools and editors.

use std::fmt::Write as _;

use warpsmith_voice::Segment;

/// A kind of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextForm {
    /// SubRip subtitles.
    Srt,
    /// WebVTT subtitles, which browsers show.
    Vtt,
    /// NIST's Rich Transcription Time Marks.
    Rttm,
    /// Audacity's labels.
    Labels,
}

/// Segments with what they are called.
pub struct Labelled<'a> {
    /// In order.
    pub segments: &'a [Segment],
    /// The word for all of them, such as `speech`.
    pub label: &'a str,
    /// Whether each has a number of its own behind the word.
    pub numbered: bool,
}

impl TextForm {
    /// How the names of such files end.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Srt => ".srt",
            Self::Vtt => ".vtt",
            Self::Rttm => ".rttm",
            Self::Labels => ".txt",
        }
    }

    /// The text of segments of the recording `name`.
    pub fn write(self, name: &str, labelled: &Labelled<'_>) -> String {
        let mut text = String::new();
        if self == Self::Vtt {
            text.push_str("WEBVTT\n\n");
        }
        // A field of RTTM ends at white space.
        let file = name.replace(char::is_whitespace, "_");
        for (index, segment) in labelled.segments.iter().enumerate() {
            let number = index + 1;
            let label = if labelled.numbered {
                format!("{}{number}", labelled.label)
            } else {
                labelled.label.to_owned()
            };
            let Segment { start, end } = *segment;
            // Writing to a string cannot fail.
            let _ = match self {
                Self::Srt => writeln!(
                    text,
                    "{number}\n{} --> {}\n{label}\n",
                    clock(start, ','),
                    clock(end, ',')
                ),
                Self::Vtt => writeln!(
                    text,
                    "{} --> {}\n{label}\n",
                    clock(start, '.'),
                    clock(end, '.')
                ),
                Self::Rttm => writeln!(
                    text,
                    "SPEAKER {file} 1 {start:.3} {:.3} <NA> <NA> {label} <NA> <NA>",
                    end - start
                ),
                Self::Labels => writeln!(text, "{start:.6}\t{end:.6}\t{label}"),
            };
        }
        text
    }
}

/// `HH:MM:SS`, the mark, and milliseconds.
fn clock(seconds: f64, mark: char) -> String {
    let millis = (seconds * 1000.0).round() as u64;
    let (s, ms) = (millis / 1000, millis % 1000);
    format!(
        "{:02}:{:02}:{:02}{mark}{ms:03}",
        s / 3600,
        s / 60 % 60,
        s % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_what_its_readers_expect() {
        let segments = [
            Segment {
                start: 0.5,
                end: 1.25,
            },
            Segment {
                start: 3661.9996,
                end: 3700.0,
            },
        ];
        let speech = Labelled {
            segments: &segments,
            label: "speech",
            numbered: false,
        };
        assert_eq!(
            TextForm::Srt.write("a", &speech),
            "1\n00:00:00,500 --> 00:00:01,250\nspeech\n\n\
             2\n01:01:02,000 --> 01:01:40,000\nspeech\n\n"
        );
        assert!(
            TextForm::Vtt
                .write("a", &speech)
                .starts_with("WEBVTT\n\n00:00:00.500 --> 00:00:01.250\nspeech\n")
        );
        let turns = Labelled {
            label: "turn",
            numbered: true,
            ..speech
        };
        assert_eq!(
            TextForm::Rttm.write("my talk", &turns).lines().next(),
            Some("SPEAKER my_talk 1 0.500 0.750 <NA> <NA> turn1 <NA> <NA>")
        );
        assert_eq!(
            TextForm::Labels.write("a", &turns).lines().last(),
            Some("3661.999600\t3700.000000\tturn2")
        );
    }
}
