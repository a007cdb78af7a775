//! HTTP/1.1 as far as a page, an API and endless files need it.

mod request;
mod response;

pub(crate) use request::{Refused, Request};
pub(crate) use response::{Response, SECURITY_HEADERS};
