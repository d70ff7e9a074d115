import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { interopEnvironments, preparePython } from '../../tools/python-environment.ts';
import { startLineProgram } from '../child-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import type { Workload } from './workload.ts';

/** CPU seconds of the Python package for a workload. */
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
  measure(workload: Workload): Promise<PythonTimes>;
  close(): Promise<void>;
}

/** Starts the Python side, or returns the reason why it is unavailable. */
export async function startPythonSide(): Promise<PythonSide | { readonly missing: string }> {
  const environment = await preparePython(interopEnvironments['agentlightning 1.0.2']);
  if ('missing' in environment) return environment;
  const program = startLineProgram(environment.python, [path.join(import.meta.dirname, 'python_side.py')]);
  return {
    measure: async (workload) => {
      using folder = temporaryFolder();
      const file = path.join(folder.path, 'events.json');
      await writeFile(file, JSON.stringify(workload.events));
      program.write(JSON.stringify({ file, rounds: 1, ...lengthsOf(workload) }));
      const [times] = JSON.parse(await program.nextLine()) as readonly PythonTimes[];
      if (times === undefined) throw new TypeError('the Python side returned no measurement');
      return times;
    },
    close: program.close,
  };
}

/** Lengths that Python pads every row to: those of the longest row. */
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
