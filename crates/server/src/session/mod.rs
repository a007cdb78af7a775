//! A WebSocket connection: hello, then audio against credit until either side has enough.

mod budget;
mod feed;
mod greeting;
mod listening;
mod outbox;

pub(crate) use listening::run;
