"""One slow host of a tree, and its effect on the others, with and without demotion."""
