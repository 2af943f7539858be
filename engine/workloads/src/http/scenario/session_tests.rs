//! Scenarios with byte strings as responses.

use serde_json::{Value, json};

use super::*;
use loadcell_core::error::Failure;
use loadcell_core::record::{Recorder, TRANSACTION};
use loadcell_core::session::{Context, NextAction, Reconnect, Session};
use loadcell_protocols::http1::Http1;

fn section(scenario: &Value, more: &Value) -> Value {
    let mut section = json!({"requests": [], "scenario": scenario});
    section.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    loadcell_testing::section("http", &section)
}

fn target() -> Target {
    let text = r#"{"protocol":"http","host":"h","port":80,"sslmode":"disable"}"#;
    loadcell_testing::read("target", text).unwrap()
}

fn wrong(steps: &Value, more: &Value) -> String {
    let mut scenario = json!({"steps": steps});
    scenario.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Script::read(&section(&scenario, &json!({})), &target()).unwrap_err().to_string()
}

struct Harness {
    session: HttpSession<Http1, ScenarioRun>,
    recorder: Recorder,
    operations: Vec<Operation>,
    out: Vec<u8>,
    at: u64,
}

impl Harness {
    fn of(steps: &Value) -> Self {
        Self::with(&json!({"steps": steps}), &json!({}))
    }

    fn with(scenario: &Value, more: &Value) -> Self {
        let mut script = Script::read(&section(scenario, more), &target()).unwrap();
        script.write_fixed::<Http1>();
        let (operations, numbers) = counted(&script);
        let recorder = Recorder::new(&operations);
        let (script, version) = (Arc::new(script), PhantomData);
        let sessions = ScenarioSessions::<Http1> {
            script,
            operations: operations.clone(),
            numbers,
            seed: 1,
            clients: 1,
            version,
        };
        let mut session = sessions.session(0);
        session.opened(&mut Vec::new());
        Self { session, recorder, operations, out: Vec::new(), at: 100 }
    }

    fn begin(&mut self) -> NextAction {
        self.at += 10;
        let cx = &mut Context { recorder: &mut self.recorder };
        self.session.begin(cx, self.at - 5, self.at, &mut self.out)
    }

    /// Output since the last call.
    fn sent(&mut self) -> String {
        String::from_utf8(std::mem::take(&mut self.out)).unwrap()
    }

    /// Begin a scenario; its first request.
    fn first(&mut self) -> String {
        assert_eq!(self.begin(), NextAction::Reply);
        self.sent()
    }

    fn answer(&mut self, fields: &str, body: &str) -> NextAction {
        self.at += 3;
        let response = format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: {}\r\n\r\n{body}", body.len());
        let cx = &mut Context { recorder: &mut self.recorder };
        self.session.received(cx, self.at, response.as_bytes(), &mut self.out).unwrap().action
    }

    fn resume(&mut self) -> NextAction {
        self.at += 7;
        self.session.resume(&mut Context { recorder: &mut self.recorder }, self.at, &mut self.out)
    }

    /// Successes and failures of each operation.
    fn counts(&self) -> Vec<(&'static str, u64, u64)> {
        let operations = self.operations.iter().zip(&self.recorder.stats().operations);
        operations.map(|(op, stats)| (op.name, stats.counts.succeeded, stats.counts.failed)).collect()
    }

    fn error(&self) -> (String, String) {
        let [error] = &self.recorder.stats().errors[..] else { panic!("{:?}", self.recorder.stats().errors) };
        (error.code.clone(), error.message.clone())
    }
}

