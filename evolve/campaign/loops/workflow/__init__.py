"""The workflow loop: whom to improve next, what its proposers are told, and when to stop."""
