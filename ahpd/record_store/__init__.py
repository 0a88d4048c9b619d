"""Collections of records: Markdown and JSON files a person may edit, and memory."""
