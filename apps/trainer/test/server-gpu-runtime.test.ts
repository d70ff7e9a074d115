import { readFileSync } from 'node:fs';
import path from 'node:path';
import { AgentLightningClient } from '@agentlightning/client';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { pythonSuites } from '../../../tools/describe-with-python.ts';
import { pythonEnvironments } from '../../../tools/python-environment.ts';
import { AglProcess } from './agl-process.ts';
import smallConfig, { smallTasks } from './fixtures/small.config.ts';
import { RunFolder } from './run-folder.ts';

/** Loading torch is slow, more so on a busy machine. */
vi.setConfig({ testTimeout: 600_000 });

const describeWithRuntime = await pythonSuites(pythonEnvironments['agentlightning-runtime']);
const sources = path.resolve(import.meta.dirname, '../../gpu-runtime/src');

let folder: RunFolder;
beforeEach(() => {
  folder = new RunFolder();
});
afterEach(() => folder[Symbol.dispose]());

const env = {
  PYTHONPATH: sources,
  HF_HUB_OFFLINE: '1',
  OMP_NUM_THREADS: '1',
  CUDA_VISIBLE_DEVICES: '',
  AGENTLIGHTNING_INFERENCE_KEY: 'key-of-agents',
  AGL_INFERENCE_KEY: 'key-of-agents',
};

function startServer(...flags: readonly string[]): AglProcess {
  return new AglProcess(['server', '--data', folder.path, '--port', '0', ...flags], { env });
}

describeWithRuntime('agl server with the GPU runtime', (python) => {
  test('it starts the runtime, trains two runs with LoRA at a time, and starts a killed runtime again', async () => {
    const runtime = [
      '--runtime-python',
      python,
      '--gpus',
      '0',
      '--model',
      'tiny=random:llama-tiny',
      '--lora-rank',
      '4',
      '--runtime-arguments',
      '--optimizer adamw-8bit',
    ];
    await using server = startServer(...runtime, '--max-concurrent-runs', '2');
    const { url, keyFile, device } = await server.event('ready');
    expect(device).toBe('cpu');
    const client = new AgentLightningClient({ url: String(url), apiKey: readFileSync(String(keyFile), 'utf8') });
    const { train, test: held } = smallTasks;
    await client.uploadData({ train: [...train], test: held.slice(0, 4) });
    const algorithm = { type: 'grpo', groupSize: 2, learningRate: 1e-3 };
    const options = { algorithm, steps: 3, tasksPerStep: 3, training: { checkpoints: { every: 1 } } };
    const first = await client.train(smallConfig.agent, options);
    const second = await client.train(smallConfig.agent, options);
    for await (const { type } of first.events()) if (type === 'stepped') break;
    expect((await client.runs()).map(({ status }) => status)).toEqual(['running', 'running']);
    process.kill(runtimePid(server), 'SIGKILL');
    for (const run of [first, second]) {
      const { endpoint, step } = await run.result();
      expect({ step, model: endpoint.model }).toEqual({ step: 3, model: run.runId });
    }
    const log = readFileSync(path.join(folder.path, 'runtime.log'), 'utf8');
    expect(log.match(/Listening on/g)).toHaveLength(2);
  });

  test('a run whose model endpoint is refused fails with the reason, and the server stays', async () => {
    const serve = [python, '-m', 'agentlightning_runtime', 'serve', '--port', '0', '--inference-port', '0'];
    const model = ['--model', 'tiny=random:llama-tiny', '--checkpoints', path.join(folder.path, 'checkpoints')];
    // Plain HTTP to another machine.
    const command = [...serve, ...model, '--inference-url', 'http://192.0.2.1:8000/v1'];
    await using runtime = new AglProcess([], { command, env });
    const { address } = await runtime.event('ready');
    await using server = startServer('--runtime', String(address));
    const { url, keyFile } = await server.event('ready');
    const client = new AgentLightningClient({ url: String(url), apiKey: readFileSync(String(keyFile), 'utf8') });
    await client.uploadData({ train: [...smallTasks.train], test: [...smallTasks.test] });
    const run = await client.train(smallConfig.agent, { steps: 1, tasksPerStep: 2 });
    await expect(run.result()).rejects.toThrow('Upstream key refused for http://192.0.2.1:8000/v1');
    expect(await client.runs()).toMatchObject([{ status: 'failed' }]);
  });

  test('an argument that the runtime does not have is reported by it', async () => {
    const model = ['--runtime-python', python, '--gpus', '0', '--model', 'random:llama-tiny'];
    await using server = startServer(...model, '--runtime-arguments', '--optimiser adamw-8bit');
    expect(await server.exitCode()).toBe(3);
    expect(server.stderr).toContain('unrecognized arguments: --optimiser adamw-8bit');
  });

  test('GPUs that the runtime does not find are reported with their number', async () => {
    await using server = startServer('--runtime-python', python, '--gpus', '4', '--model', 'random:llama-tiny');
    expect(await server.exitCode()).toBe(2);
    expect(server.stderr).toContain(`4 GPUs were requested, and ${python} finds 0`);
  });
});

/** The process of the runtime, among those that the server has started. */
function runtimePid(server: AglProcess): number {
  const pid = server.childPids().find((each) => readFileSync(`/proc/${each}/cmdline`, 'utf8').includes('checkpoints'));
  if (pid === undefined) throw new Error('the server has no runtime');
  return pid;
}
