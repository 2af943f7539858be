//! Responses that break the protocol.

use super::*;

#[test]
fn truncated_response_is_an_error() {
    for (stream, finding) in [
        (frame(HEADERS, 0, 1, OK), "within its header"),
        (frame(HEADERS, END_HEADERS, 1, OK), "after 0 bytes of its body"),
        (
            [frame(HEADERS, END_HEADERS, 1, b"\x88\x0f\x0d\x015"), frame(DATA, 0, 1, b"abc")].concat(),
            "after 3 bytes of its body, which was to have 5",
        ),
    ] {
        let mut harness = Harness::announce();
        harness.feed(&stream).unwrap();
        let why = harness.why();
        assert_eq!(why.code, "length");
        assert!(why.message.ends_with(finding), "{}", why.message);
    }
}

#[test]
fn body_of_wrong_length_is_an_error() {
    const FIVE: &[u8] = b"\x88\x0f\x0d\x015";
    for (stream, finding) in [
        (vec![frame(HEADERS, END_HEADERS, 1, FIVE), frame(DATA, 0, 1, b"abcdef")], "longer than the 5 bytes"),
        (vec![frame(HEADERS, END_HEADERS, 1, FIVE), frame(DATA, END_STREAM, 1, b"abc")], "after 3 of 5"),
        (vec![frame(HEADERS, END_HEADERS | END_STREAM, 1, FIVE)], "after 0 of 5"),
        (
            vec![frame(HEADERS, END_HEADERS, 1, FIVE), frame(HEADERS, END_HEADERS | END_STREAM, 1, b"")],
            "after 0 of 5",
        ),
        (vec![frame(HEADERS, END_HEADERS, 1, &[0x89]), frame(DATA, 0, 1, b"a")], "longer than the 0 bytes"),
    ] {
        let why = Harness::announce().refuse(&stream.concat());
        assert_eq!(why.code, "length");
        assert!(why.message.contains(finding), "{}", why.message);
    }
    let mut harness = Harness::new();
    ask(&mut harness.client, "HEAD", "/", None, &mut harness.out);
    assert_eq!(harness.feed(&frame(HEADERS, END_HEADERS | END_STREAM, 1, FIVE)).unwrap(), "200 end", "HEAD");
    harness.get();
    let not_modified = frame(HEADERS, END_HEADERS | END_STREAM, 3, b"\x8b\x0f\x0d\x015");
    assert_eq!(harness.feed(&not_modified).unwrap(), "304 end");
}

#[test]
fn non_http2_server_is_reported() {
    for (first, finding) in [
        (&b"HTTP/1.1 400 Bad Request\r\n"[..], "it answers in HTTP/1; try version 1.1"),
        (b"220 smtp.example ESMTP", "the server does not speak HTTP/2; try version 1.1"),
        (&frame(SETTINGS, ACK, 0, &[]), "does not speak HTTP/2"),
        (&frame(PING, 0, 0, &[0; 8]), "does not speak HTTP/2"),
    ] {
        let mut harness = Harness { client: Http2::new(LIMITS), out: Vec::new() };
        harness.client.opened(&mut harness.out);
        let why = harness.refuse(first);
        assert_eq!(why.code, "protocol");
        assert!(why.message.contains(finding), "{}", why.message);
    }
}

