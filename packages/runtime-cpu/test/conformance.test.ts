import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describeRuntimeConformance } from '@agentlightning/runtime/testing';
import { vi } from 'vitest';
import { startProcess } from './cpu-runtime-process.ts';

/** Tests start processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

describeRuntimeConformance({
  name: 'the embedded runtime',
  start: async ({ directory, apiKey, resultTtlMs, sessionTtlMs, abandonedModelTtlMs }) => {
    const keyFile = path.join(directory, 'key');
    await writeFile(keyFile, apiKey);
    const flags = ['--dir', directory, '--key-file', keyFile, '--base-model', 'tiny-random'];
    if (sessionTtlMs !== undefined) flags.push('--session-ttl-ms', String(sessionTtlMs));
    if (abandonedModelTtlMs !== undefined) flags.push('--abandoned-model-ttl-ms', String(abandonedModelTtlMs));
    if (resultTtlMs !== undefined) flags.push('--result-ttl-ms', String(resultTtlMs));
    const { address, end } = await startProcess(flags);
    return { address, kill: () => end('SIGKILL'), stop: () => end('SIGTERM') };
  },
});
