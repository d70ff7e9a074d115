import { AgentLightningError } from '@agentlightning/core';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import { isPromptSearch, resolveRun } from '../config/resolve-run.ts';
import type { ResolvedRuntime } from '../config/sections/runtime-config.ts';
import { teacherOf } from '../run/find-teachers.ts';
import type { RunRequest } from './run-request.ts';
import type { RunDefaults } from './settings/server-settings.ts';

/** What a server adds to the request of a client. */
export interface RunSurroundings {
  /** The data directory of the server. */
  readonly dataDir: string;
  /** The project of the run; null for the default one. */
  readonly project: string | null;
  /** The URL of the project at the server, as its own processes reach it. */
  readonly url: string;
  readonly serverKey: string;
  readonly runtime: ResolvedRuntime;
  /** Whether checkpoints are small, and saved after every step. */
  readonly hasSmallCheckpoints: boolean;
  readonly defaults: RunDefaults;
  /** The files of the data sets. */
  readonly tasks: { readonly train: string; readonly test: string };
}

/** A configuration of a training, as JSON. */
export type RunSettings = Readonly<Record<string, unknown>>;

/** The configuration of a run, without its agent, which the clients have. */
export function runSettings(request: RunRequest, surroundings: RunSurroundings): RunSettings {
  const { dataDir, project, url, serverKey, runtime, hasSmallCheckpoints, defaults, tasks } = surroundings;
  const { steps, tasksPerStep, maxTokens } = defaults;
  const { training } = request;
  return {
    ...(steps === null ? {} : { steps }),
    ...(tasksPerStep === null ? {} : { tasksPerStep }),
    ...training,
    ...samplingOf(training.sampling, maxTokens),
    algorithm: algorithmOf(training.algorithm, defaults),
    run: { ...training.run, name: request.name, dataDir },
    tasks,
    runtime,
    ...(hasSmallCheckpoints ? { checkpoints: withEveryStep(training.checkpoints) } : {}),
    store: { url, apiKey: serverKey },
    gateway: { url },
    agents: { processes: 0 },
    ...(project === null ? {} : { project }),
  };
}

/** Resolves the configuration of a run. @throws AgentLightningError CONFIG */
export function resolveRunSettings({ project, ...settings }: RunSettings): ResolvedConfig {
  const resolved = resolveRun({ ...settings, agent: noAgent }, '/');
  if (!isPromptSearch(resolved)) assertNoEndpoint(resolved);
  if (!isPromptSearch(resolved)) return typeof project === 'string' ? { ...resolved, project } : resolved;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: 'algorithm: a search for prompts cannot run on the server',
    remedy: 'Use `agl train` with a configuration file for algorithms apo and gepa.',
  });
}

/** The server would send requests of a client to any address, with secrets of its environment. */
function assertNoEndpoint({ policies }: ResolvedConfig): void {
  const teachers = policies.map(teacherOf);
  if (!teachers.some((teacher) => typeof teacher === 'object' && teacher !== null && 'endpoint' in teacher)) return;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: 'algorithm.teacher: a teacher behind an endpoint cannot be used on the server',
    remedy: 'Use a teacher of the runtime ({ run } or { model }), or `agl train` with a configuration file.',
  });
}

/** A name alone has the learning rate of the server. */
function algorithmOf(given: unknown, { algorithm, learningRate }: RunDefaults): unknown {
  const named = typeof given === 'object' && given !== null ? given : { type: given ?? algorithm };
  return { ...(learningRate === null ? {} : { learningRate }), ...named };
}

/** Small checkpoints are saved after every step, unless the client chooses otherwise. */
function withEveryStep(given: unknown): unknown {
  return given === undefined || typeof given === 'object' ? { every: 1, ...given } : given;
}

/** Sampling without a limit of tokens has that of the server. */
function samplingOf(given: unknown, maxTokens: number | null): { readonly sampling?: unknown } {
  if (maxTokens === null) return {};
  if (given === undefined) return { sampling: { temperature: 1, maxTokens } };
  return typeof given === 'object' ? { sampling: { maxTokens, ...given } } : {};
}

/** Clients run the agent: a server has no workers. */
function noAgent(): never {
  throw new AgentLightningError({ code: 'INTERNAL', message: 'the server runs no agents' });
}
