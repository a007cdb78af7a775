//! Which values the tunables have: the first of each, or what a user or a tuning says.

use crate::description::{Case, TunableValue};

/// A value for every tunable, in the order of the case.
pub type Choice = Vec<(String, TunableValue)>;

impl Case {
    /// Every tunable with its first value.
    pub fn first_choice(&self) -> Choice {
        let firsts = self.tunables.iter();
        firsts
            .filter_map(|one| Some((one.name.clone(), one.values.first()?.clone())))
            .collect()
    }

    /// The choice with some values replaced; a name that is no tunable is a mistake. A value need not be
    /// among those that the case lists.
    pub fn choice_with(
        &self,
        mut choice: Choice,
        settings: &[(String, String)],
    ) -> Result<Choice, String> {
        for (name, value) in settings {
            let Some((_, chosen)) = choice.iter_mut().find(|(one, _)| one == name) else {
                let names: Vec<&str> = choice.iter().map(|(one, _)| one.as_str()).collect();
                let there = match names.is_empty() {
                    true => "`[tunables]` names none".to_owned(),
                    false => format!("there are {}", names.join(", ")),
                };
                return Err(format!(
                    "{}: there is no tunable `{name}`; {there}",
                    self.file.display()
                ));
            };
            *chosen = match value.parse() {
                Ok(whole) => TunableValue::Whole(whole),
                Err(_) => TunableValue::Word(value.clone()),
            };
        }
        Ok(choice)
    }
}

/// `BLOCK=64 ITEMS=4`.
pub fn choice_words(choice: &[(String, TunableValue)]) -> String {
    let words = choice.iter().map(|(name, value)| format!("{name}={value}"));
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn what_is_set_replaces_first_values_and_nothing_else() {
        let text = "source = \"a.cu\"\n[launch]\ngrid = 1\nblock = \"BLOCK\"\n\
                    [tunables]\nBLOCK = [64, 128]\nMODE = [\"a\", \"b\"]\n";
        let case = Case::parse(Path::new("a.toml"), text).unwrap();
        let set = |name: &str, value: &str| {
            case.choice_with(case.first_choice(), &[(name.into(), value.into())])
        };
        assert_eq!(choice_words(&case.first_choice()), "BLOCK=64 MODE=a");
        assert_eq!(
            choice_words(&set("BLOCK", "96").unwrap()),
            "BLOCK=96 MODE=a"
        );
        assert_eq!(choice_words(&set("MODE", "b").unwrap()), "BLOCK=64 MODE=b");
        assert_eq!(
            set("BLOK", "1").unwrap_err(),
            "a.toml: there is no tunable `BLOK`; there are BLOCK, MODE"
        );
    }
}
