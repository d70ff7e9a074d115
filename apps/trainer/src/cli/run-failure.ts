import { AgentLightningError, withoutPasswords } from '@agentlightning/core';
import { type CommandPlace, callableText } from '../report/callable-text.ts';

/** The last line of `--json` when a run failed. */
export function failureLine(
  error: unknown,
  run: { readonly runId: string | null; readonly resume: string | null },
): string {
  const known = AgentLightningError.isInstance(error) ? error : null;
  const message = withoutPasswords(error instanceof Error ? error.message : String(error));
  const failure = { event: 'failed', code: known?.code ?? null, message, run: run.runId, resume: run.resume };
  return `${JSON.stringify(failure)}\n`;
}

/**
 * Whether what went wrong before a run began can only be mended by what makes another run of it, such as another model or
 * another id: then there is nothing to go on with.
 */
export function asksForAnotherRun(error: unknown): boolean {
  return AgentLightningError.isInstance(error) && (error.code === 'RUNTIME_REJECTED' || error.code === 'CONFLICT');
}

/** The same error, with commands that can be called from here, the one that goes on with the run among them. */
export function withResume(error: unknown, resume: string, place: CommandPlace): unknown {
  if (!AgentLightningError.isInstance(error)) return error;
  const { code, details } = error;
  const isGeneric = error.remedy.includes('--resume <run>') || code === 'CANCELLED';
  const remedy = isGeneric
    ? `Go on with: ${resume}`
    : `${callableText(error.remedy, place)} Then go on with: ${resume}`;
  const message = callableText(error.message.replace(/^\[\w+\] /, ''), place);
  return new AgentLightningError({ code, message, remedy, details, cause: error });
}
