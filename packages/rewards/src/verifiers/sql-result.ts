import { AgentLightningError } from '@agentlightning/core';
import { fencedBlock } from '../base/fenced-block.ts';
import {
  type OutputOptions,
  partSettings,
  type ScoredPart,
  selectOutput,
  shown,
  textOf,
  verdict,
} from '../base/part.ts';
import { runChildProgram } from './child-program.ts';

/** Options of {@link sqlResult}. */
export interface SqlResultOptions<TTask, TOutput = unknown> extends OutputOptions<TOutput> {
  /** The statements that create and fill the tables. */
  readonly setup: (task: TTask) => string | readonly string[];
  /** The reference query. Its `ORDER BY` makes the order of rows count. */
  readonly reference: (task: TTask) => string;
  /** The time of set-up and queries, in milliseconds. @default 5000 */
  readonly timeoutMs?: number;
}

interface QueryResult {
  readonly rows?: readonly (readonly unknown[])[];
  readonly error?: string;
}

/**
 * 1 if the query of the output returns the rows of the reference query, else 0. Both run on SQLite in memory, in a child process
 * with a time limit, each on a fresh database. Names of columns are ignored, numbers are compared by value.
 */
export function sqlResult<TTask, TOutput = unknown>(
  options: SqlResultOptions<TTask, TOutput>,
): ScoredPart<TTask, TOutput> {
  return {
    ...partSettings(options),
    score: async ({ task, output, signal }) => {
      const query = fencedBlock(textOf(selectOutput(output, options.output))).trim();
      const reference = options.reference(task);
      const setup = [options.setup(task)].flat();
      const { timeoutMs = 5000 } = options;
      const run = (text: string): Promise<QueryResult> => runQuery(setup, text, { timeoutMs, memoryMb: 256, signal });
      const [wanted, given] = await Promise.all([run(reference), run(query)]);
      if (wanted.rows === undefined) {
        throw new AgentLightningError({
          code: 'CONFIG',
          message: `The reference query ${shown(reference)} failed: ${wanted.error}`,
          remedy: 'Correct `setup` and `reference` of sqlResult for this task.',
        });
      }
      if (given.rows === undefined) return verdict(false, `the query failed: ${given.error}`);
      const isOrdered = /\border\s+by\b(?![\s\S]*\))/i.test(reference);
      const isRight = comparedRows(given.rows, isOrdered) === comparedRows(wanted.rows, isOrdered);
      return verdict(
        isRight,
        isRight ? `${wanted.rows.length} rows` : `expected ${shown(wanted.rows)}, got ${shown(given.rows)}`,
      );
    },
  };
}

function comparedRows(rows: readonly (readonly unknown[])[], isOrdered: boolean): string {
  const texts = rows.map((row) => JSON.stringify(row));
  return JSON.stringify(isOrdered ? texts : texts.toSorted());
}

/** Reads one row more than are compared, so that a longer result differs. */
const maxRows = 10_000;

const program = (setup: readonly string[], query: string): string => `
import { writeSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
const write = (result) => writeSync(1, JSON.stringify(result));
const database = new DatabaseSync(':memory:');
try {
  for (const statement of ${JSON.stringify(setup)}) database.exec(statement);
  const query = database.prepare(${JSON.stringify(query)});
  query.setReadBigInts(true);
  // Without it, Node 22 joins columns of one name.
  query.setReturnArrays?.(true);
  const rows = [];
  const plain = (value) =>
    typeof value === 'bigint' ? (Number.isSafeInteger(Number(value)) ? Number(value) : String(value))
      : value instanceof Uint8Array ? Array.from(value) : typeof value === 'number' ? Number(value.toPrecision(12)) : value;
  for (const row of query.iterate()) {
    rows.push(Object.values(row).map(plain));
    if (rows.length > ${maxRows}) break;
  }
  write({ rows });
} catch (error) {
  write({ error: String(error.message) });
}
`;

async function runQuery(
  setup: readonly string[],
  query: string,
  limits: Parameters<typeof runChildProgram>[1],
): Promise<QueryResult> {
  const { stdout, failure } = await runChildProgram(program(setup, query), limits);
  return failure === null ? (JSON.parse(stdout) as QueryResult) : { error: failure };
}
