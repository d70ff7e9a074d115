import path from 'node:path';
import { addressText } from '@agentlightning/core/internal';
import type { ResolvedRun } from '../../config/resolve-run.ts';
import { evaluateWith } from '../../evaluation-run/evaluate-with.ts';
import type { EvaluationReport } from '../../evaluation-run/evaluation-report.ts';
import { evaluationText } from '../../report/evaluation-text.ts';
import { exitCodes } from '../exit-code.ts';
import { runWithReport } from './run-with-report.ts';
import { endpointOf, type SubjectFlags, subjectOverrides } from './subject-options.ts';

/** The flags of `agl eval`. */
export interface EvalFlags extends SubjectFlags {
  readonly against?: string;
  readonly tasks?: string;
  readonly samples?: number;
  readonly concurrency?: number;
  readonly maxMissing?: number;
  readonly agentSampling?: boolean;
  /** False for external runners only. */
  readonly runner: boolean;
}

/**
 * Evaluates with a progress report and a table.
 *
 * @returns the exit code
 * @throws the error that ended the evaluation
 */
export async function runEval(file: string, flags: EvalFlags): Promise<number> {
  const endpoint = endpointOf(flags);
  const overrides = subjectOverrides(flags, {
    concurrency: flags.concurrency,
    maxMissingShare: flags.maxMissing,
    ...(flags.runner ? {} : { processes: 0 }),
  });
  return await runWithReport({
    file,
    overrides,
    isJson: flags.json === true,
    work: async (config: ResolvedRun, { onEvent, signal }) =>
      await evaluateWith(config, {
        onEvent,
        signal,
        ...(endpoint === null ? {} : { endpoint }),
        ...(flags.of === undefined ? {} : { of: flags.of }),
        ...(flags.against === undefined ? {} : { against: flags.against }),
        ...(flags.tasks === undefined ? {} : { tasks: path.resolve(flags.tasks) }),
        ...(flags.agentSampling === true ? { sampling: 'agent' as const } : {}),
        ...(flags.samples === undefined ? {} : { samples: flags.samples }),
        ...(flags.run === undefined ? {} : { runId: flags.run }),
      }),
    text: evaluationText,
    records: (report: EvaluationReport) => [
      { type: 'finished', report: { ...report, storeUrl: addressText(report.storeUrl) } },
    ],
    exitCode: ({ isDecided }: EvaluationReport) => (isDecided ? exitCodes.done : exitCodes.failed),
  });
}
