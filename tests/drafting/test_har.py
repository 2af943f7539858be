"""Scenarios drafted from recordings of browsers, and their runs on the test shop."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from drafting.drafted import document, drafted, init, refused, run
from drafting.recorder import Recorder, visit
from shop import Shop, create

PASSWORD = "LOADCELL_PASSWORD"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJtZSJ9.sesame"
#: Pauses of the recorded user.
_PAUSES = ("index", "items", "items_3")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    directory = tmp_path_factory.mktemp("shop")
    create(directory / "shop.db")
    with Shop(directory) as running:
        yield running


def exchange(method: str = "GET", url: str = "http://shop.example/", **changes: Any) -> dict[str, Any]:
    """An entry of a recording."""
    entry: dict[str, Any] = {
        "startedDateTime": "2026-01-01T00:00:00Z",
        "time": 10,
        "request": {"method": method, "url": url, "headers": changes.get("headers", [])},
        "response": {
            "status": changes.get("status", 200),
            "headers": changes.get("answer_headers", []),
            "content": changes.get("content", {"mimeType": "application/json", "text": "{}"}),
        },
    }
    if "post" in changes:
        entry["request"]["postData"] = changes["post"]
    return entry


def field(name: str, value: str) -> dict[str, str]:
    return {"name": name, "value": value}


def answer(value: object) -> dict[str, str]:
    return {"mimeType": "application/json", "text": json.dumps(value)}


def save(home: Path, *entries: dict[str, Any]) -> str:
    (home / "visit.har").write_text(json.dumps({"log": {"version": "1.2", "entries": list(entries)}}))
    return "visit.har"


def steps(home: Path, *entries: dict[str, Any], variables: tuple[str, ...] = ()) -> dict[str, Any]:
    """The steps of the plan of a recording."""
    steps: dict[str, Any] = drafted(home, save(home, *entries), variables=variables)["workload"]["http"][
        "steps"
    ]
    return steps


class TestVisit:
    """The shop of the tests: log in, browse, order."""

    def test_values_of_responses_become_variables(self, tmp_path: Path, shop: Shop) -> None:
        visit(shop.url).save(tmp_path / "visit.har")
        plan = drafted(tmp_path, "visit.har", variables=(PASSWORD,))
        assert plan["target"] == {"http": {"url": shop.url}}
        steps = plan["workload"]["http"]["steps"]
        assert list(steps) == ["index", "post_login", "items", "items_2", "items_3", "post_orders", "orders"]
        assert steps["post_login"] == {
            "path": "/login",
            "form": {"user": "user1", "password": "${env:LOADCELL_PASSWORD}"},
            "extract": {"token": {"json": "$.token"}},
        }
        assert steps["items"]["extract"] == {"next": {"json": "$.next"}}
        assert steps["items_2"]["path"] == "${next}"
        assert steps["post_orders"]["headers"] == {"X-Token": "${token}"}
        assert steps["post_orders"]["check"] == {"status": 201}
        assert steps["post_orders"]["json"]["note"] == "${dollar}{not a place} # x: y"
        assert steps["post_orders"]["extract"] == {"location": {"header": "Location"}}
        assert steps["orders"]["path"] == "${location}"

    def test_pauses_become_think_times(self, tmp_path: Path, shop: Shop) -> None:
        visit(shop.url).save(tmp_path / "visit.har")
        steps = drafted(tmp_path, "visit.har", variables=(PASSWORD,))["workload"]["http"]["steps"]
        thinks = {name: step["think"] for name, step in steps.items() if "think" in step}
        assert thinks == {"index": "3s", "items": "1.5s", "items_3": "0.5s"}

    def test_it_runs_without_errors(self, tmp_path: Path, shop: Shop) -> None:
        visit(shop.url).save(tmp_path / "visit.har")
        drafted(tmp_path, "visit.har", variables=(PASSWORD,))
        before = shop.sql("SELECT count(*) FROM orders")
        thinks = [f"workload.http.steps.{name}.think=0s" for name in _PAUSES]
        [trial] = run(tmp_path, *thinks, LOADCELL_PASSWORD="user1-pw")
        assert (trial.status, trial.totals.transactions.failed) == ("ok", 0), trial.reason
        assert trial.totals.transactions.succeeded > 5
        assert shop.sql("SELECT count(*) FROM orders") > before

    def test_requests_without_steps_are_reported(self, tmp_path: Path, shop: Shop) -> None:
        visit(shop.url).save(tmp_path / "visit.har")
        result = init(tmp_path, "visit.har")
        assert "Requests to other hosts are omitted: tracker.example (1)" in result.stderr
        assert "1 static file: omitted" in result.stderr
        assert "first: LOADCELL_PASSWORD" in result.stderr
        other = drafted(tmp_path, "visit.har", "--host", "tracker.example")
        assert other["target"]["http"]["url"] == "https://tracker.example"
        assert "it has" in refused(tmp_path, "visit.har", "--host", "nobody.example")

    def test_no_secret_is_written(self, tmp_path: Path, shop: Shop) -> None:
        recorder = visit(shop.url)
        secrets = [
            entry["response"]["content"]["text"] for entry in recorder.entries if "token" in str(entry)
        ]
        token = json.loads(secrets[0])["token"]
        recorder.save(tmp_path / "visit.har")
        result = init(tmp_path, "visit.har")
        for secret in ("user1-pw", token, "session="):
            assert secret not in result.stdout + result.stderr


class TestValues:
    def test_an_identifier_of_a_created_record(self, tmp_path: Path) -> None:
        made = steps(
            tmp_path,
            exchange("POST", "http://shop.example/api/carts", content=answer({"data": {"cartId": 4711}})),
            exchange("GET", "http://shop.example/api/carts/4711?verbose=1"),
            exchange(
                "PUT", "http://shop.example/api/carts/4711",
                post={"mimeType": "application/json", "text": '{"cart": 4711, "n": 2, "who": "é"}'},
            ),
        )  # fmt: skip
        assert made["post_carts"]["extract"] == {"cartid": {"json": "$.data.cartId"}}
        assert made["carts"]["path"] == "/api/carts/${cartid}?verbose=1"
        assert made["put_carts"]["body"] == '{"cart": ${cartid}, "n": 2, "who": "é"}'

    def test_a_token_of_a_page(self, tmp_path: Path) -> None:
        page = '<p id=x><input type="hidden" name="csrf" value="Zq81kd0aPq77"><input name="q" value="">'
        made = steps(
            tmp_path,
            exchange(content={"mimeType": "text/html; charset=utf-8", "text": page}),
            exchange(
                "POST", "http://shop.example/search", status=302,
                post={"mimeType": "application/x-www-form-urlencoded", "text": "q=a+b&csrf=Zq81kd0aPq77"},
            ),
        )  # fmt: skip
        assert made["index"]["extract"] == {
            "csrf": {"pattern": 'input type="hidden" name="csrf" value="([^"]*)'}
        }
        assert made["post_search"]["form"] == {"q": "a b", "csrf": "${csrf}"}
        assert made["post_search"]["check"] == {"status": 302}

    def test_a_bearer_token_of_a_login(self, tmp_path: Path) -> None:
        made = steps(
            tmp_path,
            exchange("POST", "http://shop.example/auth", content=answer({"access_token": "abc123def456"})),
            exchange(headers=[field("Authorization", "Bearer abc123def456")]),
        )
        assert made["post_auth"]["extract"] == {"access_token": {"json": "$.access_token"}}
        assert made["index"]["auth"] == {"bearer": "${access_token}"}

    def test_a_cookie_that_goes_back_as_a_header(self, tmp_path: Path) -> None:
        made = steps(
            tmp_path,
            exchange(answer_headers=[field("Set-Cookie", "XSRF-TOKEN=abc123def456; Path=/")]),
            exchange(
                "DELETE", "http://shop.example/x",
                headers=[field("X-Xsrf-Token", "abc123def456"), field("Cookie", "XSRF-TOKEN=abc123def456")],
            ),
        )  # fmt: skip
        assert made["index"]["extract"] == {
            "xsrf_token": {"header": "Set-Cookie", "pattern": "^XSRF-TOKEN=([^;]*)"}
        }
        assert made["delete_x"] == {
            "method": "DELETE", "path": "/x", "headers": {"X-Xsrf-Token": "${xsrf_token}"},
        }  # fmt: skip

    def test_a_redirection_is_followed_by_its_link(self, tmp_path: Path) -> None:
        target = "http://shop.example/callback?code=Zq81kd0a&state=x"
        late = exchange(url=target)
        late["startedDateTime"] = "2026-01-01T00:00:01Z"
        made = steps(tmp_path, late, exchange(status=302, answer_headers=[field("Location", target)]))
        assert list(made) == ["index", "callback"]  # in the order of their beginning
        assert made["index"] == {
            "path": "/", "check": {"status": 302}, "think": "1s",
            "extract": {"location": {"header": "Location"}},
        }  # fmt: skip
        assert made["callback"]["path"] == "${location}"

    def test_constants_stay(self, tmp_path: Path) -> None:
        made = steps(
            tmp_path,
            exchange(url="http://shop.example/items?page=2", content=answer({"page": 2, "total": 10})),
            exchange(url="http://shop.example/items?page=10"),
        )
        assert [step["path"] for step in made.values()] == ["/items?page=2", "/items?page=10"]
        assert not any("extract" in step for step in made.values())


class TestSecrets:
    def test_passwords_wherever_they_are(self, tmp_path: Path) -> None:
        har = save(
            tmp_path,
            exchange(
                "POST", "http://me:sesame-1@shop.example/login?api_key=sesame-2&x=1",
                headers=[
                    field("Authorization", "Basic " + base64.b64encode(b"me:sesame-1").decode()),
                    field("X-Api-Key", "sesame-3"),
                    field("Cookie", "session=sesame-4"),
                ],
                post={"mimeType": "application/json", "text": json.dumps(
                    {"user": "me", "password": "sesame-5", "again": "sesame-5", "remember_token": True}
                )},
            ),
            exchange(
                "POST", "http://shop.example/soap",
                post={"mimeType": "text/xml", "text": "<a><Password>sesame-6</Password></a>"},
            ),
            exchange(
                "POST", "http://shop.example/raw",
                post={"mimeType": "text/plain", "text": f"user=me password=sesame-7 jwt={JWT}"},
            ),
        )  # fmt: skip
        result = init(tmp_path, har)
        assert result.returncode == 0, result.stderr
        assert "sesame" not in result.stdout + result.stderr
        assert "Cookies that no recorded response has set: session" in result.stdout
        work = document(result.stdout)["workload"]["http"]
        assert work["steps"]["post_login"]["path"] == "/login?api_key=${env:LOADCELL_API_KEY}&x=1"
        assert "headers" not in work  # those with the cookie are commented out

    def test_forms_with_a_repeated_field_and_numbers(self, tmp_path: Path) -> None:
        form = "application/x-www-form-urlencoded"
        har = save(
            tmp_path,
            exchange(
                "POST", "http://shop.example/login",
                post={"mimeType": form, "text": "role=a&role=b&user%5Bpin%5D=sesame%2F17"},
            ),
            exchange(
                "POST", "http://shop.example/pay", headers=[field("Content-Type", "application/json")],
                post={"mimeType": "application/json", "text": '{"pin": 93817264, "password": 12345678}'},
            ),
        )  # fmt: skip
        result = init(tmp_path, har)
        assert result.returncode == 0, result.stderr
        assert not any(text in result.stdout for text in ("sesame", "93817264", "12345678"))
        made = document(result.stdout)["workload"]["http"]["steps"]
        assert made["post_login"]["body"] == "role=a&role=b&user%5Bpin%5D=${env:LOADCELL_USER_PIN}"
        assert "Content-Type" not in made["post_login"].get("headers", {})
        assert made["post_pay"] == {
            "path": "/pay",
            "headers": {"Content-Type": "application/json"},
            "body": '{"pin": ${env:LOADCELL_PIN}, "password": ${env:LOADCELL_PASSWORD}}',
        }


class TestBadInput:
    def test_no_recording(self, tmp_path: Path) -> None:
        (tmp_path / "a.har").write_text('{"log": 7}')
        assert "a.har is none of these" in refused(tmp_path, "a.har")
        (tmp_path / "b.har").write_text('{"log": {"entries": [')
        assert "b.har is not valid JSON, line 1" in refused(tmp_path, "b.har")
        (tmp_path / "c.har").write_text('{"log": {"entries": []}}')
        assert "The recording c.har has no requests" in refused(tmp_path, "c.har")
        (tmp_path / "d.har").write_text('{"log": {"entries": [{"request": {"url": "http://x/"}}]}}')
        assert "Entry 1 of d.har is not an HTTP exchange" in refused(tmp_path, "d.har")
        (tmp_path / "e.har").write_text("[" * 100_000)
        assert "e.har is nested too deeply" in refused(tmp_path, "e.har")
        har = save(tmp_path, exchange(url="http://x/a.png", content={"mimeType": "image/png", "text": ""}))
        assert "only static files" in refused(tmp_path, har)

    def test_binary_bodies_are_left_out(self, tmp_path: Path) -> None:
        raw = base64.b64encode(bytes(range(256)) * 40).decode()
        post = {"mimeType": "application/octet-stream", "text": raw, "encoding": "base64"}
        photo = {
            "mimeType": "multipart/form-data; boundary=x",
            "params": [{"name": "id", "value": "7"}, {"name": "photo", "fileName": "a b.png"}],
        }
        image = {"mimeType": "application/octet-stream", "text": raw, "encoding": "base64"}
        har = save(
            tmp_path,
            exchange("POST", "http://shop.example/upload", post=post, content=image),
            exchange("POST", "http://shop.example/photos", post=photo),
        )
        plan = init(tmp_path, har).stdout
        assert raw[:40] not in plan
        assert "# Its body of 10.2 kB (application/octet-stream) was omitted" in plan or "was omitted" in plan
        assert "# files: {photo: {file: a_b.png}}" in plan
        assert document(plan)["workload"]["http"]["steps"]["post_photos"]["form"] == {"id": "7"}

    def test_text_from_outside_stays_text(self, tmp_path: Path) -> None:
        hostile = 'a"\n# b: c\n- {d: [e\u2028\x07\ud800 ${env:HOME} ${f'
        made = steps(
            tmp_path,
            exchange(
                "POST", "http://shop.example/x/" + hostile + "?q=" + hostile,
                post={"mimeType": "application/json", "text": json.dumps({hostile: hostile})},
            ),
            exchange(url="http://shop.example/" + "%0A%20" * 3),
        )  # fmt: skip
        [body] = [step["json"] for step in made.values() if "json" in step]
        assert list(body) == list(body.values())
        assert "\n# b: c\n- {d: [e" in next(iter(body))
        assert "${env:HOME}" not in next(iter(body))

    def test_names_refer_to_no_variable(self, tmp_path: Path) -> None:
        token = "abc123def456"
        late = exchange(url=f"http://shop.example/b?${{env:HOME}}={token}")
        late["startedDateTime"] = "2026-01-01T00:00:01Z"
        made = steps(tmp_path, exchange(content=answer({"${env:HOME}": token})), late)
        assert "extract" not in made["index"]
        assert made["b"]["path"] == f"/b?${{dollar}}{{env:HOME}}={token}"

    def test_links_that_are_none(self, tmp_path: Path) -> None:
        wrong = [field("Location", "http://[")]
        assert steps(tmp_path, exchange(answer_headers=wrong, content=answer({"next": "http://["})))

    def test_a_reference_that_is_left_is_refused(self, tmp_path: Path) -> None:
        har = save(tmp_path, exchange(url="http://${env:http_proxy}.example/"))
        message = refused(tmp_path, har, http_proxy="sesame-17")
        assert "visit.har refers to your environment variables: ${env:http_proxy}" in message

    @pytest.mark.parametrize("kind", ["bodies", "entries"])
    def test_a_recording_of_200_megabytes(self, tmp_path: Path, kind: str) -> None:
        if kind == "bodies":
            content = {"mimeType": "image/png", "encoding": "base64", "text": "A" * (20 << 20)}
            entry, count = exchange(url="http://shop.example/N.png", content=content), 10
        else:
            rows = [{"id": n, "name": f"item {n}", "token": f"{n:032x}"} for n in range(9000)]
            entry, count = exchange(url="http://shop.example/items?page=N", content=answer(rows)), 250
        text, first = json.dumps(entry), json.dumps(exchange())
        with (tmp_path / "visit.har").open("w") as file:
            file.write(f'{{"log": {{"entries": [{first}')
            for number in range(count):
                file.write("," + text.replace("N", str(number), 1))
            file.write("]}}")
        assert (tmp_path / "visit.har").stat().st_size > 190 << 20
        began = time.monotonic()
        result = init(tmp_path, "visit.har")
        assert result.returncode == 0, result.stderr
        assert time.monotonic() - began < 60

    def test_a_larger_one_is_refused(self, tmp_path: Path) -> None:
        har = save(tmp_path, *[exchange()] * 20_001)
        assert "has 20,001 requests; at most 20,000 are read" in refused(tmp_path, har)
        with (tmp_path / "huge.har").open("wb") as file:
            file.truncate(600 << 20)
        assert "huge.har has" in refused(tmp_path, "huge.har")

    def test_more_requests_than_a_plan_has(self, tmp_path: Path) -> None:
        har = save(tmp_path, *(exchange(url=f"http://shop.example/p{n}") for n in range(200)))
        plan = drafted(tmp_path, har)
        assert len(plan["workload"]["http"]["steps"]) == 150


def test_a_recording_of_a_recorder_is_one(tmp_path: Path, shop: Shop) -> None:
    recorder = Recorder(shop.url)
    recorder.request("GET", "/items/1000")
    recorder.save(tmp_path / "visit.har")
    [step] = drafted(tmp_path, "visit.har")["workload"]["http"]["steps"].values()
    assert step == {"path": "/items/1000", "check": {"status": 404}}
    [trial] = run(tmp_path)
    assert trial.totals.transactions.failed == 0
