import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { AgentLightningError, type RolloutEndpoint } from '@agentlightning/core';
import { quantityText, readSecret, systemClock } from '@agentlightning/core/internal';
import { assertKeyIsEncrypted } from '@agentlightning/core/protocol';
import type { ServerCommand, ServerUrl } from '@agentlightning/environments';
import { areInsecureKeysAllowed } from '../../config/environment.ts';
import { type GeneratedTask, type GenerationSummary, generateTasks } from '../../task-generation/generate-tasks.ts';
import { ModelPlayer } from '../../task-generation/model-player.ts';
import { importOptional } from '../../user-modules/import-optional.ts';
import { endpointOf } from '../evaluation/subject-options.ts';
import { exitCodes } from '../exit-code.ts';
import { listenToProcess } from '../process/listen-to-process.ts';

/** The flags of `agl tasks from-mcp`. */
export interface FromMcpFlags {
  readonly url?: string;
  readonly endpoint: string;
  readonly model: string;
  readonly keyEnv?: string;
  readonly tool?: readonly string[];
  readonly var?: readonly string[];
  readonly stateless?: boolean;
  readonly about?: string;
  readonly count: number;
  readonly attempts: number;
  readonly agreement: number;
  readonly maxTurns: number;
  readonly concurrency: number;
  readonly out: string;
  readonly testOut?: string;
  readonly json?: boolean;
}

/**
 * Generates tasks from an MCP server and writes them as JSON lines. Each is written when it is made, so that none is lost when the
 * command fails later.
 *
 * @returns the exit code
 * @throws AgentLightningError CONFIG for invalid flags; what {@link generateTasks} throws
 */
export async function runFromMcp(command: readonly string[], flags: FromMcpFlags): Promise<number> {
  const { mcpEnvironment, playEnvironment } = await importOptional(
    '@agentlightning/environments',
    '`agl tasks from-mcp`',
    () => import('@agentlightning/environments'),
  );
  const server = serverOf(command, flags);
  const endpoint = await rolloutEndpoint(flags);
  assertAgreement(flags.agreement);
  const stateless = flags.stateless === true;
  const environment = mcpEnvironment<string>({ ...server, stateless, ...(flags.tool && { tools: flags.tool }) });
  const stop = listenToProcess({ close: () => undefined, onWarning: printLine });
  const { signal } = stop;
  const files = new TaskFiles(flags);
  try {
    const player = new ModelPlayer({ endpoint, play: playEnvironment, clock: systemClock, signal });
    const summary = await generateTasks({
      ...flags,
      player,
      environment,
      withoutTools: { ...environment, create: noTools },
      about: flags.about ?? null,
      onTask: (task) => files.write(task),
      onProgress: (progress) => printLine(progressText(progress)),
    });
    const { out, testOut = null } = flags;
    const result = { ...summary, train: files.trainTasks, test: files.testTasks, out, testOut };
    if (flags.json === true) process.stdout.write(`${JSON.stringify(result)}\n`);
    else process.stdout.write(`${resultText(result)}\n`);
    return summary.tasks < flags.count ? exitCodes.failed : exitCodes.done;
  } finally {
    await environment.close();
    stop.release();
  }
}

/** A world without tools: the message of the model is its guess. */
const noTools = () => ({
  reset: async (question: string) => question,
  tools: () => [],
  step: async () => ({ observation: '', reward: null, done: true }),
  state: async () => null,
  close: async () => {},
});

/** Writes tasks to the files of the flags. A file of an earlier run is replaced when the first task is made. */
class TaskFiles {
  readonly #out: string;
  readonly #testOut: string | null;
  #queue: Promise<void> = Promise.resolve();
  trainTasks = 0;
  testTasks = 0;

  constructor({ out, testOut }: Pick<FromMcpFlags, 'out' | 'testOut'>) {
    this.#out = path.resolve(out);
    this.#testOut = testOut === undefined ? null : path.resolve(testOut);
    if (this.#testOut === this.#out) throw flagError('--out and --test-out are the same file', 'Name two files.');
  }

  write(task: GeneratedTask): Promise<void> {
    this.#queue = this.#queue.then(() => this.#write(`${JSON.stringify(task)}\n`));
    return this.#queue;
  }

  async #write(line: string): Promise<void> {
    const isTest = this.#testOut !== null && (this.trainTasks + this.testTasks) % 5 === 4;
    const file = isTest && this.#testOut !== null ? this.#testOut : this.#out;
    const isFirst = (isTest ? this.testTasks : this.trainTasks) === 0;
    await mkdir(path.dirname(file), { recursive: true });
    await (isFirst ? writeFile : appendFile)(file, line);
    if (isTest) this.testTasks += 1;
    else this.trainTasks += 1;
  }
}

function serverOf(command: readonly string[], { url, var: variables = [] }: FromMcpFlags): ServerCommand | ServerUrl {
  const [program, ...args] = command;
  if ((program === undefined) === (url === undefined)) {
    throw flagError('one server is required: a command after --, or --url', 'For example: `-- npx -y <package>`.');
  }
  if (url !== undefined) {
    if (variables.length > 0) throw flagError('--var needs a command', 'Set the variables where the server runs.');
    return { url };
  }
  const entries = variables.map((text) => {
    const [, name, value = ''] = /^([A-Za-z_]\w*)=(.*)$/s.exec(text) ?? [];
    if (name === undefined) throw flagError(`--var is not NAME=value: "${text}"`, 'For example: DIR={folder}.');
    return [name, value] as const;
  });
  return { command: program ?? '', args, env: Object.fromEntries(entries) };
}

async function rolloutEndpoint(flags: FromMcpFlags): Promise<RolloutEndpoint> {
  const found = endpointOf(flags);
  if (found === null) throw flagError('--endpoint is missing', 'Pass `--endpoint <url>`.');
  const { baseUrl, model, apiKey } = found;
  if (apiKey === undefined) return { baseUrl, model, apiKey: null };
  const key = readSecret(apiKey, process.env);
  if (key === null) throw flagError(`the environment variable ${flags.keyEnv} is not set`, 'Set it to the key.');
  const option = 'AGL_ALLOW_INSECURE_KEYS=1';
  if (!areInsecureKeysAllowed()) assertKeyIsEncrypted({ receiver: 'Model', url: baseUrl, option });
  return { baseUrl, model, apiKey: key };
}

function assertAgreement(agreement: number): void {
  if (agreement > 0.5 && agreement <= 1) return;
  throw flagError(`--agreement must be above 0.5 and at most 1, not ${agreement}`, 'For example 0.75: three of four.');
}

function flagError(message: string, remedy: string): AgentLightningError {
  return new AgentLightningError({ code: 'CONFIG', message, remedy });
}

function printLine(text: string): void {
  process.stderr.write(`${text}\n`);
}

function progressText({ tasks, proposed, dropped }: GenerationSummary): string {
  const reasons = Object.entries(dropped).filter(([, count]) => count > 0);
  const shown = reasons.map(([reason, count]) => `${count} ${reason}`).join(', ');
  return `${quantityText(tasks, 'task')} of ${quantityText(proposed, 'question')}${shown === '' ? '' : ` (dropped: ${shown})`}`;
}

function resultText(result: GenerationSummary & { readonly out: string; readonly testOut: string | null }): string {
  const files = [result.out, result.testOut].filter((file) => file !== null).join(' and ');
  return `${progressText(result)} in ${files}. Score them with \`exact((task) => task.answer)\`.`;
}
