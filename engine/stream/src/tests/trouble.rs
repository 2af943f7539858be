//! Services and files in trouble.

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::service::{Service, echo, lines, number, silent, sink, temporary};
use super::{count, errors, failed, measured, metric, run, specification};

fn message(result: &Value, code: &str) -> String {
    let errors = result["errors"].as_array().unwrap();
    let error = errors.iter().find(|error| error["code"] == code);
    error.unwrap_or_else(|| panic!("no {code} among {errors:?}"))["message"].as_str().unwrap().into()
}

#[test]
fn a_service_that_reads_nothing_fails_the_load_and_does_not_hang_it() {
    for answers in ["none", "count", "each"] {
        let service = Service::start(silent);
        let load = json!({"requests": 1_000_000, "timeout_ns": 300_000_000});
        let stream = json!({"answers": answers, "size": 1000, "send_buffer": 20_000});
        let result = measured(&service, stream, load);
        assert_eq!(result["outcome"], "lost", "{answers}");
        assert!(failed(&result) > 0 && errors(&result)[0].0 == "timeout", "{answers}: {:?}", errors(&result));
        let expected = if answers == "none" { "the service took no data for 0.3 s" } else { "0.3 s" };
        assert!(message(&result, "timeout").ends_with(expected), "{}", message(&result, "timeout"));
    }
}

#[test]
fn a_service_that_closes_in_the_middle_fails_what_it_has_not_answered() {
    let service = Service::start(|stream, _| {
        lines(stream, |index, line, answers| {
            index < 500 && answers.write_all(format!("{}\n", number(line)).as_bytes()).is_ok()
        });
    });
    let stream = json!({"answers": "each", "size": 200});
    let rate = json!([{"from_per_s": 2000, "to_per_s": 2000, "for_ns": 1_000_000_000}]);
    let result = measured(&service, stream, json!({"requests": 5_000, "schedule": {"rate": rate}}));
    assert_eq!(result["outcome"], "lost");
    assert_eq!(count(&result, "succeeded"), 500, "{:?}", errors(&result));
    assert!(errors(&result).iter().all(|(code, _)| *code == "connection"), "{:?}", errors(&result));
    assert!(failed(&result) >= 1);
}

#[test]
fn a_lost_connection_leaves_the_others_working() {
    let service = Service::start(|stream, seen| {
        let first = {
            let mut lines = seen.lines.lock().unwrap();
            lines.push(String::new());
            lines.len() == 1
        };
        if !first {
            sink(stream, seen);
        }
    });
    let result = measured(&service, json!({}), json!({"clients": 2, "duration_ns": 300_000_000}));
    assert_eq!(result["outcome"], "completed");
    assert!(count(&result, "succeeded") > 0 && result["client"]["reconnecting_ns"].as_u64().unwrap() > 0);
}

#[test]
fn the_records_of_a_lost_connection_fail() {
    let rate = json!({"rate": [{"from_per_s": 5000, "to_per_s": 5000, "for_ns": 20_000_000_000u64}]});
    for load in [
        json!({"requests": 5_001}),
        json!({"requests": 5_001, "schedule": rate}),
        json!({"requests_per_client": 2_500}),
        json!({"requests": 5_001, "schedule": rate, "warmup_ns": 50_000_000}),
        json!({"requests": 5_001, "warmup_ns": 50_000_000}),
    ] {
        let service = first_closes_after(20);
        let mut load = load;
        load["clients"] = 2.into();
        let began = Instant::now();
        let result = measured(&service, json!({"answers": "each", "size": 200}), load.clone());
        assert!(began.elapsed() < Duration::from_secs(10), "{load}: it waits for the end of its duration");
        assert_eq!(result["outcome"], "completed", "{load}: {}", result["reason_args"]);
        let (attempted, succeeded) = (count(&result, "attempted"), count(&result, "succeeded"));
        assert_eq!(attempted, succeeded + count(&result, "failed"), "{load}");
        assert_eq!(attempted, load["requests"].as_u64().unwrap_or(5_000), "{load}");
        assert!((2_500..=2_521).contains(&succeeded), "{load}: {succeeded}");
        assert!(errors(&result).iter().all(|(code, _)| *code == "connection"), "{:?}", errors(&result));
    }
}

