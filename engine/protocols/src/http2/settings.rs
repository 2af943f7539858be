//! SETTINGS parameters (RFC 9113, section 6.5.2).

use super::code::Code;
use super::frame::LARGEST;
use crate::Malformed;

pub const ENABLE_PUSH: u16 = 0x2;
const MAX_CONCURRENT_STREAMS: u16 = 0x3;
pub const INITIAL_WINDOW_SIZE: u16 = 0x4;
const MAX_FRAME_SIZE: u16 = 0x5;
pub const MAX_HEADER_LIST_SIZE: u16 = 0x6;

/// Initial window size by default, in bytes.
pub const FIRST_WINDOW: u32 = 65_535;
/// Maximum frame size by default, in bytes; this client does not change its own.
pub const FRAME_SIZE: usize = 16_384;
const LARGEST_FRAME_SIZE: u32 = 0xff_ffff;

/// Limits that the server imposes on its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Maximum of concurrent requests.
    pub streams: u32,
    /// Initial window of a request's body, in bytes.
    pub window: u32,
    /// Maximum frame size in bytes.
    pub frame: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { streams: u32::MAX, window: FIRST_WINDOW, frame: FRAME_SIZE }
    }
}

impl Settings {
    /// Apply the payload of a SETTINGS frame.
    pub fn read(&mut self, payload: &[u8]) -> Result<(), Malformed> {
        let mut remaining = payload;
        while let Some((&[a, b, value @ ..], after)) = remaining.split_first_chunk::<6>() {
            remaining = after;
            let value = u32::from_be_bytes(value);
            match u16::from_be_bytes([a, b]) {
                ENABLE_PUSH if value != 0 => {
                    let finding = format!("the server set ENABLE_PUSH to {value}: only a client may");
                    return Err(Code::PROTOCOL_ERROR.because(finding));
                }
                MAX_CONCURRENT_STREAMS => self.streams = value,
                INITIAL_WINDOW_SIZE if value > LARGEST => {
                    let finding =
                        format!("the server set INITIAL_WINDOW_SIZE to {value}: the most is {LARGEST}");
                    return Err(Code::FLOW_CONTROL_ERROR.because(finding));
                }
                INITIAL_WINDOW_SIZE => self.window = value,
                MAX_FRAME_SIZE if !(FRAME_SIZE as u32..=LARGEST_FRAME_SIZE).contains(&value) => {
                    let finding = format!(
                        "the server set MAX_FRAME_SIZE to {value}: it must be {FRAME_SIZE} to \
                            {LARGEST_FRAME_SIZE}"
                    );
                    return Err(Code::PROTOCOL_ERROR.because(finding));
                }
                MAX_FRAME_SIZE => self.frame = value as usize,
                // The encoder uses no dynamic table, so its size is irrelevant; other parameters are advisory
                // or unknown.
                _ => {}
            }
        }
        if remaining.is_empty() {
            Ok(())
        } else {
            Err(Code::FRAME_SIZE_ERROR.because("the server sent SETTINGS that are cut off"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(settings: &[(u16, u32)]) -> Result<Settings, Malformed> {
        let mut frame = Vec::new();
        super::super::frame::settings(&mut frame, settings);
        let mut read = Settings::default();
        read.read(&frame[9..]).map(|()| read)
    }

    #[test]
    fn supported_settings_are_applied() {
        let expected = Settings { streams: 100, window: 0, frame: 20_000 };
        assert_eq!(read(&[(1, 0), (2, 0), (3, 100), (4, 0), (5, 20_000), (6, 9), (0xff, 7)]), Ok(expected));
        assert_eq!(read(&[]), Ok(Settings::default()));
        assert_eq!(read(&[(3, 1), (3, 2)]).unwrap().streams, 2, "the last one counts");
    }

    #[test]
    fn invalid_settings_are_rejected() {
        for (name, value, finding) in [
            (2, 1, "ENABLE_PUSH to 1"),
            (2, 2, "PROTOCOL_ERROR"),
            (4, 0x8000_0000, "FLOW_CONTROL_ERROR"),
            (5, 16_383, "MAX_FRAME_SIZE to 16383"),
            (5, 0x100_0000, "PROTOCOL_ERROR"),
        ] {
            let Malformed(message) = read(&[(name, value)]).unwrap_err();
            assert!(message.contains(finding), "{message}");
        }
        assert!(Settings::default().read(&[0; 7]).unwrap_err().0.contains("FRAME_SIZE_ERROR"));
    }
}
