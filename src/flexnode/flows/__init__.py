"""What a user asks for, put together from the parts below. A flow returns or raises; it never prints."""
