"""One slow host of a tree, and what it does to the others, with and without demotion."""
