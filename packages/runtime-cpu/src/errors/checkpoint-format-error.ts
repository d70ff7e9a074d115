import { AgentLightningError } from '@agentlightning/core';

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
