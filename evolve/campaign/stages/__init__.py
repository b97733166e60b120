"""The stages of a campaign, plain functions of context and state."""
