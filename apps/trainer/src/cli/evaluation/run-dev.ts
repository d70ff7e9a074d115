import { AgentLightningError } from '@agentlightning/core';
import type { DevReport } from '../../evaluation-run/dev-options.ts';
import { devWith } from '../../evaluation-run/dev-with.ts';
import { readScript } from '../../evaluation-run/scripted-endpoint.ts';
import { devRecords, devText } from '../../report/dev-report.ts';
import { exitCodes } from '../exit-code.ts';
import { parseTaskFlag } from '../task-flag.ts';
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
    overrides: subjectOverrides(flags, {}),
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
