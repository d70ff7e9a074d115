import { AgentLightningError } from '@agentlightning/core';

/** Thrown when a batch, loss or request is not supported; no state was changed. */
export class RejectedRequestError extends AgentLightningError {
  constructor(message: string, details?: Readonly<Record<string, unknown>>) {
    super({ code: 'RUNTIME_REJECTED', message, ...(details && { details }) });
  }
}

/** Thrown when the model's state does not allow an operation; no state was changed. */
export class PreconditionError extends AgentLightningError {
  constructor(message: string, remedy: string) {
    super({ code: 'PRECONDITION_FAILED', message, remedy });
  }
}

/** Thrown when a file is not a checkpoint of this runtime, or is damaged. */
export class CheckpointFormatError extends AgentLightningError {
  constructor(path: string, reason: string, cause?: unknown) {
    super({
      code: 'VALIDATION',
      message: `${path} is not a usable checkpoint: ${reason}`,
      remedy: 'Load another checkpoint; files are written atomically, so this one was modified externally.',
      cause,
      details: { path },
    });
  }
}

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
