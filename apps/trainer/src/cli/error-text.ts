import { AgentLightningError } from '@agentlightning/core';

/** An error as the command line tells it: what happened and what to do; the stack only of what nobody foresaw. */
export function errorText(error: unknown): string {
  if (AgentLightningError.isInstance(error)) return `error: ${error.message}\n  → ${error.remedy}`;
  return `error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}
