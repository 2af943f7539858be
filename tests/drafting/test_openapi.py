"""Mixes of requests drafted from OpenAPI documents, and a run on the test shop."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from drafting.drafted import document, drafted, init, refused, run
from shop import Shop, create

PETS = """
openapi: 3.0.3
info: {title: "Pets: all # of them", version: "1"}
servers: [{url: "https://{host}/v1", variables: {host: {default: pets.example}}}]
security: [{key: []}]
paths:
  /pets:
    get:
      operationId: listPets
      parameters:
        - {name: limit, in: query, required: true, schema: {type: integer, minimum: 1, maximum: 50}}
        - {name: tag, in: query, schema: {type: string}}
    post:
      operationId: createPet
      requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Pet"}}}}
  /pets/{id}:
    parameters: [{$ref: "#/components/parameters/Id"}]
    get: {operationId: getPet, responses: {200: {description: ok}}}
    delete: {}
  /owners/{id}:
    get: {parameters: [{name: id, in: path, required: true, schema: {type: string, enum: [ann, bob]}}]}
components:
  parameters:
    Id: {name: id, in: path, required: true, schema: {type: integer}}
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Api-Key}
  schemas:
    Pet:
      type: object
      required: [name, born, password, parent, children]
      properties:
        name: {type: string}
        born: {type: string, format: date, example: 2020-02-03}
        password: {type: string}
        parent: {$ref: "#/components/schemas/Pet"}
        children: {type: array, items: {$ref: "#/components/schemas/Pet"}}
