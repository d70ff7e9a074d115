import { AgentLightningError } from '@agentlightning/core';

/** Thrown when a prompt leaves no room for a single token in the model's context. */
export class ContextLengthError extends AgentLightningError {
  constructor(promptTokens: number, maxContext: number) {
    super({
      code: 'VALIDATION',
      message: `The prompt has ${promptTokens} tokens; the model's context holds ${maxContext} with the response`,
      remedy: 'Shorten the conversation; every byte of text is one token for this model.',
      details: { promptTokens, maxContext },
    });
  }
}
