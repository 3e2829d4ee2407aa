"""The same answers for agents: the Model Context Protocol, over stdio and at /mcp of the server.

    server(served, run)  ->  a Server of the official SDK, which transports run

places.py     what an answer names: ids of passages, parts of lists, addresses of documents
asked.py      what tools are asked; answers.py, what they answer; their JSON Schemas follow from these
tools.py      search, fetch, explain, why_not, status: what the library says, as these records
budget.py     how many tokens an answer has, and as much of it as fits
server.py     tools and resources, as the SDK takes them
stdio.py      a client that starts a process; it forwards to a running server of the same user, or answers by itself
http.py       a client that asks `seewhy serve`

No tool writes. The SDK is imported by server.py, stdio.py and http.py alone, as that takes half a second.
"""
