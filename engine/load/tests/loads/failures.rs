//! Servers that refuse, fall silent or die, and loads that end early.

use super::*;

#[test]
fn a_server_that_never_answers_neither_stops_the_clock_nor_the_end() {
    let server = Server::start(Manner { deaf: true, ..Manner::default() });
    let mut watch = Watch::new(|_| Directive::Continue);
    let from = now();
    let load = Load { drain_ns: 200 * MILLISECOND, ..load(4, 2, 100, 300) };
    let result = measure(&server, &load, &mut watch);
    let took = now() - from;
    check_identities(&result, &watch);
    assert!((600 * MILLISECOND..900 * MILLISECOND).contains(&took), "it took {took} ns");
    assert_eq!(watch.of("interval").len(), 4);
    let transaction = &result["operations"][0];
    assert_eq!((number(&transaction["carried_in"]), number(&transaction["in_flight"])), (4, 4));
    assert_eq!(transaction["response"], Value::Null);
    assert_eq!(number(&result["lifetime"]["failed"]), 4);
}

#[test]
fn clients_that_are_refused_are_counted_with_the_servers_own_words() {
    let server = Server::start(Manner { most: 3, ..Manner::default() });
    let mut watch = Watch::new(|_| Directive::Continue);
    let result = measure(&server, &load(5, 2, 0, 300), &mut watch);
    assert_eq!(result["outcome"], "connect-failed");
    let args = &result["reason_args"];
    assert_eq!((number(&args["refused"]), number(&args["clients"])), (2, 5));
    assert!(args["where"].as_str().unwrap().starts_with("127.0.0.1:"), "{args}");
    assert_eq!((&args["said"], &args["code"]), (&"too many already [53300]".into(), &"53300".into()));
    assert_eq!(result["window"], Value::Null);
    assert!(watch.of("interval").is_empty() && watch.of("connected").is_empty());
}

#[test]
fn no_server_and_a_silent_one_have_different_outcomes() {
    let server = Server::start(Manner::default());
    server.die();
    std::thread::sleep(Duration::from_millis(50));
    let mut watch = Watch::new(|_| Directive::Continue);
    let result = measure(&server, &load(3, 1, 0, 300), &mut watch);
    assert_eq!(result["outcome"], "connect-failed");
    let args = &result["reason_args"];
    assert_eq!((number(&args["refused"]), &args["said"]), (3, &"Connection refused".into()));

    let mute = Server::start(Manner { mute: true, ..Manner::default() });
    let short = TargetContext { connect_timeout_ns: 200 * MILLISECOND, ..context(&mute) };
    let result = run(&echoes(8), &short, &load(3, 1, 0, 300), &mut watch).unwrap();
    assert_eq!(result["reason_args"]["said"], "the connection was not ready after 0.2 s");
}

#[test]
fn a_load_whose_server_dies_keeps_what_was_recorded() {
    let server = Server::start(Manner { service: Duration::from_millis(1), ..Manner::default() });
    let mut watch = Watch::new(|event: &Value| {
        if event["type"] == "interval" && event["index"] == 1 {
            server.die();
        }
        Directive::Continue
    });
    let load = Load { lost_ns: 300 * MILLISECOND, ..load(4, 2, 0, 60_000) };
    let result = measure(&server, &load, &mut watch);
    check_identities(&result, &watch);
    assert_eq!(result["outcome"], "lost");
    let args = &result["reason_args"];
    assert_eq!((&args["limit_s"], &args["said"]), (&0.3.into(), &"Connection refused".into()));
    let transaction = &result["operations"][0];
    assert!(number(&transaction["succeeded"]) > 100);
    assert_eq!((number(&transaction["failed"]), number(&transaction["in_flight"])), (4, 0));
    assert!(number(&result["window"]["duration_ns"]) < 3 * SECOND);
    let last = watch.of("interval").pop().unwrap()["connected"].clone();
    assert_eq!(number(&last), 0);
}

#[test]
fn a_stopped_load_ends_soon_and_has_a_result() {
    let server = Server::start(Manner { service: Duration::from_millis(1), ..Manner::default() });
    for phase in ["warmup", "measure"] {
        let mut watch =
            Watch::new(
                |event: &Value| if event["phase"] == phase { Directive::Finish } else { Directive::Continue },
            );
        let from = now();
        let result = measure(&server, &load(4, 2, 250, 60_000), &mut watch);
        check_identities(&result, &watch);
        assert_eq!(result["outcome"], "stopped");
        assert!(now() - from < SECOND);
        let measured = number(&result["operations"][0]["succeeded"]);
        assert_eq!(measured > 0, phase == "measure");
    }
}

#[test]
fn a_load_is_aborted_on_request() {
    let server = Server::start(Manner { deaf: true, ..Manner::default() });
    let mut watch =
        Watch::new(
            |event: &Value| if event["type"] == "interval" { Directive::Abort } else { Directive::Continue },
        );
    let from = now();
    let result = run(&echoes(8), &context(&server), &load(4, 2, 0, 60_000), &mut watch);
    assert_eq!(result, Err(LoadError::aborted()));
    assert!(now() - from < SECOND);
}