#[test]
fn protocol_violations_end_the_connection() {
    let headers = |flags, payload: &[u8]| frame(HEADERS, flags, 1, payload);
    let answered = headers(END_HEADERS, OK);
    let over = headers(END_HEADERS | END_STREAM, OK);
    let cases: &[(&[&[u8]], &str)] = &[
        (
            &[&frame(DATA, 0, 0, b"")],
            "DATA frame on the stream 0, on which nothing was asked (PROTOCOL_ERROR)",
        ),
        (&[&frame(DATA, 0, 3, b"")], "on which nothing was asked (PROTOCOL_ERROR)"),
        (&[&frame(HEADERS, END_HEADERS, 2, OK)], "on which nothing was asked (PROTOCOL_ERROR)"),
        (&[&over, &frame(DATA, 0, 1, b"x")], "on the stream 1, which is over (STREAM_CLOSED)"),
        (&[&over, &answered], "which is over (STREAM_CLOSED)"),
        (&[&frame(DATA, 0, 1, b"x")], "a body before its header (PROTOCOL_ERROR)"),
        (&[&answered, &frame(DATA, PADDED, 1, b"")], "DATA frame of 0 bytes (FRAME_SIZE_ERROR)"),
        (&[&answered, &frame(DATA, PADDED, 1, b"\x02a")], "more padding than frame (PROTOCOL_ERROR)"),
        (&[&headers(END_HEADERS | PADDED, b"")], "HEADERS frame of 0 bytes (FRAME_SIZE_ERROR)"),
        (&[&headers(END_HEADERS | PADDED, b"\x05\x88")], "more padding than frame (PROTOCOL_ERROR)"),
        (&[&headers(END_HEADERS | PRIORITISED, b"\0\0\0\0")], "HEADERS frame of 4 bytes (FRAME_SIZE_ERROR)"),
        (&[&headers(0, OK), &frame(DATA, 0, 1, b"")], "DATA frame in the middle of header fields"),
        (&[&headers(0, OK), &frame(0x99, 0, 1, b"")], "unknown frame in the middle of header fields"),
        (&[&headers(0, OK), &frame(CONTINUATION, END_HEADERS, 3, b"")], "in the middle of header fields"),
        (
            &[&frame(CONTINUATION, END_HEADERS, 1, b"")],
            "header fields that it has not begun (PROTOCOL_ERROR)",
        ),
        (&[&answered, &answered], "a second header, and does not end the response"),
        (&[&headers(END_HEADERS, b"")], "a response without a status"),
        (&[&headers(END_HEADERS | END_STREAM, b"\x08\x03100")], "with an interim status"),
        (&[&headers(END_HEADERS, b"\x88\x88")], "\":status\" of the response stands where it must not"),
        (&[&headers(END_HEADERS, b"\xbe")], "no field with the index 62 (COMPRESSION_ERROR)"),
        (&[&frame(PUSH_PROMISE, END_HEADERS, 1, &[0, 0, 0, 2])], "pushes what nobody asked for"),
        (&[&frame(PRIORITY, 0, 1, &[0; 4])], "PRIORITY frame of 4 bytes (FRAME_SIZE_ERROR)"),
        (&[&frame(RST_STREAM, 0, 1, &[0; 3])], "RST_STREAM frame of 3 bytes (FRAME_SIZE_ERROR)"),
        (&[&frame(RST_STREAM, 0, 3, &[0; 4])], "on which nothing was asked"),
        (&[&frame(RST_STREAM, 0, 0, &[0; 4])], "on which nothing was asked"),
        (&[&frame(SETTINGS, 0, 1, &[])], "SETTINGS frame on the stream 1 (PROTOCOL_ERROR)"),
        (&[&frame(SETTINGS, 0, 0, &[0; 5])], "SETTINGS that are cut off (FRAME_SIZE_ERROR)"),
        (&[&frame(SETTINGS, ACK, 0, &[0; 6])], "SETTINGS frame of 6 bytes (FRAME_SIZE_ERROR)"),
        (&[&frame(PING, 0, 0, &[0; 7])], "PING frame of 7 bytes (FRAME_SIZE_ERROR)"),
        (&[&frame(PING, 0, 1, &[0; 8])], "PING frame on the stream 1 (PROTOCOL_ERROR)"),
        (&[&frame(GOAWAY, 0, 0, &[0; 7])], "GOAWAY frame of 7 bytes (FRAME_SIZE_ERROR)"),
        (&[&frame(GOAWAY, 0, 1, &[0; 8])], "GOAWAY frame on the stream 1 (PROTOCOL_ERROR)"),
        (&[&frame(WINDOW_UPDATE, 0, 0, &[0; 3])], "WINDOW_UPDATE frame of 3 bytes (FRAME_SIZE_ERROR)"),
        (&[&frame(WINDOW_UPDATE, 0, 1, &[0x80, 0, 0, 0])], "grow by nothing (PROTOCOL_ERROR)"),
        (
            &[&frame(WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff])],
            "the most is 2147483647 (FLOW_CONTROL_ERROR)",
        ),
        (&[&frame(WINDOW_UPDATE, 0, 1, &[0x7f, 0xff, 0xff, 0xff])], "(FLOW_CONTROL_ERROR)"),
        (&[&frame(WINDOW_UPDATE, 0, 5, &[0, 0, 0, 1])], "on which nothing was asked"),
        (
            &[&[0, 0x40, 1, 0x99, 0, 0, 0, 0, 0]],
            "a frame of 16385 bytes: the most is 16384 (FRAME_SIZE_ERROR)",
        ),
    ];
    for (stream, finding) in cases {
        let why = Harness::announce().refuse(&stream.concat());
        assert_eq!(why.code, "protocol", "{finding}");
        assert!(why.message.contains(finding), "{} is not {finding}", why.message);
    }
}

#[test]
fn window_overflow_is_an_error() {
    let mut harness = Harness::announce();
    harness.feed(&frame(WINDOW_UPDATE, 0, 1, &[0x7f, 0, 0, 0])).unwrap();
    assert!(harness.refuse(&settings(&[(4, 0x7fff_ffff)])).message.contains("FLOW_CONTROL_ERROR"));
}

#[test]
fn endless_header_block_is_an_error() {
    let mut harness = Harness::announce();
    harness.feed(&frame(HEADERS, 0, 1, OK)).unwrap();
    let flood = (0..5).map(|_| frame(CONTINUATION, 0, 1, &[0; 16_384])).collect::<Vec<_>>().concat();
    let why = harness.refuse(&flood);
    assert_eq!(why.message, "the server sent more than 64 KiB of header fields in one answer");
    let mut harness = Harness::announce();
    harness.feed(&frame(HEADERS, 0, 1, OK)).unwrap();
    harness.refuse(&frame(CONTINUATION, 0, 1, &[]).repeat(10_000));
    let mut harness = Harness::announce();
    let bomb = [&[0x40, 1, b'x', 0x7f, 0xa1, 0x1e][..], &[b'v'; 4000], &[0xbe; 1000]].concat();
    assert!(harness.refuse(&frame(HEADERS, END_HEADERS, 1, &bomb)).message.contains("more than 64 KiB"));
}
