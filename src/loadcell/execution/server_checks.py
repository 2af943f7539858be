"""Comparison of the server's own counters with what the client did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loadcell.model.trial_record import Check, Lifetime


def server_counters(
    before: Mapping[str, int],
    after: Mapping[str, int],
    lifetime: Lifetime | None,
    *,
    alone: bool,
    groups: Sequence[Lifetime] = (),
) -> Check:
    """The server counted what the client did, over the whole load, warm-up and drain included.

    Commits are at least the client's transactions, save those that rolled themselves back, and changed rows
    at least those it was told of. Where loadcell is the server's only user, commits are also not more than
    its transactions (without BEGIN: its statements, as each commits by itself) with 2% and 200 for the
    server's background work, connecting, and these very questions. A server whose counters fell was
    restarted: nothing can be said. `groups` are the lifetimes of client groups, where there are several: each
    has another kind of transactions.
    """
    if (
        lifetime is None
        or "xact_commit" not in before
        or any(after.get(name, 0) < before[name] for name in before)
    ):
        return Check("server-counters", "unknown")

    def grown(*names: str) -> int:
        return sum(after.get(name, 0) - before.get(name, 0) for name in names)

    # Some servers count commits of transactions only: where each statement commits by itself, there they are
    # statements.
    alone_commits = "statements" in before and not lifetime.operations.get("begin")
    commits = grown("statements" if alone_commits else "xact_commit")
    changed = grown("tup_inserted", "tup_updated", "tup_deleted")
    committed = lifetime.transactions - lifetime.rolled_back
    most = sum(map(_most_commits, groups or [lifetime]))
    detail = {
        "commits": {"server": commits, "client": committed},
        "rows_changed": {"server": changed, "client": lifetime.rows_changed},
    }
    wrong = commits < committed or changed < lifetime.rows_changed or (alone and commits > most * 1.02 + 200)
    return Check("server-counters", "broken" if wrong else "ok", detail)


def server_calls(
    before: Mapping[str, int],
    after: Mapping[str, int],
    calls: Mapping[str, int],
    failed: int,
    *,
    alone: bool,
) -> Check:
    """The server counted the same commands as the client, over the whole load, warm-up and drain included.

    `calls` are those that the client knows to have succeeded; the server may have carried out any part of the
    `failed` operations, of two commands at the most. Where loadcell is its only user, that is
    all it did; elsewhere others may have made it do more. The server counts each as `calls_<name>`. One whose
    counters fell was restarted.
    """
    if any(after.get(name, 0) < count for name, count in before.items()):
        return Check("server-counters", "unknown")
    counted = {name: after.get(f"calls_{name}", 0) - before.get(f"calls_{name}", 0) for name in sorted(calls)}
    detail = {name: {"server": counted[name], "client": calls[name]} for name in counted}
    missing = any(counted[name] < calls[name] for name in counted)
    more = sum(counted.values()) - sum(calls.values())
    return Check("server-counters", "broken" if missing or (alone and more > 2 * failed) else "ok", detail)


def _most_commits(lifetime: Lifetime) -> float:
    """Number of commits the load can have caused: one a transaction, or one a statement where there is no
    BEGIN.
    """
    transactions, failed, queries = lifetime.transactions, lifetime.failed, lifetime.queries
    if lifetime.operations.get("begin") or not transactions:
        return transactions + failed + queries * (not transactions)
    return max(1.0, queries / transactions) * (transactions + failed)
