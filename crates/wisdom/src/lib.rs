//! Which device is fastest for a problem of a given size, on this machine, now.
//!
//! A prediction is `start(size) + passes · pass(size) + copies`. Where the operation was measured
//! here, both are curves through the measurements; elsewhere it is bytes over a rate from the device's
//! own facts. Constraints come before speed: what does not fit or does not give the asked-for bits
//! is no candidate. Every prediction says where its numbers come from.
//!
//! ```
//! use warpsmith_wisdom::{Candidate, Chooser, Constraints, Curve, Problem, Profile};
//!
//! let mut chooser = Chooser::new();
//! let fast_small = Profile::measured(Curve::constant(1e-6), Curve::through(&[(1e3, 1e-6), (1e6, 1e-3)])?, 0);
//! let fast_large = Profile::measured(Curve::constant(2e-5), Curve::through(&[(1e3, 1e-6), (1e6, 5e-6)])?, 0);
//! let candidates = vec![
//!     Candidate::on_host("cpu", fast_small),
//!     Candidate::on_host("other", fast_large),
//! ];
//! let operation = chooser.add("stencil", candidates);
//! let problem = Problem { size: 1e5, passes: 10.0, ..Problem::default() };
//! let choice = chooser.choose(operation, &problem, &Constraints::default())?;
//! assert_eq!(chooser.name(operation, choice.candidate), "other");
//! # Ok::<(), warpsmith_wisdom::ChooserError>(())
//! ```

mod calibrate;
mod choose;
mod curve;
mod error;
mod identity;
mod observe;
mod profile;
mod wisdom;
mod wisdom_file;

pub use calibrate::{Calibration, Plan, Way, calibrate};
pub use choose::{Candidate, Choice, Chooser, Constraints, OperationId, Problem, Refusal};
pub use curve::Curve;
pub use error::ChooserError;
pub use identity::Identity;
pub use observe::Correction;
pub use profile::{Bus, Condition, Origin, Parts, Profile};
pub use wisdom::{OperationWisdom, Point, Wisdom};
pub use wisdom_file::{Claim, Loaded, WisdomFile};
