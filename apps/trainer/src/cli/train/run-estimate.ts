import { AgentLightningError } from '@agentlightning/core';
import { loadConfig } from '../../config/load-config.ts';
import { isPromptSearch } from '../../config/resolve-run.ts';
import { estimateTraining, type TrainingEstimate } from '../../estimate-training.ts';
import { plainReport } from '../../report/plain-report.ts';
import { shortDuration } from '../../report/text-formats.ts';
import { exitCodes } from '../exit-code.ts';
import { listenToProcess } from '../process/listen-to-process.ts';
import { redirectStdout } from '../process/redirect-stdout.ts';
import { overridesFrom, type TrainingRequest } from './run-training.ts';

/**
 * `agl train --estimate`: prints what a training would use, from one small step.
 *
 * @returns the exit code
 */
export async function runEstimate({ file, flags }: TrainingRequest): Promise<number> {
  const config = await loadConfig(file, overridesFrom(flags));
  if (isPromptSearch(config)) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: '--estimate is for trainings; this configuration is a prompt search',
      remedy: 'A prompt search is limited by `maxRollouts` and `maxOptimizerCalls` of its algorithm.',
    });
  }
  const stdout = redirectStdout();
  const report = plainReport((text) => void process.stderr.write(text));
  const stop = listenToProcess({
    close: report.close,
    onWarning: (message) => report.onEvent({ type: 'warning', message }),
  });
  try {
    const estimate = await estimateTraining(config, { signal: stop.signal, onEvent: report.onEvent });
    report.close();
    stdout.write(
      flags.json === true ? `${JSON.stringify({ type: 'estimated', ...estimate })}\n` : estimateText(estimate),
    );
    return exitCodes.done;
  } finally {
    stop.release();
    stdout.release();
  }
}

function estimateText(estimate: TrainingEstimate): string {
  const { measuredRollouts, rollouts, inputTokens, outputTokens, trainingTokens, seconds, cost } = estimate;
  const count = (value: number): string => value.toLocaleString('en-US');
  return [
    `Estimate of the whole training, from ${measuredRollouts} rollouts and one step:`,
    `  rollouts          ${count(rollouts)}`,
    `  tokens            ${count(inputTokens)} of prompts, ${count(outputTokens)} of responses, ${count(trainingTokens)} trained`,
    `  time              about ${shortDuration(seconds)}`,
    `  cost              ${cost.amount === null ? 'unknown' : `${cost.amount.toFixed(2)} ${cost.currency}`}`,
    ...cost.missing.map((text) => `                    without: ${text}`),
    'More rollouts at a time usually take less time each; longer responses of a trained model take more.',
    '',
  ].join('\n');
}
