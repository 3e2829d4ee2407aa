"""Tools for agents over the Model Context Protocol: on stdio, and at /mcp of the server.

    server(served, run)  ->  an MCPServer of the official SDK

    tools.py      search, similar, explain, why_not, status, fetch: functions whose signatures are the tools' schemas
    answers.py    models of the tools' answers
    quoting.py    texts of files without what people do not see
    server.py     registers the tools with the SDK; runs them on stdio

No tool can change an index. Importing the SDK takes half a second, so only server.py imports it, and ../app.py when the
server starts.
"""
