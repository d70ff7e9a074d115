import { describe, vi } from 'vitest';
import { Bench } from './bench.ts';
import { describeAbandonment } from './cases/abandonment.ts';
import { describeCheckpoints } from './cases/checkpoints.ts';
import { describeDeath } from './cases/death.ts';
import { describeExports } from './cases/exports.ts';
import { describeFeatures } from './cases/features.ts';
import { describeGradients } from './cases/gradients.ts';
import { describeKilling } from './cases/killing.ts';
import { describeLosses } from './cases/losses.ts';
import { describeMetrics } from './cases/metrics.ts';
import { describeModels } from './cases/models.ts';
import { describeQueueing } from './cases/queueing.ts';
import { describeSequence } from './cases/sequence.ts';
import { describeServing } from './cases/serving.ts';
import { describeSessions } from './cases/sessions.ts';
import { describeUploads } from './cases/uploads.ts';
import { describeValidation } from './cases/validation.ts';
import { describeValues } from './cases/values.ts';
import { describeWatching } from './cases/watching.ts';
import type { RuntimeConformanceOptions } from './runtime-under-test.ts';

/**
 * The suite that every training runtime passes, in any language: it communicates only by
 * gRPC and HTTP to a process. Call it at the top of a vitest file.
 *
 * @example
 * ```ts
 * describeRuntimeConformance({
 *   name: 'my runtime',
 *   start: async ({ directory, apiKey }) => {
 *     const child = await startMyRuntime(directory, apiKey);
 *     return { address: child.address, kill: () => child.end('SIGKILL'), stop: () => child.end('SIGTERM') };
 *   },
 * });
 * ```
 */
export function describeRuntimeConformance(options: RuntimeConformanceOptions): void {
  describe(`${options.name} fulfils the training-runtime contract`, () => {
    const timeoutMs = options.testTimeoutMs ?? 30_000;
    vi.setConfig({ testTimeout: timeoutMs, hookTimeout: timeoutMs });
    const bench = new Bench(options);
    describeSessions(bench);
    describeModels(bench);
    describeAbandonment(bench);
    describeSequence(bench);
    describeUploads(bench);
    describeValidation(bench);
    describeGradients(bench);
    describeLosses(bench);
    describeWatching(bench);
    describeCheckpoints(bench);
    describeServing(bench);
    describeQueueing(bench);
    describeFeatures(bench);
    describeValues(bench);
    describeExports(bench);
    describeMetrics(bench);
    describeDeath(bench);
    describeKilling(bench);
  });
}
