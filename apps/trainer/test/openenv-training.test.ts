// @module-tag long
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openEnvironment, playEnvironment } from '@agentlightning/environments';
import { expect, test } from 'vitest';
import { pythonSuites } from '../../../tools/describe-with-python.ts';
import { interopEnvironments } from '../../../tools/python-environment.ts';
import { Trainer } from '../src/index.ts';

const describeWithOpenEnv = await pythonSuites(interopEnvironments['openenv 0.10.0']);
const servers = path.resolve(import.meta.dirname, '../../../packages/environments/test/interop/servers.py');

/** Seconds on a free machine, more on a busy one. */
const timeoutMs = 600_000;

describeWithOpenEnv('a server of OpenEnv', (python) => {
  test(
    'is trained on with its own rewards',
    async () => {
      const server = spawn(python, [servers], { stdio: ['pipe', 'pipe', 'inherit'] });
      const folder = mkdtempSync(path.join(tmpdir(), 'agl-openenv-'));
      try {
        const [output]: Buffer[] = await once(server.stdout, 'data');
        const { echo: url } = JSON.parse(String(output)) as { readonly echo: string };
        const task = (index: number) => ({ seed: (index * 7919) % 260 });
        const trainer = new Trainer({
          run: { name: 'openenv', dataDir: folder },
          agent: playEnvironment(openEnvironment<{ readonly seed: number }>({ url }), { maxTurns: 1 }),
          tasks: {
            train: Array.from({ length: 200 }, (_, index) => task(index)),
            test: Array.from({ length: 48 }, (_, index) => task(200 + index)),
          },
          runtime: { type: 'embedded', model: 'tiny-reader' },
          algorithm: { type: 'grpo', groupSize: 8, learningRate: 2e-3, optimizer: { beta2: 0.99 } },
          sampling: { temperature: 1, maxTokens: 6 },
          steps: 15,
          tasksPerStep: 8,
          agents: { concurrency: 32, inProcess: true },
        });
        const { before, after, isImproved } = await trainer.fit();
        expect(after.failed).toBe(0);
        expect(after.reward).toBeGreaterThan((before.reward ?? 0) + 0.3);
        expect(isImproved).toBe(true);
      } finally {
        server.kill('SIGKILL');
        await once(server, 'exit');
        rmSync(folder, { recursive: true, force: true });
      }
    },
    timeoutMs,
  );
});
