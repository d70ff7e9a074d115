import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connectRuntime } from '@agentlightning/runtime';
import { expect, onTestFinished, test, vi } from 'vitest';
import { launchEmbeddedRuntime } from './embedded-runtime.ts';

test('the embedded runtime accepts only its random key, and leaves no key file behind', {
  timeout: 60_000,
}, async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'agl-launch-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  vi.stubEnv('TMPDIR', folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  const launched = await launchEmbeddedRuntime({ checkpointDir: path.join(folder, 'checkpoints') });
  onTestFinished(() => launched.close());
  expect(readdirSync(folder).filter((name) => name.startsWith('agl-key-'))).toEqual([]);
  await expect(connectRuntime({ address: launched.address })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  const runtime = await connectRuntime({ address: launched.address, apiKey: launched.apiKey });
  onTestFinished(() => runtime.close());
  const model = await runtime.createModel({ baseModel: 'tiny-random', modelId: 'guarded', seed: 1 });
  const { baseUrl } = await model.endpoint();
  expect((await fetch(`${baseUrl}/models`)).status).toBe(401);
  const headers = { authorization: `Bearer ${launched.apiKey}` };
  expect((await fetch(`${baseUrl}/models`, { headers })).status).toBe(200);
});
