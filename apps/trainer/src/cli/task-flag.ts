import { AgentLightningError } from '@agentlightning/core';

/**
 * Parses the value of `--task`.
 *
 * @throws AgentLightningError CONFIG when it is not JSON
 */
export function parseTaskFlag(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const remedy = 'Write one JSON value in single quotes.';
    throw new AgentLightningError({ code: 'CONFIG', message: `--task is not JSON: ${text}`, remedy, cause });
  }
}
