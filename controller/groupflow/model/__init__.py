"""The things that users describe: each declared once, for files, REST, the store and the command line."""
