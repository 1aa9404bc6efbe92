"""Where tokens and grammars meet: the token bitmask of a configuration."""
