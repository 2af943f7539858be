"""The words of a command line of curl: which options take the next word as their value (curl 8.12)."""

from __future__ import annotations

from collections.abc import Sequence

from loadcell.drafting.draft import DraftError
from loadcell.ingest.commands import Word
from loadcell.model.message import MessageCode

CURL_UNKNOWN = MessageCode("draft-curl.unknown", option=str)
CURL_NO_VALUE = MessageCode("draft-curl.no-value", option=str)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_VALUED_LETTERS = frozenset("EKCbcdDFPHhmoUQreXYytzTuAwx")
_FLAG_LETTERS = frozenset("aqfGgI0ik46jlLMnN:Z#pJORSs231BvV")
_VALUED = _names(
    """
    abstract-unix-socket alt-svc aws-sigv4 cacert capath cert cert-type ciphers config connect-timeout
    connect-to continue-at cookie cookie-jar create-file-mode crlfile curves data data-ascii data-binary
    data-raw data-urlencode delegation dns-interface dns-ipv4-addr dns-ipv6-addr dns-servers doh-url
    dump-header ech egd-file engine etag-compare etag-save expect100-timeout form form-string ftp-account
    ftp-alternative-to-user ftp-method ftp-port ftp-ssl-ccc-mode happy-eyeballs-timeout-ms haproxy-clientip
    header help hostpubmd5 hostpubsha256 hsts interface ip-tos ipfs-gateway json keepalive-cnt keepalive-time
    key key-type krb libcurl limit-rate local-port login-options mail-auth mail-from mail-rcpt max-filesize
    max-redirs max-time netrc-file noproxy oauth2-bearer output output-dir parallel-max pass pinnedpubkey
    preproxy proto proto-default proto-redir proxy proxy-cacert proxy-capath proxy-cert proxy-cert-type
    proxy-ciphers proxy-crlfile proxy-header proxy-key proxy-key-type proxy-pass proxy-pinnedpubkey
    proxy-service-name proxy-tls13-ciphers proxy-tlsauthtype proxy-tlspassword proxy-tlsuser proxy-user
    proxy1.0 pubkey quote random-file range rate referer request request-target resolve retry retry-delay
    retry-max-time sasl-authzid service-name socks4 socks4a socks5 socks5-gssapi-service socks5-hostname
    speed-limit speed-time stderr telnet-option tftp-blksize time-cond tls-max tls13-ciphers tlsauthtype
    tlspassword tlsuser trace trace-ascii trace-config unix-socket upload-file url url-query user user-agent
    variable vlan-priority write-out
    """
)
_FLAGS = _names(
    """
    anyauth append basic buffer ca-native cert-status clobber compressed compressed-ssh create-dirs crlf
    digest disable disable-eprt disable-epsv disallow-username-in-url doh-cert-status doh-insecure eprt epsv
    fail fail-early fail-with-body false-start form-escape ftp-create-dirs ftp-pasv ftp-pret ftp-skip-pasv-ip
    ftp-ssl ftp-ssl-ccc ftp-ssl-control ftp-ssl-reqd get globoff haproxy-protocol head http0.9 http1.0 http1.1
    http2 http2-prior-knowledge http3 http3-only ignore-content-length include insecure ipv4 ipv6
    junk-session-cookies keepalive list-only location location-trusted mail-rcpt-allowfails manual metalink
    mptcp negotiate netrc netrc-optional next alpn npn ntlm ntlm-wb parallel parallel-immediate path-as-is
    post301 post302 post303 progress-bar progress-meter proxy-anyauth proxy-basic proxy-ca-native proxy-digest
    proxy-http2 proxy-insecure proxy-negotiate proxy-ntlm proxy-ssl-allow-beast proxy-ssl-auto-client-cert
    proxy-tlsv1 proxytunnel raw remote-header-name remote-name remote-name-all remote-time remove-on-error
    retry-all-errors retry-connrefused sasl-ir sessionid show-error show-headers silent skip-existing
    socks5-basic socks5-gssapi socks5-gssapi-nec ssl ssl-allow-beast ssl-auto-client-cert ssl-no-revoke
    ssl-reqd ssl-revoke-best-effort sslv2 sslv3 styled-output suppress-connect-headers tcp-fastopen
    tcp-nodelay tftp-no-options tls-earlydata tlsv1 tlsv1.0 tlsv1.1 tlsv1.2 tlsv1.3 tr-encoding trace-ids
    trace-time use-ascii verbose version xattr
    """
)


def split_curl(words: Sequence[str]) -> list[Word]:
    """The words behind `curl` as options and arguments, in their order.

    What follows `--next` is another request, and left out. Raises DraftError for an
    option that curl does not have, whose value would be taken for an address.
    """
    remaining, parts = list(words), list[Word]()
    while remaining:
        word = remaining.pop(0)
        if word == "--":
            parts += [Word("", argument) for argument in remaining]
            break
        if word.startswith("--"):
            name = word[2:]
            if name in _VALUED:
                parts.append(Word(name, _value(word, remaining)))
            elif name in _FLAGS or name.removeprefix("no-") in _FLAGS:
                parts.append(Word(name, ""))
                if name == "next":
                    break
            else:
                raise DraftError(CURL_UNKNOWN(option=f"--{name.partition('=')[0]}"))
        elif word.startswith("-") and word != "-":
            parts += _letters(word[1:], remaining)
        else:
            parts.append(Word("", word))
    return parts


def _letters(letters: str, remaining: list[str]) -> list[Word]:
    """Options of one letter, the last of which may have a value, in the same word or in the next one."""
    parts: list[Word] = []
    for index, letter in enumerate(letters):
        if letter in _VALUED_LETTERS:
            value = letters[index + 1 :] or _value(f"-{letter}", remaining)
            return [*parts, Word(letter, value)]
        if letter not in _FLAG_LETTERS:
            raise DraftError(CURL_UNKNOWN(option=f"-{letter}"))
        parts.append(Word(letter, ""))
    return parts


def _value(option: str, remaining: list[str]) -> str:
    if not remaining:
        raise DraftError(CURL_NO_VALUE(option=option))
    return remaining.pop(0)
