//! What a history says about its newest change: the question that a gate asks.
//!
//! Only the newest change of a series is judged: what came before it was judged when it came. A
//! change that was accepted, or that made things faster, is no reason to stop anybody.

use serde::Serialize;

use crate::detectors::Suspect;
use crate::store::{Accepted, Point};

/// A change with what is to be done about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Where it is, and how large.
    #[serde(flatten)]
    pub suspect: Suspect,
    /// Why it was accepted, where it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted: Option<String>,
    /// It is the newest one, slower, not accepted, and within what was asked about.
    pub judged: bool,
}

/// How far a suspect may lie from the commit that was accepted and still be the same change: its
/// place moves while results come in, by six commits where an outlier is next to a young step.
const SAME_CHANGE: usize = 8;

/// The changes of one series. `since` is the first commit that is asked about.
pub fn changes(
    points: &[Point],
    suspects: &[Suspect],
    accepted: &[Accepted],
    benchmark: &str,
    since: Option<&str>,
) -> Vec<Change> {
    let place = |commit: &str| points.iter().position(|point| is_commit(point, commit));
    let since = since.and_then(place).unwrap_or(0);
    let newest = suspects.iter().map(|suspect| suspect.index).max();
    // The nearest alone: a second change soon after an accepted one is not accepted with it.
    let nearest = |accepted: usize| {
        let indices = suspects.iter().map(|suspect| suspect.index);
        indices
            .min_by_key(|index| index.abs_diff(accepted))
            .filter(|index| index.abs_diff(accepted) <= SAME_CHANGE)
    };
    suspects
        .iter()
        .map(|suspect| {
            let reason = accepted
                .iter()
                .filter(|one| one.code == "M040")
                .filter(|one| {
                    one.benchmark
                        .as_deref()
                        .is_none_or(|name| name == benchmark)
                })
                .filter(|one| place(&one.commit).and_then(nearest) == Some(suspect.index))
                .map(|one| one.reason.clone())
                .next_back();
            Change {
                suspect: *suspect,
                judged: suspect.change > 0.0
                    && Some(suspect.index) == newest
                    && suspect.index >= since
                    && reason.is_none(),
                accepted: reason,
            }
        })
        .collect()
}

/// Whether `point` is of the commit that the beginning `name` of its hash names.
pub fn is_commit(point: &Point, name: &str) -> bool {
    point.commit == name || (name.len() >= 7 && point.commit.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(count: usize) -> Vec<Point> {
        let point = |index: usize| Point {
            id: 0,
            commit: format!("commit-{index:04}"),
            at: 0,
            median: 1.0,
            low: 0.9,
            high: 1.1,
            count: 10,
            runs: 1,
        };
        (0..count).map(point).collect()
    }

    fn suspect(index: usize, change: f64) -> Suspect {
        Suspect {
            index,
            change,
            p_value: 1e-9,
        }
    }

    fn judged(suspects: &[Suspect], accepted: &[Accepted], since: Option<&str>) -> Vec<usize> {
        changes(&points(60), suspects, accepted, "b", since)
            .into_iter()
            .filter(|change| change.judged)
            .map(|change| change.suspect.index)
            .collect()
    }

    #[test]
    fn only_the_newest_change_is_judged() {
        assert_eq!(
            judged(&[suspect(20, 0.1), suspect(40, 0.05)], &[], None),
            [40]
        );
        let fixed = [suspect(20, 0.1), suspect(40, -0.1)];
        assert!(judged(&fixed, &[], None).is_empty());
        assert!(judged(&[suspect(20, 0.1)], &[], Some("commit-0021")).is_empty());
        assert_eq!(judged(&[suspect(20, 0.1)], &[], Some("commit-0020")), [20]);
    }

    #[test]
    fn an_accepted_change_stays_accepted_when_its_place_moves() {
        let accepted = |commit: &str, benchmark: Option<&str>| Accepted {
            code: "M040".into(),
            commit: commit.into(),
            benchmark: benchmark.map(str::to_owned),
            reason: "wanted".into(),
            at: 0,
        };
        let at = |one: Accepted| judged(&[suspect(20, 0.1)], &[one], None);
        assert!(at(accepted("commit-0021", None)).is_empty());
        assert!(at(accepted("commit-0014", None)).is_empty());
        // A second change soon after it is another one.
        let both = [suspect(20, 0.1), suspect(26, 0.05)];
        assert_eq!(judged(&both, &[accepted("commit-0020", None)], None), [26]);
        assert!(at(accepted("commit-0020", Some("b"))).is_empty());
        assert_eq!(at(accepted("commit-0020", Some("other"))), [20]);
        assert_eq!(at(accepted("commit-0030", None)), [20]);
    }
}
