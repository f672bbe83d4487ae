"""One file a command; the file's name is the command's, and ``command`` is the click object."""
