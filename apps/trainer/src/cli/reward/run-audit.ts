import { AgentLightningError } from '@agentlightning/core';
import { parseSettings } from '@agentlightning/core/settings';
import { rewardSchema } from '../../config/sections/reward-config.ts';
import { auditText } from '../../report/audit-text.ts';
import { auditRun } from '../../rewards/audit-run.ts';
import { type ComputedReward, computedReward } from '../../rewards/score-outputs.ts';
import { loadReward } from '../../user-modules/load-agent.ts';
import { exitCodes } from '../exit-code.ts';
import { openExistingStore } from '../open-existing-store.ts';
import { listenToProcess } from '../process/listen-to-process.ts';
import { redirectStdout } from '../process/redirect-stdout.ts';

/** The flags of `agl audit`. */
export interface AuditFlags {
  readonly judge?: string;
  readonly store: string;
  readonly json?: boolean;
}

/**
 * Audits the reward of a run and prints what was found.
 *
 * @returns the exit code
 * @throws AgentLightningError CONFIG for a judge without a computed reward, NOT_FOUND without the run
 */
export async function runAudit(runId: string, flags: AuditFlags): Promise<number> {
  const stdout = flags.json === true ? redirectStdout() : null;
  const judge = flags.judge === undefined ? null : await loadScoring(flags.judge);
  const store = await openExistingStore(flags.store);
  const stop = listenToProcess({ close: () => undefined, onWarning: () => undefined });
  try {
    const audit = await auditRun({ store, runId, judge, signal: stop.signal });
    if (stdout === null) process.stdout.write(auditText(audit));
    else stdout.write(`${JSON.stringify(audit)}\n`);
    return audit.findings.length > 0 ? exitCodes.failed : exitCodes.done;
  } finally {
    stop.release();
    stdout?.release();
    await store.close();
  }
}

/**
 * The computed reward that a module exports.
 *
 * @throws AgentLightningError CONFIG without one
 */
export async function loadScoring(file: string): Promise<ComputedReward> {
  const reward = computedReward(parseSettings(rewardSchema, await loadReward(file), { within: ['reward'] }));
  if (reward !== null) return reward;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `${file} has no part with \`score\` or \`scoreGroup\``,
    remedy: 'Export a function `({ task, output }) => score`, or `rewards({ … })`.',
  });
}