#[test]
fn values_pass_from_responses_to_later_requests() {
    let mut shop = Harness::with(
        &json!({
            "steps": [
                {"name": "login", "method": "POST", "path": "/login",
                 "body": {"form": [["user", "${users.name}"]]},
                 "extract": [{"variable": "token", "json": "$.token"}]},
                {"name": "order", "method": "POST", "path": "/order/${users.name}?n=${n}",
                 "headers": {"X-Token": "${token}"}, "body": {"json": r#"{"t":"${token}"}"#}},
            ],
            "data": [{"name": "users", "columns": ["id", "name"], "rows": [["1", "a b"], ["2", "c"]]}],
        }),
        &json!({"parameters": {"n": {"from": 7, "to": 7}}}),
    );
    let login = shop.first();
    assert!(login.starts_with("POST /login HTTP/1.1\r\n") && login.ends_with("\r\n\r\nuser=a+b"), "{login}");
    assert!(login.contains("content-type: application/x-www-form-urlencoded\r\n"), "{login}");
    assert_eq!(shop.answer("", r#"{"token": "t\"1"}"#), NextAction::Reply);
    let order = shop.sent();
    assert!(order.starts_with("POST /order/a%20b?n=7 HTTP/1.1\r\n"), "{order}");
    assert!(order.contains("\r\nx-token: t\"1\r\n") && order.ends_with(r#"{"t":"t\"1"}"#), "{order}");
    assert_eq!(shop.answer("", ""), NextAction::Idle);
    assert!(shop.first().ends_with("user=c"), "the next row");
    let counts = shop.counts();
    assert_eq!(counts[..3], [("transaction", 1, 0), ("login", 1, 0), ("order", 1, 0)]);
    assert_eq!(counts[4], ("first_byte", 2, 0));
    let times = shop.recorder.resolved_stats();
    let response = |op: usize| times.operations[op].response.max();
    assert_eq!((response(0), response(1), response(2)), (11, 8, 3));
    assert_eq!(shop.recorder.stats().queries.total(), 2);
}

#[test]
fn cookies_are_returned() {
    let steps = json!([{"name": "a", "path": "/a"}, {"name": "b", "path": "/b"}]);
    let mut shop = Harness::of(&steps);
    assert!(!shop.first().contains("cookie"));
    shop.answer("Set-Cookie: s=1; Path=/\r\nset-cookie: t=2; Path=/b\r\n", "");
    assert!(shop.sent().contains("\r\ncookie: s=1; t=2\r\n"));
    shop.answer("", "");
    assert!(shop.first().contains("\r\ncookie: s=1\r\n"));
    for (scope, expected) in [("scenario", false), ("none", false), ("client", true)] {
        let mut shop = Harness::with(&json!({"steps": steps, "cookies": scope}), &json!({}));
        shop.first();
        shop.answer("Set-Cookie: s=1; Path=/\r\n", "");
        assert_eq!(shop.sent().contains("cookie: s=1"), scope != "none");
        shop.answer("", "");
        assert_eq!(shop.first().contains("cookie: s=1"), expected, "{scope}");
    }
    let with_cookies =
        json!([{"name": "a", "path": "/", "headers": {"Cookie": "mine=1"}}, {"name": "b", "path": "/"}]);
    let mut shop = Harness::of(&with_cookies);
    shop.first();
    shop.answer("Set-Cookie: s=1\r\n", "");
    shop.answer("", "");
    assert!(shop.first().contains("\r\ncookie: mine=1\r\n"));
}

#[test]
fn failed_step_ends_the_scenario_or_only_fails_it() {
    let steps = json!([
        {"name": "a", "path": "/", "extract": [{"variable": "x", "json": "$.x"}]},
        {"name": "b", "path": "/${x}"},
        {"name": "c", "path": "/"},
    ]);
    let mut stopping = Harness::of(&steps);
    stopping.first();
    assert_eq!(stopping.answer("", "{}"), NextAction::Idle);
    assert_eq!(stopping.counts()[..3], [("transaction", 0, 1), ("a", 0, 1), ("b", 0, 0)]);
    let message = "step a: $.x; body of 2 bytes: '{}'".to_string();
    assert_eq!(stopping.error(), ("extract-json".into(), message));
    let mut going_on = Harness::with(&json!({"steps": steps, "after_failure": "continue"}), &json!({}));
    going_on.first();
    assert_eq!(going_on.answer("", "no"), NextAction::Reply, "b cannot be made, so c is");
    assert_eq!(going_on.answer("", ""), NextAction::Idle);
    assert_eq!(going_on.counts()[..4], [("transaction", 0, 1), ("a", 0, 1), ("b", 0, 1), ("c", 1, 0)]);
    assert_eq!(going_on.error().0, "extract-json", "the first failure counts");
}

#[test]
fn responses_are_checked() {
    let judged = |check: Value, fields: &str, body: &str| {
        let mut shop = Harness::of(&json!([{"name": "a", "path": "/", "check": check}]));
        shop.first();
        shop.answer(fields, body);
        if shop.counts()[0].1 == 1 { String::new() } else { shop.error().0 }
    };
    assert_eq!(judged(json!({"status": ["200"]}), "", ""), "");
    assert_eq!(judged(json!({"status": ["3xx"]}), "", ""), "http-200");
    let typed = json!({"headers": {"Content-Type": {"contains": "json"}}});
    assert_eq!(judged(typed.clone(), "content-type: application/json\r\n", ""), "");
    assert_eq!(judged(typed.clone(), "Content-Type: text/html\r\n", ""), "check-header");
    assert_eq!(judged(typed, "", ""), "check-header");
    assert_eq!(judged(json!({"body": {"contains": "x"}}), "", "y"), "body");
    assert_eq!(judged(json!({"json": {"$.a": {"equals": "1"}}}), "", r#"{"a": 1}"#), "");
    assert_eq!(judged(json!({"json": {"$.a": {"equals": "1"}}}), "", r#"{"a": 2}"#), "check-json");
    assert_eq!(judged(json!({"json": {"$.a": {}}}), "", "<html>"), "check-json");
    assert_eq!(judged(json!({"json": {"$.a": {}}}), "", "{"), "not-json");
}

#[test]
fn single_step_is_the_scenario() {
    let mut shop = Harness::of(&json!([{"name": "a", "path": "/"}]));
    for _ in 0..2 {
        assert!(shop.first().starts_with("GET / HTTP/1.1\r\nHost: h\r\n"));
        assert_eq!(shop.answer("", "ok"), NextAction::Idle);
    }
    assert_eq!(shop.counts()[..2], [("transaction", 2, 0), ("a", 2, 0)]);
    let times = shop.recorder.resolved_stats();
    assert_eq!(times.operations[0].response.max(), times.operations[1].response.max());
    shop.first();
    shop.session.lost(
        &mut Context { recorder: &mut shop.recorder },
        shop.at,
        &Failure { code: "reset".into(), message: "x".into() },
    );
    assert_eq!((shop.error(), shop.counts()[1]), (("reset".into(), "x".into()), ("a", 2, 1)));
}

#[test]
fn think_times_are_pauses_between_steps_and_rest_after_the_last() {
    let steps = json!([
        {"name": "a", "path": "/", "think_ns": [40, 40]}, {"name": "b", "path": "/", "think_ns": [70, 70]},
    ]);
    let mut shop = Harness::of(&steps);
    assert_eq!((shop.first().is_empty(), shop.session.timed_since()), (false, Some(110)));
    assert_eq!(shop.answer("", ""), NextAction::Pause(153));
    assert_eq!((shop.sent().as_str(), shop.session.timed_since()), ("", Some(u64::MAX)));
    shop.at = 150;
    assert_eq!(shop.resume(), NextAction::Reply);
    assert_eq!(shop.answer("", ""), NextAction::Idle);
    assert_eq!((shop.session.think_time(0), shop.session.think_time(0)), (70, 0));
    let times = shop.recorder.resolved_stats();
    assert_eq!(
        (times.operations[2].response.max(), times.operations[2].service.max()),
        (7, 3),
        "it was late"
    );
}

#[test]
fn connection_that_ends_in_a_pause_is_replaced() {
    let mut shop =
        Harness::of(&json!([{"name": "a", "path": "/", "think_ns": [40, 40]}, {"name": "b", "path": "/"}]));
    shop.first();
    assert_eq!(shop.answer("", ""), NextAction::Pause(153));
    let cx = &mut Context { recorder: &mut shop.recorder };
    assert_eq!(shop.session.closed(cx, 120, &mut shop.out), Some(NextAction::Pause(153)));
    assert_eq!(shop.resume(), NextAction::Connect);
    shop.session.opened(&mut shop.out);
    assert_eq!(shop.resume(), NextAction::Reply);
    assert_eq!(shop.answer("", ""), NextAction::Idle);
    assert_eq!(shop.counts()[..4], [("transaction", 1, 0), ("a", 1, 0), ("b", 1, 0), ("connect", 1, 0)]);
}

#[test]
fn lost_connection_fails_step_and_scenario() {
    let why = Failure { code: "timeout".into(), message: "no answer".into() };
    let steps = json!([{"name": "a", "path": "/", "think_ns": [40, 40]}, {"name": "b", "path": "/"}]);
    let mut shop = Harness::of(&steps);
    shop.first();
    let cx = &mut Context { recorder: &mut shop.recorder };
    assert_eq!(shop.session.lost(cx, 120, &why), Reconnect::OnDemand);
    assert_eq!(shop.counts()[..3], [("transaction", 0, 1), ("a", 0, 1), ("b", 0, 0)]);
    assert_eq!(shop.error(), ("timeout".into(), "step a: no answer".into()));
    let mut pausing = Harness::of(&steps);
    pausing.first();
    pausing.answer("", "");
    let cx = &mut Context { recorder: &mut pausing.recorder };
    pausing.session.lost(cx, 130, &why);
    assert_eq!(pausing.counts()[..3], [("transaction", 0, 1), ("a", 1, 0), ("b", 0, 0)]);
    assert_eq!(pausing.begin(), NextAction::Connect, "the next scenario begins as usual");
}

#[test]
fn steps_that_are_made_once_keep_their_values() {
    let mut shop = Harness::of(&json!([
        {"name": "login", "path": "/login", "once": true, "extract": [{"variable": "t", "header": "X-T"}]},
        {"name": "use", "path": "/use?t=${t}", "extract": [{"variable": "u", "pattern": "u=(.)"}]},
    ]));
    assert!(shop.first().starts_with("GET /login "));
    shop.answer("X-T: 1\r\n", "");
    assert!(shop.sent().starts_with("GET /use?t=1 "));
    shop.answer("", "u=7");
    assert!(shop.first().starts_with("GET /use?t=1 "));
    shop.answer("", "none");
    assert_eq!(shop.error().0, "extract-pattern");
    assert!(shop.first().starts_with("GET /use?t=1 "));
}

#[test]
fn urls_of_responses_are_followed_and_unsafe_values_are_not_sent() {
    let steps = |path: &str| {
        json!([{"name": "a", "path": "/", "extract": [{"variable": "next", "header": "Location"}]},
               {"name": "b", "path": path}])
    };
    let second = |path: &str, location: &str| {
        let mut shop = Harness::of(&steps(path));
        shop.first();
        shop.answer(&format!("Location: {location}\r\n"), "");
        shop.sent().split(' ').nth(1).map(str::to_string).ok_or_else(|| shop.error().0)
    };
    assert_eq!(second("${next}", "https://shop:8/orders/5?x=1#y").unwrap(), "/orders/5?x=1");
    assert_eq!(second("${next}&z=2", "/orders?x=1").unwrap(), "/orders?x=1&z=2");
    assert_eq!(second("${next}", "http://shop").unwrap(), "/");
    assert_eq!(second("${next}", "/a b").unwrap_err(), "unsafe-value");
    assert_eq!(second("${next}", "orders").unwrap_err(), "unsafe-value");
    assert_eq!(second("/x?${next}", "/a b").unwrap(), "/x?%2Fa%20b");
    let mut shop = Harness::of(&json!([
        {"name": "a", "path": "/", "extract": [{"variable": "v", "json": "$"}]},
        {"name": "b", "path": "/", "headers": {"X": "${v}"}},
    ]));
    shop.first();
    assert_eq!(shop.answer("", r#""a\r\nHost: evil""#), NextAction::Idle);
    assert_eq!(shop.error().0, "unsafe-value");
}

#[test]
fn load_ends_with_its_data() {
    let scenario = json!({
        "steps": [{"name": "a", "path": "/${d.x}"}],
        "data": [{"name": "d", "columns": ["x"], "rows": [["1"], ["2"]], "at_end": "stop"}],
    });
    let mut shop = Harness::with(&scenario, &json!({}));
    for row in ["1", "2"] {
        assert!(shop.first().starts_with(&format!("GET /{row} ")));
        shop.answer("", "");
    }
    assert!(!shop.recorder.is_exhausted());
    assert_eq!((shop.begin(), shop.recorder.is_exhausted()), (NextAction::Idle, true));
    assert_eq!(shop.recorder.stats().operations[TRANSACTION.index()].counts.started, 2);
}

#[test]
fn bodies_are_stored_up_to_a_limit() {
    let steps = json!([{"name": "a", "path": "/", "extract": [{"variable": "v", "pattern": "x"}]}]);
    let mut shop = Harness::with(&json!({"steps": steps, "body_bytes": 4}), &json!({}));
    shop.first();
    shop.answer("", "___x");
    shop.first();
    shop.answer("", "___xx");
    assert_eq!((shop.error().0.as_str(), shop.counts()[0]), ("body-limit", ("transaction", 1, 1)));
}

#[test]
fn mistakes_are_reported() {
    let none = json!({});
    let early = json!([
        {"name": "a", "path": "/${t}"},
        {"name": "b", "path": "/", "extract": [{"variable": "t", "json": "$.t"}]},
    ]);
    assert!(
        wrong(&early, &none)
            .contains(r#"variable-early workload.http {"later":"b","step":"a","variable":"t"}"#)
    );
    let same = json!([{"name": "a", "path": "/${t}", "extract": [{"variable": "t", "json": "$.t"}]}]);
    assert!(wrong(&same, &none).contains("variable-early"), "a step cannot use its own response");
    let unknown = wrong(&json!([{"name": "a", "path": "/", "body": {"text": "${x}"}}]), &none);
    assert!(unknown.contains("no-variable") && unknown.contains(r#""names":"-""#), "{unknown}");
    let data = json!({"data": [{"name": "u", "columns": ["id", "name"], "rows": [["1", "2"]]}]});
    let column = wrong(&json!([{"name": "a", "path": "/${u.nmae}"}]), &data);
    assert!(column.contains("no-column") && column.contains(r#""columns":"id, name""#), "{column}");
    let path = json!([{"name": "a", "path": "/", "check": {"json": {"$.a[": {}}}}]);
    assert!(wrong(&path, &none).contains("json-path-end"));
    let pattern = json!([{"name": "a", "path": "/", "extract": [{"pattern": "(a"}]}]);
    assert!(wrong(&pattern, &none).contains("unclosed group"));
    assert!(wrong(&json!([]), &none).contains("spec.value workload.http.scenario.steps"));
    let section =
        section(&json!({"steps": [{"name": "a", "path": "/"}]}), &json!({"streams": 2, "version": "2"}));
    assert!(Script::read(&section, &target()).unwrap_err().to_string().contains("streams-scenario"));
}
