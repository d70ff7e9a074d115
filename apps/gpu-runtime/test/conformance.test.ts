// @module-tag long
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describeRuntimeConformance } from '@agentlightning/runtime/testing';
import { describeWithPython } from '../../../tools/describe-with-python.ts';
import { environment, startRuntime } from './runtime-process.ts';

/** Loading torch is slow, more so on a loaded machine. */
const testTimeoutMs = 120_000;

/** The flags for the timeouts that the suite requires. */
const timeFlags = {
  resultTtlMs: '--result-ttl-ms',
  sessionTtlMs: '--session-ttl-ms',
  abandonedModelTtlMs: '--abandoned-model-ttl-ms',
} as const;

describeWithPython(environment, 'the Python package of the GPU runtime', (python) => {
  describeRuntimeConformance({
    name: 'the GPU runtime, on the CPU',
    testTimeoutMs,
    // All weights of a base exist before a model is created from it.
    isSeeded: false,
    start: async ({ directory, apiKey, ...times }) => {
      const keyFile = path.join(directory, 'key');
      await writeFile(keyFile, apiKey);
      const checkpoints = path.join(directory, 'checkpoints');
      const flags = ['--model', 'tiny=random:llama-tiny', '--checkpoints', checkpoints, '--api-key-file', keyFile];
      for (const [limit, ms] of Object.entries(times)) flags.push(timeFlags[limit as keyof typeof times], String(ms));
      const { address, end } = await startRuntime(python, flags);
      return { address, kill: async () => void (await end('SIGKILL')), stop: async () => void (await end('SIGTERM')) };
    },
  });
});
