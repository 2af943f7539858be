"""What an error code means, in words: SQLSTATEs (PostgreSQL's manual, appendix A), numbers of MySQL's and
MariaDB's errors that
have no SQLSTATE of their own, statuses of HTTP, codes of HTTP/2, first words of Redis', and loadcell's
own."""

from __future__ import annotations

_LOADCELL_CODES = {
    "connection": "the connection was lost or could not be made",
    "timeout": "no answer in time",
    "protocol": "the server's answer was not understood",
    "refused": "nothing took the connection",
    "reset": "the connection was broken off by the other side",
    "length": "the response was shorter or longer than it was to be",
    "body": "the response's body was not what it was to be",
    "ports": "this machine had no port left for another connection",
    "descriptors": "this process could open no more files",
    "tls": "the secure connection could not be made",
    "auth": "the login could not be done in a way that both sides know",
    "script": "a script could not go on, where pgbench would end its client",
    "open-block": "a transaction was begun and not ended",
    "lost": "a key was missing whose writing was acknowledged",
    "stale": "a value was older than the one whose writing was acknowledged last",
    "corrupt": "a value was not one that was written to its key",
    "skipped": "late by more than the latency limit before it could be begun, and so not begun",
}

#: What other tools call the failures that they count.
_TOOLS = {
    "ignored": "an error that sysbench is told to ignore (a deadlock, a duplicate key): the transaction was begun again",
    "reconnect": "the connection was lost and made anew",
    "fatal": "an error that ended the tool's load",
    "client": "a client of pgbench gave up after an error",
    "connect": "a connection could not be made",
    "receive": "an answer could not be received",
    "read": "an answer could not be read",
    "write": "a request could not be sent",
    "exceptions": "the tool met an error of another kind",
    "error": "the tool counts it as failed, and does not say why",
    "non-2xx": "an answer with another status than 2xx",
    "status": "an answer with another status than 2xx or 3xx",
}

_SQLSTATE = {
    "08000": "connection exception",
    "08001": "the server could not be reached",
    "08003": "the connection does not exist",
    "08004": "the server rejected the connection",
    "08006": "the connection failed",
    "22001": "a value was too long",
    "22003": "a number was out of range",
    "23502": "a value that must not be null was null",
    "23503": "a foreign key was violated",
    "23505": "a unique key was there already",
    "25P02": "the transaction had already failed",
    "25P03": "the server ended an idle transaction",
    "28000": "the login was refused",
    "28P01": "wrong password",
    "3D000": "there is no such database",
    "40001": "serialisation failure",
    "40P01": "deadlock",
    "42501": "not allowed to this user",
    "42601": "syntax error",
    "42703": "there is no such column",
    "42P01": "there is no such table",
    "53100": "the server's disk is full",
    "53200": "the server is out of memory",
    "53300": "too many connections",
    "54000": "a limit of the server was passed",
    "55P03": "a lock could not be had",
    "57014": "the query was cancelled",
    "57P01": "the server was shut down by its administrator",
    "57P02": "the server crashed",
    "57P03": "the server cannot take connections now",
    "58030": "input or output error in the server",
    "XX000": "internal error of the server",
    "XX001": "data corrupted",
    "XX002": "index corrupted",
}

_MYSQL = {
    "08S01": "the server was shut down",
    "42S01": "the table was there already",
    "42S02": "there is no such table",
    "42S22": "there is no such column",
    "70100": "the query was interrupted",
    "1020": "a record has changed since it was read",
    "1114": "a table is full",
    "1205": "a lock was waited for too long",
    "1290": "the server only reads",
    "1461": "too many prepared statements",
}

#: Statuses of HTTP (RFC 9110, section 15).
_HTTP = {
    "http-301": "moved for good: redirections are not followed",
    "http-302": "moved for now: redirections are not followed",
    "http-400": "bad request",
    "http-401": "not logged in",
    "http-403": "not allowed",
    "http-404": "not found",
    "http-405": "this method is not allowed there",
    "http-408": "the server waited too long for the request",
    "http-413": "the request's body was too large",
    "http-429": "too many requests",
    "http-500": "internal error of the server",
    "http-502": "bad gateway",
    "http-503": "service unavailable",
    "http-504": "the gateway had no answer in time",
}

#: Codes with which a server of HTTP/2 ends a request or goes away (RFC 9113, section 7).
_HTTP2 = {
    "NO_ERROR": "the server went away again and again before it began the request",
    "INTERNAL_ERROR": "the server gave the request up: an error of its own",
    "REFUSED_STREAM": "the server refused again and again to begin the request",
    "CANCEL": "the server cancelled the request",
    "ENHANCE_YOUR_CALM": "the server found the load excessive",
    "HTTP_1_1_REQUIRED": "the server wants HTTP/1.1 for this request",
}

#: First words of the errors of Redis.
_REDIS = {
    "ERR": "the command was wrong",
    "WRONGTYPE": "the key holds another type of value",
    "OOM": "the server's maxmemory is used up",
    "NOAUTH": "the server wants a password",
    "WRONGPASS": "wrong user or password",
    "NOPERM": "not allowed to this user (ACL)",
    "MOVED": "the key is on another node of a cluster",
    "CROSSSLOT": "the keys are on different nodes of a cluster",
    "CLUSTERDOWN": "the cluster does not serve the key",
    "READONLY": "the server is a replica",
    "LOADING": "the server was reading its data from disk",
    "BUSY": "a script kept the server busy",
    "MISCONF": "the server could not save its data, and takes no writes",
    "max-clients": "the server has no connection left",
    "database": "there is no such database",
}

#: By the first two characters of a SQLSTATE, and the first digit of a status of HTTP, that is not in the
#: list.
CLASSES = {
    "http-2": "success, with another status than expected",
    "http-3": "redirection, which is not followed",
    "http-4": "the request was refused",
    "http-5": "the server failed",
    "08": "connection exception",
    "22": "data exception",
    "23": "integrity constraint violated",
    "25": "invalid transaction state",
    "28": "invalid authorisation",
    "40": "transaction rolled back",
    "42": "syntax error, or a rule of access broken",
    "53": "the server lacks resources",
    "54": "a limit of the server was passed",
    "55": "an object is not in the state needed",
    "57": "an operator intervened",
    "58": "system error outside PostgreSQL",
    "XX": "internal error of the server",
}

#: Every code with words of its own. The report's catalogue says them in every language.
KNOWN = _LOADCELL_CODES | _TOOLS | _SQLSTATE | _MYSQL | _HTTP | _HTTP2 | _REDIS


def meaning(code: str) -> str | None:
    """In a few words; None when the code is not known."""
    return KNOWN.get(code) or CLASSES.get(_class_of(code))


def _class_of(code: str) -> str:
    """The common part of codes of a kind; empty if there are no kinds."""
    if code.startswith("http-"):
        return code[:6]
    return code[:2] if len(code) == 5 else ""
