"""The OpenAI-compatible inference endpoint: samples from the weights that training published."""
