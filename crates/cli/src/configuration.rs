//! The configuration at work: read once at the start, its values as defaults of the options.

use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use warpsmith_config::{
    ConfigError, Configuration, Kind, Origin, Setting, project_file, user_file,
};
use warpsmith_device::CompileCache;

/// The user's file and that of the project around the current folder, whether they exist or not.
pub(crate) fn files() -> (Option<PathBuf>, Option<PathBuf>) {
    let user = user_file(&|name| std::env::var_os(name));
    let project = std::env::current_dir().ok();
    (user, project.and_then(|folder| project_file(&folder)))
}

/// What the files and the variables say.
pub(crate) fn read() -> Result<Configuration, ConfigError> {
    let (user, project) = files();
    let variable = |name: &str| {
        let value = std::env::var_os(name)?;
        Some(value.to_string_lossy().into_owned())
    };
    Configuration::read(user.as_deref(), project.as_deref(), &variable)
}

/// The command with what somebody set as defaults of its options and of those below it.
pub(crate) fn with_defaults(command: Command, settings: &[Setting]) -> Command {
    let set: Vec<&Setting> = settings
        .iter()
        .filter(|setting| setting.origin != Origin::Default && setting.key.option.is_some())
        .collect();
    if set.is_empty() {
        return command;
    }
    of_command(command, &set)
}

fn of_command(command: Command, set: &[&Setting]) -> Command {
    let name = command.get_name().to_owned();
    command
        .mut_args(|option| {
            let found = set.iter().find(|setting| fits(setting, &name, &option));
            match found {
                Some(setting) => option.default_value(setting.value.clone()),
                None => option,
            }
        })
        .mut_subcommands(|below| of_command(below, set))
}

/// Whether a setting is about an option of a verb.
fn fits(setting: &Setting, verb: &str, option: &Arg) -> bool {
    let key = setting.key;
    let unit = match key.kind {
        Kind::Time => Some("TIME"),
        Kind::Percent => Some("PERCENT"),
        _ => None,
    };
    let of_unit = unit.is_none_or(|unit| {
        let names = option.get_value_names().unwrap_or_default();
        names.iter().any(|name| name == unit)
    });
    option.get_long() == key.option && key.verb.is_none_or(|only| only == verb) && of_unit
}

/// The settings with the options that this call gave.
pub(crate) fn with_command_line(
    mut in_force: Configuration,
    matches: &ArgMatches,
) -> Configuration {
    for setting in &mut in_force.settings {
        let Some(option) = setting.key.option else {
            continue;
        };
        // Only global options are known to the program itself.
        let Ok(Some(mut values)) = matches.try_get_raw(option) else {
            continue;
        };
        if matches.value_source(option) == Some(ValueSource::CommandLine)
            && let Some(value) = values.next_back()
        {
            setting.value = value.to_string_lossy().into_owned();
            setting.origin = Origin::CommandLine {
                option: option.to_owned(),
            };
        }
    }
    in_force
}

/// Hands over what is no option's default.
pub(crate) fn take_effect(in_force: &Configuration) {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    CompileCache::configure(in_force.folder("cache", home.as_deref()));
}

/// The folder for compiled kernels, as the cache itself sees it.
pub(crate) fn cache_folder() -> PathBuf {
    let cache = CompileCache::for_user();
    let folder = cache.folder().parent().unwrap_or(Path::new(""));
    folder.to_owned()
}

#[cfg(test)]
mod tests {
    use warpsmith_config::{Document, KEYS, Owner};

    use super::*;
    use crate::help::program;

    fn configured(text: &str) -> Configuration {
        let path = Path::new("/u/config.toml");
        let document = Document::parse(path, Owner::User, text.to_owned()).unwrap();
        Configuration::of(&[document], &|_| None).unwrap()
    }

    fn default_of(program: &Command, verb: &str, option: &str) -> String {
        let verb = program.find_subcommand(verb).unwrap();
        let mut options = verb.get_arguments();
        let option = options.find(|one| one.get_long() == Some(option)).unwrap();
        option.get_default_values()[0]
            .to_string_lossy()
            .into_owned()
    }

    #[test]
    fn a_key_is_the_default_of_its_option_wherever_it_has_that_unit() {
        let in_force = configured(
            "[measure]\nbudget = \"3s\"\ntarget = 2\n[report]\noutput = \"pages\"\n[telemetry]\ninterval = \"1s\"\n",
        );
        let program = with_defaults(program(), &in_force.settings);
        for verb in ["bench", "run", "compare", "scale", "selftest"] {
            assert_eq!(default_of(&program, verb, "budget"), "3s", "{verb}");
        }
        assert_eq!(default_of(&program, "bench", "target"), "2");
        assert_eq!(default_of(&program, "watch", "interval"), "1s");
        assert_eq!(default_of(&program, "report", "output"), "pages");
        // The same word elsewhere is another thing.
        assert_eq!(
            default_of(&program, "profile", "output"),
            "warpsmith-profile"
        );
        let lattice = program.find_subcommand("lattice").unwrap();
        let bfs = lattice.find_subcommand("bfs").unwrap();
        let mut options = bfs.get_arguments();
        let target = options
            .find(|one| one.get_long() == Some("target"))
            .unwrap();
        assert!(target.get_default_values().is_empty());
    }

    #[test]
    fn every_key_of_an_option_reaches_one_and_keeps_its_default() {
        for key in KEYS.iter().filter(|key| key.option.is_some()) {
            let setting = Setting {
                key,
                value: String::new(),
                origin: Origin::Default,
            };
            let program = program();
            let mut commands = vec![&program];
            let mut defaults = Vec::new();
            while let Some(command) = commands.pop() {
                let options = command.get_arguments();
                let meant = options.filter(|option| fits(&setting, command.get_name(), option));
                defaults.extend(meant.filter_map(|option| {
                    let default = option.get_default_values().first()?;
                    Some(default.to_string_lossy().into_owned())
                }));
                commands.extend(command.get_subcommands());
            }
            let told = defaults
                .iter()
                .any(|default| key.default.starts_with(default));
            assert!(
                told,
                "{}: {} is none of {defaults:?}",
                key.name, key.default
            );
        }
    }

    #[test]
    fn the_command_line_wins_over_the_files() {
        let in_force = configured("device = \"cuda\"\nformat = \"json\"\n");
        let program = with_defaults(program(), &in_force.settings);
        let line = ["warpsmith", "devices", "--device", "cpu"];
        let matches = program.try_get_matches_from(line).unwrap();
        assert_eq!(matches.get_raw("format").unwrap().next().unwrap(), "json");
        let in_force = with_command_line(in_force, &matches);
        let device = in_force.set("device").unwrap();
        assert_eq!(
            (device.value.as_str(), device.origin.to_string()),
            ("cpu", "option --device".into())
        );
        assert_eq!(
            in_force.set("format").unwrap().origin.to_string(),
            "/u/config.toml:2"
        );
    }
}
