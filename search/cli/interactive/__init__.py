"""A search that stays open in the terminal: type and see hits, the place of one in its document, and why it is there.

command.py   `seewhy search`: parse, open the index, run the app
asking.py    what is asked when, and which reply counts
drawing.py   hits and documents, in rows
messages.py  what the threads that ask the index send to the app
widgets.py   the list, the preview, what is laid above both
app.py       the screen and its keys; style.tcss, where what stands

The last three know Textual, which is imported when the command runs.
"""
