import { AgentLightningError } from '@agentlightning/core';

/** Thrown when a prompt leaves no tokens for the response in the model's context. */
export class ContextLengthError extends AgentLightningError {
  constructor(promptTokens: number, maxContext: number, remedy = 'Shorten the conversation.') {
    super({
      code: 'VALIDATION',
      message: `The prompt has ${promptTokens} tokens; the model's context is ${maxContext}, including the response`,
      remedy,
      details: { promptTokens, maxContext },
    });
  }
}
