"""A search that stays open in the terminal: command.py is `seewhy search`, app.py its screens, which know Textual."""
