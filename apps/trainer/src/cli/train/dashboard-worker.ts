import { createInterface } from 'node:readline';
import { AgentLightningError } from '@agentlightning/core';
import { errorCodec } from '@agentlightning/core/protocol';
import { openStoreByUrl } from '../../runtime/open-store-by-url.ts';
import { openDashboard } from '../serve/run-dashboard.ts';
import { type DashboardSettings, finishedLine } from './dashboard-messages.ts';

/*
 * The dashboard of a training, in a separate process: a slow query must not block the trainer. The first line of standard
 * input has the settings; the process ends when standard input closes, and so does not outlive the trainer.
 */

const input = createInterface({ input: process.stdin });
const lines = input[Symbol.asyncIterator]();

try {
  await serve(JSON.parse((await lines.next()).value ?? '') as DashboardSettings);
} catch (error) {
  send(errorCodec.encode(knownError(error)));
  input.close();
}

async function serve({ storeUrl, storeApiKey, port }: DashboardSettings): Promise<void> {
  const store = await openStoreByUrl({ url: storeUrl, apiKey: storeApiKey });
  try {
    const dashboard = await openDashboard(store, { store: storeUrl, host: '127.0.0.1', port });
    send({ type: 'ready', url: dashboard.url });
    const { value, done } = await lines.next();
    await dashboard.close(noticeOf(done !== true && value === finishedLine));
  } finally {
    await store.close();
  }
}

function noticeOf(hasFinished: boolean): string {
  return hasFinished
    ? 'The training has ended, and its dashboard with it. `agl dashboard` shows the run.'
    : 'The trainer was killed before its run has ended. `agl resume <run>` continues it, `agl dashboard` shows it.';
}

function knownError(error: unknown): AgentLightningError {
  if (AgentLightningError.isInstance(error)) return error;
  return new AgentLightningError({ code: 'INTERNAL', message: `the dashboard failed: ${String(error)}`, cause: error });
}

function send(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
