"""The `file:` resources: every file of this machine that this process may touch.

- **Names** (`names`). A URI names a path by its text: dot segments go before any link is
  looked at. A name that is no UTF-8 is listed with its bytes escaped, and that spelling
  opens it again.
- **Reading** sees through links. What is no regular file is never opened.
- **Writing** resolves the parent through links, once, and holds it by a descriptor
  (`places`). The last name is never followed: a link there is refused by a write and is
  itself what is deleted, moved or copied.
- **A file is replaced whole** (`writing`, `drafts`): written beside, put on disk, renamed
  over. What cannot be kept that way (a file of several names, an owner this process may
  not give away, a folder it may not write to) is written in place, and so is an append.
- **Trees** are walked by descriptors, one step at a time (`cursor`), so a folder swapped
  for a link meanwhile leads nowhere.
- **Errors** are made of `OSError`s in one place (`refusals`).

Everything here but `provider` blocks, and is called off the reactor's thread.
"""
