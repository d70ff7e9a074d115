"""Images in prompts: decoded, placed in the tokens, and put into the network."""
