import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { findNonJson } from '../config/find-non-json.ts';

/*
 * Checks a data set in a thread, line by line: parsing a large one would block the server. Without imports of packages, which
 * a thread of a test cannot resolve.
 */

/** The longest line in bytes. */
const maxLineBytes = 16 * 1024 * 1024;

/** The outcome of a check. */
export type DataSetCheck =
  | {
      /** SHA-256 of the content, in hexadecimal. */
      readonly digest: string;
      /** The number of tasks, with a digest of their JSON. */
      readonly fingerprint: string;
      readonly problem: null;
    }
  | { readonly problem: string };

const { file } = workerData as { readonly file: string };
parentPort?.postMessage(await check(file));

async function check(path: string): Promise<DataSetCheck> {
  const content = createHash('sha256');
  // As the JSON of the list of all tasks.
  const tasks = createHash('sha256').update('[');
  let count = 0;
  let number = 0;
  for await (const line of linesOf(path, (chunk) => content.update(chunk))) {
    number += 1;
    if (line === null) return { problem: `line ${number} of the data set is longer than ${maxLineBytes} bytes` };
    const text = line.toString('utf8').replace(number === 1 ? /^\uFEFF/ : '', '');
    if (text.trim() === '') continue;
    const task = parsed(text);
    if (task === null) return { problem: `line ${number} of the data set is not a JSON object` };
    const problem = problemOf(task);
    if (problem !== null) return { problem: `line ${number} of the data set: ${problem}, and a task must be JSON` };
    tasks.update(`${count === 0 ? '' : ','}${JSON.stringify(task)}`);
    count += 1;
  }
  if (count === 0) return { problem: 'the data set has no task' };
  const digest = content.digest('hex');
  return { digest, fingerprint: `${count} tasks (${tasks.update(']').digest('hex').slice(0, 12)})`, problem: null };
}

/** The lines of a file; null for one that is too long, which ends them. */
async function* linesOf(path: string, onChunk: (chunk: Buffer) => void): AsyncGenerator<Buffer | null> {
  let parts: Buffer[] = [];
  let size = 0;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    onChunk(chunk);
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      yield Buffer.concat([...parts, chunk.subarray(start, end)]);
      parts = [];
      size = 0;
      start = end + 1;
    }
    parts.push(chunk.subarray(start));
    size += chunk.length - start;
    if (size > maxLineBytes) yield null;
  }
  if (size > 0) yield Buffer.concat(parts);
}

function problemOf(task: object): string | null {
  try {
    return findNonJson(task);
  } catch {
    return 'it is nested too deeply';
  }
}

/** The object of a line; null for anything else. */
function parsed(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
