"""What agents talk to: an OpenAI-compatible endpoint for the models being trained."""