#[test]
fn connections_send_the_first_records_whatever_their_speed() {
    let path = temporary("numbered");
    fs::write(&path, (0..1_000).map(|number| format!("{number},x\n")).collect::<String>()).unwrap();
    for (requests, sent) in [(1_000, 1_000), (995, 995), (2_000, 1_000), (3, 3)] {
        let service = Service::start(sink);
        let stream = json!({"answers": "none", "source": {"file": path, "repeat": false}});
        let result = measured(&service, stream, json!({"clients": 10, "requests": requests}));
        assert_eq!(result["outcome"], "completed");
        assert_eq!((count(&result, "attempted"), count(&result, "succeeded")), (requests, sent));
        let missing = if sent < requests { vec![("stream.file", requests - sent)] } else { vec![] };
        assert_eq!(errors(&result), missing);
    }
    fs::remove_file(&path).unwrap();
}

#[test]
fn a_lost_connection_does_not_slow_an_open_loop() {
    let rate = json!({"rate": [{"from_per_s": 4000, "to_per_s": 4000, "for_ns": 1_000_000_000}]});
    for more in [json!({}), json!({"requests": 3_000})] {
        let service = first_closes_after(20);
        let mut load = json!({"clients": 2, "schedule": rate, "duration_ns": 1_000_000_000});
        load.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let result = measured(&service, json!({"answers": "each", "size": 200}), load);
        assert_eq!(result["outcome"], "completed");
        let (attempted, failed) = (count(&result, "attempted"), failed(&result));
        let expected = more["requests"].as_u64().unwrap_or(4_000);
        assert!(attempted.abs_diff(expected) <= 4, "{attempted} records were due, not {expected}");
        assert!(failed.abs_diff(expected / 2) < expected / 20, "{failed} of {attempted} failed");
        assert!(errors(&result).iter().all(|(code, _)| *code == "connection"), "{:?}", errors(&result));
        let seconds = result["window"]["duration_ns"].as_f64().unwrap() / 1e9;
        assert!((seconds - expected as f64 / 4_000.0).abs() < 0.3, "{seconds} s");
    }
}

#[test]
fn the_last_records_of_a_stream_are_lost_while_the_service_stays_open() {
    for lost in [vec![999], vec![10, 998, 999]] {
        let missing = lost.clone();
        let service = Service::start(move |stream, _| {
            let missing = missing.clone();
            let open = stream.duplicate();
            lines(stream, move |_, line, answers| {
                missing.contains(&number(line))
                    || answers.write_all(format!("{}\n", number(line)).as_bytes()).is_ok()
            });
            std::thread::sleep(Duration::from_secs(3));
            drop(open);
        });
        let load = json!({"requests": 1_000, "timeout_ns": 300_000_000});
        let result = measured(&service, json!({"answers": "each"}), load);
        assert_eq!(result["outcome"], "completed");
        assert_eq!(metric(&result, "stream.lost"), lost.len() as f64);
        assert_eq!(
            (count(&result, "succeeded"), failed(&result)),
            (1_000 - lost.len() as u64, lost.len() as u64)
        );
        assert!(errors(&result).iter().all(|(code, _)| *code == "stream.lost"), "{:?}", errors(&result));
    }
}

#[test]
fn a_late_answer_is_not_a_repeated_one() {
    let service = Service::start(|stream, _| {
        lines(stream, |_, line, answers| match number(line) {
            10 => true,
            500 => {
                std::thread::sleep(Duration::from_millis(600));
                answers.write_all(b"10\n500\n").is_ok()
            }
            number => answers.write_all(format!("{number}\n").as_bytes()).is_ok(),
        });
    });
    let rate = json!({"rate": [{"from_per_s": 1000, "to_per_s": 1000, "for_ns": 1_500_000_000}]});
    let load = json!({"schedule": rate, "duration_ns": 1_500_000_000, "timeout_ns": 1_000_000_000});
    let result = measured(&service, json!({"answers": "each"}), load);
    assert_eq!((metric(&result, "stream.lost"), metric(&result, "stream.late")), (1.0, 1.0));
    assert_eq!((metric(&result, "stream.duplicated"), metric(&result, "stream.unknown")), (0.0, 0.0));
}

/// A service that answers each record, and closes the first connection after some records.
fn first_closes_after(records: u64) -> Service {
    Service::start(move |stream, seen| {
        let is_first = {
            let mut lines = seen.lines.lock().unwrap();
            lines.push(String::new());
            lines.len() == 1
        };
        lines(stream, move |index, line, answers| {
            (index < records || !is_first)
                && answers.write_all(format!("{}\n", number(line)).as_bytes()).is_ok()
        });
    })
}

