import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Store } from '@agentlightning/core';
import { expect } from 'vitest';
import { AglProcess, stepOf, summaryOf } from './agl-process.ts';
import { withStore } from './with-store.ts';

/** A run of four steps of 24 rollouts. */
export const smallConfigFile: string = path.resolve(import.meta.dirname, 'fixtures/small.config.ts');

/** The small run, which ends as soon as a service is unavailable. */
export const impatientConfigFile: string = path.resolve(import.meta.dirname, 'fixtures/impatient.config.ts');

/** A run whose agents wait until the file of the environment variable `GATE` exists: `RunFolder.gate`. */
export const waitingConfigFile: string = path.resolve(import.meta.dirname, 'fixtures/waiting.config.ts');

/** Number of steps of the small run. */
export const smallSteps = 4;

const rolloutsPerStep = 24;

/** A folder with the data of runs, which is gone when the test is over. */
export class RunFolder implements Disposable {
  readonly path: string = mkdtempSync(path.join(tmpdir(), 'agl-run-'));

  get storeUrl(): string {
    return `sqlite:${path.join(this.path, 'agl.db')}`;
  }

  /** A file that does not exist: the gate of `waitingConfigFile`. */
  get gate(): string {
    return path.join(this.path, 'gate');
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }

  /** `agl train` on the small run. */
  train(...flags: string[]): AglProcess {
    return this.trainFile(smallConfigFile, ...flags);
  }

  /** `agl train` on another configuration. */
  trainFile(file: string, ...flags: string[]): AglProcess {
    return new AglProcess(['train', file, '--json', '--data-dir', this.path, ...flags]);
  }

  /** `agl gateway` on the store, in front of a model of this name. */
  gateway(upstream: string, model: string, port = '0'): AglProcess {
    return new AglProcess([
      'gateway',
      '--store',
      this.storeUrl,
      '--upstream',
      upstream,
      '--model',
      model,
      '--port',
      port,
    ]);
  }

  /** The steps that are done after a resume, to the end of the run. */
  async resumeAndFinish(runId: string, file: string = smallConfigFile): Promise<readonly number[]> {
    await using resumed = this.trainFile(file, '--resume', runId);
    const done = await resumed.event('finished');
    expect(summaryOf(done)['runId']).toBe(runId);
    return resumed.events.filter(({ type }) => type === 'stepped').map((event) => Number(stepOf(event)));
  }

  withStore<TResult>(use: (store: Store) => Promise<TResult>): Promise<TResult> {
    return withStore(this.path, use);
  }

  /** Every step has its record once, and every rollout of every step has ended once. */
  async expectWholeRun(runId: string): Promise<void> {
    await this.withStore(async (store) => {
      expect((await store.getRun(runId)).status).toBe('finished');
      const { items: metrics } = await store.queryMetrics(runId);
      expect(metrics.map(({ step }) => step)).toEqual(Array.from({ length: smallSteps }, (_, index) => index + 1));
      const { items } = await store.queryRollouts({ runId, modeIn: ['train'] });
      expect(items.length).toBe(smallSteps * rolloutsPerStep);
      expect(new Set(items.map(({ status }) => status))).toEqual(new Set(['succeeded']));
      for (let step = 1; step <= smallSteps; step += 1) {
        const ofStep = items.filter(({ metadata }) => metadata?.['step'] === step);
        expect(ofStep.length).toBe(rolloutsPerStep);
      }
    });
  }
}
