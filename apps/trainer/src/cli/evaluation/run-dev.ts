import { AgentLightningError } from '@agentlightning/core';
import { addressText } from '@agentlightning/core/internal';
import { terminalText, traceSteps } from '@agentlightning/trace';
import type { DevReport, DevRollout } from '../../evaluation-run/dev-options.ts';
import { devWith } from '../../evaluation-run/dev-with.ts';
import { readScript } from '../../evaluation-run/scripted-endpoint.ts';
import { type CommandContext, completeCommands } from '../../report/complete-commands.ts';
import { countOf } from '../../report/evaluation-progress.ts';
import { rolloutText } from '../../report/rollout-text.ts';
import { exitCodes } from '../exit-code.ts';
import { parseTaskFlag } from '../flags.ts';
import { runWithReport } from './run-with-report.ts';
import { endpointOf, type SubjectFlags, subjectOverrides } from './subject-options.ts';

/** The flags of `agl dev`. */
export interface DevFlags extends SubjectFlags {
  readonly tasks?: number;
  readonly task?: string;
  readonly script?: string;
}

/**
 * Runs a few rollouts and prints their traces.
 *
 * @returns the exit code
 * @throws AgentLightningError CONFIG for contradicting flags; the error that ended the run
 */
export async function runDev(file: string, flags: DevFlags): Promise<number> {
  const endpoint = endpointOf(flags);
  if (flags.script !== undefined && (endpoint !== null || flags.of !== undefined)) {
    throw flagError('--script is a model itself', 'Remove --of and --endpoint, or --script.');
  }
  const tasks = flags.task === undefined ? flags.tasks : [parseTaskFlag(flags.task)];
  const script = flags.script === undefined ? null : await readScript(flags.script);
  return await runWithReport<DevReport>({
    file,
    overrides: subjectOverrides(flags),
    isJson: flags.json === true,
    work: async (config, { onEvent, signal }) =>
      await devWith(config, {
        onEvent,
        signal,
        ...(tasks === undefined ? {} : { tasks }),
        ...(script === null ? {} : { script }),
        ...(endpoint === null ? {} : { endpoint }),
        ...(flags.of === undefined ? {} : { of: flags.of }),
        ...(flags.run === undefined ? {} : { runId: flags.run }),
      }),
    text: devText,
    records: devRecords,
    exitCode: ({ problems }) => (problems.length === 0 ? exitCodes.done : exitCodes.failed),
  });
}

function flagError(message: string, remedy: string): AgentLightningError {
  return new AgentLightningError({ code: 'CONFIG', message, remedy });
}

/** The traces of the rollouts with their messages and rewards, then the problems that prevent training. */
function devText({ rollouts, problems }: DevReport, context: CommandContext): string {
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
function devRecords({ runId, rollouts, problems, storeUrl }: DevReport): readonly object[] {
  return [
    ...rollouts.map(rolloutRecord),
    { type: 'finished', runId, rollouts: rollouts.length, problems, storeUrl: addressText(storeUrl) },
  ];
}

function rolloutRecord({ rollout, reward, problems, spans }: DevRollout): object {
  return {
    type: 'rollout',
    rolloutId: rollout.rolloutId,
    status: rollout.status,
    task: rollout.input,
    reward,
    spans: spans.length,
    problems,
  };
}
