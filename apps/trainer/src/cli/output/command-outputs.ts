import type { z } from 'zod';
import { devLine, evaluationLine, rescoredRun, rewardAudit, rewardProbe } from './evaluation-output.ts';
import {
  datasetLine,
  deploymentLine,
  modelLine,
  promptVersions,
  rolloutLine,
  runLine,
  shownRollout,
  tracedTask,
  workerLine,
} from './inspection-output.ts';
import {
  createdKey,
  diagnosis,
  generatedTasks,
  initOutcome,
  listedKey,
  migratedConfig,
  serverSettings,
  stoppedRun,
} from './project-output.ts';
import {
  copiedStore,
  deletedData,
  exportedMetrics,
  exportedRun,
  exportedTraces,
  exportedWeights,
  importedRun,
  migratedStore,
  revokedToken,
  vacuumedStore,
} from './store-output.ts';
import { trainingLine } from './training-output.ts';

/** What a command writes to standard output with `--json`. */
export interface CommandOutput {
  /** `lines`: one JSON object per line. `document`: one JSON object. */
  readonly form: 'lines' | 'document';
  readonly schema: z.ZodType;
}

const lines = (schema: z.ZodType): CommandOutput => ({ form: 'lines', schema });
const document = (schema: z.ZodType): CommandOutput => ({ form: 'document', schema });

/** The output of every command with `--json`, by the command without `agl`. */
export const commandOutputs: Readonly<Record<string, CommandOutput>> = {
  init: document(initOutcome),
  doctor: document(diagnosis),
  train: lines(trainingLine),
  stop: document(stoppedRun),
  eval: lines(evaluationLine),
  dev: lines(devLine),
  'reward probe': document(rewardProbe),
  audit: document(rewardAudit),
  rescore: document(rescoredRun),
  trace: document(tracedTask),
  'tasks from-mcp': document(generatedTasks),
  runs: lines(runLine),
  rollouts: lines(rolloutLine),
  show: document(shownRollout),
  prompts: document(promptVersions),
  workers: lines(workerLine),
  deploy: document(deploymentLine),
  deployments: lines(deploymentLine),
  models: lines(modelLine),
  datasets: lines(datasetLine),
  'export weights': document(exportedWeights),
  'export traces': document(exportedTraces),
  'export metrics': document(exportedMetrics),
  'config migrate': document(migratedConfig),
  'config print': document(serverSettings),
  'keys create': document(createdKey),
  'keys list': lines(listedKey),
  'keys revoke': document(listedKey),
  'store backup': document(copiedStore),
  'store restore': document(copiedStore),
  'store vacuum': document(vacuumedStore),
  'store migrate': document(migratedStore),
  'store export': document(exportedRun),
  'store import': document(importedRun),
  'store delete': document(deletedData),
  'store prune': document(deletedData),
  'store tokens revoke': document(revokedToken),
};

/** The output of the command with these arguments; null without `--json`. */
export function outputOf(args: readonly string[]): CommandOutput | null {
  if (!args.includes('--json')) return null;
  const [first = ''] = args;
  // `agl export --run …` is `agl export weights --run …`.
  const name = [args.slice(0, 3), args.slice(0, 2), args.slice(0, 1)].map((words) => words.join(' '));
  const found = name.find((words) => Object.hasOwn(commandOutputs, words));
  return commandOutputs[found ?? (first === 'export' ? 'export weights' : first === 'resume' ? 'train' : '')] ?? null;
}
