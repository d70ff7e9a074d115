import { AgentLightningError } from '@agentlightning/core';
import { errorMessage, withoutPasswords } from '@agentlightning/core/internal';
import type { FailedEvent } from '@agentlightning/core/protocol';
import { type CommandContext, completeCommands } from '../../report/complete-commands.ts';

/** The last line of `--json` when a run failed. */
export function failureLine(
  error: unknown,
  run: { readonly runId: string | null; readonly resume: string | null },
): string {
  const known = AgentLightningError.isInstance(error) ? error : null;
  const message = withoutPasswords(errorMessage(error));
  const failure: FailedEvent = {
    type: 'failed',
    runId: run.runId,
    code: known?.code ?? null,
    message,
    remedy: withoutPasswords(known?.remedy ?? ''),
    resume: run.resume,
  };
  return `${JSON.stringify(failure)}\n`;
}

/**
 * Whether an error before the start of a run can only be corrected by a setting that makes it another run, such as the model or
 * the id. Then there is no run to resume.
 */
export function asksForAnotherRun(error: unknown): boolean {
  if (!AgentLightningError.isInstance(error)) return false;
  return error.code === 'RUNTIME_REJECTED' || error.code === 'CONFLICT' || Object.hasOwn(error.details, 'baseModel');
}

/** The same error with commands for this working directory, including the one that resumes the run. */
export function withResume(error: unknown, resume: string, context: CommandContext): unknown {
  if (!AgentLightningError.isInstance(error)) return error;
  const { code, details } = error;
  const isGeneric = error.remedy.includes('--resume <run>') || code === 'CANCELLED';
  const remedy = isGeneric
    ? `Resume with: ${resume}`
    : `${completeCommands(error.remedy, context)} Then resume with: ${resume}`;
  const message = completeCommands(error.message.replace(/^\[\w+\] /, ''), context);
  return new AgentLightningError({ code, message, remedy, details, cause: error });
}
