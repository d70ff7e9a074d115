import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { AgentLightningError } from '@agentlightning/core';
import {
  decodeJsonText,
  errorMessage,
  findInexactNumber,
  type TaskSchema,
  validateTask,
} from '@agentlightning/core/internal';

/** Tasks: a list, or the path of a file of JSON lines or of one JSON array. */
export type TaskSource = string | URL | Iterable<unknown>;

/** The digests of uploaded data sets. */
export interface UploadedData {
  /** Id of the training tasks. */
  readonly train: string;
  /** Id of the test tasks. */
  readonly test: string;
}

/** A validated data set. */
export interface DataSet {
  /** SHA-256 of the content, in hexadecimal. */
  readonly digest: string;
  readonly totalBytes: number;
  /** Its content from an offset, in parts of at most {@link partBytes} and one line. */
  parts(offset: number): AsyncIterable<Uint8Array>;
}

const partBytes = 4 * 1024 * 1024;

/** Maximum number of reported invalid tasks. */
const maxReported = 20;

/**
 * Reads and validates a data set, without keeping it in memory.
 *
 * @param name - of a list, for messages
 * @throws AgentLightningError TASK_FILE that names file, line and field of the first invalid tasks
 */
export async function readDataSet(
  given: TaskSource,
  { name, schema }: { readonly name: string; readonly schema: TaskSchema | null },
): Promise<DataSet> {
  // An iterable that is not a list may be read once only, and a list may be changed.
  const source = typeof given === 'string' || given instanceof URL ? given : [...given];
  const hash = createHash('sha256');
  const problems: string[] = [];
  let totalBytes = 0;
  let count = 0;
  for await (const { value, where } of tasksOf(source, name)) {
    count += 1;
    const problem = value instanceof SyntaxError ? value.message : await problemOf(value, schema);
    if (problem !== null) problems.push(`${where}: ${problem}`);
    if (problems.length >= maxReported) break;
    if (problems.length > 0) continue;
    const line = encodeTask(value);
    totalBytes += line.byteLength;
    hash.update(line);
  }
  if (count === 0) problems.push(`${whereOf(source, name)}: has no task`);
  if (problems.length > 0) throw invalidTasks(problems);
  return { digest: hash.digest('hex'), totalBytes, parts: (offset) => partsOf(source, offset) };
}

async function* partsOf(source: TaskSource, offset: number): AsyncGenerator<Uint8Array> {
  let skipped = offset;
  let lines: Uint8Array[] = [];
  let size = 0;
  for await (const { value } of tasksOf(source, '')) {
    const line = encodeTask(value);
    if (skipped >= line.byteLength) {
      skipped -= line.byteLength;
      continue;
    }
    const rest = line.subarray(skipped);
    skipped = 0;
    lines.push(rest);
    size += rest.byteLength;
    if (size < partBytes) continue;
    yield joined(lines, size);
    lines = [];
    size = 0;
  }
  if (size > 0) yield joined(lines, size);
}

function joined(parts: readonly Uint8Array[], size: number): Uint8Array {
  const whole = new Uint8Array(size);
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.byteLength;
  }
  return whole;
}

interface LocatedTask {
  /** A SyntaxError for a line that is not JSON. */
  readonly value: unknown;
  readonly where: string;
}

async function* tasksOf(source: TaskSource, name: string): AsyncGenerator<LocatedTask> {
  if (typeof source !== 'string' && !(source instanceof URL)) {
    let index = 0;
    for (const value of source) {
      yield { value, where: `${name} task ${index}` };
      index += 1;
    }
    return;
  }
  const { encoding, isList } = await formOf(source);
  if (isList) {
    yield* listedTasks(await readFile(source), source);
    return;
  }
  const file = createReadStream(source, { encoding });
  let line = 0;
  try {
    for await (const text of createInterface({ input: file })) {
      line += 1;
      // Some editors write a byte order mark.
      const content = line === 1 ? text.replace(/^\uFEFF/, '') : text;
      if (content.trim() !== '') yield { value: parsed(content), where: `${String(source)}:${line}` };
    }
  } catch (cause) {
    if (AgentLightningError.isInstance(cause)) throw cause;
    unreadable(source)(cause);
  } finally {
    file.destroy();
  }
}

/** The encoding of a task file, and whether it is one JSON array. */
async function formOf(source: string | URL): Promise<{ readonly encoding: BufferEncoding; readonly isList: boolean }> {
  const head = Buffer.alloc(256);
  const file = await open(source).catch(unreadable(source));
  try {
    const { bytesRead } = await file.read(head, 0, head.length, 0);
    const isLittleEndian = head[0] === 0xff && head[1] === 0xfe;
    const isBigEndian = head[0] === 0xfe && head[1] === 0xff;
    // A character may end beyond the head; what begins an array is ASCII.
    const text = head.subarray(0, bytesRead).toString(isLittleEndian ? 'utf16le' : 'utf8');
    const isList =
      isBigEndian ||
      text
        .replace(/^\uFEFF/, '')
        .trimStart()
        .startsWith('[');
    return { encoding: isLittleEndian ? 'utf16le' : 'utf8', isList };
  } finally {
    await file.close();
  }
}

/** The tasks of a file that is read whole: one JSON array, or a rare encoding. */
function* listedTasks(bytes: Uint8Array, source: string | URL): Generator<LocatedTask> {
  const text = decodeJsonText(bytes)?.trimStart() ?? null;
  if (text === null) return yield { value: new SyntaxError('is neither UTF-8 nor UTF-16'), where: String(source) };
  const whole = text.startsWith('[') ? parsed(text) : null;
  // A line that is an array is an invalid task.
  const isList = Array.isArray(whole) && whole.every((task) => typeof task === 'object');
  const found = isList ? whole : text.split('\n').map((line) => (line.trim() === '' ? null : parsed(line)));
  if (!Array.isArray(found)) return yield { value: found, where: String(source) };
  for (const [index, value] of found.entries()) {
    const where = isList ? `${String(source)}: task ${index}` : `${String(source)}:${index + 1}`;
    if (isList || value !== null) yield { value, where };
  }
}

function unreadable(source: string | URL): (cause: unknown) => never {
  return (cause) => {
    throw new AgentLightningError({
      code: 'TASK_FILE',
      message: `${String(source)} cannot be read: ${errorMessage(cause)}`,
      remedy: 'Check the path of the task file.',
      cause,
    });
  };
}

function parsed(text: string): unknown {
  try {
    const inexact = findInexactNumber(text);
    if (inexact === null) return JSON.parse(text);
    return new SyntaxError(`the number ${inexact} is beyond those that JavaScript represents: write it as text`);
  } catch (error) {
    return error;
  }
}

function encodeTask(value: unknown): Uint8Array {
  return new TextEncoder().encode(`${JSON.stringify(value)}\n`);
}

async function problemOf(value: unknown, schema: TaskSchema | null): Promise<string | null> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'a task must be a JSON object';
  if (schema === null) return null;
  const checked = await validateTask(value, schema);
  return 'problem' in checked ? checked.problem : null;
}

function whereOf(source: TaskSource, name: string): string {
  return typeof source === 'string' || source instanceof URL ? String(source) : name;
}

function invalidTasks(problems: readonly string[]): AgentLightningError {
  return new AgentLightningError({
    code: 'TASK_FILE',
    message: problems.join('; '),
    remedy: 'Correct the tasks that the message names; a task is a JSON object. Nothing was uploaded.',
    details: { issues: problems },
  });
}
