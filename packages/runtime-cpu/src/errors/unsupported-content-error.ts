import { AgentLightningError } from '@agentlightning/core';

/** Thrown when a chat message holds something other than text, such as an image. */
export class UnsupportedContentError extends AgentLightningError {
  constructor(messageIndex: number, kind: string) {
    super({
      code: 'VALIDATION',
      message: `messages[${messageIndex}] has content of type "${kind}", but the embedded model supports only text`,
      remedy: 'Send the content as a string, or as parts of type "text".',
      details: { messageIndex, kind },
    });
  }
}
