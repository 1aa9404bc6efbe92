"""The model: configuration, forward pass, weights, tokenizer, and where its files come from."""
