"""The tree itself: up to ten thousand hosts on transit-stub networks, beside other ways to reach them."""
