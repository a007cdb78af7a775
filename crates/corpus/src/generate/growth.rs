//! Keeps values finite: those that a loop carries from trip to trip, and those that are added to others.
//!
//! Invariant: a float that is known before a loop is within its bound at the head of every trip. The
//! bounds of the loop's expressions rest on that, so every change in there has to keep it: sums that stay
//! small over all trips, or half of the value and a part that is cut to size.

use super::builder::Builder;
use super::kind::{Kind, Scalar};
use super::text::float_literal;

/// What a float may hold at the head of a trip, at least: its square must not overflow.
fn carried(scalar: Scalar) -> f32 {
    if scalar == Scalar::F16 { 16.0 } else { 64.0 }
}

/// What held outside a loop.
pub(super) struct Outside {
    in_dynamic_loop: bool,
    trips: f32,
}

impl Builder {
    /// Begins the body of a loop of at most so many trips.
    pub(super) fn enter_loop(&mut self, trips: f32) -> Outside {
        let outside = Outside {
            in_dynamic_loop: std::mem::replace(&mut self.in_dynamic_loop, true),
            trips: self.trips,
        };
        self.trips *= trips;
        let float = self.float();
        let room = carried(self.palette.float);
        for var in &mut self.vars {
            if var.mutable && var.kind == float {
                var.bound = (2.0 * var.bound).max(room);
            }
        }
        outside
    }

    /// Ends the body of a loop.
    pub(super) fn leave_loop(&mut self, outside: Outside) {
        (self.in_dynamic_loop, self.trips) = (outside.in_dynamic_loop, outside.trips);
    }

    /// Whether a variable of this bound stays small if `added` comes to it here; its bound after that.
    pub(super) fn sum_bound(&self, kind: Kind, bound: f32, added: f32) -> Option<f32> {
        let growth = added * self.trips;
        if self.in_dynamic_loop && kind == self.float() {
            return (growth <= 0.5 * bound).then_some(bound);
        }
        let total = bound + growth;
        (total <= kind.scalar().most()).then_some(total)
    }

    /// Cuts the float that was written from `start` to a size that can be added here; its bound after
    /// that, `None` where it was small enough.
    pub(super) fn cut(&mut self, start: usize, bound: f32) -> Option<f32> {
        let scalar = self.palette.float;
        let limit = 0.5 * carried(scalar);
        let most = if self.in_dynamic_loop {
            limit
        } else {
            scalar.most()
        };
        if bound <= most {
            return None;
        }
        self.body.insert_str(start, "wp.clamp(");
        for end in [-limit, limit] {
            self.body.push_str(", ");
            float_literal(scalar, end, &mut self.body);
        }
        self.body.push(')');
        Some(limit)
    }

    /// How large a number can be that an integer of this type and bound becomes.
    pub(super) fn integer_bound(scalar: Scalar, bound: f32) -> f32 {
        match scalar {
            Scalar::I32 | Scalar::I64 => bound,
            // Narrow and unsigned ones wrap around, whatever went in.
            Scalar::I8 | Scalar::U8 => 255.0,
            Scalar::I16 | Scalar::U16 => 65_535.0,
            _ => 2e19,
        }
    }
}
