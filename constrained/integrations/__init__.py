"""Other people's generation loops with our grammars in them. Nothing here is imported unless it is asked for."""
