//! HTTP services under load: requests made of templates, over any version of the protocol, and what becomes of them.

mod wire;

pub use wire::{Fields, Http, Limits, Request, Said};