#[test]
fn the_loss_of_all_connections_is_no_completed_load() {
    let rate = json!({"rate": [{"from_per_s": 5000, "to_per_s": 5000, "for_ns": 20_000_000_000u64}]});
    for load in [
        json!({"clients": 2, "requests": 1_000_000}),
        json!({"clients": 2, "requests_per_client": 500_000}),
        json!({"clients": 2, "requests": 1_000_000, "schedule": rate}),
        json!({"clients": 2}),
    ] {
        let service = Service::start(|stream, _| lines(stream, |index, _, _| index < 100));
        let result = measured(&service, json!({"answers": "each"}), load.clone());
        assert_eq!(result["outcome"], "lost", "{load}");
    }
}

#[test]
fn what_is_unanswered_at_the_end_fails_after_the_drain() {
    let stopper = |index: u64, number| if index < 100 { vec![number] } else { vec![] };
    let service = Service::start(move |mut stream, seen| {
        let duplicate = stream.duplicate();
        echo(stopper)(duplicate, seen);
        let _ = stream.read(&mut [0]); // The end of the stream.
        silent(stream, seen);
    });
    let rate = json!([{"from_per_s": 1000, "to_per_s": 1000, "for_ns": 1_000_000_000}]);
    let load = json!({"duration_ns": 400_000_000, "drain_ns": 200_000_000, "schedule": {"rate": rate}});
    let result = measured(&service, json!({"answers": "each"}), load);
    assert_eq!((result["outcome"].as_str(), count(&result, "succeeded")), (Some("completed"), 100));
    assert_eq!((failed(&result), metric(&result, "stream.lost")), (300, 0.0));
}

#[test]
fn a_lost_record_expires_and_the_load_ends_although_the_service_stays() {
    let service = Service::start(|stream, seen| {
        let duplicate = stream.duplicate();
        echo(|index, number| if index == 7 { vec![] } else { vec![number] })(duplicate, seen);
        silent(stream, seen);
    });
    let load = json!({"requests": 1_000, "timeout_ns": 300_000_000});
    let result = measured(&service, json!({"answers": "each"}), load);
    assert_eq!(result["outcome"], "completed", "{}", result["reason_args"]);
    assert_eq!((errors(&result), count(&result, "succeeded")), (vec![("stream.lost", 1)], 999));
    assert_eq!(message(&result, "stream.lost"), "there was no answer, although later records were answered");
    let (run_ms, window_ns) = (metric(&result, "stream.run_time"), &result["window"]["duration_ns"]);
    assert!(window_ns.as_f64().unwrap() >= 300e6);
    assert!(run_ms < 200.0, "{run_ms} ms: the run lasts until the last success, not until the timeout");
}

/// A bounded load with a warm-up. Returns records that succeeded and failed in the measurement, and failures
/// of the warm-up.
fn after_warmup(service: &Service, stream: Value, drain_ns: u64, timeout_ns: u64) -> (u64, u64, u64) {
    let load =
        json!({"requests": 1_000, "warmup_ns": 50_000_000, "drain_ns": drain_ns, "timeout_ns": timeout_ns});
    let result = measured(service, stream, load);
    assert_eq!(result["outcome"], "completed", "{}", result["reason_args"]);
    let (succeeded, failures) = (count(&result, "succeeded"), count(&result, "failed"));
    if metric(&result, "stream.sent") > 1_000.0 && failed(&result) > 0 {
        assert_eq!(metric(&result, "stream.lost") as u64, failed(&result), "{:?}", errors(&result));
    }
    (succeeded, failures, failed(&result) - failures)
}

#[test]
fn a_record_lost_in_the_warm_up_does_not_end_the_load() {
    let service = Service::start(echo(|index, number| if index == 7 { vec![] } else { vec![number] }));
    let began = Instant::now();
    let stream = json!({"answers": "each", "size": 200});
    assert_eq!(after_warmup(&service, stream, 200_000_000, 10_000_000_000), (1_000, 0, 1));
    assert!(began.elapsed() < Duration::from_secs(5), "a quiet service is not awaited for the timeout");
}

