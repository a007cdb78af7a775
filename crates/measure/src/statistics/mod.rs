//! What samples say: distributions, quantiles with intervals, correlation, modes, the summary, and
//! when to stop. Numbers in, numbers out; no clock is read here.

pub mod correlation;
pub mod distributions;
pub mod modes;
pub mod order;
pub mod quantile;
pub mod rounds;
pub mod stop_rule;
pub mod summary;
pub mod trend;