"""


def openapi(home: Path, paths: dict[str, Any], **more: Any) -> str:
    """A small document."""
    root = {
        "openapi": "3.1.0",
        "info": {"title": "x"},
        "servers": [{"url": "http://x"}],
        "paths": paths,
        **more,
    }
    (home / "api.json").write_text(json.dumps(root))
    return "api.json"


def test_reading_operations_are_requests(tmp_path: Path) -> None:
    (tmp_path / "pets.yaml").write_text(PETS)
    plan = drafted(tmp_path, "pets.yaml", variables=("LOADCELL_X_API_KEY",))
    assert plan["title"] == "Requests to Pets: all # of them"
    assert plan["target"] == {"http": {"url": "https://pets.example"}}
    assert plan["workload"]["http"] == {
        "headers": {"X-Api-Key": "${env:LOADCELL_X_API_KEY}"},
        "parameters": {
            "limit": {"from": 1, "to": 50},
            "id": {"from": 1, "to": 100},
            "id_2": {"values": ["ann", "bob"]},
        },
        "requests": {
            "listPets": {"path": "/v1/pets?limit=${limit}", "share": 10},
            "getPet": {"path": "/v1/pets/${id}", "share": 10},
            "get_owners_id": {"path": "/v1/owners/${id_2}", "share": 10},
        },
    }


def test_optional_parameters_of_a_query_are_named(tmp_path: Path) -> None:
    parameters = [
        {"name": "page size", "in": "query", "schema": {"type": "integer", "minimum": 5}},
        {"name": "status", "in": "query", "schema": {"enum": ["open\n- x", "done"]}},
        {"name": "id", "in": "query", "required": True, "schema": {"type": "integer"}},
    ]
    result = init(tmp_path, openapi(tmp_path, {"/orders": {"get": {"parameters": parameters}}}))
    assert "# Optional in the query, and omitted: page%20size=5, status=open" in result.stdout
    assert document(result.stdout)["workload"]["http"]["requests"]["get_orders"]["path"] == "/orders?id=${id}"


def test_writing_operations_are_commented_out_with_examples(tmp_path: Path) -> None:
    (tmp_path / "pets.yaml").write_text(PETS)
    result = init(tmp_path, "pets.yaml")
    active = document(
        "\n".join(
            line.replace("# ", "", 1) if line.startswith("      # ") and "change data" not in line else line
            for line in result.stdout.splitlines()
            if "      # use." not in line
        )
    )
    create_pet = active["workload"]["http"]["requests"]["createPet"]
    assert json.loads(create_pet["body"]) == {
        "name": "text", "born": "2020-02-03", "password": "${env:LOADCELL_PASSWORD}", "children": [],
    }  # fmt: skip
    assert create_pet["method"] == "POST"
    assert active["workload"]["http"]["requests"]["delete_pets_id"]["path"] == "/v1/pets/${id}"
    assert "LOADCELL_PASSWORD" not in result.stderr  # of a request that is commented out


def test_swagger_2(tmp_path: Path) -> None:
    root = {
        "swagger": "2.0", "host": "old.example", "basePath": "/api", "schemes": ["http"],
        "paths": {"/a b/{n}": {"get": {"parameters": [
            {"name": "n", "in": "path", "type": "integer", "minimum": 5}]}}},
        "securityDefinitions": {"login": {"type": "basic"}}, "security": [{"login": []}],
    }  # fmt: skip
    (tmp_path / "api.json").write_text(json.dumps(root))
    plan = drafted(tmp_path, "api.json", variables=("LOADCELL_USER", "LOADCELL_PASSWORD"))
    assert plan["target"]["http"]["url"] == "http://old.example"
    work = plan["workload"]["http"]
    assert work["auth"] == {"basic": {"user": "${env:LOADCELL_USER}", "password": "${env:LOADCELL_PASSWORD}"}}
    assert work["requests"]["get_a_b_n"]["path"] == "/api/a%20b/${n}"
    assert work["parameters"]["n"] == {"from": 5, "to": 104}


def test_an_interface_that_only_writes(tmp_path: Path) -> None:
    result = init(tmp_path, openapi(tmp_path, {"/rpc": {"post": {}}}))
    assert list(document(result.stdout)["workload"]["http"]["requests"]) == ["post_rpc"]
    assert "writing operations alone" in result.stderr


def test_without_a_server(tmp_path: Path) -> None:
    result = init(tmp_path, openapi(tmp_path, {"/x": {"get": {}}}, servers=[{"url": "/v2"}]))
    assert "The document names no server" in result.stderr


class TestReferences:
    def test_circles(self, tmp_path: Path) -> None:
        schemas = {
            "A": {"$ref": "#/components/schemas/B"},
            "B": {"$ref": "#/components/schemas/A"},
            "List": {
                "allOf": [{"$ref": "#/components/schemas/List"}, {"properties": {"n": {"type": "integer"}}}]
            },
            "Tree": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}},
        }
        paths = {
            f"/{name}": {"post": {"requestBody": {"content": {"application/json": {
                "schema": {"$ref": f"#/components/schemas/{name}"}}}}}}
            for name in schemas
        }  # fmt: skip
        plan = drafted(tmp_path, openapi(tmp_path, paths, components={"schemas": schemas}))
        requests = plan["workload"]["http"]["requests"]
        assert json.loads(requests["post_List"]["body"]) == {"n": 1}
        assert json.loads(requests["post_Tree"]["body"]) == []

    def test_a_wide_document_ends(self, tmp_path: Path) -> None:
        names = [f"S{number}" for number in range(20)]
        references = {name: {"$ref": f"#/components/schemas/{name}"} for name in names}
        schemas = {name: {"type": "object", "properties": references} for name in names}
        body = {"content": {"application/json": {"schema": references["S0"]}}}
        drafted(
            tmp_path,
            openapi(tmp_path, {"/x": {"post": {"requestBody": body}}}, components={"schemas": schemas}),
        )

    @pytest.mark.parametrize(
        ("reference", "message"),
        [
            ("#/components/schemas/Gone", "has no target"),
            ("other.yaml#/Pet", "leads to another document"),
            ("https://example.com/pet.json", "leads to another document"),
        ],
    )
    def test_one_that_cannot_be_resolved(self, tmp_path: Path, reference: str, message: str) -> None:
        body = {"content": {"application/json": {"schema": {"properties": {"a": {"$ref": reference}}}}}}
        text = refused(tmp_path, openapi(tmp_path, {"/x": {"post": {"requestBody": body}}}))
        assert message in text
        assert "/x.post.a" in text


class TestReferencesToVariables:
    """A document's names and kinds refer to no variable of the reader's environment."""

    @pytest.mark.parametrize("position", ["query", "cookie", "header"])
    def test_name_of_a_key(self, tmp_path: Path, position: str) -> None:
        scheme = {"type": "apiKey", "in": position, "name": "a=${env:HOME}&k"}
        more = {"components": {"securitySchemes": {"key": scheme}}, "security": [{"key": []}]}
        result = init(tmp_path, openapi(tmp_path, {"/a": {"get": {}}}, **more))
        assert "${env:HOME}" not in result.stdout
        assert result.stdout or position == "header"  # which no header field can be called

    def test_name_of_a_key_of_a_query_is_one_name(self, tmp_path: Path) -> None:
        scheme = {"type": "apiKey", "in": "query", "name": "a=${env:HOME}&k"}
        more = {"components": {"securitySchemes": {"key": scheme}}, "security": [{"key": []}]}
        plan = drafted(
            tmp_path,
            openapi(tmp_path, {"/a": {"get": {}}}, **more),
            variables=("LOADCELL_A_ENV_HOME_K",),
        )
        [request] = plan["workload"]["http"]["requests"].values()
        assert request["path"] == "/a?a%3D%24%7Benv%3AHOME%7D%26k=${env:LOADCELL_A_ENV_HOME_K}"

    def test_content_type(self, tmp_path: Path) -> None:
        body = {"content": {"application/json; x=${env:HOME}": {"example": {"a": 1}}}}
        plan = drafted(tmp_path, openapi(tmp_path, {"/a": {"post": {"requestBody": body}}}))
        [request] = plan["workload"]["http"]["requests"].values()
        assert request["headers"] == {"Content-Type": "application/json; x=${dollar}{env:HOME}"}

    def test_title(self, tmp_path: Path) -> None:
        plan = drafted(tmp_path, openapi(tmp_path, {"/a": {"get": {}}}, info={"title": "${env:HOME}"}))
        assert plan["title"] == "Requests to {env:HOME}"


class TestBadInput:
    def test_documents_of_another_kind(self, tmp_path: Path) -> None:
        assert "describes no operations" in refused(tmp_path, openapi(tmp_path, {}))
        assert "paths./x is not a mapping" in refused(tmp_path, openapi(tmp_path, {"/x": 7}))
        (tmp_path / "old.json").write_text('{"swagger": "1.2"}')
        assert "another version" in refused(tmp_path, "old.json")
        (tmp_path / "large.yaml").write_text("openapi: 3.0.0\n" + "# x\n" * 1_100_000)
        assert "at most" in refused(tmp_path, "large.yaml")

    def test_aliases_that_multiply(self, tmp_path: Path) -> None:
        lines = ["openapi: 3.0.0", "info: {title: x}", "servers: [{url: http://x}]", "x0: &x0 [a, a]"]
        for number in range(1, 12):
            aliases = ", ".join([f"*x{number - 1}"] * 20)
            lines.append(f"x{number}: &x{number} [{aliases}]")
        lines.append("paths: {/a: {post: {requestBody: {content: {application/json: {example: *x11}}}}}}")
        (tmp_path / "small.yaml").write_text("\n".join(lines))
        plan = drafted(tmp_path, "small.yaml")
        [request] = plan["workload"]["http"]["requests"].values()
        assert len(request["body"]) < 10_000

    def test_odd_values(self, tmp_path: Path) -> None:
        parameters = [
            {"name": "a b\n", "in": "path", "schema": {"type": ["null", "string"], "example": "x: #\n${y}"}},
            {"name": "1", "in": "query", "required": True, "schema": {"type": "integer", "minimum": -5}},
            {"in": "query", "required": True},
        ]
        paths = {"/x/{a b\n}/{gone}\n": {"get": {"operationId": "1: #", "parameters": parameters}}}
        plan = drafted(tmp_path, openapi(tmp_path, paths))
        assert list(plan["workload"]["http"]["requests"]) == ["get_1"]
        assert plan["workload"]["http"]["parameters"]["a_b_"] == {"values": ["text"]}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    directory = tmp_path_factory.mktemp("shop")
    create(directory / "shop.db")
    with Shop(directory) as running:
        yield running


def test_it_runs_without_errors(tmp_path: Path, shop: Shop) -> None:
    page = {
        "name": "page",
        "in": "query",
        "required": True,
        "schema": {"type": "integer", "minimum": 1, "maximum": 9},
    }
    item = {"name": "item", "in": "path", "required": True, "schema": {"type": "integer", "maximum": 100}}
    paths = {
        "/items": {"get": {"parameters": [page]}},
        "/items/{item}": {"get": {"parameters": [item]}},
        "/stock": {"get": {}},
    }
    schemes = {"clerk": {"type": "http", "scheme": "bearer"}}
    servers = [{"url": shop.url}]
    more = {"servers": servers, "components": {"securitySchemes": schemes}, "security": [{"clerk": []}]}
    drafted(tmp_path, openapi(tmp_path, paths, **more), variables=("LOADCELL_TOKEN",))
    [trial] = run(tmp_path, LOADCELL_TOKEN="s3cret-token")
    assert (trial.status, trial.totals.transactions.failed) == ("ok", 0), trial.reason
