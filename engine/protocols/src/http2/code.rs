//! Error codes that end a stream or a connection (RFC 9113, section 7).

use std::borrow::Cow;

use crate::Malformed;
use loadcell_core::error::Failure;

/// An error code as transmitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code(pub u32);

impl Code {
    pub const PROTOCOL_ERROR: Self = Self(0x1);
    pub const FLOW_CONTROL_ERROR: Self = Self(0x3);
    pub const STREAM_CLOSED: Self = Self(0x5);
    pub const FRAME_SIZE_ERROR: Self = Self(0x6);
    pub const REFUSED_STREAM: Self = Self(0x7);
    pub const CANCEL: Self = Self(0x8);

    /// Name in the standard, or the number if it has none.
    pub fn name(self) -> Cow<'static, str> {
        const NAMES: [&str; 14] = [
            "NO_ERROR",
            "PROTOCOL_ERROR",
            "INTERNAL_ERROR",
            "FLOW_CONTROL_ERROR",
            "SETTINGS_TIMEOUT",
            "STREAM_CLOSED",
            "FRAME_SIZE_ERROR",
            "REFUSED_STREAM",
            "CANCEL",
            "COMPRESSION_ERROR",
            "CONNECT_ERROR",
            "ENHANCE_YOUR_CALM",
            "INADEQUATE_SECURITY",
            "HTTP_1_1_REQUIRED",
        ];
        NAMES.get(self.0 as usize).map_or_else(|| format!("0x{:x}", self.0).into(), |&name| name.into())
    }

    /// Failure of a request that the server reset with this code.
    #[cold]
    pub fn reset(self) -> Failure {
        let message = format!("the server reset the request's stream ({})", self.name());
        Failure { code: self.name().into(), message }
    }

    /// Protocol violation by the peer, with this code and a description.
    #[cold]
    pub fn because(self, finding: impl AsRef<str>) -> Malformed {
        Malformed(format!("{} ({})", finding.as_ref(), self.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_standard_names() {
        assert_eq!(Code(0).name(), "NO_ERROR");
        assert_eq!(Code::CANCEL.name(), "CANCEL");
        assert_eq!(Code(0xd).name(), "HTTP_1_1_REQUIRED");
        assert_eq!(Code(0xe).name(), "0xe");
        assert_eq!(Code(u32::MAX).name(), "0xffffffff");
        assert_eq!(Code::STREAM_CLOSED.because("no").0, "no (STREAM_CLOSED)");
    }
}
