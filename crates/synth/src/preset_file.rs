//! Presets as TOML files that listeners write and share.
//!
//! What a file does not say comes from its `base`, one of the built-in presets.

use std::io::Read;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::compose::scale::{MOST_DEGREES, Scale};
use crate::error::ParamError;
use crate::params::{Instruments, Params, Parts, Patch, Preset};

/// Bytes of a file at most: a preset is written by hand.
const MOST_BYTES: usize = 64 << 10;

/// A mistake with its place in the text.
type Mistake = (Range<usize>, String);

/// Reads a preset from a file.
pub fn read_preset(path: &Path) -> Result<Params, ParamError> {
    let wrong = |line: u32, problem: String| ParamError::File {
        place: match line {
            0 => format!("`{}`", path.display()),
            line => format!("`{}`, line {line}", path.display()),
        },
        problem,
    };
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes))
        .map_err(|error| wrong(0, format!("cannot be read: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|_| wrong(0, "is not UTF-8 text".to_owned()))?;
    parse_preset(&text).map_err(|(line, problem)| wrong(line, problem))
}

/// Reads a preset from its text; a mistake comes with its line.
///
/// ```
/// use warpsmith_synth::preset_file::parse_preset;
/// let night = parse_preset("base = \"sleep\"\nbpm = 48\n[parts]\nkicks = false\n").unwrap();
/// assert_eq!(night.bpm, 48.0);
/// assert_eq!(parse_preset("\nbpm = 500").unwrap_err().0, 2);
/// ```
pub fn parse_preset(text: &str) -> Result<Params, (u32, String)> {
    if text.len() > MOST_BYTES {
        return Err((0, format!("has more than {MOST_BYTES} bytes")));
    }
    parse(text).map_err(|(span, problem)| {
        let before = text.as_bytes().iter().take(span.start);
        let line = 1 + before.filter(|byte| **byte == b'\n').count();
        (u32::try_from(line).unwrap_or(u32::MAX), problem)
    })
}

fn parse(text: &str) -> Result<Params, Mistake> {
    let document = DeTable::parse(text).map_err(|error| {
        let problem = error.message().trim().replace('\n', "; ");
        (error.span().unwrap_or(0..0), format!("not TOML: {problem}"))
    })?;
    let table = document.get_ref();
    let mut params = match table.iter().find(|(key, _)| key.get_ref() == "base") {
        Some((_, base)) => Params::preset(word::<Preset>("base", base)?),
        None => Params::default(),
    };
    for (key, value) in table.iter() {
        let name: &str = key.get_ref();
        match name {
            "base" => (),
            "key" => params.key = word("key", value)?,
            "mode" => params.mode = word("mode", value)?,
            "scale" => params.scale = Some(scale(value)?),
            "parts" => params.parts = parts(params.parts, value)?,
            "instruments" => params.instruments = instruments(params.instruments, value)?,
            _ => {
                let known = Params::RANGES.iter().position(|range| range.0 == name);
                let Some(index) = known else {
                    return Err((key.span(), no_key(name)));
                };
                let (name, least, most) = Params::RANGES[index];
                let number = number(name, value)? as f32;
                // A NaN is outside every range.
                if !(least..=most).contains(&number) {
                    let error = ParamError::OutOfRange {
                        name,
                        value: number,
                        least,
                        most,
                    };
                    return Err((value.span(), error.to_string()));
                }
                *params.numbers_mut()[index] = number;
            }
        }
    }
    Ok(params)
}

fn no_key(name: &str) -> String {
    let numbers = Params::RANGES.iter().map(|range| range.0);
    let words = ["base", "key", "mode", "scale", "parts", "instruments"].into_iter();
    let known: Vec<&str> = words.chain(numbers).collect();
    let name = short(name);
    format!("there is no key `{name}`; there are {}", known.join(", "))
}

/// What a stranger's file says is shown back, but not at any length.
fn short(name: &str) -> &str {
    let end = name.char_indices().nth(40).map_or(name.len(), |(at, _)| at);
    &name[..end]
}

fn word<T: std::str::FromStr<Err = ParamError>>(
    name: &str,
    value: &Spanned<DeValue<'_>>,
) -> Result<T, Mistake> {
    match value.get_ref() {
        DeValue::String(text) => text
            .parse()
            .map_err(|e: ParamError| (value.span(), e.to_string())),
        _ => Err((value.span(), format!("`{name}` is a text in quotes"))),
    }
}

fn number(name: &str, value: &Spanned<DeValue<'_>>) -> Result<f64, Mistake> {
    let parsed = match value.get_ref() {
        DeValue::Integer(digits) => i64::from_str_radix(digits.as_str(), digits.radix())
            .ok()
            .map(|number| number as f64),
        DeValue::Float(digits) => digits.as_str().parse().ok(),
        _ => None,
    };
    parsed.ok_or_else(|| (value.span(), format!("`{name}` is a number")))
}

fn scale(value: &Spanned<DeValue<'_>>) -> Result<Scale, Mistake> {
    let DeValue::Array(degrees) = value.get_ref() else {
        let problem = "`scale` is a list of cents, e.g. `[0, 204, 386, 498, 702, 884, 1088]`";
        return Err((value.span(), problem.to_owned()));
    };
    let degrees = degrees.iter().take(MOST_DEGREES + 2);
    let cents = degrees
        .map(|degree| number("scale", degree))
        .collect::<Result<Vec<f64>, _>>()?;
    Scale::new(&cents).map_err(|error| (value.span(), error.to_string()))
}

fn parts(mut parts: Parts, value: &Spanned<DeValue<'_>>) -> Result<Parts, Mistake> {
    let DeValue::Table(table) = value.get_ref() else {
        return Err((value.span(), "`parts` is a table: `[parts]`".to_owned()));
    };
    for (key, value) in table.iter() {
        let name: &str = key.get_ref();
        let slot = parts
            .of_mut(short(name))
            .map_err(|e| (key.span(), e.to_string()))?;
        let DeValue::Boolean(on) = value.get_ref() else {
            return Err((value.span(), "a part is `true` or `false`".to_owned()));
        };
        *slot = *on;
    }
    Ok(parts)
}

fn instruments(
    mut instruments: Instruments,
    value: &Spanned<DeValue<'_>>,
) -> Result<Instruments, Mistake> {
    let DeValue::Table(table) = value.get_ref() else {
        let problem = "`instruments` is a table: `[instruments]`";
        return Err((value.span(), problem.to_owned()));
    };
    for (key, value) in table.iter() {
        let name: &str = key.get_ref();
        let slot = instruments
            .of_mut(short(name))
            .map_err(|e| (key.span(), e.to_string()))?;
        *slot = word::<Patch>(name, value)?;
    }
    Ok(instruments)
}

/// The text of a file that gives these parameters, whatever the built-in presets become.
pub fn preset_text(params: &Params) -> String {
    let mut text = format!("key = \"{}\"\nmode = \"{}\"\n", params.key, params.mode);
    if let Some(scale) = params.scale {
        let cents: Vec<f64> = scale.into();
        text += &format!("scale = {cents:?}\n");
    }
    for ((name, ..), value) in Params::RANGES.iter().zip(params.numbers()) {
        text += &format!("{name} = {value:?}\n");
    }
    let Parts {
        pads,
        bass,
        melody,
        pulse,
        bells,
        kicks,
        swells,
    } = params.parts;
    text += &format!(
        "\n[parts]\npads = {pads}\nbass = {bass}\nmelody = {melody}\npulse = {pulse}\nbells = {bells}\n\
         kicks = {kicks}\nswells = {swells}\n"
    );
    let Instruments {
        pads,
        bass,
        melody,
        pulse,
        bells,
    } = params.instruments;
    text + &format!(
        "\n[instruments]\npads = \"{pads}\"\nbass = \"{bass}\"\nmelody = \"{melody}\"\n\
         pulse = \"{pulse}\"\nbells = \"{bells}\"\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for preset in Preset::ALL {
            let mut params = Params::preset(*preset);
            params.parts.kicks = false;
            assert_eq!(parse_preset(&preset_text(&params)).unwrap(), params);
            params.scale = Some(Scale::new(&[0.0, 231.0, 498.0, 702.0, 966.0]).unwrap());
            assert_eq!(parse_preset(&preset_text(&params)).unwrap(), params);
        }
    }

    #[test]
    fn the_base_counts_wherever_it_stands() {
        let params = parse_preset("bpm = 44\nbase = \"bright\"\n").unwrap();
        assert_eq!(
            params,
            Params {
                bpm: 44.0,
                ..Params::preset(Preset::Bright)
            }
        );
    }

    #[test]
    fn a_mistake_is_told_with_its_line_and_what_would_do() {
        for (text, line, said) in [
            ("bpm = 60\ntempo = 3\n", 2, "there are base, key"),
            ("\n\nbpm = 500", 3, "40 to 120"),
            ("bpm = nan", 1, "40 to 120"),
            ("bpm = \"fast\"", 1, "a number"),
            ("base = \"disco\"", 1, "focus, meditation"),
            ("key = \"H\"", 1, "C#"),
            ("mode = 3", 1, "quotes"),
            ("scale = [0, 700, 500]", 1, "degree 3"),
            ("scale = 7", 1, "list of cents"),
            ("[parts]\ndrums = true", 2, "pads, bass"),
            ("[parts]\nkicks = 1", 2, "true"),
            ("parts = 1", 1, "[parts]"),
            ("instruments = 1", 1, "[instruments]"),
            ("[instruments]\nkicks = \"bell\"", 2, "pads, bass"),
            ("[instruments]\nbass = \"tuba\"", 2, "felt, bell"),
            ("bpm = = 1", 1, "not TOML"),
            ("bpm = 60\nbpm = 61", 2, "not TOML"),
        ] {
            let (at, problem) = parse_preset(text).unwrap_err();
            assert!(
                at == line && problem.contains(said),
                "{text}: {at} {problem}"
            );
        }
        assert!(parse_preset(&"#".repeat(MOST_BYTES + 1)).is_err());
        let error = read_preset(Path::new("/nowhere/night.toml")).unwrap_err();
        assert_eq!(error.code(), "Y008");
        assert!(error.to_string().contains("night.toml"), "{error}");
    }
}
