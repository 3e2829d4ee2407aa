"""The same answers for agents: the Model Context Protocol, over stdio and at /mcp of the server.

    server(served, run)  ->  a Server of the official SDK, which transports run

asked.py      what tools are asked; answers.py, what they answer; their JSON Schemas follow from these
tools.py      search, explain, why_not, status; fetching.py, fetch: what the library says, as these records
server.py     tools and resources, as the SDK takes them
stdio.py      a client that starts a process
http.py       a client that asks `seewhy serve`

No tool writes. The SDK is imported by server.py and stdio.py alone, and by http.py when it answers: that takes half a
second.
"""
