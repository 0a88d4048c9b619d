"""An agent over any endpoint that speaks OpenAI's chat completions."""
