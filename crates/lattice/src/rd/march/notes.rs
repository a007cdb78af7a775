//! Which workgroups met numbers so small that a multiply-add may meet or make a subnormal one.
//!
//! Where a pass reads media that are 0 or in 2⁻³⁰ to 1, and memories that are 0 or above 2⁻⁹⁰, its
//! multiply-adds meet and make no subnormal number, unless a step leaves smaller media to the next:
//! - Media and sums of them are multiples of 2⁻⁵³, so that a Laplacian is 0 or at least 2⁻⁵³.
//! - A diffusion of at least 2⁻¹⁰ is a multiple of 2⁻³³, so that diffused media are multiples of 2⁻⁸⁶.
//! - The reaction term is 0 or at least 2⁻⁶⁰: of its factors only one can be near 0, because the threshold is
//!   between 2⁻¹⁰ and 3/4. A sum with it that cancels has terms within a factor of 2; it is a multiple of
//!   2⁻⁴⁶ of their size, thus of 2⁻¹⁰⁹.
//! - Memories are sums without cancellation.

use super::super::field::Field;
use super::super::rule::Rule;
use super::assembler::{Assembler, Id, Op};

/// The least medium other than 0.
const LEAST_MEDIUM: f32 = f32::from_bits((127 - 30) << 23);
/// The least memory other than 0.
const LEAST_MEMORY: f32 = f32::from_bits((127 - 90) << 23);
/// Sums of memories stay far below the largest number.
const MOST_MEMORY: f32 = 1e9;
/// The least coefficient of the rule.
const LEAST_COEFFICIENT: f32 = 1.0 / 1024.0;
const MOST_THRESHOLD: f32 = 0.75;

/// Whether the argument above is about this rule and start.
pub(in super::super) fn never_subnormal(rule: &Rule, field: &Field) -> bool {
    let coefficients = [rule.diffusion, rule.damped, rule.reaction, rule.threshold];
    let is_plain = |number: f32, least: f32, most: f32| {
        number.to_bits() == 0 || (least..=most).contains(&number)
    };
    coefficients.iter().all(|c| *c >= LEAST_COEFFICIENT)
        && rule.threshold <= MOST_THRESHOLD
        && (field.u.iter()).all(|u| is_plain(*u, 0.0, 1.0))
        && (field.e.iter()).all(|e| is_plain(*e, 0.0, MOST_MEMORY))
}

/// A thread's least medium and memory, as words less 1, so that 0 counts as large.
pub(super) struct Notes {
    medium: Id,
    memory: Id,
}

impl Notes {
    pub(super) fn new(a: &mut Assembler) -> Self {
        let most = a.u32(u32::MAX);
        Self {
            medium: a.word_variable(most),
            memory: a.word_variable(most),
        }
    }

    pub(super) fn medium(&self, a: &mut Assembler, numbers: &[Id]) {
        keep_least(a, self.medium, numbers);
    }

    pub(super) fn memory(&self, a: &mut Assembler, numbers: &[Id]) {
        keep_least(a, self.memory, numbers);
    }

    /// The workgroup's note: 1 if one of its threads met a small number, else 0. `shared` is a number that all
    /// of them see and nobody needs any more.
    pub(super) fn write(&self, a: &mut Assembler, note: Id, shared: Id, [lane, line]: [Id; 2]) {
        let [mut small, truth] = [0, a.truth];
        for (variable, bound) in [(self.medium, LEAST_MEDIUM), (self.memory, LEAST_MEMORY)] {
            let least = a.load(a.word, variable);
            let bound = a.u32(bound.to_bits() - 1);
            let met = a.value(Op::ULessThan, truth, &[least, bound]);
            small = match small {
                0 => met,
                _ => a.value(Op::LogicalOr, truth, &[small, met]),
            };
        }
        let [nobody, somebody] = [0.0, 1.0].map(|number| a.f32(number));
        let (none, one) = (a.u32(0), a.u32(1));
        let number = a.value(Op::IAdd, a.word, &[lane, line]);
        let first = a.value(Op::IEqual, truth, &[number, none]);
        a.barrier();
        a.when(first, |a| a.store(shared, nobody));
        a.barrier();
        a.when(small, |a| a.store(shared, somebody));
        a.barrier();
        a.when(first, |a| {
            let seen = a.load(a.float, shared);
            let seen = a.value(Op::FOrdGreaterThan, truth, &[seen, nobody]);
            let word = a.select(a.word, seen, one, none);
            a.store_at(a.word, note, word);
        });
    }
}

fn keep_least(a: &mut Assembler, variable: Id, numbers: &[Id]) {
    let mut least = a.load(a.word, variable);
    let minus_one = a.u32(u32::MAX);
    for number in numbers {
        let bits = a.value(Op::Bitcast, a.word, &[*number]);
        let bits = a.value(Op::IAdd, a.word, &[bits, minus_one]);
        least = a.least(least, bits);
    }
    a.store(variable, least);
}

/// Where the note of a workgroup lies.
pub(super) fn note(a: &mut Assembler, block: Id, group: Id) -> Id {
    let at = super::kernel::address(a, block, 80);
    let notes = a.load_at(a.wide, at);
    let group = a.value(Op::UConvert, a.wide, &[group]);
    let bytes = a.u64(4);
    let offset = a.value(Op::IMul, a.wide, &[group, bytes]);
    a.value(Op::IAdd, a.wide, &[notes, offset])
}
