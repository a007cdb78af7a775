//! Parameters of command lines: `{n}` in them, and the values that it takes.

use anyhow::{Result, bail};

/// More lines than this are a mistake.
const MOST: usize = 200;

/// A name with its values, in the order in which they are tried.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Parameter {
    name: String,
    values: Vec<String>,
}

impl Parameter {
    /// `--parameter-list NAME VALUES`: values with commas between them.
    pub(super) fn list(words: &[String]) -> Result<Self> {
        let [name, values] = words else {
            bail!("`--parameter-list` takes a name and a list of values");
        };
        Ok(Self {
            name: name.clone(),
            values: values.split(',').map(str::to_owned).collect(),
        })
    }

    /// `--parameter-scan NAME FIRST LAST` with a step.
    pub(super) fn scan(words: &[String], step: f64) -> Result<Self> {
        let [name, first, last] = words else {
            bail!("`--parameter-scan` takes a name, a first and a last value");
        };
        let number = |text: &str| match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            _ => bail!("`--parameter-scan {name}`: `{text}` is no number"),
        };
        let (from, to) = (number(first)?, number(last)?);
        if !(step.is_finite() && step > 0.0) {
            bail!("`--parameter-step-size` must be more than 0, got {step}");
        }
        if from > to {
            bail!("`--parameter-scan {name}`: {first} is after {last}");
        }
        // A hair more than nothing, because 0.1 is not a tenth.
        let steps = ((to - from) / step + 1e-9).floor();
        if steps >= MOST as f64 {
            bail!("`--parameter-scan {name}` has more than {MOST} values");
        }
        let places = |text: &str| text.split_once('.').map_or(0, |(_, digits)| digits.len());
        let digits = places(first).max(places(&step.to_string()));
        Ok(Self {
            name: name.clone(),
            values: (0..=steps as usize)
                .map(|nth| format!("{:.digits$}", from + nth as f64 * step))
                .collect(),
        })
    }
}

/// One text for every line and every combination of values.
pub(super) fn expand(lines: &[String], parameters: &[Parameter]) -> Result<Vec<String>> {
    for parameter in parameters {
        let placeholder = format!("{{{}}}", parameter.name);
        if !lines.iter().any(|line| line.contains(&placeholder)) {
            bail!("no command has `{placeholder}` in it");
        }
    }
    let mut expanded = lines.to_vec();
    for parameter in parameters {
        let placeholder = format!("{{{}}}", parameter.name);
        let mut next = Vec::new();
        for line in expanded {
            if !line.contains(&placeholder) {
                next.push(line);
                continue;
            }
            let values = parameter.values.iter();
            next.extend(values.map(|value| line.replace(&placeholder, value)));
        }
        if next.len() > MOST {
            bail!("the parameters make more than {MOST} commands");
        }
        expanded = next;
    }
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn scans_end_where_they_should() {
        let scan = |line: &str, step| Parameter::scan(&words(line), step).unwrap().values;
        assert_eq!(scan("n 1 4", 1.0), ["1", "2", "3", "4"]);
        assert_eq!(scan("n 0 0.3", 0.1), ["0.0", "0.1", "0.2", "0.3"]);
        assert_eq!(scan("n 5 5", 2.0), ["5"]);
        for bad in ["n x 3", "n 4 1", "n 1", "n NaN 2"] {
            assert!(Parameter::scan(&words(bad), 1.0).is_err(), "{bad}");
        }
        assert!(Parameter::scan(&words("n 1 1000000"), 1.0).is_err());
        assert!(Parameter::scan(&words("n 1 3"), -1.0).is_err());
    }

    #[test]
    fn lines_are_made_of_every_combination() {
        let parameters = [
            Parameter::list(&words("c gcc,clang")).unwrap(),
            Parameter::scan(&words("n 1 2"), 1.0).unwrap(),
        ];
        let lines = [String::from("{c} -O{n}"), String::from("true")];
        let made = expand(&lines, &parameters).unwrap();
        let expected = ["gcc -O1", "gcc -O2", "clang -O1", "clang -O2", "true"];
        assert_eq!(made, expected);
        assert!(expand(&[String::from("true")], &parameters).is_err());
    }
}
