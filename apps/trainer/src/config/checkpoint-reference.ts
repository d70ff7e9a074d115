import { AgentLightningError } from '@agentlightning/core';

/** A saved state of a run: `<run>@<choice>`. */
export interface CheckpointReference {
  readonly runId: string;
  /** `latest`, `best`, the number of a step, or the version of a prompt search, such as `v3`. */
  readonly choice: string;
}

/** Whether a text is meant as a reference to a run: `run-1a2b@best`. */
export function isCheckpointReference(text: string): boolean {
  return /^[^@\s/]+@[^@\s/]+$/.test(text);
}

/**
 * Parses a reference such as `run-1a2b@best`.
 *
 * @throws AgentLightningError CONFIG for another text
 */
export function parseCheckpointReference(text: string): CheckpointReference {
  const [runId, choice] = text.split('@');
  if (isCheckpointReference(text) && runId !== undefined && choice !== undefined) return { runId, choice };
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `invalid reference to a checkpoint: "${text}"`,
    remedy:
      'Write `<run>@latest`, `<run>@best`, `<run>@<step>` or `<deployment>@live`. `agl runs` lists the runs of a store.',
  });
}
