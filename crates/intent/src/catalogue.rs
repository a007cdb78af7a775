//! All families, and the numbering of all specifications: a number is one specification, and no two
//! numbers are the same one.
//!
//! Families take turns, so that few tasks are of many kinds; a family that has given all it has drops out.
//! Within a family neighbours differ in every axis: numbers go round by a step that has no factor in
//! common with their count.

use std::sync::LazyLock;

use crate::families;
use crate::family::Family;

/// Families and how numbers are spread over them.
pub(crate) struct Catalogue {
    pub(crate) families: Vec<Family>,
    rounds: Vec<Round>,
    /// Families by how many specifications they have, fewest first.
    order: Vec<usize>,
}

/// How the specifications of a family follow each other.
struct Round {
    count: u64,
    start: u64,
    step: u64,
    /// Times `step`, it is 1 modulo `count`.
    inverse: u64,
}

/// The one catalogue.
pub(crate) static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    let families = families::all();
    let rounds: Vec<Round> = families.iter().map(|one| Round::of(one.count())).collect();
    let mut order: Vec<usize> = (0..families.len()).collect();
    order.sort_by_key(|family| (rounds[*family].count, *family));
    Catalogue {
        families,
        rounds,
        order,
    }
});

impl Catalogue {
    /// How many specifications there are.
    pub(crate) fn count(&self) -> u64 {
        self.rounds.iter().map(|round| round.count).sum()
    }

    /// The family of a number and the options of its axes.
    pub(crate) fn at(&self, number: u64) -> Option<(usize, Vec<usize>)> {
        let mut before = 0;
        let mut given = 0;
        for (place, family) in self.order.iter().enumerate() {
            let taking_turns = &self.order[place..];
            let turns = self.rounds[*family].count - given;
            let width = taking_turns.len() as u64;
            let inside = number - before;
            if inside < turns * width {
                let family = taking_turns[(inside % width) as usize];
                return Some((family, self.options(family, given + inside / width)));
            }
            before += turns * width;
            given += turns;
        }
        None
    }

    /// The options of a family's axes as the digits of one number.
    pub(crate) fn rank(&self, family: usize, options: &[usize]) -> u64 {
        let axes = self.families[family].axes.iter().zip(options).rev();
        axes.fold(0, |rank, (axis, option)| {
            rank * axis.count() as u64 + *option as u64
        })
    }

    /// The number of a specification: the inverse of `at`.
    pub(crate) fn number(&self, family: usize, options: &[usize]) -> Option<u64> {
        let rank = self.rank(family, options);
        let round = &self.rounds[family];
        let from_start = u128::from(rank + round.count - round.start);
        let turn = from_start * u128::from(round.inverse);
        let turn = (turn % u128::from(round.count)) as u64;
        let mut before = 0;
        let mut given = 0;
        for (place, smallest) in self.order.iter().enumerate() {
            let width = (self.order.len() - place) as u64;
            let upto = self.rounds[*smallest].count;
            if turn < upto {
                let at = self.order[place..].iter().position(|one| *one == family)?;
                return Some(before + (turn - given) * width + at as u64);
            }
            before += (upto - given) * width;
            given = upto;
        }
        None
    }

    fn options(&self, family: usize, turn: u64) -> Vec<usize> {
        let round = &self.rounds[family];
        let rank = u128::from(turn) * u128::from(round.step) + u128::from(round.start);
        let mut rank = (rank % u128::from(round.count)) as u64;
        let digit = |axis: &crate::axis::Axis| {
            let digit = rank % axis.count() as u64;
            rank /= axis.count() as u64;
            digit as usize
        };
        self.families[family].axes.iter().map(digit).collect()
    }
}

impl Round {
    /// Begins not at the plainest options, and steps by about 0.38 of the count.
    fn of(count: u64) -> Self {
        let common = |mut a: u64, mut b: u64| {
            while b > 0 {
                (a, b) = (b, a % b);
            }
            a
        };
        let least = (count as f64 * 0.381_966) as u64 + 1;
        let step = (least..).find(|step| common(*step, count) == 1);
        let step = step.unwrap_or(1);
        Self {
            count,
            start: (count as f64 * 0.618_034) as u64,
            step,
            inverse: inverse(step, count),
        }
    }
}

/// What a step is multiplied with to give one, going round `count`: Euclid's algorithm, extended.
fn inverse(step: u64, count: u64) -> u64 {
    let (mut a, mut b) = (count as i128, step as i128);
    let (mut of_a, mut of_b) = (0i128, 1i128);
    while b != 0 {
        let times = a / b;
        (a, b) = (b, a - times * b);
        (of_a, of_b) = (of_b, of_a - times * of_b);
    }
    of_a.rem_euclid(count as i128) as u64
}
