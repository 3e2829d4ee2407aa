"""The same answers for agents: the Model Context Protocol, over stdio and at /mcp of the server.

    server(served, run)  ->  an MCPServer of the official SDK, which its transports run

tools.py      search, explain, why_not, status, fetch: functions whose signatures are the tools' schemas
answers.py    what they answer
server.py     tools as the SDK takes them; stdio

No tool writes. The SDK is imported by server.py alone, and by ../app.py when it answers: that takes half a second.
"""
