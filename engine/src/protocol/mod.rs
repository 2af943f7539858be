//! How to talk: each protocol turns requests into bytes and bytes into completions, and never sees a socket.

pub mod postgres;
