import { AgentLightningError } from '@agentlightning/core';
import { terminalText } from '../report/terminal-text.ts';
import { withProgramName } from './program-name.ts';

/** Writes the result of a command as one JSON object or as text. */
export function writeOutcome(
  flags: { readonly json?: boolean },
  outcome: { readonly record: object; readonly text: string },
): void {
  process.stdout.write(`${flags.json === true ? JSON.stringify(outcome.record) : outcome.text}\n`);
}

/** An error as text for the terminal: what failed and what to do. Unexpected errors have their stack. */
export function errorText(error: unknown): string {
  return terminalText(plainText(error));
}

function plainText(error: unknown): string {
  if (AgentLightningError.isInstance(error)) {
    const { issues } = error.details;
    const message = Array.isArray(issues) && issues.length > 1 ? listText(error.code, issues) : error.message;
    return `error: ${message}\n  → ${withProgramName(error.remedy)}`;
  }
  return `error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}

function listText(code: string, issues: readonly unknown[]): string {
  return [`[${code}] ${issues.length} problems`, ...issues.map((issue) => `  - ${String(issue)}`)].join('\n');
}
