"""What a hostile client sends, and how each must be answered.

`@HOST@` stands for the address of the server, `@DECOY@` for a file beside what is indexed,
`@OTHER@` for an index that
is not served, `@HIDDEN@` for a file of the indexed folder that was left out of the index.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import quote

from tests.serving.hostile import CLOSED, Attack, posted, request

REFUSED = (400, 401, 403, 404, 405, 408, 409, 410, 413, 414, 415, 421, 422, 431, 501)
SEARCH = "/api/v1/search?q=key"
NAVIGATION = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


def attacks(slow: float = 10.0) -> Iterator[Attack]:
    """All of them, against a server without a token.

    Args:
        slow: the seconds that the server gives a client to send; attacks that are slow are there if it is not 0.
    """
    yield from _allowed()
    yield from _hosts()
    yield from _origins()
    yield from _methods()
    yield from _bodies()
    yield from _smuggled()
    yield from _sizes()
    yield from _paths()
    yield from _parameters()
    yield from _json()
    if slow:
        yield from _slow(slow + 8)


def _allowed() -> Iterator[Attack]:
    """Controls: who refuses everything is safe, too."""
    for host in ("@HOST@", "localhost:@PORT@", "LOCALHOST:@PORT@", "[::1]:@PORT@", "localhost"):
        yield Attack("answered", f"Host {host}", request(host=host), (200,))
    for name, headers in {
        "its own page": {"Origin": "http://@HOST@", "Sec-Fetch-Site": "same-origin"},
        "a typed address": {"Sec-Fetch-Site": "none"},
        "a link from elsewhere": {"Sec-Fetch-Site": "cross-site", **NAVIGATION},
        "a forwarded host": {"X-Forwarded-Host": "evil.example", "Forwarded": "host=evil.example"},
        "an upgrade to a web socket": {"Upgrade": "websocket", "Sec-WebSocket-Version": "13"},
        "an upgrade to HTTP/2": {"Upgrade": "h2c", "HTTP2-Settings": "AAMAAABkAAQAAP__"},
    }.items():
        yield Attack("answered", name, request(headers=headers), (200,), absent=("evil.example",))


def _hosts() -> Iterator[Attack]:
    for host in (
        "evil.example", "evil.example:@PORT@", "127.0.0.1:1", "localhost:1", "127.0.0.1.evil.example:@PORT@",
        "localhost.evil.example", "0.0.0.0:@PORT@", "[::]:@PORT@", "2130706433:@PORT@", "0x7f000001:@PORT@",
        "127.1:@PORT@", "0177.0.0.1:@PORT@", "192.0.2.1:@PORT@", "localhost.:@PORT@", "127.0.0.1.:@PORT@",
        "evil.localhost:@PORT@", "[::ffff:127.0.0.1]:@PORT@", "127.0.0.1@evil.example", "evil.example@@HOST@",
        "user:word@@HOST@", "@HOST@@evil.example", "@HOST@/api", "@HOST@, evil.example", "@HOST@ evil.example",
        "http://@HOST@", "127.0.0.1:", "127.0.0.1:999999", "127.0.0.1:@PORT@:1", "127.0.0.1:+@PORT@", "[::1", "::1",
        "[::1%25lo]:@PORT@", "[127.0.0.1]:@PORT@", "l\xf6calhost", "xn--lcalhost-n4a", "%6cocalhost", "-", ".", "",
    ):  # fmt: skip
        yield Attack("Host", repr(host), request(SEARCH, host=host), (400, 421), absent=("<evil",))
    yield Attack("Host", "none", request(SEARCH, host=None), (400,))
    yield Attack("Host", "none, HTTP/1.0", b"GET / HTTP/1.0\r\n\r\n", (400,))
    yield Attack("Host", "twice", request(SEARCH, headers={"Host": "evil.example"}), (400,))
    yield Attack("Host", "twice the same", request(SEARCH, headers={"Host": "@HOST@"}), (400,))
    for target in (
        "http://evil.example/",
        "http://@HOST@/",
        "//evil.example/",
        "evil.example:80",
        "*",
        "?q=key",
        "\\",
    ):
        yield Attack("Host", f"target {target}", request(target), (400, 404))


def _origins() -> Iterator[Attack]:
    for origin in (
        "https://evil.example", "null", "http://127.0.0.1:1", "http://127.0.0.1", "http://localhost:@PORT@",
        "http://@HOST@.evil.example", "http://@HOST@@evil.example", "http://evil.example@@HOST@", "http://@HOST@/",
        "ws://@HOST@", "file://", "chrome-extension://abcdefgh", "@HOST@", "//@HOST@", "*", "http://@HOST@ x",
    ):  # fmt: skip
        for method in ("GET", "POST"):
            named = {"Origin": origin, "Content-Type": "application/json", "Content-Length": "0"}
            yield Attack("Origin", f"{method} {origin}", request(SEARCH, method, headers=named), (403,))
    twice = [("Origin", "http://@HOST@"), ("Origin", "https://evil.example")]
    yield Attack("Origin", "twice", request(SEARCH, headers=twice), (400,))
    frame = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}
    for name, target, headers in (
        ("an image", "/?q=key", {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}),
        ("a script", "/static/page.js", {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}),
        ("a frame", "/?q=key", frame),
        ("an object", "/?q=key", {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "object"}),
        ("fetch", SEARCH, {"Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}),
        ("fetch without CORS", SEARCH, {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "empty"}),
        ("a link to the API", SEARCH, NAVIGATION),
        ("nothing more", "/?q=key", {}),
    ):
        for site in ("cross-site", "same-site", "Same-Origin ", "x"):
            if site == "Same-Origin " and name != "fetch":
                continue
            asked = request(target, headers={"Sec-Fetch-Site": site, **headers})
            yield Attack("Sec-Fetch-Site", f"{site}: {name}", asked, (403,))
    form = {"Sec-Fetch-Site": "cross-site", "Content-Type": "text/plain", "Content-Length": "2", **NAVIGATION}
    sent = request("/api/v1/search", "POST", headers=form, body=b"{}")
    yield Attack("Sec-Fetch-Site", "cross-site: a form", sent, (403,))


def _methods() -> Iterator[Attack]:
    for method in (
        "PUT", "DELETE", "PATCH", "TRACE", "OPTIONS", "PROPFIND", "MKCOL", "LOCK", "QUERY", "get", "GETS",
        "X" * 2_000,
    ):  # fmt: skip
        yield Attack("method", method[:20], request("/", method), (405, 501))
    yield Attack("method", "CONNECT", request("evil.example:443", "CONNECT"), (400, 405))
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    yield Attack(
        "method", "OPTIONS before CORS", request("/api/v1/search", "OPTIONS", headers=asked), (403, 405)
    )
    for name, sent in {
        "no HTTP": b"\x00\x01\x02\x03\r\n\r\n",
        "a handshake of TLS": bytes.fromhex("160301006c010000680303") + bytes(100),
        "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "HTTP/0.9": b"GET /\r\n\r\n",
        "HTTP/9.9": b"GET / HTTP/9.9\r\nHost: @HOST@\r\nConnection: close\r\n\r\n",
        "a NUL in the method": b"G\x00T / HTTP/1.1\r\nHost: @HOST@\r\n\r\n",
        "spaces in the target": b"GET / / HTTP/1.1\r\nHost: @HOST@\r\n\r\n",
        "a target of other letters": "GET /ä HTTP/1.1\r\nHost: @HOST@\r\n\r\n".encode(),
        "a NUL in a header": b"GET / HTTP/1.1\r\nHost: @HOST@\r\nX: a\x00b\r\n\r\n",
        "a space before the colon": b"GET / HTTP/1.1\r\nHost : @HOST@\r\n\r\n",
        "a header without a colon": b"GET / HTTP/1.1\r\nHost: @HOST@\r\nX\r\n\r\n",
        "a header that begins with a space": b"GET / HTTP/1.1\r\n Host: @HOST@\r\n\r\n",
        "a bare CR": b"GET / HTTP/1.1\r\nHost: @HOST@\rX: y\r\n\r\n",
        "a Host behind a bare LF": b"GET / HTTP/1.1\r\nHost: @HOST@\r\nX: y\nHost: evil.example\r\n\r\n",
    }.items():
        yield Attack("method", name, sent, (400, 405, 501, 505))


def _bodies() -> Iterator[Attack]:
    body = b'{"q": "key"}'
    for media_type in (
        "", "text/plain", "text/plain; application/json", "application/x-www-form-urlencoded",
        "multipart/form-data",
        "application/jsonx", "application/json5", "text/json", "application/xml", "*/*", ";",
        "application/json,text/plain",
    ):  # fmt: skip
        yield Attack("body", f"as {media_type or 'nothing'}", posted(body, Content_Type=media_type), (415,))
    typed = [("Content-Type", "text/plain"), ("Content-Type", "application/json"), ("Content-Length", "12")]
    yield Attack("body", "as two", request("/api/v1/search", "POST", headers=typed, body=body), (400,))
    for length in ("65537", "1000000000", "9" * 19, "9" * 30, "-1", "+12", "0x10", "1e3", "twelve", "12, 13"):
        yield Attack("body", f"said to be {length}", posted(body, Content_Length=length), (400, 413))
    many = b'{"q": "' + b"k" * 70_000 + b'"}'
    yield Attack("body", "of 70 kB", posted(many), (413,))
    chunked = {"Content_Length": "", "Transfer_Encoding": "chunked"}
    whole = b"%x\r\n%b\r\n0\r\n\r\n" % (len(many), many)
    yield Attack("body", "of 70 kB in chunks", posted(whole, **chunked), (413,))
    bits = b"".join(b"1\r\nk\r\n" for _ in range(70_000))
    yield Attack("body", "of 70,000 chunks", posted(bits, **chunked), (413,))
    yield Attack(
        "body", "in a chunk of 2^64", posted(b"ffffffffffffffff\r\n" + b"k" * 70_000, **chunked), (400, 413)
    )
    yield Attack("body", "in a chunk of no size", posted(b"zz\r\nk\r\n0\r\n\r\n", **chunked), (400,))
    endless = b"1;" + b"x" * 100_000
    yield Attack("body", "in a chunk of endless extensions", posted(endless, **chunked), (400, 413, 431))
    for method in ("GET", "HEAD"):
        yield Attack(
            "body",
            f"of a {method}",
            request("/", method, headers={"Content-Length": "5"}, body=b"12345"),
            (400,),
        )
    yield Attack(
        "body",
        "of a GET, in chunks",
        request(headers={"Transfer-Encoding": "chunked"}, body=b"0\r\n\r\n"),
        (400,),
    )
    yield Attack("body", "compressed", posted(body, Content_Encoding="gzip"), (*REFUSED, 200))


def _smuggled() -> Iterator[Attack]:
    second = request("/api/v1/search?q=smuggled")
    for name, headers in {
        "Content-Length and Transfer-Encoding": [("Content-Length", "4"), ("Transfer-Encoding", "chunked")],
        "Transfer-Encoding and Content-Length": [("Transfer-Encoding", "chunked"), ("Content-Length", "4")],
        "two lengths": [("Content-Length", "4"), ("Content-Length", "5")],
        "two encodings": [("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "identity")],
        "chunked, twice": [("Transfer-Encoding", "chunked, chunked")],
        "another encoding": [("Transfer-Encoding", "gzip, chunked")],
        "an encoding like chunked": [("Transfer-Encoding", "xchunked")],
        "an encoding behind a tab": [("Transfer-Encoding", "\x0bchunked")],
        "a length and a tab": [("Content-Length", "4\x0b")],
    }.items():
        typed = [("Content-Type", "application/json"), *headers]
        sent = request("/api/v1/search", "POST", headers=typed, body=b"0\r\n\r\n" + second)
        yield Attack("smuggling", name, sent, (400, 413, 501), absent=("smuggled",))
    sent = posted(b'{"q": "key"}' + second, Content_Length="12", Content_Type="text/plain")
    yield Attack("smuggling", "a request behind one that is refused", sent, (415,), absent=("smuggled",))


def _sizes() -> Iterator[Attack]:
    yield Attack("size", "a target of 40 kB", request(f"/?q={'k' * 40_000}"), (414,))
    yield Attack("size", "a target of 10 MB", request(f"/?q={'k' * 10_000_000}"), (400, 414, 431))
    yield Attack("size", "a path of 40 kB", request(f"/{'k' * 40_000}"), (414,))
    yield Attack("size", "a header of 70 kB", request(headers={"X": "x" * 70_000}), (431,))
    yield Attack("size", "a header of 10 MB", request(headers={"X": "x" * 10_000_000}), (431,))
    yield Attack("size", "101 headers", request(headers=[("X", "x")] * 101), (431,))
    yield Attack("size", "20,000 headers", request(headers=[("X", "x")] * 20_000), (431,))
    yield Attack("size", "a name of 70 kB", request(headers={"X" * 70_000: "x"}), (431,))
    yield Attack("size", "a line without end", b"G" * 1_000_000, (400, 431))
    yield Attack("size", "a query of 3,000 letters", request(f"/api/v1/search?q={'k' * 3_000}"), (400, 422))
    yield Attack("size", "a query of 3,000 letters, of a page", request(f"/?q={'k' * 3_000}"), (400, 422))
    yield Attack(
        "size", "5,000 parameters", request("/?" + "&".join(f"a{i}" for i in range(5_000))), (200, *REFUSED)
    )
    for k in ("0", "-1", "101", "1000000000", "9" * 40, "1e3", "nan", "ten", "1.5", "", "%00", "٣"):
        yield Attack("size", f"k={k}", request(f"{SEARCH}&k={quote(k, safe='%')}"), (400, 422))
    for name in (
        "weight=nan",
        "weight=inf",
        "weight=2",
        "weight=-1",
        "per_document=-1",
        f"per_document={'9' * 40}",
    ):
        yield Attack("size", name[:30], request(f"{SEARCH}&{name}"), (400, 422))


def _paths() -> Iterator[Attack]:
    for path in (
        "/../../../../etc/passwd", "/static/../../../../etc/passwd", "/static/%2e%2e/%2e%2e/etc/passwd",
        "/static/..%2f..%2f..%2fetc%2fpasswd", "/static/%252e%252e%252fetc%252fpasswd",
        "/static/..%5c..%5cetc%5cpasswd",
        "/static/..\\..\\etc\\passwd", "/static/%c0%ae%c0%ae/etc/passwd", "/static/..;/etc/passwd",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd", "/static/page.css/../../etc/passwd", "/static/page.css%00", "/static/page.css/",
        "/static/page.css%00.js", "/static/document.py", "/static/__init__.py", "/static/.", "/static/..",
        "/static/",
        "/static", "/static/C:%5cwindows", "/static/file:%2f%2f%2fetc%2fpasswd", "/static@DECOY@", "/@DECOY@",
        "@DECOY@",
        "/etc/passwd", "/.git/config", "/.env", "/%2e/", "/./", "//etc/passwd", "/documents/../../etc/passwd",
        "/documents/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "/documents/@DECOY@", "/documents/%2Fetc%2Fpasswd", "/docs",
        "/redoc",
        "/api/v1/documents/..%2f..%2fetc%2fpasswd", "/api/v1/documents/%2Fetc%2Fpasswd",
        "/api/v1/documents/@DECOY@",
        "/api/v1/passages/..%2f1", "/api/v1/../../etc/passwd", "/api/v1/search/..;/status",
        "/%0d%0aSet-Cookie:%20a=b",
        "/index.db", "/api/v1/index.db", "/%ff%fe", "/%F0%9F%94%91", "/%", "/%zz", "/%00",
    ):  # fmt: skip
        yield Attack("path", path, request(path), (400, 404, 422), absent=("\nset-cookie",))
    for number in ("-1", "0", "9" * 30, "1e3", "0x1", "%00", "nan", "1;2", "'", "1'%20or%20'1'='1"):
        for place in ("documents", "api/v1/documents", "api/v1/passages"):
            yield Attack("path", f"/{place}/{number}", request(f"/{place}/{number}"), (400, 404, 422))


def _parameters() -> Iterator[Attack]:
    outside = (
        "/etc", "/etc/passwd", "..", "../..", ".", "/", "~", "~root", "@DECOY@", "@OTHER@", "file:///etc/passwd",
        "C:\\",
        "\\\\evil.example\\share", "a\x00b", "\r\nX: y", "$HOME", "%2e%2e", "x" * 5_000,
        "<script>alert(1)</script>",
    )  # fmt: skip
    for path in ("/?q=key", SEARCH, "/explain?q=key&passage=1", "/api/v1/explain?q=key&passage=1",
    "/api/v1/status?",
                 "/similar?passage=1", "/api/v1/why-not?q=key&document=1", "/documents/1?"):  # fmt: skip
        for index in outside:
            name = index if "@" in index else quote(index, safe="")
            sent = request(f"{path}&index={name}", headers={"Accept": "text/html"})
            absent = () if path.startswith("/api/") else ("<script>alert",)
            yield Attack("index", f"{path} {index[:30]!r}", sent, (404, 422, 400), absent=absent)
    for where in (
        "@DECOY@",
        "path:@DECOY@",
        "path:/etc/passwd",
        "@@DECOY@",
        "path:../**",
        "text:@@DECOY@",
        "path:%00",
    ):
        sent = request(f"{SEARCH}&where={where}")
        yield Attack("parameter", f"where={where}", sent, (200, 400, 422))
    long = ("(" * 1_900, "not " * 480, "a" * 1_900, "path:" + "*a" * 900, "path:" + "**/" * 600 + "x",
    "path:[" + "a" * 1_800,
            "path:{" + "a," * 800 + "}", " or ".join(["path:a"] * 200), "date>=" + "9" * 400,
            "size>" + "9" * 1_000 + "kB")  # fmt: skip
    for where in long:
        sent = request(f"{SEARCH}&where={quote(where)}")
        yield Attack("parameter", f"where={where[:24]}...", sent, (200, 400, 422))
    for since in (
        "@DECOY@",
        "/etc/passwd",
        "9" * 30 + "d",
        "-1d",
        "0001-01-01",
        "99999-01-01",
        "nan",
        "\x00",
        "1e400y",
    ):
        yield Attack(
            "parameter",
            f"since={since[:20]!r}",
            request(f"{SEARCH}&since={quote(since, safe='@')}"),
            (200, 400, 422),
        )
    for named in ("model=@DECOY@", "rerank=@DECOY@", "rerank=evil/model", "offline=0", "engine=torch",
    "path=/etc/passwd",
                  "folder=/etc", "update=1", "rebuild=1", "token=x", "file=@DECOY@", "layer=@DECOY@"):  # fmt: skip
        for path in (SEARCH, "/api/v1/explain?q=key&passage=1", "/?q=key"):
            sent = request(f"{path}&{named}")
            yield Attack("parameter", f"{path} {named}", sent, (200, 400, 404, 422), absent=("evil/model",))
    for document in ("@DECOY@", "/etc/passwd", "../decoy.txt", "@HIDDEN@", "1/../../etc/passwd"):
        for path in ("/why-not?q=key", "/api/v1/why-not?q=key"):
            sent = request(f"{path}&document={document}")
            yield Attack("parameter", f"{path} document={document}", sent, (400, 404, 422))
    split = "%0d%0aSet-Cookie:%20a=b%0d%0a%0d%0a<script>alert(1)</script>"
    for name in ("q", "index", "where", "since", "mode", "generation", "next", "document", "passage"):
        sent = request(f"/api/v1/search?q=key&{name}={split}")
        yield Attack(
            "parameter",
            f"{name}: a line end",
            sent,
            (200, *REFUSED),
            absent=("\nset-cookie:", "\r\nSet-Cookie"),
        )
    for name, value in {
        "If-None-Match": 'W/"' + "x" * 5_000, "Accept": "text/html" + ",*/*" * 2_000,
        "Cookie": "a=" + '"\\' * 3_000,
        "Range": "bytes=0-1,2-3,-5,999999-", "X-Seewhy-Fragment": "<script>", "Expect": "200-maybe", "Cookie ": "x",
        "Authorization": "Basic " + "=" * 3_000, "Accept-Language": "*;q=nan", "If-Modified-Since": "never",
        "X-Http-Method-Override": "DELETE", "X-Original-URL": "/etc/passwd", "Date": "\xff",
    }.items():  # fmt: skip
        sent = request(SEARCH, headers={name: value})
        yield Attack("header", name, sent, (200, 304, *REFUSED), absent=("<script>",))


def _json() -> Iterator[Attack]:
    deep = 20_000
    for name, body in {
        "nothing": b"", "a brace": b"{", "no JSON": b"key", "a comma more": b'{"q": "key",}',
        "single quotes": b"{'q': 'key'}",
        "a list": b'["key"]', "a text": b'"key"', "a number": b"1", "null": b"null",
        "two": b'{"q": "key"}{"q": "key"}',
        "no UTF-8": b'{"q": "\xff\xfe"}',
        "a half character": b'{"q": "\\ud800"}', "a half character more": b'{"q": "key", "where": "path:\\udfff"}',
        "a long number": b'{"q": "key", "k": ' + b"9" * 10_000 + b"}", "1e999": b'{"q": "key", "k": 1e999}',
        "NaN": b'{"q": "key", "weight": NaN}', "a number as a query": b'{"q": 1}',
        "a list as a query": b'{"q": ["key"]}',
        "an object as a query": b'{"q": {"$ne": ""}}', "true as k": b'{"q": "key", "k": true}',
        "a text as k": b'{"q": "key", "k": "ten"}', "null as a query": b'{"q": null}', "no query": b"{}",
        "deep lists": b"[" * deep + b"]" * deep, "deep objects": b'{"q":' * 9_000 + b"1" + b"}" * 9_000,
        "a deep query": b'{"q": ' + b"[" * deep + b"]" * deep + b"}",
        "a deep unknown": b'{"q": "key", "x": ' + b"[" * deep + b"]" * deep + b"}",
    }.items():  # fmt: skip
        yield Attack("JSON", name, posted(body), (400, 422))
    for name, body in {
        "UTF-16": '{"q": "key"}'.encode("utf-16"), "a byte order mark": b'\xef\xbb\xbf{"q": "key"}',
        "a key twice": b'{"q": "a", "q": "key"}',
        "a NUL": b'{"q": "a\\u0000b"}', "10,000 keys": json.dumps({f"a{i}": 1 for i in range(5_000)}).encode(),
        "its own methods": b'{"q": "key", "__class__": "x", "__proto__": {}}',
    }.items():  # fmt: skip
        yield Attack("JSON", name, posted(body), (200, 400, 422))


def _slow(seconds: float) -> Iterator[Attack]:
    for name, sent in {
        "nothing is sent": (b"", (CLOSED,)),
        "half a line": (b"GET / HT", (408,)),
        "half a head": (b"GET / HTTP/1.1\r\nHost: @HOST@\r\n", (408,)),
        "no body": (posted(b"", Content_Length="10"), (408,)),
        "half a body": (posted(b'{"q"', Content_Length="10"), (408,)),
        "half a chunk": (posted(b"ff\r\nk", Content_Length="", Transfer_Encoding="chunked"), (408,)),
        "no end of chunks": (posted(b"1\r\nk\r\n", Content_Length="", Transfer_Encoding="chunked"), (408,)),
        "no body, though asked to go on": (posted(b"", Content_Length="10", Expect="100-continue"), (408,)),
    }.items():
        yield Attack("slow", name, sent[0], sent[1], seconds)


def with_token(token: str) -> Iterator[Attack]:
    """Attacks on a server with a token, which they do not know."""
    page = {"Accept": "text/html"}
    for path in ("/", "/?q=key", SEARCH, "/documents/1", "/explain?q=key&passage=1", "/api/v1/status",
    "/openapi.json",
                 "/reference", "/none", "/static/../", "/healthz/", "/healthz/../api/v1/status",
                 "/static/%2e%2e/api",
                 "/HEALTHZ", "/session", "/staticx"):  # fmt: skip
        yield Attack("token", f"none: {path}", request(path), (401, 404), absent=(token, "keys.md"))
        yield Attack(
            "token",
            f"none: {path}, a page",
            request(path, headers=page),
            (401, 404),
            absent=(token, "keys.md"),
        )
    for name, sent in {
        "wrong": "Bearer wrong", "empty": "Bearer ", "its beginning": f"Bearer {token[:-1]}",
        "more": f"Bearer {token}x",
        "in capitals": f"Bearer {token.upper()}", "basic": f"Basic {token}", "bare": token,
        "two": f"Bearer {token} {token}",
        "a NUL behind": f"Bearer {token}%00", "other letters": "Bearer \xff\xfe", "long": "Bearer " + "x" * 60_000,
    }.items():  # fmt: skip
        asked = request(SEARCH, headers={"Authorization": sent})
        yield Attack("token", name, asked, (401, 429), absent=(token,))
    both = [("Authorization", "Bearer wrong"), ("Authorization", f"Bearer {token}")]
    yield Attack("token", "two headers", request(SEARCH, headers=both), (400,))
    for path in (f"{SEARCH}&token={token}", f"{SEARCH}&access_token={token}", f"/?q=key&token={token}"):
        yield Attack("token", "in the address", request(path), (401,))
    for cookie in ("x", token, f"{token}=", "", '"', "a" * 30_000, "\xff"):
        asked = request(SEARCH, headers={"Cookie": f"seewhy-@PORT@={cookie}; seewhy={cookie}"})
        yield Attack("token", f"a cookie {cookie[:8]!r}", asked, (401,))
    typed = "application/x-www-form-urlencoded"
    for name, (media_type, body, right) in {
        "a form with another": (typed, b"token=wrong", (401, 429)), "a form with none": (typed, b"", (401, 429)),
        "a form of 5 kB": (typed, b"token=" + b"x" * 5_000, (413,)), "JSON": ("application/json",
        b'{"token": "x"}', (415,)),
        "a form of many fields": (typed, b"&a=b" * 100, (400,)), "a form of other letters": (typed,
        b"token=\xff", (400,)),
        "a form that leads away": (typed, b"token=wrong&next=//evil.example", (401, 429)),
    }.items():  # fmt: skip
        headers = {"Content-Type": media_type, "Content-Length": str(len(body))}
        sent = request("/session", "POST", headers=headers, body=body)
        yield Attack("token", name, sent, right, absent=("evil.example", "set-cookie"))
    away = {"Origin": "https://evil.example", "Content-Type": typed, "Content-Length": str(6 + len(token))}
    sent = request("/session", "POST", headers=away, body=f"token={token}".encode())
    yield Attack("token", "a form of another site", sent, (403,), absent=("set-cookie",))
