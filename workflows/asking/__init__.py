"""How an operator asks a model: counted calls, prompts, demonstrations and labels."""
