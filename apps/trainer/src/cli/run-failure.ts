import { AgentLightningError, withoutPasswords } from '@agentlightning/core';

/** The last line for programs when a run broke off. */
export function writeFailure(
  error: unknown,
  run: { readonly runId: string | null; readonly resume: string | null },
): void {
  const known = AgentLightningError.isInstance(error) ? error : null;
  const message = withoutPasswords(error instanceof Error ? error.message : String(error));
  const failure = { event: 'failed', code: known?.code ?? null, message, run: run.runId, resume: run.resume };
  process.stdout.write(`${JSON.stringify(failure)}\n`);
}

/** The same error, with the command that goes on with the run as its remedy where there is no better one. */
export function withResume(error: unknown, resume: string): unknown {
  if (!AgentLightningError.isInstance(error)) return error;
  const { code, details } = error;
  const isGeneric = error.remedy.includes('--resume <run>') || code === 'CANCELLED';
  const remedy = isGeneric ? `Go on with: ${resume}` : `${error.remedy} Then go on with: ${resume}`;
  const message = error.message.replace(/^\[\w+\] /, '');
  return new AgentLightningError({ code, message, remedy, details, cause: error });
}
