import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import type { RolloutMode } from '@agentlightning/core';
import { rescoreText } from '../../report/reward-text.ts';
import { RunCopy } from '../../rewards/copy-run.ts';
import { rescoreRun } from '../../rewards/rescore-run.ts';
import { openExistingStore } from '../open-existing-store.ts';
import { listenToProcess } from '../process/listen-to-process.ts';
import { redirectStdout } from '../process/redirect-stdout.ts';
import { loadScoring } from './run-audit.ts';

/** The flags of `agl rescore`. */
export interface RescoreFlags {
  readonly reward: string;
  readonly mode: readonly RolloutMode[];
  readonly copy?: string;
  readonly out?: string;
  readonly store: string;
  readonly json?: boolean;
}

/**
 * Rescores a run and prints the comparison.
 *
 * @throws AgentLightningError CONFIG for a module without a computed reward, NOT_FOUND without the run
 */
export async function runRescore(runId: string, flags: RescoreFlags): Promise<void> {
  const reward = await loadScoring(flags.reward);
  const store = await openExistingStore(flags.store);
  const stdout = flags.json === true ? redirectStdout() : null;
  const stop = listenToProcess({ close: () => undefined, onWarning: () => undefined });
  let copy: RunCopy | null = null;
  try {
    copy = flags.copy === undefined ? null : await RunCopy.create(store, { from: runId, runId: flags.copy });
    const file = flags.out === undefined ? null : createWriteStream(flags.out);
    const written = file === null ? null : finished(file);
    // Its error is thrown by the next line that is written, or at the end.
    written?.catch(() => undefined);
    const report = await rescoreRun({
      store,
      runId,
      modes: flags.mode,
      reward,
      signal: stop.signal,
      onRollout: async (rescored, rollout) => {
        if (file?.errored) throw file.errored;
        if (file?.write(`${JSON.stringify(rescored)}\n`) === false) await Promise.race([once(file, 'drain'), written]);
        await copy?.add(rescored, rollout);
      },
    });
    file?.end();
    await written;
    await copy?.finish();
    if (stdout === null) process.stdout.write(rescoreText(report, flags));
    else stdout.write(`${JSON.stringify({ runId, ...report })}\n`);
  } catch (error) {
    // The copy has a part of the rollouts only.
    await copy?.fail();
    throw error;
  } finally {
    stop.release();
    stdout?.release();
    await store.close();
  }
}