#[test]
fn the_last_records_of_the_warm_up_are_lost_after_the_timeout() {
    // It answers nothing from record 100 on, until there is a pause.
    let service = Service::start(|stream, _| {
        let (mut last, mut paused) = (Instant::now(), false);
        lines(stream, move |index, line, answers| {
            paused |= last.elapsed() > Duration::from_millis(150);
            last = Instant::now();
            (100..).contains(&index) && !paused
                || answers.write_all(format!("{}\n", number(line)).as_bytes()).is_ok()
        });
    });
    let stream = json!({"answers": "each", "size": 200});
    let (succeeded, failures, of_warmup) = after_warmup(&service, stream, 200_000_000, 400_000_000);
    assert_eq!((succeeded, failures), (1_000, 0));
    assert!(of_warmup > 0);
}

#[test]
fn a_slow_service_ends_the_warm_up_within_the_timeout() {
    for answers in ["count", "each"] {
        let service = Service::start(move |stream, _| {
            let mut answering = false;
            lines(stream, move |index, line, stream| {
                if !std::mem::replace(&mut answering, true) {
                    std::thread::sleep(Duration::from_millis(1_500));
                }
                let answer = if answers == "count" { index + 1 } else { number(line) };
                stream.write_all(format!("{answer}\n").as_bytes()).is_ok()
            });
        });
        let stream = json!({"answers": answers, "size": 200, "send_buffer": 20_000});
        assert_eq!(after_warmup(&service, stream, 100_000_000, 10_000_000_000), (1_000, 0, 0), "{answers}");
    }
}

#[test]
fn garbage_ends_the_connection() {
    for (text, finding) in [
        ("HTTP/1.1 400 Bad Request\n", "\"HTTP/1.1 400 Bad Request\""),
        ("\n", "\"\""),
        ("x", "an answer is longer than 65536 bytes"),
    ] {
        let service = Service::start(move |stream, seen| {
            let (mut input, mut answers) = (stream.duplicate(), stream.duplicate());
            let _ = input.read(&mut [0]);
            let text = if text.len() == 1 && text != "\n" { text.repeat(100_000) } else { text.into() };
            let _ = answers.write_all(text.as_bytes());
            sink(stream, seen);
        });
        let result = measured(&service, json!({"answers": "each"}), json!({"requests": 10_000_000}));
        assert_eq!(result["outcome"], "lost");
        assert_eq!(message(&result, "stream.garbage"), finding);
    }
}

#[test]
fn input_that_no_answers_are_expected_in_is_discarded() {
    // 4 MiB without a newline, in which an answer would be garbage.
    let service = Service::start(|stream, seen| {
        let mut answers = stream.duplicate();
        std::thread::spawn(move || (0..64).all(|_| answers.write_all(&[b'x'; 64 << 10]).is_ok()));
        sink(stream, seen);
    });
    let load = json!({"duration_ns": 1_000_000_000});
    let result = measured(&service, json!({"size": 200}), load);
    assert_eq!(
        (result["outcome"].as_str(), failed(&result)),
        (Some("completed"), 0),
        "{:?}",
        errors(&result)
    );
    assert!(result["received"]["bytes"].as_u64().unwrap() > 128 << 10, "{}", result["received"]);
}

#[test]
fn the_reason_that_a_service_gives_is_reported() {
    for answers in ["count", "each"] {
        let service = Service::start(|mut stream, _| {
            let _ = stream.read(&mut [0]);
            let _ =
                stream.write_all(b"! a record of more than 100 bytes (limit), record 2 of the connection\n");
        });
        let result = measured(&service, json!({"answers": answers}), json!({"requests": 10_000_000}));
        assert_eq!(result["outcome"], "lost");
        let reason = "a record of more than 100 bytes (limit), record 2 of the connection";
        assert_eq!(message(&result, "stream.service"), reason);
        assert_eq!(result["reason_args"]["said"], reason);
    }
}

#[test]
fn broken_lines_fail_and_the_others_are_sent() {
    let path = temporary("broken");
    let mut content = String::from("0,a\n\n2,b,c\n");
    content.push_str(&format!("3,{}\n4,d", "x".repeat(100)));
    fs::write(&path, content).unwrap();
    let service = Service::start(echo(|_, number| vec![number]));
    let stream = json!({"source": {"file": path, "repeat": false}, "answers": "each", "frame_limit": 50});
    let result = measured(&service, stream, json!({}));
    assert_eq!((result["outcome"].as_str(), count(&result, "succeeded")), (Some("completed"), 2));
    assert_eq!(errors(&result), [("stream.line", 2), ("stream.frame", 1)]);
    assert!(
        message(&result, "stream.frame").ends_with("line 4: the record has 102 bytes, frame_limit is 50")
    );
    assert_eq!((metric(&result, "stream.lost"), metric(&result, "stream.unknown")), (0.0, 0.0));
    fs::remove_file(&path).unwrap();
}

