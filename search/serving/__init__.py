"""One warm process that answers a page and an HTTP API: `seewhy serve`.

    application(Served.open(...), Settings(...))  ->  an ASGI application, which uvicorn runs

app.py        the application, put together; settings.py, what may be chosen
connection.py how uvicorn runs it: connections that are bounded in number and time
guard.py      before any routing: who may ask; limits.py, how much; session.py, who knows the token
life.py       from the first socket to the last answer: what runs beside, how it ends
served.py     the indexes that can be asked, each open once; encoding.py, the encoder that they share;
              faceting.py, what documents have in common
desk.py       every request's work: a bounded queue, worker threads
local.py      what `seewhy query` asks instead of the API; nearby.py, the sockets by which it finds a server
problems.py   what went wrong -> RFC 9457, or a page
asked.py      parameters that pages and API share
api.py        /api/v1; parameters.py, models.py and openapi.py, what goes in and out; paging.py, answers.py
pages.py      a page as an answer, whole or as a fragment; scripts and styles
site.py  reading.py  why.py  laboratory.py  reference.py   the pages
generations.py   answers of one state of an index; sentences.py, what is wrong with arguments
mcp/          the same answers for agents, by the Model Context Protocol; without FastAPI

HTML is made in `search.render.page`, of records, as for files. Nothing is written over HTTP. The packages of the extra
`server` are imported only here.
"""
