"""What the reproductions of all papers share."""