/// A file of 5,000 records, and then a hole of this size: it takes no room on the disk, and is one line
/// without an end.
fn with_hole(bytes: u64) -> PathBuf {
    let path = temporary("large");
    let lines: String = (0..5_000).map(|number| format!("{number},a\n")).collect();
    fs::write(&path, &lines).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_len(lines.len() as u64 + bytes).unwrap();
    path
}

#[test]
fn a_file_of_ten_gigabytes_is_read_in_parts() {
    let path = with_hole(10 << 30);
    let service = Service::start(sink);
    let before = loadcell_core::os::max_rss_bytes();
    let load = json!({"duration_ns": 120_000_000_000u64});
    let result = measured(&service, json!({"source": {"file": path, "repeat": false}}), load);
    assert_eq!((result["outcome"].as_str(), count(&result, "succeeded")), (Some("completed"), 5_000));
    let finding = format!("line 5001: the record has {} bytes, frame_limit is 1048576", 10u64 << 30);
    assert!(message(&result, "stream.frame").ends_with(&finding), "{}", message(&result, "stream.frame"));
    // Other tests run in this process, too.
    let more = loadcell_core::os::max_rss_bytes() - before;
    assert!(more < 200 << 20, "{more} bytes");
    fs::remove_file(&path).unwrap();
}

#[test]
fn a_load_ends_within_an_endless_line() {
    let path = with_hole(1 << 40);
    let rate = json!({"rate": [{"from_per_s": 100_000, "to_per_s": 100_000, "for_ns": 1_000_000_000}]});
    for (repeat, schedule) in [(false, Value::Null), (true, Value::Null), (false, rate.clone()), (true, rate)]
    {
        let service = Service::start(sink);
        let began = Instant::now();
        let load = json!({"clients": 2, "duration_ns": 500_000_000, "drain_ns": 200_000_000,
            "schedule": schedule});
        let result = measured(&service, json!({"source": {"file": path, "repeat": repeat}}), load);
        assert_eq!((result["outcome"].as_str(), count(&result, "succeeded")), (Some("completed"), 5_000));
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }
    fs::remove_file(&path).unwrap();
}

#[test]
fn addresses_that_cannot_be_used_are_named() {
    let message_of = |target: Value| {
        let (result, _) = run(&specification(&target, json!({}), json!({})));
        format!("{} {}", result["outcome"].as_str().unwrap(), result["reason_args"])
    };
    let socket = |path: &str| json!({"protocol": "stream", "socket": path, "sslmode": "disable"});
    let long = message_of(socket(&format!("/tmp/{}", "x".repeat(200))));
    assert!(long.contains("File name too long"), "{long}");
    let path = temporary("file");
    fs::write(&path, "no socket").unwrap();
    let file = message_of(socket(path.to_str().unwrap()));
    assert!(file.contains("Connection refused"), "{file}");
    fs::remove_file(&path).unwrap();
    let missing = message_of(socket(path.to_str().unwrap()));
    assert!(missing.contains("No such file"), "{missing}");
}

#[test]
fn a_load_that_cannot_be_made_is_refused_before_it_connects() {
    let target = json!({"protocol": "stream", "host": "127.0.0.1", "port": 1, "sslmode": "disable"});
    let refusal = |target: &Value, stream: Value| {
        crate::sessions(&specification(target, stream, json!({}))).err().expect("it is refused").to_string()
    };
    let missing = json!({"source": {"file": "/nonexistent/records"}});
    let refused = refusal(&target, missing);
    assert!(refused.contains("engine.stream-file") && refused.contains("No such file"), "{refused}");
    let mut secured = target.clone();
    secured["sslmode"] = "require".into();
    assert!(refusal(&secured, json!({})).contains("engine.spec.stream-tls"));
    assert!(refusal(&target, json!({"size": 3})).contains("engine.spec.stream-size"));
}
