"""The web: fetching a page, and searching for one."""
