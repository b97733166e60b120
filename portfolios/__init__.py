"""Small sets of complementary harness trees, and the guarded router that sends each query to the one that serves it."""
