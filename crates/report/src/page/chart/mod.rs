//! Pictures, drawn as SVG with colours by CSS variables and text in user units.
//!
//! Every text lies inside its box, at the size of a phone's text too; every picture has a sentence
//! for those who do not see it.

mod at_rest;
mod axis;
mod bar;
mod crossover;
mod dots;
mod figure;
mod labels;
mod ladder;
mod law;
mod plane;
mod roofline;
mod sparkline;
mod strip;
mod text_width;

pub(super) use bar::bar;
pub(super) use dots::dots;
pub(super) use figure::figure;
pub(super) use sparkline::sparkline;
pub(super) use strip::{scale_header, strip};
