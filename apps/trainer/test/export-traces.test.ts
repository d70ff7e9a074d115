import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { OtlpReceiver } from '@agentlightning/otel/testing';
import { createStoreServer, openStore, type SqlStore, type StoreServer } from '@agentlightning/store';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type EndedCommand, runAgl } from './agl-command.ts';
import { ask, smallTrainer, trainSmall } from './small-trainer.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const folder = mkdtempSync(path.join(tmpdir(), 'agl-traces-'));
let runId = '';
let receiver: SqlStore;
let server: StoreServer;

beforeAll(async () => {
  const trainer = smallTrainer(folder, { steps: 1, agent: async (task) => (await ask(task)).length });
  const { events } = await trainSmall(trainer);
  runId = events.find((event) => event.type === 'started')?.runId ?? '';
  receiver = await openStore(':memory:');
  server = await createStoreServer({ store: receiver, port: 0 });
});
afterAll(async () => {
  await server.close();
  await receiver.close();
  rmSync(folder, { recursive: true, force: true });
});

async function rollouts(): Promise<readonly unknown[]> {
  const store = `sqlite:${path.join(folder, 'agl.db')}`;
  const { output } = await runAgl(['rollouts', '--run', runId, '--store', store, '--mode', 'train', '--json']);
  return output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
}

function exportTraces(...flags: string[]): Promise<EndedCommand> {
  const store = `sqlite:${path.join(folder, 'agl.db')}`;
  return runAgl(['export', 'traces', runId, '--store', store, '--endpoint', server.url, ...flags], { cwd: folder });
}

test('a receiver that refuses the whole run ends the command with its reasons', async () => {
  // The receiving store knows no rollout of the run.
  const { code, output, stderr } = await exportTraces('--mode', 'train', '--json');
  expect([code, output]).toEqual([3, '']);
  expect(stderr).toMatch(/spans were refused: Rollout \S+ not found/);
});

test('the spans of one rollout arrive by JSON, each model call once and without its tokens', async () => {
  await using collector = await OtlpReceiver.start();
  const endpoint = ['--endpoint', collector.url, '--protocol', 'http/json'];
  const [{ rollout } = { rollout: '' }] = (await rollouts()) as readonly { readonly rollout: string }[];
  const { code, output } = await exportTraces(...endpoint, '--rollout', rollout, '--follow');
  expect([code, output]).toEqual([
    0,
    expect.stringMatching(/^Exported \d+ spans of 1 rollout to http:.* in 1 request\.\n$/),
  ]);
  const [request] = collector.requests;
  const text = request?.body.toString() ?? '';
  expect(request?.path).toBe('/v1/traces');
  expect(text.match(/gen_ai\.usage\.input_tokens/g)).toHaveLength(1);
  expect(text).toContain(`{"key":"agentlightning.run_id","value":{"stringValue":"${runId}"}}`);
  expect(text).toContain('"gen_ai.evaluation.result"');
  expect(text).not.toContain('prompt_token_ids');
});

test('wrong flags are refused with what to do', async () => {
  expect((await exportTraces('--header', 'novalue')).stderr).toContain('"novalue" is not of the form name=value');
  expect((await exportTraces('--to', 'jaeger')).stderr).toContain('Allowed choices are otlp, langfuse');
  const unreachable = await exportTraces('--endpoint', 'nowhere');
  expect([unreachable.code, unreachable.stderr]).toEqual([2, expect.stringContaining('invalid address')]);
});
