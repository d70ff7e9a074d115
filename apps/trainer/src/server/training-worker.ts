import process from 'node:process';
import { AgentLightningError } from '@agentlightning/core';
import type { TrainingEvent } from '@agentlightning/core/protocol';
import type { Upstream } from '@agentlightning/gateway';
import { withTelemetry } from '../metrics/command-telemetry.ts';
import { jsonReport } from '../report/json-report.ts';
import { trainWith } from '../trainer.ts';
import { resolveRunSettings } from './run-config.ts';
import { type RunError, type RunMessage, runErrorOf, type ServerMessage } from './run-messages.ts';

// The process of one run. It ends with the server, which resumes the run when it is back.
const stop = new AbortController();
let onRegistered = (_error: RunError | null): void => undefined;

process.on('disconnect', () => process.exit(1));
// Ctrl+C reaches all processes of a terminal: the server stops this one.
process.on('SIGINT', () => undefined);
process.on('message', (message: ServerMessage) => {
  switch (message.type) {
    case 'start':
      void runToEnd(message);
      return;
    case 'stop':
      stop.abort(new DOMException('stop requested', 'AbortError'));
      return;
    case 'registered':
      onRegistered(message.error);
  }
});
await post({ type: 'ready' });

async function runToEnd({ runId, settings }: Extract<ServerMessage, { type: 'start' }>): Promise<void> {
  const report = jsonReport(
    (line) => void post({ type: 'event', event: JSON.parse(line) as TrainingEvent }),
    (text) => void process.stderr.write(text),
  );
  const error = await withTelemetry('agl-train', () =>
    trainWith(resolveRunSettings(settings), {
      resume: runId,
      signal: stop.signal,
      onEvent: report.onEvent,
      registerUpstreams,
    }),
  ).then(
    () => null,
    (cause: unknown) => runErrorOf(cause),
  );
  await post({ type: 'ended', error });
  process.exit();
}

async function registerUpstreams(upstreams: readonly Upstream[]): Promise<void> {
  const registered = new Promise<RunError | null>((resolve) => {
    onRegistered = resolve;
  });
  await post({ type: 'upstreams', upstreams });
  const error = await registered;
  if (error !== null) throw new AgentLightningError(error);
}

function post(message: RunMessage): Promise<void> {
  return new Promise((resolve) => {
    process.send?.(message, undefined, undefined, () => resolve());
  });
}
