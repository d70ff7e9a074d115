import { addressText } from '@agentlightning/core/internal';
import { terminalText, traceSteps } from '@agentlightning/trace';
import type { DevReport, DevRollout } from '../evaluation-run/dev-options.ts';
import { type CommandContext, completeCommands } from './complete-commands.ts';
import { countOf } from './evaluation-progress.ts';
import { rolloutText } from './rollout-text.ts';

/** The traces of the rollouts with their messages and rewards, then the problems that prevent training. */
export function devText({ rollouts, problems }: DevReport, context: CommandContext): string {
  const isColoured = process.stdout.isTTY && process.stdout.hasColors();
  const traces = rollouts.map((each) => rolloutText({ ...each, steps: traceSteps(each.spans) }, { isColoured }));
  const lines = problems.map((problem) => `  - ${terminalText(completeCommands(problem, context))}`);
  const verdict =
    problems.length === 0
      ? `${countOf(rollouts.length, 'rollout')}: each has a model call and a reward.`
      : [`${countOf(problems.length, 'problem')}:`, ...lines].join('\n');
  return `${traces.join('\n')}\n${verdict}\n`;
}

/** The last lines of `agl dev --json`: one for each rollout, then the problems of the run. */
export function devRecords({ runId, rollouts, problems, storeUrl }: DevReport): readonly object[] {
  return [
    ...rollouts.map(rolloutRecord),
    { event: 'done', run: runId, rollouts: rollouts.length, problems, store: addressText(storeUrl) },
  ];
}

function rolloutRecord({ rollout, reward, problems, spans }: DevRollout): object {
  return {
    event: 'rollout',
    rollout: rollout.rolloutId,
    status: rollout.status,
    task: rollout.input,
    reward,
    spans: spans.length,
    problems,
  };
}
