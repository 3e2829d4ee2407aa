"""A search that stays open in the terminal: type and see hits, the place of one in its document, and why it is there.

command.py  `seewhy search`: parse, open the index, run the app
asking.py   what is asked when, and which reply counts
drawing.py  hits and documents as rich texts
app.py      widgets and keys; the only module that knows Textual, which is imported when the command runs
"""
