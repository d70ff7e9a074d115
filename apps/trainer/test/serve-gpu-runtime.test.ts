/**
 * Deployments whose versions the GPU runtime serves.
 *
 * @module-tag long
 */
import path from 'node:path';
import { readDeployment } from '@agentlightning/core/protocol';
import { readProductionMetadata } from '@agentlightning/core/spans';
import { openStore } from '@agentlightning/store';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { pythonSuites } from '../../../tools/describe-with-python.ts';
import { pythonEnvironments } from '../../../tools/python-environment.ts';
import { runAgl } from './agl-command.ts';
import { AglProcess } from './agl-process.ts';
import { RunFolder } from './run-folder.ts';
import { smallTrainer, trainSmall } from './small-trainer.ts';

/** Loading torch is slow, more so on a busy machine. */
vi.setConfig({ testTimeout: 600_000 });

const describeWithRuntime = await pythonSuites(pythonEnvironments['agentlightning-runtime']);
const sources = path.resolve(import.meta.dirname, '../../gpu-runtime/src');
const env = { PYTHONPATH: sources, HF_HUB_OFFLINE: '1', OMP_NUM_THREADS: '1', CUDA_VISIBLE_DEVICES: '' };
const users = Array.from({ length: 16 }, (_, index) => `user-${index}`);

let folder: RunFolder;
beforeEach(() => {
  folder = new RunFolder();
});
afterEach(() => folder[Symbol.dispose]());

/** A runtime in Python with a random model, and with its checkpoints in a folder that a restart finds. */
async function startRuntime(
  python: string,
  name: string,
  port = '0',
): Promise<{ readonly process: AglProcess; readonly address: string }> {
  const serve = [python, '-m', 'agentlightning_runtime', 'serve', '--port', port, '--inference-port', '0'];
  const model = ['--model', 'tiny=random:llama-tiny', '--checkpoints', path.join(folder.path, name)];
  const process = new AglProcess([], { command: [...serve, ...model], env });
  onTestFinished(() => process[Symbol.asyncDispose]());
  return { process, address: String((await process.event('ready'))['address']) };
}

interface Reply {
  readonly status: number;
  readonly id: string;
  readonly version: string;
}

async function ask(gateway: string, user: string): Promise<Reply> {
  const { status, headers } = await fetch(`${gateway}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-agl-user': user },
    body: JSON.stringify({ model: 'support-agent', max_tokens: 4, messages: [{ role: 'user', content: 'Hello' }] }),
  });
  return { status, id: headers.get('x-rollout-id') ?? '', version: headers.get('x-agl-deployment-version') ?? '' };
}

async function versionsOf(gateway: string): Promise<readonly string[]> {
  const versions: string[] = [];
  for (const user of users) versions.push((await ask(gateway, user)).version);
  return versions;
}

describeWithRuntime('agl serve with the GPU runtime', (python) => {
  test('two runtimes serve the live version and the candidate, and the live version responds while the other is away', async () => {
    const url = `sqlite:${path.join(folder.path, 'agl.db')}`;
    const store = await openStore(url);
    onTestFinished(() => store.close());
    const stable = await startRuntime(python, 'stable');
    const candidate = await startRuntime(python, 'candidate');
    for (const [runId, { address }] of [
      ['trained', stable],
      ['retrained', candidate],
    ] as const) {
      const runtime = { type: 'grpc', address, lora: { rank: 4 } } as const;
      const { error } = await trainSmall(smallTrainer(folder.path, { runtime, store: { url } }), { runId });
      expect(error).toBeNull();
    }
    const serve = ['serve', 'trained@final', '--as', 'support-agent', '--store', url, '--port', '0'];
    await using served = new AglProcess(serve);
    const gateway = String((await served.event('ready'))['url']);
    expect(await ask(gateway, 'ada')).toMatchObject({ status: 200, version: 'trained@1' });
    const trial = ['deploy', 'retrained@final', '--to', 'support-agent', '--share', '50%', '--store', url];
    expect(await runAgl(trial)).toMatchObject({ code: 0 });
    const waiting = { timeout: 120_000, interval: 1000 };
    await vi.waitFor(async () => expect(await versionsOf(gateway)).toContain('retrained@1'), waiting);
    const before = await versionsOf(gateway);
    expect(new Set(before)).toEqual(new Set(['trained@1', 'retrained@1']));
    expect(await versionsOf(gateway)).toEqual(before);
    const state = readDeployment(await store.getRun('support-agent'));
    expect(state?.versions).toMatchObject([
      { version: 'trained@1', baseModel: 'tiny', license: null, source: { type: 'grpc', address: stable.address } },
      { version: 'retrained@1', source: { type: 'grpc', address: candidate.address, lora: { rank: 4 } } },
    ]);

    await candidate.process.kill();
    const tried = users[before.indexOf('retrained@1')] ?? '';
    const reply = await ask(gateway, tried);
    expect(reply).toMatchObject({ status: 200, version: 'trained@1' });
    const rollout = await vi.waitFor(() => store.getRollout(reply.id), waiting);
    expect(readProductionMetadata(rollout.metadata)).toMatchObject({
      version: 'trained@1',
      fallbackFrom: 'retrained@1',
      user: tried,
    });

    // The restarted runtime gets the checkpoint again, and the same users the candidate.
    await startRuntime(python, 'candidate', candidate.address.split(':')[1]);
    await vi.waitFor(async () => expect((await ask(gateway, tried)).version).toBe('retrained@1'), {
      timeout: 120_000,
      interval: 5000,
    });
    expect(await versionsOf(gateway)).toEqual(before);
  });
});
