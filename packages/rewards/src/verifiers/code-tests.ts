import { randomUUID } from 'node:crypto';
import { fencedBlock } from '../base/fenced-block.ts';
import {
  invalidOption,
  type OutputOptions,
  partSettings,
  type ScoredPart,
  selectOutput,
  textOf,
  verdict,
} from '../base/part.ts';
import { runChildProgram } from './child-program.ts';

/** Code and its tests, for a {@link Sandbox}. */
export interface SandboxJob {
  /** The code of the agent. */
  readonly code: string;
  /** Each is appended to the code, and fails by throwing. `assert` is Node's strict one. */
  readonly tests: readonly string[];
  /** The language of the code and the tests. */
  readonly language: 'javascript' | 'typescript';
  /** The time of all tests, in milliseconds. */
  readonly timeoutMs: number;
  /** The memory of the heap, in megabytes. */
  readonly memoryMb: number;
  /** Ends the tests early. */
  readonly signal?: AbortSignal | undefined;
}

/** Runs the tests of code, each with a fresh copy of it. Returns the failure of each, or null. */
export type Sandbox = (job: SandboxJob) => Promise<readonly (string | null)[]>;

/** Options of {@link codeTests}. */
export interface CodeTestOptions<TTask, TOutput = unknown> extends OutputOptions<TOutput> {
  /** The tests: JavaScript that uses the declarations of the code, and throws on a failure. */
  readonly tests: (task: TTask) => readonly string[];
  /** The language of the code and the tests. @default 'javascript' */
  readonly language?: 'javascript' | 'typescript';
  /** Score the share of tests that pass, instead of all or none. @default false */
  readonly partial?: boolean;
  /** The time of all tests, in milliseconds. @default 5000 */
  readonly timeoutMs?: number;
  /** The memory of the heap, in megabytes. @default 128 */
  readonly memoryMb?: number;
  /** Runs the code elsewhere, such as in a container. @default a child process under Node's permission model */
  readonly sandbox?: Sandbox;
}

/**
 * 1 if the code of the output passes its tests, else 0. The code is the first fenced block of a text, or all of it. It runs in a
 * child process without files, network, environment and child processes.
 *
 * @example
 * ```ts
 * codeTests({ tests: (task: { tests: string[] }) => task.tests });
 * ```
 */
export function codeTests<TTask, TOutput = unknown>(
  options: CodeTestOptions<TTask, TOutput>,
): ScoredPart<TTask, TOutput> {
  const { language = 'javascript', timeoutMs = 5000, memoryMb = 128, sandbox = nodeSandbox } = options;
  if (!(timeoutMs > 0)) throw invalidOption('timeoutMs', timeoutMs, 'a positive number of milliseconds');
  return {
    ...partSettings(options),
    score: async ({ task, output, signal }) => {
      const code = fencedBlock(textOf(selectOutput(output, options.output)));
      const tests = options.tests(task);
      if (tests.length === 0) throw invalidOption('tests', tests, 'at least one test for each task');
      const failures = await sandbox({ code, tests, language, timeoutMs, memoryMb, signal });
      const passed = tests.filter((_, index) => failures[index] === null).length;
      const failure = failures.find((each) => each !== null);
      const reason = `${passed} of ${tests.length} tests pass${failure === undefined ? '' : `: ${failure}`}`;
      return options.partial === true
        ? { score: passed / tests.length, reason }
        : verdict(passed === tests.length, reason);
    },
  };
}

/**
 * Runs each test as a separate module, with a fresh copy of the code. What reports the results is read before the code runs, and
 * the code cannot replace `assert`. The code alone has to run too: it must not end within a comment or a text.
 */
const harness = ({ code, tests, language }: SandboxJob, mark: string): string => `
import loose from 'node:assert';
import assert from 'node:assert/strict';
import { writeSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
const [write, strip, encode, { stringify }] = [writeSync, stripTypeScriptTypes, encodeURIComponent, JSON];
const code = ${JSON.stringify(code)};
const tests = ${JSON.stringify(tests)};
const failures = tests.map(() => 'did not run');
Object.freeze(loose);
Object.freeze(assert);
async function failureOf(text) {
  try {
    await import('data:text/javascript,' + encode(${language === 'typescript'} ? strip(text) : text));
    return null;
  } catch (error) {
    return typeof error?.message === 'string' ? error.message.slice(0, 300) : 'threw';
  }
}
const whole = await failureOf(code);
for (let index = 0; index < tests.length; index += 1) {
  const test = "\\n;{ const { default: assert } = await import('node:assert/strict'); {\\n" + tests[index] + '\\n}}\\n// ' + index;
  failures[index] = whole ?? (await failureOf(code + test));
}
write(1, '\\n${mark}' + stringify(failures) + '\\n');
process.reallyExit(0);
`;

async function nodeSandbox(job: SandboxJob): Promise<readonly (string | null)[]> {
  const mark = randomUUID();
  const { stdout, failure } = await runChildProgram(harness(job, mark), job);
  const line = stdout.split('\n').find((text) => text.startsWith(mark));
  if (line === undefined) return job.tests.map(() => failure ?? 'the code ended the process');
  return JSON.parse(line.slice(mark.length)) as readonly (string | null)[];
}
