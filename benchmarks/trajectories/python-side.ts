import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { interopEnvironments, preparePython } from '../../tools/python-environment.ts';
import type { Workload } from './workload.ts';

/** What the Python package needed for a workload, in seconds of processor time. */
export interface PythonTimes {
  /** The server: events to triplets. */
  readonly triplets: number;
  /** The rollout manager: triplets to finished rollouts. */
  readonly completed: number;
  /** The adapter: finished rollouts to the rows of a batch, as lists. */
  readonly adapter: number;
  readonly rows: number;
}

/** The Python package in a separate process. */
export interface PythonSide {
  measure(workload: Workload, rounds: number): Promise<readonly PythonTimes[]>;
  close(): Promise<void>;
}

/** Starts the Python side, or returns the reason why it is unavailable. */
export async function startPythonSide(): Promise<PythonSide | { readonly missing: string }> {
  const environment = await preparePython(interopEnvironments['agentlightning 1.0.2']);
  if ('missing' in environment) return environment;
  const child = spawn(environment.python, [path.join(import.meta.dirname, 'python_side.py')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    measure: async (workload, rounds) => {
      const file = path.join(tmpdir(), `agl-trajectories-${process.pid}.json`);
      await writeFile(file, JSON.stringify(workload.events));
      child.stdin.write(`${JSON.stringify({ file, rounds, ...lengthsOf(workload) })}\n`);
      const { value } = await lines.next();
      await rm(file);
      if (typeof value !== 'string') throw new TypeError('The Python side ended without an answer.');
      return JSON.parse(value) as readonly PythonTimes[];
    },
    close: async () => {
      const ended = once(child, 'exit');
      child.stdin.end();
      await ended;
    },
  };
}

/** Python pads every row to these; they are no longer than the longest row needs. */
function lengthsOf({ groups }: Workload): { readonly promptLength: number; readonly responseLength: number } {
  const calls = groups[0]?.rollouts[0]?.spans.filter(({ attributes }) => 'prompt_token_ids' in attributes) ?? [];
  const lengths = calls.map(({ attributes }) => lengthOf(attributes['prompt_token_ids']));
  const [first = 1] = lengths;
  const last = (lengths.at(-1) ?? first) + lengthOf(calls.at(-1)?.attributes['response_token_ids']);
  return { promptLength: first, responseLength: last - first };
}

function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 0;
}
