//! The same option has the same name, unit and default in every verb.

use std::collections::BTreeMap;

use clap::{Arg, Command};

use super::program;

/// Options that differ between verbs on purpose, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    (
        "arch",
        "`inspect` takes several and has those of the GPUs here",
    ),
    (
        "arg",
        "a kernel without a case has no names for `bench`, and dimensions for `verify`",
    ),
    ("as", "each verb writes forms of its own"),
    ("atoms", "`md table` takes several"),
    ("block", "`verify` takes expressions of the dimensions"),
    (
        "blocked",
        "a maze is blocked, a walk is free, unless told otherwise",
    ),
    (
        "budget",
        "one of many sizes or comparisons gets half of what one alone gets",
    ),
    (
        "count",
        "pairs of a data set have no default, formants have five",
    ),
    ("density", "atoms of a fluid, notes of a chord"),
    ("duration", "a recording lasts until Ctrl-C"),
    (
        "file",
        "`history` has a file of its own, `check` asks about one",
    ),
    ("from", "`check --from` also takes a folder"),
    ("gpu", "a GPU that is not here has a name and no index"),
    ("grid", "`verify` takes expressions of the dimensions"),
    (
        "high",
        "a voice's quality is judged in a narrower range than a pitch is looked for",
    ),
    ("hop", "presets have hops of their own, tempo has librosa's"),
    (
        "interval",
        "a person looks twice a second, files and pages want ten samples",
    ),
    ("key", "a key that locks, and one in music"),
    ("limit", "a command may take longer than a launch"),
    ("listen", "two servers on one machine need two ports"),
    (
        "low",
        "a voice's quality is judged in a narrower range than a pitch is looked for",
    ),
    (
        "margin-db",
        "what is louder than noise, and how much noise is taken off",
    ),
    ("method", "each verb has methods of its own"),
    (
        "mode",
        "a tuned kernel meets data that are not in the cache",
    ),
    ("of", "`md table` measures both kinds, `selftest` one"),
    (
        "output",
        "a file, a folder or either, as the verb writes it",
    ),
    (
        "preset",
        "moods of music, and libraries whose features are matched",
    ),
    (
        "rate",
        "music is made at a rate, a conversion keeps the input's",
    ),
    (
        "rounds",
        "`bench` spreads rounds over a session, `synth ablate` compares in them",
    ),
    (
        "seed",
        "published data sets have seed 0; `verify` draws a new one every time",
    ),
    ("shared", "`verify` takes expressions of the dimensions"),
    ("size", "cells of a lattice, and dimensions of a case"),
    (
        "speed",
        "a recording plays as fast as it was made, a stretch has no default",
    ),
    ("steps", "each simulation has a length of its own"),
    (
        "target",
        "a command is noisier than a kernel; a maze has a place to go to",
    ),
    ("threshold", "each detector has a scale of its own"),
    ("transform", "presets have lengths of their own"),
];

/// What must agree: the short name, the unit or kind, and the default.
fn form(option: &Arg) -> String {
    let short = option.get_short().map(|letter| format!("-{letter}"));
    let names = option.get_value_names().unwrap_or_default();
    let takes_value = option.get_action().takes_values();
    let unit = names.iter().map(|name| name.as_str()).collect::<Vec<_>>();
    let defaults = option.get_default_values().iter();
    let defaults: Vec<_> = defaults.map(|value| value.to_string_lossy()).collect();
    format!(
        "{} {} default {:?}",
        short.unwrap_or_default(),
        if takes_value {
            unit.join(" ")
        } else {
            "no value".to_owned()
        },
        defaults.join(",")
    )
}

/// Options by name: their forms, with the commands that have them.
fn collect(
    command: &Command,
    path: &str,
    found: &mut BTreeMap<String, BTreeMap<String, Vec<String>>>,
) {
    for option in command.get_arguments() {
        let Some(name) = option.get_long().filter(|_| !option.is_hide_set()) else {
            continue;
        };
        let forms = found.entry(name.to_owned()).or_default();
        forms.entry(form(option)).or_default().push(path.to_owned());
    }
    for below in command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
    {
        collect(below, &format!("{path} {}", below.get_name()), found);
    }
}

#[test]
fn an_option_means_the_same_in_every_verb() {
    let mut found = BTreeMap::new();
    collect(&program(), "", &mut found);
    let excepted = |name: &str| EXCEPTIONS.iter().any(|(known, _)| *known == name);
    let different: Vec<String> = found
        .iter()
        .filter(|(name, forms)| forms.len() > 1 && !excepted(name))
        .map(|(name, forms)| format!("--{name}: {forms:#?}"))
        .collect();
    assert!(different.is_empty(), "{}", different.join("\n"));
    // An exception that is none any more goes.
    let needless: Vec<&str> = EXCEPTIONS
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| found.get(*name).is_none_or(|forms| forms.len() < 2))
        .collect();
    assert!(needless.is_empty(), "{needless:?}");
    assert!(EXCEPTIONS.is_sorted());
}

/// A number without a unit is a guess.
#[test]
fn times_and_shares_say_their_unit() {
    let mut found = BTreeMap::new();
    collect(&program(), "", &mut found);
    for name in ["budget", "limit", "duration", "timeout", "interval"] {
        for form in found.get(name).into_iter().flat_map(BTreeMap::keys) {
            assert!(form.contains("TIME"), "--{name}: {form}");
        }
    }
    for name in ["margin", "effect"] {
        for form in found.get(name).into_iter().flat_map(BTreeMap::keys) {
            assert!(form.contains("PERCENT"), "--{name}: {form}");
        }
    }
}
