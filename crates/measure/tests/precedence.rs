//! Commands that go before others, where this user may decide that; ignored elsewhere.

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use warpsmith_measure::command::contest::{Contestant, contest};
use warpsmith_measure::command::{CommandTarget, precedence};
use warpsmith_measure::comparison::turns::TurnsPlan;

/// Share and class of a process, from its line of `/proc/…/stat`.
fn share_and_class(line: &str) -> (i64, i64) {
    // The name may hold spaces; what follows it does not.
    let fields: Vec<&str> = line
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .collect();
    (fields[16].parse().unwrap(), fields[38].parse().unwrap())
}

fn of_this_thread() -> (i64, i64) {
    share_and_class(&std::fs::read_to_string("/proc/thread-self/stat").unwrap())
}

const ORDINARY: (i64, i64) = (0, libc::SCHED_OTHER as i64);

/// Runs `line` with `word` in it for a file, and reads the processes that the file then describes.
fn written(run: impl FnOnce(&str)) -> Vec<(i64, i64)> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stat");
    run(&format!("cat /proc/self/stat >> {}", file.display()));
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(share_and_class).collect()
}

fn a_command_has_the_largest_share_of_the_ordinary_class() -> Result<(), Failed> {
    let seen = written(|line| {
        let target = CommandTarget {
            precedes: true,
            ..CommandTarget::shell(line)
        };
        target.run(1).unwrap();
    });
    assert_eq!(seen, [(-20, libc::SCHED_OTHER as i64)]);
    assert_eq!(of_this_thread(), ORDINARY);
    Ok(())
}

fn what_runs_around_commands_is_ordinary() -> Result<(), Failed> {
    let seen = written(|line| {
        let beside = CommandTarget::shell(line);
        let measured = |name: &str| {
            let target = CommandTarget {
                precedes: true,
                ..CommandTarget::shell("true")
            };
            Contestant {
                setup: Some(beside.clone()),
                prepare: Some(beside.clone()),
                cleanup: Some(beside.clone()),
                ..Contestant::new(name, target)
            }
        };
        let plan = TurnsPlan {
            budget: std::time::Duration::from_millis(50),
            ..TurnsPlan::default()
        };
        let both = [measured("a"), measured("b")];
        contest(&both, 1, &plan, &mut |_| {}).unwrap();
    });
    assert!(seen.len() >= 6, "{seen:?}");
    assert!(seen.iter().all(|seen| *seen == ORDINARY), "{seen:?}");
    assert_eq!(of_this_thread(), ORDINARY);
    Ok(())
}

fn main() -> ExitCode {
    let permitted = precedence::is_permitted() && of_this_thread() == ORDINARY;
    let trial = |name: &str, test: fn() -> Result<(), Failed>| {
        let name = match permitted {
            true => name.to_owned(),
            false => format!("{name} (skipped: priorities cannot be raised)"),
        };
        Trial::test(name, test).with_ignored_flag(!permitted)
    };
    let trials = vec![
        trial(
            "a command has the largest share of the ordinary class",
            a_command_has_the_largest_share_of_the_ordinary_class,
        ),
        trial(
            "what runs around commands is ordinary",
            what_runs_around_commands_is_ordinary,
        ),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
