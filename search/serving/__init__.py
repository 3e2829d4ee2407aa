"""One warm process that answers a page and an HTTP API: `seewhy serve`.

    application(Served.open(...), Settings(...))  ->  an ASGI application, which uvicorn runs

app.py        the application, put together; settings.py, how it is reached
guard.py      who may ask, and how much: the Origin rule, the token, the size of a body
life.py       from the first socket to the last answer: how uvicorn runs, what runs beside, how it ends
served.py     the indexes that can be asked, each open once, and answers of one state; encoding.py, their encoder
desk.py       every request's work: a bounded queue, worker threads
local.py      what `seewhy query` asks instead of the API; nearby.py, the sockets by which it finds a server
problems.py   what went wrong -> RFC 9457, or a page
api.py        /api/v1; fields.py and parameters.py, what goes in; answers.py, what goes out
pages.py      a page as an answer, whole or as a fragment; scripts and styles
site.py  reading.py  why.py  laboratory.py   the pages
mcp/          the same answers for agents, by the Model Context Protocol; without FastAPI

HTML is made in `search.render.page`, of records, as for files. Nothing is written over HTTP. The packages of the extra
`server` are imported only here.
"""
