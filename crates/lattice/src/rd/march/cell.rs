//! The rule of a cell, as in `rule.rs`, with multiply-adds that round once.

use super::assembler::{ABSOLUTE, Assembler, CLAMPED, FUSED, Id, Op};
use super::{MultiplyAdd, NoteUse, Way};

/// What every cell needs.
pub(super) struct Coefficients {
    pub(super) centre: Id,
    pub(super) diffusion: Id,
    pub(super) reaction: Id,
    pub(super) damped: Id,
    pub(super) threshold: Id,
}

/// a·b + c, rounded once.
fn fused(a: &mut Assembler, how: MultiplyAdd, x: Id, y: Id, z: Id) -> Id {
    if how != MultiplyAdd::Wide {
        return a.extended(FUSED, &[x, y, z]);
    }
    let double = a.double();
    let [x, y, term] = [x, y, z].map(|number| a.value(Op::FConvert, double, &[number]));
    let product = a.value(Op::FMul, double, &[x, y]);
    let total = a.value(Op::FAdd, double, &[product, term]);
    // What the sum lost, exactly.
    let part = a.value(Op::FSub, double, &[total, product]);
    let back = a.value(Op::FSub, double, &[total, part]);
    let first = a.value(Op::FSub, double, &[product, back]);
    let second = a.value(Op::FSub, double, &[term, part]);
    let lost = a.value(Op::FAdd, double, &[first, second]);
    // The odd one of its two neighbours, unless it is exact.
    let zero = a.f64(0.0);
    let [up, down, none, one] = [1, u64::MAX, 0, 1].map(|bits| a.u64(bits));
    let positive = a.value(Op::FOrdGreaterThan, a.truth, &[total, zero]);
    let away = a.select(a.wide, positive, up, down);
    let towards = a.select(a.wide, positive, down, up);
    let more = a.value(Op::FOrdGreaterThan, a.truth, &[lost, zero]);
    let less = a.value(Op::FOrdLessThan, a.truth, &[lost, zero]);
    let step = a.select(a.wide, less, towards, none);
    let step = a.select(a.wide, more, away, step);
    let bits = a.value(Op::Bitcast, a.wide, &[total]);
    let odd = a.value(Op::BitwiseAnd, a.wide, &[bits, one]);
    let even = a.value(Op::IEqual, a.truth, &[odd, none]);
    let moved = a.value(Op::IAdd, a.wide, &[bits, step]);
    let bits = a.select(a.wide, even, moved, bits);
    let total = a.value(Op::Bitcast, double, &[bits]);
    a.value(Op::FConvert, a.float, &[total])
}

/// What tells whether a multiply-add of a cell met a number that the device takes for 0.
struct Seen {
    /// What they took: medium, memory, sum of the neighbours.
    taken: [Id; 3],
    /// What they gave: Laplacian, medium before and after its growth.
    given: [Id; 3],
}

/// Whether a cell is one for careful arithmetic.
///
/// Where medium, memory and neighbours are 0 or above 2⁻⁶⁰ and the Laplacian is above that, so are the other
/// numbers that multiply-adds take, with coefficients above [`super::probe::LEAST_COEFFICIENT`].
fn is_delicate(a: &mut Assembler, seen: &Seen) -> Id {
    let bound = f32::from_bits((127 - 60) << 23);
    let (magnitude, one, below) = (a.u32(0x7fff_ffff), a.u32(1), a.u32(bound.to_bits() - 1));
    let mut any = a.value(Op::FOrdLessThan, a.truth, &[seen.taken[0], seen.taken[0]]);
    for number in seen.taken {
        let bits = a.value(Op::Bitcast, a.word, &[number]);
        let bits = a.value(Op::BitwiseAnd, a.word, &[bits, magnitude]);
        // Zero wraps, and counts as large.
        let bits = a.value(Op::ISub, a.word, &[bits, one]);
        let small = a.value(Op::ULessThan, a.truth, &[bits, below]);
        any = a.value(Op::LogicalOr, a.truth, &[any, small]);
    }
    for (number, bound) in seen
        .given
        .into_iter()
        .zip([bound, f32::MIN_POSITIVE, f32::MIN_POSITIVE])
    {
        let size = a.extended(ABSOLUTE, &[number]);
        let bound = a.f32(bound);
        let small = a.value(Op::FOrdLessThan, a.truth, &[size, bound]);
        any = a.value(Op::LogicalOr, a.truth, &[any, small]);
    }
    any
}

/// The rule of a cell, as in `rule.rs`: the next medium and memory. Of cells that do not count any numbers.
pub(super) fn cell(
    a: &mut Assembler,
    way: Way,
    rule: &Coefficients,
    (own, memory): (Id, Id),
    around: [Id; 6],
    counts: Id,
) -> [Id; 2] {
    if way.how != MultiplyAdd::Guarded {
        return cell_by(a, way, rule, (own, memory), around).0;
    }
    let (usual, seen) = cell_by(a, way, rule, (own, memory), around);
    let delicate = is_delicate(a, &seen);
    let careful = a.value(Op::LogicalAnd, a.truth, &[delicate, counts]);
    a.unless(careful, usual, |a| {
        let way = Way {
            how: MultiplyAdd::Wide,
            ..way
        };
        cell_by(a, way, rule, (own, memory), around).0
    })
}

/// As [`cell`], all in one way.
fn cell_by(
    a: &mut Assembler,
    way: Way,
    rule: &Coefficients,
    (own, memory): (Id, Id),
    around: [Id; 6],
) -> ([Id; 2], Seen) {
    let (float, truth) = (a.float, a.truth);
    let [x, y, z] = [0, 2, 4].map(|n| a.value(Op::FAdd, float, &[around[n], around[n + 1]]));
    let plane = a.value(Op::FAdd, float, &[x, y]);
    let neighbours = a.value(Op::FAdd, float, &[plane, z]);
    let laplacian = fused(a, way.how, rule.centre, own, neighbours);
    let [half, one, zero, keeps, takes] = [0.5, 1.0, 0.0, 0.9, 0.1].map(|number| a.f32(number));
    let tired = a.value(Op::FOrdGreaterThan, truth, &[memory, half]);
    let rate = a.select(float, tired, rule.damped, rule.reaction);
    let rate = a.value(Op::FMul, float, &[rate, own]);
    let left = a.value(Op::FSub, float, &[one, own]);
    let growth = a.value(Op::FMul, float, &[rate, left]);
    let moved = fused(a, way.how, rule.diffusion, laplacian, own);
    let over = a.value(Op::FSub, float, &[own, rule.threshold]);
    let grown = fused(a, way.how, growth, over, moved);
    // One instruction on GPUs. What becomes of -0 and NaN, which never come up there, would be open.
    let next = if way.notes == NoteUse::Writes {
        a.extended(CLAMPED, &[grown, zero, one])
    } else {
        let above = a.value(Op::FOrdGreaterThan, truth, &[grown, zero]);
        let next = a.select(float, above, grown, zero);
        let below = a.value(Op::FOrdLessThan, truth, &[next, one]);
        a.select(float, below, next, one)
    };
    let change = a.extended(ABSOLUTE, &[laplacian]);
    let change = a.value(Op::FMul, float, &[takes, change]);
    let kept = fused(a, way.how, keeps, memory, change);
    let seen = Seen {
        taken: [own, memory, neighbours],
        given: [laplacian, moved, grown],
    };
    ([next, kept], seen)
}
